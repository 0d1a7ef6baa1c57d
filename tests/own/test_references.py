"""References: made from words, objects and entry points, resolved to what they name."""

from __future__ import annotations

from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from unbraid import nets
from unbraid.errors import InputError
from unbraid.own import is_reference, keys_in, label, refer, refer_all, references, relative_to
from unbraid.own.references import resolve, unkept
from unbraid.own.sources import Source, import_file

FILE = """
from unbraid.nets import Network

class Outer:
    class Inner:
        pass

def function():
    def inner():
        pass
    return inner

OWN = Network("own", function)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(FILE)
    return path


def test_a_word_and_an_object_give_the_same_reference(file: Path) -> None:
    module, key = import_file(file), Source.read(file).key
    for name in ("Outer", "Outer.Inner", "function", "OWN"):
        value: Any = module
        for part in name.split("."):
            value = getattr(value, part)
        assert refer(f"{file}:{name}") == refer(value) == f"mine.py:{name}@{key}"
        assert resolve(refer(value)) is value
        assert label(refer(value)) == name


def test_a_reference_and_any_other_word_stay_as_they_are(file: Path) -> None:
    reference = refer(f"{file}:function")
    assert refer(reference) == reference
    for word in ("beta_vae", "a:b", "notes.py", "12:30", ""):
        assert refer(word) == word
        assert label(word) == word
        assert not is_reference(word)


def test_relative_paths_are_below_the_folder_that_is_set(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir("/")
    with pytest.raises(InputError, match=r"there is no file mine.py"):
        refer("mine.py:function")
    with relative_to(file.parent):
        assert refer("mine.py:function") == refer(f"{file}:function")


def test_trees_hold_references_in_place_of_what_they_refer_to(file: Path) -> None:
    module = import_file(file)
    tree = {"network": module.OWN, f"{file}:function": [1, "x", {module.function: None}], "rate": 0.5}
    given = refer_all(tree)
    own, function = refer(module.OWN), refer(module.function)
    assert given == {"network": own, function: [1, "x", {function: None}], "rate": 0.5}
    assert keys_in(given) == {Source.read(file).key}
    assert unkept(tree) == [f"{file}:function"]
    assert unkept(given) == []


def test_an_entry_point_of_an_installed_package_is_a_name(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(file.parent)
    group = "unbraid.networks"
    entry = EntryPoint("wide", "mine:OWN", group)
    bad = EntryPoint("torn", "mine:nothing", group)
    monkeypatch.setattr(references, "_entries", lambda given: {"wide": entry, "torn": bad} if given == group else {})
    assert refer("wide", group) == refer(f"{file}:OWN")
    assert nets.network("wide").source == "own"
    assert refer("wide", "unbraid.methods") == "wide"
    with pytest.raises(
        InputError, match=r"mine:nothing, which an installed package names 'torn', fails: AttributeError"
    ):
        refer("torn", group)


def test_what_cannot_be_found_again_is_refused(file: Path) -> None:
    module = import_file(file)
    with pytest.raises(InputError, match=r"function.<locals>.inner is made inside a function; expected a name at the"):
        refer(module.function())
    with pytest.raises(InputError, match=r"is not a variable of a Python file"):
        refer(nets.Network("lost", module.function))
    with pytest.raises(InputError, match=r"mine.py has no 'Outr'; did you mean 'Outer'\?"):
        resolve(refer(f"{file}:Outr"))
    namespace: dict[str, Any] = {"__name__": "nowhere"}
    exec("def f(): pass", namespace)
    with pytest.raises(InputError, match=r"not a variable of a Python file|not a file"):
        refer(namespace["f"])
