"""Learners on frozen codes: what they learn, how their rate falls, and that they outlive the file of codes."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.examples.command import Here
from tests.examples.squares import squares, taught
from unbraid.data import CodeData, RandomTasks, TaskData
from unbraid.data.wrappers.codes import scaled_factors
from unbraid.errors import InputError
from unbraid.methods import Method, build
from unbraid.pictures.traversals import UNIT, unit_traversals
from unbraid.runs.run import Run
from unbraid.training.loop import train
from unbraid.training.representation import encode_all, represent

SMALL: dict[str, Any] = {"network": "small", "batch_size": 18, "learning_rate": 3e-3}


def decoder(codes: Tensor, **settings: Any) -> Method:
    torch.manual_seed(0)
    return build("frozen_decoder", CodeData(squares(), codes), {**SMALL, **settings})


def last_error(codes: Tensor, steps: int = 100) -> float:
    *_, last = train(decoder(codes), CodeData(squares(), codes), steps=steps, seed=0, every=25)
    return last.terms["squared_error"]


def test_a_decoder_tells_codes_that_hold_the_image_from_codes_that_do_not() -> None:
    factors = scaled_factors(squares())
    halved = factors * torch.tensor([1.0, 0.0])
    spread = float(squares().images_at(range(36)).float().div(255).var(0, correction=0).mean())
    full, half = last_error(factors), last_error(halved)
    assert full < 0.7 * half
    assert half < 0.9 * spread  # what codes that say nothing would leave


def test_the_error_is_a_mean_over_pixels() -> None:
    codes = scaled_factors(squares())
    method, batch = decoder(codes), CodeData(squares(), codes).batch_at(range(10))
    with torch.no_grad():
        images = method.decoder(batch["codes"])
        error = (images - batch["images"] / 255).square().mean()
        assert float(method.measure(batch)["squared_error"]) == pytest.approx(float(error), rel=1e-5)
        assert torch.equal(method.decode(batch["codes"]), images.clamp(0, 1))
    assert float(method.update(batch)["loss"]) == pytest.approx(float(error), rel=1e-5)


def test_the_learning_rate_is_halved_and_a_resumed_one_goes_on() -> None:
    codes = scaled_factors(squares())
    data, method = CodeData(squares(), codes), decoder(codes, halve_every=4)
    rates = []
    for report in train(method, data, steps=10, seed=0, every=1):
        rates.append(method.optimisers["decoder"].param_groups[0]["lr"])
        if report.step == 6:
            kept = {name: value.clone() for name, value in method.state_dict().items()}
    assert rates == [3e-3] * 4 + [1.5e-3] * 4 + [0.75e-3] * 2
    other = decoder(codes, halve_every=4)
    other.load_state_dict(kept)
    list(train(other, data, steps=10, seed=0))
    assert all(torch.equal(value, other.state_dict()[name]) for name, value in method.state_dict().items())
    method.hp["learning_rate"] = 8e-3
    method.update(data.batch_at(range(4)))
    assert method.optimisers["decoder"].param_groups[0]["lr"] == 2e-3


def test_heads_learn_tasks_from_the_factors_and_not_from_nothing() -> None:
    errors = []
    for codes in (scaled_factors(squares()), torch.zeros(36, 2)):
        data = TaskData(CodeData(squares(), codes), RandomTasks(2, width=8, layers=2))
        torch.manual_seed(0)
        method = build("frozen_heads", data, {"head_width": 32, "learning_rate": 3e-3, "batch_size": 36})
        *_, last = train(method, data, steps=200, seed=0, every=20)
        errors.append(last.terms["error"])
    assert errors[0] < 0.2 * errors[1]


def test_representations_are_the_codes_of_the_data() -> None:
    data = taught()
    method = build("frozen_heads", data, {})
    assert torch.equal(represent(method, data).codes, data.batch_at(range(36))["codes"])
    with pytest.raises(InputError, match="FrozenHeads takes codes, not images"):
        represent(method, squares())
    with pytest.raises(InputError, match="FrozenHeads takes codes, not images"):
        method.encode(squares().images_at([0]))


def test_what_cannot_be_built_is_said() -> None:
    for name in ("frozen_decoder", "frozen_heads"):
        with pytest.raises(InputError, match=r"needs data with codes; expected codes=FILE\.npy, or codes=factors"):
            build(name, squares(), {})
    with pytest.raises(InputError, match="FrozenHeads needs data with tasks"):
        build("frozen_heads", CodeData(squares(), torch.zeros(36, 1)), {})


def test_from_a_run_to_its_codes_to_a_decoder(here: Here, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.modules["unbraid.training.representation"], "WHOLE", 600)
    # a data set small enough to encode whole
    np.savez(tmp_path / "pictures.npz", images=squares().images_at(range(36))[:, 0].numpy())
    data = ["--data", "image_folder", "--resolution", "16", "--set", "path=pictures.npz", "--set", "channels=1"]
    flags = [*data, "--network", "small", "--steps", "3", "--protocol", "none"]
    done = here("train", "autoencoder", *flags, "--set", "held_out=0.25", "--latents", "3", "--out", "ae")
    assert done.returncode == 0, done.stderr
    done = here("encode", "ae", "--out", "codes.npy", "--device", "cpu")
    assert done.stdout == "codes.npy  36 codes of 3 dimensions\n"
    run = Run(tmp_path / "ae")
    expected = encode_all(run.method(), run.whole_data())
    assert np.array_equal(np.load(tmp_path / "codes.npy"), expected.numpy())
    done = here("train", "frozen_decoder", *flags, "--codes", "codes.npy", "--held-out", "0.25", "--out", "decoder")
    assert done.returncode == 0, done.stderr
    frozen = Run(tmp_path / "decoder")
    assert frozen.spec.codes == 3
    assert frozen.data().held_out is not None
    (tmp_path / "codes.npy").unlink()
    assert frozen.method().decode(torch.zeros(2, 3)).shape == (2, 1, 16, 16)
    done = here("show", "decoder")
    assert done.stdout.split() == [
        f"decoder/{name}" for name in ("reconstructions.png", "traversals.png", "traversals.gif", "unit_traversals.png")
    ]
    assert (
        "codes.npy does not exist; expected an .npy file of codes"
        in here("train", "frozen_decoder", *flags, "--codes", "codes.npy").stderr
    )


def test_traversals_go_from_minus_one_to_one_in_steps_of_a_tenth() -> None:
    assert UNIT.tolist() == pytest.approx([round(-1 + 0.1 * step, 1) for step in range(21)], abs=1e-6)
    method = decoder(scaled_factors(squares()))
    picture = unit_traversals(method, squares().images_at([3])[0], torch.tensor([0.2, 0.4]), "title")
    assert picture.width > 21 * 72
    assert 4 * 72 < picture.height < 6 * 72 + 100
