"""Traced networks give in JavaScript what they give in PyTorch."""

from __future__ import annotations

import json
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from tests.explorer.networks import LATENTS, Case, decoder_case, encoder_case, other_cases
from unbraid import nets
from unbraid.errors import InputError
from unbraid.explorer.network import trace

SOURCE = Path(str(files("unbraid.explorer")))
PIXEL = 2 / 255  # how far a pixel may be off: weights are in half precision
SCRIPT = """
const fs = require("fs"), [folder, file, vectors] = process.argv.slice(1);
const { Network } = new Function(fs.readFileSync(folder + "/network.js", "utf8") + ";return { Network }")();
const { packed, inputs } = JSON.parse(fs.readFileSync(file));
const network = new Network(packed, vectors === "wasm" ? fs.readFileSync(folder + "/matmul.wasm") : null);
if (network.vectors !== (vectors === "wasm")) throw new Error("no vector instructions");
console.log(JSON.stringify(inputs.map((input) => Array.from(network.run(Float32Array.from(input))))));
"""


def in_node(case: Case, tmp_path: Path, vectors: str) -> np.ndarray:
    """What Node gives for the inputs of a case."""
    program = shutil.which("node")
    if program is None:
        pytest.skip("there is no Node here: apt-get install nodejs")
    packed = trace(case.function, case.inputs[:1], "network").packed()
    path = tmp_path / "case.json"
    path.write_text(json.dumps({"packed": packed, "inputs": case.inputs.float().flatten(1).tolist()}))
    command = [program, "-e", SCRIPT, str(SOURCE), str(path), vectors]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return np.array(json.loads(done.stdout))


def assert_same(case: Case, found: np.ndarray) -> None:
    with torch.no_grad():
        expected = case.function(case.inputs).flatten(1).numpy()
    assert expected.std() > 1e-3  # there is something to tell apart
    tolerance = PIXEL if case.pixels else 0.01 * max(1.0, float(np.abs(expected).max()))
    assert found.shape == expected.shape
    assert np.abs(found - expected).max() < tolerance


@pytest.mark.parametrize("name", nets.PAIRS)
def test_every_decoder_gives_the_same_pixels_in_javascript(name: str, tmp_path: Path) -> None:
    case = decoder_case(name, 20 if name == "intervention_flowers" else 100)
    assert_same(case, in_node(case, tmp_path, "wasm"))


@pytest.mark.parametrize("name", nets.PAIRS)
def test_every_encoder_gives_the_same_codes_in_javascript(name: str, tmp_path: Path) -> None:
    case = encoder_case(name)
    assert_same(case, in_node(case, tmp_path, "wasm"))


@pytest.mark.parametrize("case", other_cases(), ids=lambda case: case.name)
@pytest.mark.parametrize("vectors", ["wasm", "plain"])
def test_other_networks_too(case: Case, vectors: str, tmp_path: Path) -> None:
    assert_same(case, in_node(case, tmp_path, vectors))


def test_plain_javascript_gives_the_same_pixels(tmp_path: Path) -> None:
    case = decoder_case("assumptions", 10)
    assert_same(case, in_node(case, tmp_path, "plain"))


def test_webassembly_is_compiled_from_its_source(tmp_path: Path) -> None:
    program = shutil.which("wat2wasm")
    if program is None:
        pytest.skip("there is no wat2wasm here: apt-get install wabt")
    subprocess.run([program, SOURCE / "matmul.wat", "-o", tmp_path / "matmul.wasm"], check=True)
    assert (tmp_path / "matmul.wasm").read_bytes() == (SOURCE / "matmul.wasm").read_bytes()


def test_steps_that_the_output_does_not_need_are_left_out() -> None:
    first, second = nn.Linear(3, 3), nn.Linear(3, 200)

    def function(x: Tensor) -> Tensor:
        y = first(x)
        second(y).sigmoid()
        return torch.tanh(y)

    network = trace(function, torch.randn(1, 3), "encoder")
    assert [(step.op, step.inputs) for step in network.steps] == [("dense", (0,)), ("tanh", (1,))]


def test_weights_take_two_bytes_each() -> None:
    case = decoder_case("assumptions", 1)
    network = trace(case.function, case.inputs, "decoder")
    parameters = sum(array.size for step in network.steps for array in step.arrays.values())
    assert network.weights == parameters
    assert len(network.packed()["data"]) < 1.05 * parameters * 2 * 4 / 3


def test_weights_beyond_half_precision_stay_whole(tmp_path: Path) -> None:
    dense = nn.Linear(100, 100)
    dense.weight.data[3, 4] = 1e5
    case = Case("large", dense, torch.randn(3, 100), False)
    assert_same(case, in_node(case, tmp_path, "wasm"))


class Sorted(nn.Module):
    """A layer that the page does not have."""

    def forward(self, x: Tensor) -> Tensor:
        return x.sort(1).values


def test_a_layer_that_the_page_cannot_run_is_named() -> None:
    network = nn.Sequential(nn.Linear(LATENTS, 4), Sorted())
    with pytest.raises(InputError, match=r"the page cannot run layer Sorted \(aten.sort\) of the decoder"):
        trace(network, torch.randn(1, LATENTS), "decoder")


@pytest.mark.parametrize("function", [
    lambda x: x + torch.rand(()), lambda x: x * 2 if float(x[0, 0]) > 0 else x * 3,
], ids=["random", "branches"])  # fmt: skip
def test_a_function_that_is_no_fixed_list_of_steps_is_refused(function: object) -> None:
    with pytest.raises(InputError, match="is random or its steps depend on its input"):
        trace(function, torch.ones(1, 3), "decoder")  # type: ignore[arg-type]


def test_a_function_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="does not depend on its input"):
        trace(lambda x: torch.zeros(1, 3), torch.ones(1, 3), "decoder")


def test_tracing_leaves_no_hooks_behind() -> None:
    before = dict(torch.nn.modules.module._global_forward_pre_hooks)
    with pytest.raises(InputError):
        trace(Sorted(), torch.ones(1, 3), "decoder")
    assert dict(torch.nn.modules.module._global_forward_pre_hooks) == before
