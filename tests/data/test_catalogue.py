from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from unbraid.data import catalogue, load
from unbraid.data.catalogue import CATALOGUE, WRAPPERS, content, load_plain
from unbraid.errors import InputError


def test_every_file_of_sets_declares_itself() -> None:
    """A declaration that the catalogue forgot would be a data set that nobody can open."""
    folder = Path(catalogue.__file__).parent / "sets"
    with_declaration = {path.stem for path in folder.glob("*.py") if "\nDECLARED = " in path.read_text()}
    opened = {name if not name.startswith("mpi3d") else "mpi3d" for name in CATALOGUE}
    assert with_declaration == opened


def test_no_setting_has_two_meanings() -> None:
    of_wrappers = [name for wrapper in WRAPPERS for name in wrapper.help]
    assert len(set(of_wrappers)) == len(of_wrappers)
    for entry in CATALOGUE.values():
        assert not entry.settings & set(of_wrappers), entry.name


def test_wrappers_declare_their_settings() -> None:
    for wrapper in WRAPPERS:
        assert wrapper.defaults.keys() == wrapper.help.keys()
        assert wrapper.user_files.keys() <= wrapper.help.keys()


def test_every_setting_that_is_a_file_is_declared_as_one() -> None:
    named = {name for wrapper in WRAPPERS for name, text in wrapper.help.items() if ".npy" in text}
    assert named == {name for wrapper in WRAPPERS for name in wrapper.user_files}
    own = {name: entry.user_files for name, entry in CATALOGUE.items() if entry.user_files}
    assert {name: set(files) for name, files in own.items()} == {
        "celeba": {"path", "attributes"}, "image_folder": {"path", "factors"}, "hugging_face": {"path"},
        "scream_dsprites": {"painting"}, "mnist_stl10": {"backgrounds"}
    }  # fmt: skip
    for name, files in own.items():
        assert files.keys() <= CATALOGUE[name].settings


def test_content_without_files_is_the_settings_themselves_and_opens_nothing() -> None:
    settings = {"rows": "200", "codes": "factors", "held_out": 0.5}
    typed = {"rows": 200, "codes": "factors", "held_out": 0.5}
    assert content("cars3d", settings) == typed  # whose files are not on this machine
    keyword = {"painting": "texture"}
    assert content("scream_dsprites", keyword) == keyword
    assert content("scream_dsprites", {"painting": None}) == {"painting": None}


def test_content_is_that_of_the_file_and_not_its_path(tmp_path: Path) -> None:
    digests = {}
    for name, value in {"a": 0, "b": 1, "same as b": 1}.items():
        np.save(tmp_path / f"{name}.npy", np.full(5, value))
        digests[name] = content("dsprites", {"row_file": str(tmp_path / f"{name}.npy"), "rows": 3})
    assert digests["a"] != digests["b"] == digests["same as b"]
    assert str(tmp_path) not in str(digests)
    np.save(tmp_path / "a.npy", np.full(7, 1))  # written again in the same process
    assert content("dsprites", {"row_file": str(tmp_path / "a.npy"), "rows": 3}) != digests["a"]


def test_content_of_a_folder_is_the_names_and_contents_of_its_files(tmp_path: Path) -> None:
    def pictures(folder: str, name: str, colour: str) -> dict[str, object]:
        (tmp_path / folder / "below").mkdir(parents=True)
        Image.new("RGB", (8, 8), colour).save(tmp_path / folder / "below" / name)
        return content("image_folder", {"path": tmp_path / folder})

    first = pictures("one", "a.png", "red")
    assert first == pictures("two", "a.png", "red")
    assert first != pictures("three", "a.png", "blue")
    assert first != pictures("four", "b.png", "red")
    (tmp_path / "one" / ".DS_Store").write_text("hidden")
    assert content("image_folder", {"path": str(tmp_path / "one")}) == first


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("dsprite", {}, "there is no data set 'dsprite'; did you mean 'dsprites'"),
        ("dsprites", {"row": 3}, "data set 'dsprites' has no setting 'row'; did you mean 'rows'"),
        ("dsprites", {"rows": "many"}, "rows is 'many'; expected a whole number"),
        ("dsprites", {"row_file": "nowhere.npy"}, "row_file is 'nowhere.npy', which does not exist; expected a file"),
        ("image_folder", {"path": "nowhere"}, "path is 'nowhere', which does not exist"),
    ],
)
def test_content_names_mistakes(name: str, settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        content(name, settings)


def test_opened_data_can_be_opened_again() -> None:
    data = load("dsprites", 16, held_out=0.5, correlated="x,scale", draws=200)
    assert data.opened is not None
    again = load(data.opened["name"], data.opened["resolution"], **data.opened["settings"])
    assert again.describe() == data.describe()
    whole = load_plain(data.opened)
    assert len(whole) == 737_280
    assert whole.weights is None
    assert torch.equal(load_plain(data.opened, held_out=True).all_factors(), data.all_factors())
