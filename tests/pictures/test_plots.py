"""Pictures for notebooks."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

import unbraid
from tests.examples.squares import squares
from tests.examples.tiny_run import tiny
from unbraid.errors import InputError
from unbraid.runs.run import Run


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("plots") / "run"
    return tiny(folder, steps=20, evaluate_every=10, protocol={"mig": {}})


@pytest.mark.parametrize("what", ["traversals", "reconstructions", "importance", "terms", "scores"])
def test_a_run_has_pictures_and_its_folder_stays_as_it_was(run: Run, what: str) -> None:
    before = sorted(run.folder.iterdir())
    picture = run.plot(what)
    assert isinstance(picture, Image.Image)
    assert min(picture.size) > 50
    assert len(picture.convert("RGB").getcolors(1 << 24)) > 5, "not blank"
    assert sorted(run.folder.iterdir()) == before


def test_a_kept_picture_is_shown(run: Run, tmp_path: Path) -> None:
    kept = run.folder / "umap.png"
    Image.new("RGB", (3, 2), "red").save(kept)
    assert run.plot("umap").size == (3, 2)
    kept.unlink()


def test_an_unknown_picture_is_refused_by_name(run: Run, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no picture 'travesals'; did you mean 'traversals'"):
        run.plot("travesals")
    with pytest.raises(InputError, match="there is no picture 'umap' of this run"):
        run.plot("umap")


def test_data_has_a_sheet(tmp_path: Path) -> None:
    data = squares()
    picture = data.plot()
    assert picture.size[0] > 100
    assert "data:image/png;base64," in data._repr_html_()
    with pytest.raises(InputError, match="a data set has one picture"):
        unbraid.plot(data, "terms")
