"""What a page holds of a run: every learner, bad codes, hostile names."""

from __future__ import annotations

import base64
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from tests.examples.squares import squares
from tests.explorer.made import HOSTILE, LEARNERS, trained
from unbraid.data import FactorData
from unbraid.errors import InputError
from unbraid.explorer import content, explore
from unbraid.explorer.content import content_of, thumbnail
from unbraid.explorer.sliders import sliders_of
from unbraid.methods import METHODS, Method
from unbraid.methods.beta_vae import BetaVAE
from unbraid.runs.names import read_names
from unbraid.runs.recording import train
from unbraid.runs.run import Run
from unbraid.training.representation import Representation


def floats(text: str) -> torch.Tensor:
    return torch.from_numpy(np.frombuffer(base64.b64decode(text), "<f4").copy())


@pytest.fixture(scope="module")
def vae(tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, FactorData]:
    return trained(tmp_path_factory.mktemp("runs") / "vae", "beta_vae", steps=30)


def test_no_learner_is_left_out() -> None:
    assert LEARNERS.keys() == METHODS.keys()


@pytest.mark.parametrize("method", LEARNERS)
def test_every_learner_has_a_page(method: str, tmp_path: Path) -> None:
    run, data = trained(tmp_path / "run", method)
    page = run.explore(data=data)
    assert page == tmp_path / "run" / "explorer.html"
    text = page.read_text()
    assert text.count("<script") == 4
    [record] = re.findall(r'<script type="application/json" id="run-0">(.*)</script>', text)
    values = json.loads(record)
    assert (values["decoder"] is not None) == METHODS[method].decodes
    assert (values["encoder"] is None) == ("codes" in METHODS[method].needs)
    width = len(values["sliders"])
    assert len(floats(values["sheet"]["positions"])) == values["sheet"]["count"] * width
    assert all(len(row) == len(values["factors"]) for matrix in values["matrices"] for row in matrix["cells"])


def test_looking_at_a_model_imports_no_compiler(vae: tuple[Run, FactorData]) -> None:
    script = f"""if True:
        import sys
        from pathlib import Path
        from unbraid.explorer.network import trace
        from unbraid.runs.run import Run
        import torch
        method = Run(Path({str(vae[0].folder)!r})).method()
        trace(method.decode, torch.ones(1, 4), "decoder")
        assert "torch._dynamo" not in sys.modules
    """
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_sheet_holds_the_pictures_and_their_positions(vae: tuple[Run, FactorData]) -> None:
    run, data = vae
    found = content_of(run, data)
    sheet, width = found.values["sheet"], len(found.sliders.sliders)
    image = Image.open(io.BytesIO(base64.b64decode(sheet["image"].partition(",")[2])))
    picture = 5
    left, top = picture % sheet["columns"] * 16, picture // sheet["columns"] * 16
    pixels = torch.from_numpy(np.asarray(image).copy())[top : top + 16, left : left + 16].permute(2, 0, 1)
    assert torch.equal(pixels, data.images_at([sheet["rows"][picture]])[0])
    with torch.inference_mode():
        code = run.method().encode(pixels[None])
    positions = floats(sheet["positions"]).reshape(-1, width)[picture]
    assert torch.allclose(found.sliders.codes(positions[None]), code, atol=1e-4)
    assert [column[picture] for column in sheet["factors"]] == data.factors_at([sheet["rows"][picture]])[0].tolist()


def test_information_is_a_part_of_the_factors_entropy() -> None:
    factors = torch.cartesian_prod(torch.arange(6), torch.arange(6))
    codes = torch.stack([factors[:, 1].float(), torch.linspace(0, 1e-9, 36)], 1)
    known = Representation(codes, factors, torch.arange(36), ("row", "column"), (6, 6))
    sliders = sliders_of(known)
    [matrix, *_] = content._matrices(content._Known(known, sliders.positions(codes), torch.arange(36)))
    assert matrix["cells"][0] == pytest.approx([0, 1], abs=1e-6)


def test_sliders_are_ordered_by_kl_and_unused_ones_are_marked() -> None:
    torch.manual_seed(0)
    logvar = torch.tensor([0.0, -4.0, -2.0]).expand(500, 3)
    codes = torch.randn(500, 3) * torch.tensor([0.001, 0.99, 0.9])
    sliders = sliders_of(Representation(codes, torch.zeros(500, 0), torch.arange(500), (), (), None, logvar)).sliders
    assert [slider.name for slider in sliders] == ["z1", "z2", "z0"]
    assert [slider.unused for slider in sliders] == [False, False, True]
    kl = 0.5 * (codes[:, 1].square().mean() + float(np.exp(-4)) + 4 - 1)  # of a Gaussian against N(0, 1)
    assert sliders[0].kl == pytest.approx(float(kl), rel=1e-4)
    assert sliders[2].low <= -2
    assert sum(sliders[0].histogram) >= 0.98 * 500


def test_features_of_several_dimensions_get_their_principal_directions() -> None:
    torch.manual_seed(0)
    mixing = torch.tensor([[3.0, 4.0], [-0.4, 0.3]]) / 5  # directions (3, 4)/5 and (-4, 3)/5, spreads 1 and 0.1
    codes = torch.cat([torch.randn(4000, 2) @ mixing, 0.5 * torch.randn(4000, 2)], 1) + 7
    found = sliders_of(Representation(codes, torch.zeros(4000, 0), torch.arange(4000), (), (), [[0, 1], [2, 3]]))
    assert found.sliders[0].name == "f0 axis 1"
    assert found.features is not None
    directions = found.features[0][found.columns]
    assert directions[0].tolist() == pytest.approx([0.6, 0.8, 0, 0], abs=0.02)
    assert torch.allclose(directions @ directions.T, torch.eye(4), atol=1e-5)
    assert torch.allclose(found.codes(found.positions(codes)), codes, atol=1e-4)


def test_codes_that_are_not_finite_are_left_out() -> None:
    codes = torch.randn(50, 2)
    codes[3] = torch.nan
    known = Representation(codes, torch.zeros(50, 0), torch.arange(50), (), ())
    assert all(np.isfinite(slider.spread) for slider in sliders_of(known).sliders)
    with pytest.raises(InputError, match="no code is a finite number"):
        sliders_of(Representation(codes * torch.nan, torch.zeros(50, 0), torch.arange(50), (), ()))


@pytest.mark.parametrize("latents", [1, 2000])
def test_one_latent_or_thousands(latents: int, tmp_path: Path) -> None:
    run, data = trained(tmp_path / "run", "autoencoder", latents=latents)
    values = content_of(run, data).values
    assert len(values["sliders"]) == latents
    assert [matrix["name"] for matrix in values["matrices"]] == ["mutual information"]  # 36 rows, or too many latents
    assert len(json.dumps(values)) < 10_000_000


def test_without_its_data_a_run_keeps_its_sliders(vae: tuple[Run, FactorData]) -> None:
    values = content_of(vae[0]).values
    assert values["sheet"] is None
    assert "was trained on data made in Python" in values["notes"][0]


def test_without_decoder_and_data_there_is_nothing_to_show(tmp_path: Path) -> None:
    run, _ = trained(tmp_path / "run", "multitask")
    with pytest.raises(InputError, match="has no decoder, and its pictures were not found"):
        content_of(run)


def test_a_run_without_a_model_is_refused(tmp_path: Path) -> None:
    run, data = trained(tmp_path / "run", "beta_vae", learning_rate=1e30, steps=20)
    assert run.state["state"] == "diverged"
    with pytest.raises(InputError, match="has no trained model; it is diverged"):
        explore(run, data=data)


def test_a_damaged_run_is_refused(tmp_path: Path) -> None:
    run, data = trained(tmp_path / "run", "beta_vae")
    path = run.path("model")
    path.write_bytes(path.read_bytes()[:-8] + b"damaged!")
    with pytest.raises(InputError, match=r"model\.safetensors"):
        explore(run, data=data)


def test_hostile_names_stay_text(tmp_path: Path) -> None:
    data = squares()
    data.names = (HOSTILE, "column")
    run = train("autoencoder", data, steps=2, out=tmp_path / "<b>&\"'", protocol=None, network="tiny", latents=2)
    (run.folder / "names.json").write_text(json.dumps({run.config.id: {"z0": HOSTILE}}))
    other, _ = trained(tmp_path / "other", "autoencoder")
    page = explore([run, other], tmp_path / "page.html", data=data).read_text()
    assert page.count("<script") == 5
    assert page.count("</script>") == 5
    assert "alert(1)</script>" not in page


def test_names_are_read_and_checked(tmp_path: Path, vae: tuple[Run, FactorData]) -> None:
    run, data = vae
    path, id = tmp_path / "names.json", run.config.id
    path.write_text(json.dumps({id: {"z0": "size"}}))
    assert read_names(path, id) == {"z0": "size"}
    assert read_names(path, "another run") == {}
    assert '"names":{"z0":"size"}' in explore(run, tmp_path / "page.html", data=data, names=path).read_text()
    for wrong in ("[1]", '{"%s": 3}' % id, '{"%s": {"z0": 3}}' % id, "{"):  # noqa: UP031
        path.write_text(wrong)
        with pytest.raises(InputError, match="names"):
            read_names(path, id)


def test_unlabelled_pictures_come_with_the_extreme_ones(tmp_path: Path) -> None:
    images = tmp_path / "pictures.npz"
    np.savez(images, images=squares(3).images_at(torch.arange(36)).permute(0, 2, 3, 1).numpy())
    run = train("beta_vae", _opened(images), steps=3, out=tmp_path / "run", protocol=None, network="tiny", latents=2)
    values = content_of(run).values
    assert values["matrices"] == []
    positions = floats(values["sheet"]["positions"]).reshape(-1, 2)
    low, high = values["extremes"][1]
    every = floats(values["points"]["positions"]).reshape(-1, 2)[:, 1]
    assert positions[low, 1].max() <= every.sort().values[6] + 1e-4
    assert positions[high, 1].min() >= every.sort().values[-7] - 1e-4


def _opened(images: Path) -> FactorData:
    from unbraid.data import catalogue

    return catalogue.load("image_folder", 16, path=str(images))


def test_a_gallery_has_a_thumbnail_for_each_run(vae: tuple[Run, FactorData], tmp_path: Path) -> None:
    run, data = vae
    address = thumbnail(content_of(run, data))
    assert address is not None
    image = Image.open(io.BytesIO(base64.b64decode(address.partition(",")[2])))
    assert image.size == (7 * 16, 4 * 16)


def test_a_large_page_says_what_made_it_so(
    vae: tuple[Run, FactorData], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("unbraid.explorer.page.LARGE", 1000)
    with pytest.warns(UserWarning, match=r"page\.html has \d+ MB: (de|en)coder 0\.\d MB, "):
        page = explore(vae[0], tmp_path / "page.html", data=vae[1])
    assert re.search(r"This page has \d+ MB: (de|en)coder 0\.\d MB, ", page.read_text())


class Sorting(BetaVAE):
    """loss = reconstruction + β·KL, decoded with a layer that no page has"""

    def decode(self, codes: torch.Tensor) -> torch.Tensor:
        return super().decode(codes.sort(1).values)


@pytest.fixture
def sorting(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> tuple[Run, FactorData]:
    methods: dict[str, type[Method]] = {**METHODS, "beta_vae": Sorting}
    monkeypatch.setattr("unbraid.methods.METHODS", methods)
    return trained(tmp_path / "run", "beta_vae")


def test_a_layer_that_the_page_cannot_run_points_to_the_server(sorting: Any) -> None:
    with pytest.raises(InputError, match=r"cannot run aten\.sort of the decoder; --serve decodes with PyTorch instead"):
        explore(sorting[0], data=sorting[1])
    assert content_of(*sorting, served=True).values["decoder"] is None
