from __future__ import annotations

import re
import sys
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.decomposition import PCA
from torch import Tensor, nn

import unbraid
from unbraid.data import ArrayData
from unbraid.errors import InputError
from unbraid.training.encoders import OnnxEncoder, is_reference, load_encoder

RNG = np.random.default_rng(0)
FACTORS = RNG.integers(4, size=(120, 2))
IMAGES = np.zeros((120, 8, 8), np.uint8)
IMAGES[:, :4] = 60 * FACTORS[:, :1, None]
IMAGES[:, 4:] = 40 * FACTORS[:, 1:, None]
DATA = ArrayData(IMAGES, FACTORS, ["top", "bottom"])
EXPECTED = np.column_stack([IMAGES[:, 0, 0], IMAGES[:, -1, 0]]) / 255


def corners(images: Tensor) -> Tensor:
    return torch.stack([images[:, 0, 0, 0], images[:, 0, -1, 0]], 1)


class Corners(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))
        self.drop = nn.Dropout(0.9)

    def forward(self, images: Tensor) -> Tensor:
        return self.drop(self.scale * torch.stack([images[:, 0, 0, 0], images[:, 0, -1, 0]], 1))


class Transformer:
    """As scikit-learn's: rows of numbers in, rows of numbers out."""

    def fit(self, table: Any) -> Transformer:
        return self

    def transform(self, table: Any) -> Any:
        assert table.shape[1:] == (64,)
        return table[:, [0, -1]]


@pytest.mark.parametrize("encoder", [corners, Corners(), Transformer(), lambda images: corners(images).numpy()])
def test_anything_that_encodes_is_represented_and_scored(encoder: Any) -> None:
    found = unbraid.represent(encoder, DATA, batch=50)
    np.testing.assert_allclose(found.codes.numpy(), EXPECTED, atol=1e-6)
    assert found.names == ("top", "bottom")
    scores = unbraid.score(encoder, DATA, metrics=["mig", "linear_r2"])
    assert scores["mig"] == pytest.approx(1, abs=0.05)
    assert scores["linear_r2"] == pytest.approx(1, abs=1e-3)
    assert scores.names == ("top", "bottom")
    assert scores.size == "2 codes, 2 factors, 120 rows"
    assert dict(unbraid.score(encoder, (IMAGES, FACTORS), metrics=["mig"])) == {"mig": scores["mig"]}


def test_a_module_is_evaluated_without_gradients_and_left_as_it_was() -> None:
    module = Corners()
    module.drop.eval()  # a part that the user froze
    assert module.training
    assert not unbraid.represent(module, DATA).codes.requires_grad
    assert module.training
    assert not module.drop.training


def test_preprocess_stands_before_the_encoder() -> None:
    seen: list[tuple[int, ...]] = []

    def encode(images: Tensor) -> Tensor:
        seen.append(tuple(images.shape))
        return corners(images)

    half = unbraid.represent(encode, DATA, preprocess=lambda images: images.repeat(1, 3, 1, 1) / 2, batch=100)
    assert seen == [(100, 3, 8, 8), (20, 3, 8, 8)]
    np.testing.assert_allclose(half.codes.numpy(), EXPECTED / 2, atol=1e-6)


def test_a_data_set_by_name_and_a_sample_of_it() -> None:
    found = unbraid.score(lambda images: images.mean((2, 3)), "dsprites", samples=300, metrics=["mig", "sap"], rng=3)
    assert found.samples["all"] == 300
    assert found.types == ("classes", "ordered", "ordered", "ordered", "ordered")


def test_principal_components_are_an_encoder() -> None:
    pca = PCA(2, random_state=0).fit(IMAGES.reshape(120, -1) / 255)
    assert unbraid.score(pca, DATA, metrics=["linear_r2"])["linear_r2"] > 0.99


def test_a_learner_encodes_as_before() -> None:
    method = unbraid.methods.build("beta_vae", unbraid.methods.Spec.of(DATA), {"network": "small", "latents": 3})
    assert unbraid.represent(method, DATA).codes.shape == (120, 3)
    with pytest.raises(InputError, match="preprocess is for encoders from elsewhere"):
        unbraid.represent(method, DATA, preprocess=lambda images: images)


@dataclass
class Output:
    last_hidden_state: Tensor


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (
            lambda images: (images.flatten(1), images),
            r"^the encoder returned a tuple; expected codes \(n, d\), so choose",
        ),
        (
            lambda images: Output(images),
            r"^the encoder returned a Output; .*: lambda images: encoder\(images\).last_hidden_state\[:, 0\]$",
        ),
        (lambda images: images, r"returned \(120, 1, 8, 8\) for 120 images; expected \(n, d\); flatten or average"),
        (lambda images: images.flatten(1)[:7], r"returned \(7, 64\) for 120 images; expected \(n, d\)$"),
        (lambda images: images @ torch.ones(3, 3), r"^the encoder failed on images \(120, 1, 8, 8\).*RuntimeError: "),
        (3, "^the encoder is int; expected a module, a function or a transformer"),
        ("model.txt", r"^'model.txt' is not an encoder; expected FILE.py:NAME or a file of .pt"),
        ("missing.pt", "^missing.pt does not exist"),
    ],
)
def test_a_wrong_encoder_is_one_line(encoder: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as caught:
        unbraid.represent(encoder, DATA)
    assert "\n" not in str(caught.value)


def pooled(channels: int) -> nn.Module:
    return nn.Sequential(nn.Conv2d(channels, 2, 3), nn.AdaptiveAvgPool2d(1), nn.Flatten())


@pytest.mark.parametrize(
    ("encoder", "channels", "fits"),
    [
        (nn.Sequential(nn.Flatten(), nn.Linear(32 * 32, 3)), 1, r"\(1, 32, 32\) fit: open the data with resolution=32"),
        (pooled(3), 1, r"\(3, 8, 8\) fit: let preprocess= or your function begin with .*expand\(-1, 3, -1, -1\)$"),
        (pooled(1), 3, r"\(1, 8, 8\) fit: .*images.mean\(1, keepdim=True\)$"),
        (
            nn.Sequential(nn.Conv2d(3, 2, 8, 8), nn.Flatten(), nn.Linear(2 * 28 * 28, 4)),
            1,
            r"\(3, 224, 224\) fit: open the data with resolution=224 \(--resolution 224\), and let preprocess=",
        ),
        (PCA(2, random_state=0).fit(RNG.normal(size=(9, 400))), 1, r"\(1, 20, 20\) fit: .* resolution=20 "),
    ],
    ids=["side", "colour", "grey", "both", "fitted"],
)
def test_an_encoder_for_another_shape_says_which_fits(encoder: Any, channels: int, fits: str) -> None:
    data = ArrayData(np.repeat(IMAGES[:, None], channels, 1), FACTORS)
    failed = rf"^the encoder failed on images \(120, {channels}, 8, 8\)"
    with pytest.raises(InputError, match=f"{failed}.*; images {fits}") as caught:
        unbraid.represent(encoder, data)
    assert "\n" not in str(caught.value)


def test_wrong_data_is_one_line() -> None:
    with pytest.raises(InputError, match=r"^data is int; expected a data set, the name of one, or a pair"):
        unbraid.represent(corners, 3)
    with pytest.raises(InputError, match=r"^there is no data set 'dspites'; did you mean 'dsprites'"):
        unbraid.score(corners, "dspites")
    for setting in ({"batch": 0}, {"samples": 0}):
        with pytest.raises(InputError, match="is 0; expected at least 1"):
            unbraid.represent(corners, DATA, **setting)


# Files


def test_an_encoder_in_a_file_of_code(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("SCALE = 2\n")
    (tmp_path / "mine.py").write_text(
        "import torch\nfrom neighbour import SCALE\n"
        "def encode(images):\n    return SCALE * images.mean((2, 3))\n"
        "class Net(torch.nn.Module):\n    def forward(self, x):\n        return x.mean((2, 3))\n"
        "class Sized(torch.nn.Module):\n    def __init__(self, size):\n        super().__init__()\n"
    )
    path = list(sys.path)
    double, plain = (unbraid.represent(f"{tmp_path}/mine.py:{name}", DATA).codes for name in ("encode", "Net"))
    np.testing.assert_allclose(double, 2 * plain)
    assert sys.path == path
    for name, message in (
        ("encod", "has no 'encod'; did you mean 'encode'"),
        ("Sized", "is a class that needs arguments"),
    ):
        with pytest.raises(InputError, match=message):
            load_encoder(f"{tmp_path}/mine.py:{name}")
    (tmp_path / "broken.py").write_text("import nothing_of_this_name\n")
    with pytest.raises(InputError, match=r"broken.py cannot be imported: .*ModuleNotFoundError"):
        load_encoder(f"{tmp_path}/broken.py:encode")
    with pytest.raises(InputError, match=r"none.py"):
        load_encoder(f"{tmp_path}/none.py:encode")


@pytest.mark.filterwarnings("ignore")
def test_torchscript(tmp_path: Path) -> None:
    torch.jit.script(Corners()).save(str(tmp_path / "model.pt"))
    np.testing.assert_allclose(unbraid.represent(tmp_path / "model.pt", DATA).codes.numpy(), EXPECTED, atol=1e-6)
    torch.save(Corners().state_dict(), tmp_path / "weights.pt")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(InputError, match=r"weights.pt cannot be read as TorchScript; weights alone are not enough"):
            load_encoder(tmp_path / "weights.pt")
    assert not caught


def test_onnx(tmp_path: Path) -> None:
    (tmp_path / "model.onnx").write_bytes(b"")
    if "onnxruntime" in sys.modules or __import__("importlib.util").util.find_spec("onnxruntime"):
        pytest.importorskip("onnx")
        torch.onnx.export(Corners().eval(), (torch.zeros(1, 1, 8, 8),), str(tmp_path / "model.onnx"), dynamo=False)
        np.testing.assert_allclose(
            unbraid.represent(str(tmp_path / "model.onnx"), DATA).codes.numpy(), EXPECTED, atol=1e-6
        )  # a batch of one, as exported
    else:
        with pytest.raises(InputError, match=r"^an .onnx file needs onnxruntime; pip install 'unbraid\[onnx\]'"):
            OnnxEncoder(tmp_path / "model.onnx")


def test_a_model_of_hugging_face(tmp_path: Path) -> None:
    """The recipe of docs/scoring.md, with a small model that has random weights."""
    transformers = pytest.importorskip("transformers")
    page = (Path(__file__).parents[2] / "docs" / "scoring.md").read_text()
    recipe = next(
        block for block in re.findall(r"^```python\n(.*?)^```", page, re.M | re.S) if "from_pretrained" in block
    )
    sizes = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    config = transformers.Dinov2Config(**sizes, image_size=28, patch_size=14)
    transformers.Dinov2Model(config).save_pretrained(tmp_path / "model")
    (tmp_path / "dino.py").write_text(
        recipe.replace("facebook/dinov2-small", str(tmp_path / "model")).replace("SIZE = 224", "SIZE = 28")
    )
    found = unbraid.represent(f"{tmp_path}/dino.py:encode", DATA, batch=50)
    assert found.codes.shape == (120, 16)
    assert bool(torch.isfinite(found.codes).all())
    assert unbraid.score(f"{tmp_path}/dino.py:encode", DATA, metrics=["linear_r2"])["linear_r2"] > 0.5


def test_what_is_a_reference() -> None:
    assert all(is_reference(text) for text in ("a.py:b", "x/model.pt", "model.ONNX", "a.torchscript", "m.pt2"))
    assert not any(is_reference(text) for text in ("codes.npz", "run", "a.py", "codes.csv"))
