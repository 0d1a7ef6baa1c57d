"""Which files a source has, what its digest follows, and that each version of a file is imported as itself."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pytest

from unbraid.errors import InputError
from unbraid.own.sources import Source, import_file


def write(folder: Path, **files: str) -> None:
    """Write Python files; `a__b` is `a/b.py`."""
    for name, text in files.items():
        path = (
            folder / f"{name.replace('__', '/')}.py"
            if not name.endswith("init")
            else folder / name[:-4] / "__init__.py"
        )
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_the_files_are_those_that_it_imports_directly_and_through_others(tmp_path: Path) -> None:
    write(
        tmp_path,
        main="import os, numpy.linalg\nimport one\nfrom folder.inner import x\ndef f():\n    from two import y\n",
        one="from three import *", two="", three="import main", four="", folder__inner="from . import near",
        folder__near="", folder__far="", random="", unbraid="",
    )  # fmt: skip
    source = Source.read(tmp_path / "main.py")
    assert sorted(source.files) == [
        "folder/inner.py", "folder/near.py", "main.py", "one.py", "three.py", "two.py"
    ]  # fmt: skip
    assert source.main == "main.py"


def test_a_file_of_a_package_is_read_with_its_package(tmp_path: Path) -> None:
    write(
        tmp_path, packageinit="",
        package__method="from .losses import a\nimport package.extra\nimport beside\nimport other",
        package__losses="", package__extra="", package__beside="", package__unused="", other="", beside="",
    )  # fmt: skip
    source = Source.read(tmp_path / "package" / "method.py")
    assert source.main == "package/method.py"
    names = ["__init__", "beside", "extra", "losses", "method"]
    assert sorted(source.files) == [f"package/{name}.py" for name in names], "`other` is another package"


def test_the_digest_follows_the_contents_of_all_its_files_and_not_their_place(tmp_path: Path) -> None:
    for name in ("here", "there"):
        write(tmp_path / name, main="import near", near="X = 1", beside="")
    here, there = (Source.read(tmp_path / name / "main.py") for name in ("here", "there"))
    assert here.digest == there.digest
    write(tmp_path / "there", beside="changed")
    assert Source.read(tmp_path / "there" / "main.py").digest == here.digest, "it does not import that one"
    write(tmp_path / "there", near="X = 2")
    assert Source.read(tmp_path / "there" / "main.py").digest != here.digest


def test_versions_live_side_by_side_and_the_neighbours_stay_their_own(tmp_path: Path) -> None:
    write(tmp_path, main="import near\ndef late():\n    import near.deep as deep\n    return deep.Y\nX = near.X")
    write(tmp_path, nearinit="X = 1", near__deep="Y = 1")
    first = import_file(tmp_path / "main.py")
    write(tmp_path, nearinit="X = 20", near__deep="Y = 20")
    second = import_file(tmp_path / "main.py")
    assert (first.X, first.late(), second.X, second.late()) == (1, 1, 20, 20)
    assert "near" not in sys.modules
    assert import_file(tmp_path / "main.py") is second
    assert first.__file__ == second.__file__ == str(tmp_path / "main.py")


def test_what_it_defines_can_be_sent_to_a_process_that_has_the_source(tmp_path: Path) -> None:
    write(tmp_path, main="from near import Near\nclass Own(Near):\n    pass", near="class Near:\n    pass")
    module = import_file(tmp_path / "main.py")
    assert pickle.loads(pickle.dumps(module.Own)) is module.Own
    source = pickle.loads(pickle.dumps(Source.read(tmp_path / "main.py")))
    assert source.module() is module


def test_a_part_is_the_source_of_that_file_alone(tmp_path: Path) -> None:
    write(
        tmp_path, study="import models.vae, models.odd", models__vae="import penalty", models__penalty="",
        models__odd="import above", above="",
    )  # fmt: skip
    study = Source.read(tmp_path / "study.py")
    assert "models/penalty.py" not in study.files, "not beside the study: there it cannot be imported"
    write(tmp_path, models__vae="from . import penalty")
    study, alone = Source.read(tmp_path / "study.py"), Source.read(tmp_path / "models" / "vae.py")
    part, file = study.part("models/vae.py")
    assert (part.digest, part.folder, part.main, file) == (alone.digest, tmp_path / "models", "vae.py", "vae.py")
    assert study.part("models/odd.py") == (study, "models/odd.py"), "what it imports is not its neighbour"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = (", r"main.py cannot be imported: SyntaxError"),
        ("import near", r"main.py cannot be imported: near.py, line 2: ZeroDivisionError: division by zero"),
        ("import no_such_module", r"main.py cannot be imported: main.py, line 1: ModuleNotFoundError: No module named"),
        ("raise SystemExit(3)", r"main.py cannot be imported: .*SystemExit: 3"),
    ],
)
def test_a_file_that_cannot_be_imported_is_named_with_the_line(tmp_path: Path, text: str, message: str) -> None:
    write(tmp_path, main=text, near="\n1 / 0")
    for _ in range(2):
        with pytest.raises(InputError, match=message):
            import_file(tmp_path / "main.py")


def test_a_file_that_uses_itself_while_it_is_imported_is_told_what_to_do(tmp_path: Path) -> None:
    write(
        tmp_path,
        main="from pathlib import Path\nfrom unbraid.own.sources import import_file\nimport_file(Path(__file__))",
    )
    with pytest.raises(InputError, match=r"main.py is used while it is imported; put what uses it under `if __name__"):
        import_file(tmp_path / "main.py")


def test_what_is_no_python_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no file .*main.py"):
        Source.read(tmp_path / "main.py")
    (tmp_path / "main.txt").touch()
    with pytest.raises(InputError, match=r"main.txt is not a Python file"):
        Source.read(tmp_path / "main.txt")
