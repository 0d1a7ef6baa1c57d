"""Commands for a folder of pictures: discover, encode, sort, label."""

from __future__ import annotations

import json
import os
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image

import unbraid
from tests.examples.command import Here
from tests.examples.toy_jobs import Now
from unbraid.cli import _engine
from unbraid.data import load
from unbraid.data.sets.image_folder import Pictures
from unbraid.errors import InputError
from unbraid.explorer.discovered import NamedFactor, circles_of, factor_table, page, write_results
from unbraid.runs.run import Run
from unbraid.search import circles, discovery, shared_factors
from unbraid.search.axes import independent_axes
from unbraid.search.shared_factors import Factor, Member
from unbraid.training.representation import represent


def draw(folder: Path, count: int, seed: int = 0) -> pd.DataFrame:
    """Grey squares at random places; the table says where."""
    folder.mkdir(parents=True)
    rng, rows = np.random.default_rng(seed), []
    for number in range(count):
        top, left = rng.integers(0, 11, 2)
        pixels = np.zeros((16, 16), np.uint8)
        pixels[top : top + 5, left : left + 5] = 255
        Image.fromarray(pixels).save(folder / f"{number:03}.png")
        rows.append({"file": f"{number:03}.png", "top": float(top), "side": "left" if left < 5 else "right"})
    return pd.DataFrame(rows)


@pytest.fixture
def trained(tmp_path: Path) -> tuple[Path, pd.DataFrame]:
    """The folder of a run, and the table of its 60 pictures in `pictures`."""
    table = draw(tmp_path / "pictures", 60)
    data = load("image_folder", 16, path=str(tmp_path / "pictures"), channels=1)
    settings = {"network": "small", "latents": 3, "batch_size": 16, "learning_rate": 3e-3, "beta": 0.1}
    run = unbraid.train("beta_vae", data, steps=60, out=tmp_path / "run", protocol=None, **settings)
    return run.folder, table


def test_new_pictures_are_encoded_into_what_the_suffix_says(trained: tuple[Path, pd.DataFrame], here: Here) -> None:
    run, _ = trained
    new = draw(run.parent / "new", 7, seed=1)
    tables = ["codes.csv", *(["codes.parquet"] if find_spec("pyarrow") else [])]
    for name in ("codes.npy", *tables):
        done = here("encode", str(run), "--pictures", str(run.parent / "new"), "--out", name, "--all")
        assert done.returncode == 0, done.stderr
    codes, table = np.load(run.parent / "codes.npy"), pd.read_csv(run.parent / "codes.csv")
    assert codes.shape == (7, 3)
    assert table["file"].tolist() == new["file"].tolist()
    assert table[["z0", "z1", "z2"]].to_numpy() == pytest.approx(codes, rel=1e-4)
    if "codes.parquet" in tables:
        assert pd.read_parquet(run.parent / "codes.parquet")["file"].tolist() == new["file"].tolist()
    done = here("encode", str(run), "--out", "codes.txt")
    assert done.returncode == 2
    assert "expected a name that ends in .npy, .csv, .parquet" in done.stderr


def test_floats_and_bytes_have_the_same_codes_and_others_are_refused(trained: tuple[Path, pd.DataFrame]) -> None:
    method = unbraid.load(trained[0])
    images = load("image_folder", 16, path=str(trained[0].parent / "pictures"), channels=1).images_at([0, 1])
    assert method.encode(images.float() / 255).detach().numpy() == pytest.approx(
        method.encode(images).detach().numpy(), abs=1e-5
    )
    for wrong, message in [
        (images.float(), "images go from 0 to 255; expected uint8, or floats in [0, 1], of shape (n, 1, 16, 16)"),
        (images.long(), "images are torch.int64; expected uint8"),
        (images[:, :, :8], r"images have shape (2, 1, 8, 16); expected uint8"),
    ]:
        with pytest.raises(InputError) as caught:
            method.encode(wrong)
        assert message in str(caught.value)


def test_pictures_are_sorted_by_a_latent(trained: tuple[Path, pd.DataFrame], here: Here) -> None:
    run, _ = trained
    here("encode", str(run), "--out", "codes.csv", "--all")
    order = pd.read_csv(run.parent / "codes.csv").sort_values("z1", kind="stable")["file"].tolist()
    done = here("sort", "pictures", "--model", str(run), "--by", "z1", "--links", "links")
    assert done.returncode == 0, done.stderr
    links = sorted((run.parent / "links").iterdir())
    assert [link.name.split("-", 1)[1] for link in links] == order
    assert all(link.resolve().parent == run.parent / "pictures" for link in links)
    assert here("sort", "pictures", "--model", str(run), "--by", "z1", "--links", "links").returncode == 2
    assert here("sort", "pictures", "--model", str(run), "--by", "z1", "--out", "sheet.png").returncode == 0
    assert Image.open(run.parent / "sheet.png").width > 500
    done = here("sort", "pictures", "--model", str(run), "--by", "z9")
    assert done.returncode == 2
    assert "there is no latent 'z9'" in done.stderr


def test_neighbours_are_named_by_their_files(trained: tuple[Path, pd.DataFrame], here: Here) -> None:
    run, _ = trained
    done = here("retrieve", str(run), "--query", "004.png", "--count", "3", "--all", "--out", "near")
    assert done.returncode == 0, done.stderr
    table = pd.read_csv(run.parent / "near.csv")
    codes = (
        np.load(run.parent / "codes.npy") if here("encode", str(run), "--out", "codes.npy").returncode == 0 else None
    )
    assert codes is not None
    for column in range(3):
        rows = table[table["feature"] == f"z{column}"]
        distances = np.abs(codes[:, column] - codes[4, column])
        distances[4] = np.inf
        assert rows["distance"].tolist() == pytest.approx(np.sort(distances)[:3], abs=1e-4)
        assert rows["file"].tolist() == [f"{row:03}.png" for row in rows["row"]]
        assert f"004.png  z{column}: {', '.join(rows['file'])}" in done.stdout
    assert set(table["feature"]) == {"z0", "z1", "z2", "all together"}
    assert "004.png" in (run.parent / "near.html").read_text()
    assert Image.open(run.parent / "near.png").width > 300
    done = here("retrieve", str(run), "--query", "elsewhere.png")
    assert done.returncode == 2
    assert "expected a file, one of its pictures, or a row" in done.stderr
    assert here("retrieve", str(run), "--query", "4", "--out", "near.txt").returncode == 2


def test_names_are_kept_in_the_run(trained: tuple[Path, pd.DataFrame], here: Here) -> None:
    run, _ = trained
    assert here("label", str(run), "z1=from above", "z0=width").returncode == 0
    assert here("label", str(run), "z0=size").returncode == 0
    kept = json.loads((run / "names.json").read_text())
    assert list(kept.values()) == [{"z1": "from above", "z0": "size"}]
    here("encode", str(run), "--out", "codes.csv", "--all")
    assert {"from above", "size", "z2"} < set(pd.read_csv(run.parent / "codes.csv").columns)
    for wrong in ("z1", "z1=", "height=tall"):
        assert here("label", str(run), wrong).returncode == 2


def test_attributes_of_ones_own_have_an_error_estimate(trained: tuple[Path, pd.DataFrame], here: Here) -> None:
    run, table = trained
    table.iloc[:40].to_csv(run.parent / "some.csv", index=False)
    done = here("label", str(run), "--labels", "some.csv", "--by", "z0,z1,z2")
    assert done.returncode == 0, done.stderr
    assert "top: R²" in done.stdout
    assert "side: accuracy" in done.stdout
    result = pd.read_csv(run.parent / "attributes.csv")
    assert result["file"].tolist() == table["file"].tolist()
    assert set(result["side"]) <= {"left", "right"}
    table.assign(file="elsewhere.png").iloc[:1].to_csv(run.parent / "wrong.csv", index=False)
    done = here("label", str(run), "--labels", "wrong.csv")
    assert done.returncode == 2
    assert "elsewhere.png, which is not among the pictures" in done.stderr


@pytest.mark.filterwarnings("ignore:.*could not be read")
def test_discover_ends_with_a_table_a_model_and_a_page(
    tmp_path: Path, here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    draw(tmp_path / "pictures", 40)
    (tmp_path / "pictures" / "broken.png").write_bytes(b"no picture")
    for name, value in {"PAGE": 57.0, "SHORTEST": 0.4, "LONGEST": 0.5, "START": 0.0, "TRAINED": 1}.items():
        monkeypatch.setattr(discovery, name, value)
    for name in ("ACTIVE", "TRUSTED"):
        monkeypatch.setattr(shared_factors, name, 0.0)
    monkeypatch.setattr(discovery, "seconds_per_step", lambda *_: 0.005)
    monkeypatch.setattr(_engine, "_executor", lambda *_, **__: (Now(), 1))
    done = here("discover", "pictures", "--minutes", "1", "--resolution", "16", "--strengths", "2", "--latents", "3")
    assert done.returncode == 0, done.stderr
    assert "40 grey pictures" in done.stderr
    out = tmp_path / "pictures-factors"
    table = pd.read_csv(out / "factors.csv")
    assert len(table) == 40
    assert list(table.columns) == ["file", "factor_1", "factor_2", "factor_3", "extreme"]
    page = (out / "page.html").read_text()
    assert "3 factors in 40 pictures" in page
    assert "broken.png" in page
    assert here("encode", str(out / "model"), "--out", "codes.csv").returncode == 0
    assert here("discover", "pictures", "--minutes", "0.5").returncode == 2

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(discovery.Search, "run", stop)
    (out / "page.html").unlink()
    done = here("discover", "pictures", "--minutes", "1", "--resolution", "16", "--strengths", "2", "--latents", "3")
    assert done.returncode == 0, done.stderr
    assert "stopped; writing what was found so far" in done.stderr
    assert (out / "page.html").exists()


def test_a_model_along_other_axes_is_kept_as_an_ordinary_run(trained: tuple[Path, pd.DataFrame], here: Here) -> None:
    run = Run(trained[0])
    data = load("image_folder", 16, path=str(run.folder.parent / "pictures"), channels=1)
    assert isinstance(data, Pictures)
    known = represent(run.method(), data)
    assert known.logvar is not None
    axes = independent_axes(known.codes.numpy(), known.logvar.numpy(), np.arange(3))
    assert axes is not None
    factors = [Factor(latent, 1.0, 0.9) for latent in (1, 0, 2)]
    found = discovery.Discovery(run, Member(2.0, 0), factors, 4, 3_000, 0.0, 60.0, 60, axes)
    out = run.folder.parent / "factors"
    out.mkdir()
    table, model, page = write_results(found, data, out)
    assert Run(model).faults(thorough=True) == []
    assert Run(model).state["turned"] is True
    expected = axes.codes(known.codes.numpy())
    assert pd.read_csv(table)["factor_1"].to_numpy() == pytest.approx(expected[:, 1], abs=1e-3)
    assert Run(model).representation().codes.numpy() == pytest.approx(expected, abs=1e-3)
    assert "They were rotated to be independent" in page.read_text()
    assert here("encode", str(model), "--out", "codes.csv", "--all").returncode == 0
    assert pd.read_csv(run.folder.parent / "codes.csv")["factor 2"].to_numpy() == pytest.approx(
        expected[:, 0], abs=1e-3
    )


def test_a_circle_has_an_angle_in_the_table_and_a_card_on_the_page(
    trained: tuple[Path, pd.DataFrame], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(circles, "FEWEST", 60)
    run = Run(trained[0])
    data = load("image_folder", 16, path=str(run.folder.parent / "pictures"), channels=1)
    assert isinstance(data, Pictures)
    turns = np.arange(60) / 60
    values = {0: np.cos(2 * np.pi * turns), 2: np.sin(2 * np.pi * turns), 1: np.linspace(-1, 1, 60) ** 3}
    factors = [NamedFactor(f"factor_{n}", Factor(z, 1.0, 0.9), values[z]) for n, z in enumerate((0, 1, 2), 1)]
    codes = torch.from_numpy(np.column_stack([values[z] for z in range(3)])).float()
    (circle,) = circles_of(factors, codes, run.method())
    assert circle.name == "circle_1_3"
    table = factor_table(factors, data.files, [circle])
    assert list(table.columns) == ["file", "factor_1", "factor_2", "factor_3", "circle_1_3", "extreme"]
    steps = np.diff(np.unwrap(table["circle_1_3"].to_numpy(), period=360))
    assert np.abs(steps) == pytest.approx(np.full(59, 6.0), abs=0.2)
    found = discovery.Discovery(run, Member(2.0, 0), [one.factor for one in factors], 4, 3_000, 0.0, 60.0, 60)
    text = page(found, factors, codes, run.method(), data, run, [], [circle])
    assert "Factors 1 and 3: a circle" in text
    assert np.diff(circle.degrees[circle.around()]) == pytest.approx(np.full(8, 44.0), abs=6)


def test_too_few_pictures_are_refused(tmp_path: Path, here: Here) -> None:
    draw(tmp_path / "pictures", 3)
    done = here("discover", "pictures")
    assert done.returncode == 2
    assert "pictures holds 3 pictures that can be read; expected at least 10" in done.stderr


def test_labels_that_cannot_be_used_are_one_line(
    trained: tuple[Path, pd.DataFrame], here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, table = trained
    table.to_csv(run.parent / "good.csv", index=False)
    (run.parent / "empty.csv").write_text("file,top\n")
    (run.parent / "twice.csv").write_text("file,top,top\n001.png,1,2\n")
    os.mkfifo(run.parent / "pipe.csv")
    for name, message in (
        ("empty.csv", "has column names but no rows"),
        ("twice.csv", "has 2 columns called 'top'"),
        ("pipe.csv", "it is a named pipe, not a regular file"),
        ("/dev/zero", "expected a .csv file"),
    ):
        done = here("label", str(run), "--labels", name, "--by", "z0")
        assert (done.returncode, message in done.stderr) == (2, True), done.stderr
    monkeypatch.setattr("unbraid.runs.latents.ACTIVE", 1e9)
    done = here("label", str(run), "--labels", "good.csv")
    assert (done.returncode, "is active; name those that may tell the attributes with --by" in done.stderr) == (
        2,
        True,
    )


def test_names_are_different_and_can_be_printed(trained: tuple[Path, pd.DataFrame], here: Here) -> None:
    run, _ = trained
    for wrong in (["z0=size", "z1=size"], ["z0=z1"], ["z0=\x1b[31m"]):
        assert here("label", str(run), *wrong).returncode == 2
    assert not (run / "names.json").exists()
    assert here("label", str(run), "z0=file").returncode == 0
    done = here("encode", str(run), "--all", "--out", "codes.csv")
    assert (done.returncode, "'file' is the name of a latent and of another column" in done.stderr) == (2, True)
    record = json.loads((run / "names.json").read_text())
    (run / "names.json").write_text(json.dumps({id: {"z0": "size", "z1": "size"} for id in record}))
    done = here("encode", str(run), "--all", "--out", "codes.csv")
    assert (done.returncode, "2 latents are called 'size'" in done.stderr) == (2, True)


def test_links_are_made_for_all_pictures_or_none(trained: tuple[Path, pd.DataFrame], here: Here) -> None:
    run, _ = trained
    pictures = run.parent / "pictures"
    (pictures / "000.png").rename(pictures / f"{'n' * 250}.png")
    done = here("sort", str(pictures), "--by", "z0", "--model", str(run), "--links", "links")
    assert (done.returncode, "File name too long" in done.stderr) == (2, True)
    assert not (run.parent / "links").exists()
