from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix

from unbraid.data.labels import as_labels, together
from unbraid.errors import InputError
from unbraid.metrics.code_files import CodeTable, from_anndata, read_codes


def test_an_npz_with_and_without_names_and_a_test_set(tmp_path: Path) -> None:
    codes, factors = np.random.default_rng(0).normal(size=(5, 3)), np.arange(5)
    np.savez(tmp_path / "a.npz", codes=codes, factors=factors)
    found = read_codes(tmp_path / "a.npz")
    assert np.array_equal(found.codes, codes)
    assert (list(found.factors), found.test, found.code_names) == (["0"], None, ["0", "1", "2"])
    np.savez(tmp_path / "b.npz", codes=codes, factors=factors, names=["digit"], test_codes=codes, test_factors=factors)
    found = read_codes(tmp_path / "b.npz")
    assert list(found.factors) == ["digit"]
    assert found.test is not None


def labels(found: CodeTable) -> list[list[float]]:
    return as_labels(found.factors).values.tolist()


def test_a_csv_numbers_words(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("z0,shape,z1,size\n0.5,heart,1,3\n0.25,square,2,4\n0,heart,3,3\n")
    found = read_codes(tmp_path / "a.csv", ["shape", "size"])
    assert found.codes.tolist() == [[0.5, 1], [0.25, 2], [0, 3]]
    assert labels(found) == [[0, 3], [1, 4], [0, 3]]
    assert as_labels(found.factors).types == ("classes", "ordered")
    assert list(found.factors) == ["shape", "size"]
    assert found.code_names == ["z0", "z1"]


def test_a_csv_keeps_numbers_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("z,size,on,word\n1,0.5,True,b\n2,0.25,False,a\n3,4,True,b\n")
    found = read_codes(tmp_path / "a.csv", ["size", " on", "word"])
    assert labels(found) == [[0.5, 1, 1], [0.25, 0, 0], [4, 1, 1]]  # words by the alphabet
    assert as_labels(found.factors).types == ("continuous", "classes", "classes")
    assert list(found.factors) == ["size", "on", "word"]


def test_columns_are_chosen_by_name_and_wildcard(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("z0,z1,digit,time,note,style\n1,2,3,4,a,x\n5,6,7,8,b,y\n")
    found = read_codes(tmp_path / "a.csv", ["digit"], codes=["z*"])
    assert (found.code_names, list(found.factors)) == (["z0", "z1"], ["digit"])
    found = read_codes(tmp_path / "a.csv", ["digit", "style"], ignore=["note", "z1", "style"])
    assert (found.code_names, list(found.factors)) == (["z0", "time"], ["digit"])
    codes = np.arange(6.0).reshape(2, 3)
    np.savez(tmp_path / "a.npz", codes=codes, factors=np.ones((2, 2)), names=["x", "y"], code_names=["a", "b", "c"])
    found = read_codes(tmp_path / "a.npz", ignore=["x", "b"])
    assert (found.code_names, list(found.factors)) == (["a", "c"], ["y"])
    assert found.codes.tolist() == [[0, 2], [3, 5]]
    np.savez(tmp_path / "b.npz", codes=codes, factors=np.ones((2, 2)))
    assert read_codes(tmp_path / "b.npz", ignore=["0"]).codes.shape == (2, 3)  # the factor, not the code
    for arguments, message in (
        ({"codes": ["y*"]}, "a.csv has no column 'y\\*'"),
        ({"codes": ["digit"]}, "'digit' is in --codes and in --factors"),
        ({"ignore": ["*"]}, "no column of a.csv remains for codes"),
        ({"ignore": ["note", "style", "digit"]}, "no column of a.csv remains for factors"),
    ):
        with pytest.raises(InputError, match=message):
            read_codes(tmp_path / "a.csv", ["digit"], **arguments)
    with pytest.raises(InputError, match=r"nothing remains of a.npz"):
        read_codes(tmp_path / "a.npz", ignore=["x", "y"])


def test_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    """pandas would call the second digit.1, which would then be a code that tells the factor."""
    (tmp_path / "a.csv").write_text("z,digit,digit\n1,2,2\n3,4,4\n")
    with pytest.raises(InputError, match=r"^a.csv has 2 columns called 'digit'; expected different names$"):
        read_codes(tmp_path / "a.csv", ["digit"])
    (tmp_path / "b.csv").write_text("z,digit,digit.1\n1,2,2\n3,4,4\n")
    assert read_codes(tmp_path / "b.csv", ["digit"]).code_names == ["z", "digit.1"]


def test_a_missing_label_is_kept_as_missing(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("z0,shape,size\n0.5,heart,1\n0.25,,2\n1,square,\n")
    found = as_labels(read_codes(tmp_path / "a.csv", ["shape", "size"]).factors)
    assert found.complete.tolist() == [True, False, False]
    assert found.types == ("classes", "ordered")


@dataclass
class Cells:
    """The parts of AnnData that are read."""

    X: Any
    obs: pd.DataFrame
    obsm: dict[str, Any]
    var_names: list[str]


def test_annotated_cells() -> None:
    obs = pd.DataFrame({"type": pd.Categorical(["b", "t", "b"]), "age": [1.5, 2.5, 3.25]})
    cells = Cells(csr_matrix(np.eye(3)), obs, {"X_pca": np.ones((3, 2))}, ["g0", "g1", "g2"])
    found = from_anndata(cells, Path("a.h5ad"), ["type", "age"], ignore=["g1"])
    assert found.code_names == ["g0", "g2"]
    assert as_labels(found.factors).types == ("classes", "continuous")
    assert from_anndata(cells, Path("a.h5ad"), ["type"], ["X_pca"]).code_names == ["X_pca_0", "X_pca_1"]
    with pytest.raises(InputError, match="--codes is 'X_umap'; expected one of obsm: X_pca"):
        from_anndata(cells, Path("a.h5ad"), ["type"], ["X_umap"])
    with pytest.raises(InputError, match=r"say which columns of obs are factors with --factors; it has type, age"):
        from_anndata(cells, Path("a.h5ad"), [])


def test_the_row_numbers_that_pandas_writes_are_no_code(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(",z,digit\n0,0.5,3\n1,0.25,4\n")
    line = r"^the first column of a.csv has no name and numbers the rows; it is left out$"
    with pytest.warns(UserWarning, match=line):
        found = read_codes(tmp_path / "a.csv", ["digit"])
    assert found.codes.tolist() == [[0.5], [0.25]]
    (tmp_path / "a.csv").write_text(",z,digit\n7,0.5,3\n1,0.25,4\n")
    assert read_codes(tmp_path / "a.csv", ["digit"]).codes.shape == (2, 2)


def test_an_npz_of_words_numbers_them_alike_in_both_sets(tmp_path: Path) -> None:
    codes = np.zeros((2, 1))
    np.savez(tmp_path / "a.npz", codes=codes, factors=["b", "c"], test_codes=codes, test_factors=["c", "a"])
    found = read_codes(tmp_path / "a.npz")
    assert found.test is not None
    both, cut = together(found.factors, found.test[1])
    assert (both.values.tolist(), cut) == ([[1], [2], [2], [0]], 2)


def test_bad_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("z0,shape,note\n0.5,heart,x\n0.25,,y\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04")
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "text.npz").write_text("z0,z1")
    (tmp_path / "semicolons.csv").write_text("z0;shape\n1;2\n")
    (tmp_path / "rows.csv").write_text("z0,shape\n")
    (tmp_path / "holes.csv").write_text("z0,shape\n1,2\n,3\n")
    (tmp_path / "inf.csv").write_text("z0,shape\n1,2\ninf,3\n")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    np.savez(tmp_path / "half.npz", codes=np.zeros(3), factors=np.zeros(3), test_codes=np.zeros(3))
    np.savez(tmp_path / "names.npz", codes=np.zeros(3), factors=np.zeros(3), names=["a", "b"])
    np.savez(tmp_path / "pickle.npz", codes=np.array([{}], dtype=object), factors=np.zeros(1), allow_pickle=True)
    cases: list[tuple[str, list[str], str]] = [
        ("nothing.npz", [], "does not exist; expected a run folder"),
        ("a.txt", [], "is not a file of .npz, .csv, .parquet, .h5ad"),
        ("bad.npz", [], "is not an .npz file despite its name; numpy.savez writes them"),
        ("text.npz", [], "is not an .npz file despite its name; numpy.savez writes them"),
        ("pickle.npz", [], "holds Python objects, which are not read; expected codes and factors"),
        ("half.npz", [], "holds test_codes but no test_factors; a test set needs both"),
        ("names.npz", [], "holds 2 names for 1 factors"),
        ("names.npz", ["a"], "--factors is for .csv and .parquet; names.npz has its factors in the array 'factors'"),
        ("other.npz", [], "holds x; expected arrays 'codes' and 'factors'"),
        ("empty.csv", [], "cannot be read"),
        ("a.csv", [], "say which columns of a.csv are factors with --factors; it has z0, shape, note"),
        ("a.csv", ["shap"], "has no column 'shap'; did you mean 'shape'"),
        ("a.csv", ["shape"], "column 'note' of a.csv is not numeric"),
        ("a.csv", ["shape", "shape"], "--factors names 'shape' twice"),
        ("semicolons.csv", ["shape"], "has one column, 'z0;shape'; expected columns separated by commas"),
        ("rows.csv", ["shape"], "rows.csv has column names but no rows"),
        ("holes.csv", ["shape"], "column 'z0' of holes.csv is empty or not a number in line 3; expected a value"),
        ("inf.csv", ["shape"], "column 'z0' of inf.csv is inf in line 3; expected a value in every row"),
        ("a.csv", ["z0", "shape", "note"], "no column of a.csv remains for codes"),
    ]
    for name, factors, message in cases:
        with pytest.raises(InputError, match=message):
            read_codes(tmp_path / name, factors)


def test_rows_of_more_cells_than_names_are_refused(tmp_path: Path) -> None:
    """Else pandas takes the first column for names of rows, and every other column gets the name before its own."""
    rows = [f"{row},{row}.5,{row % 2}" for row in range(9)]
    (tmp_path / "a.csv").write_text("\n".join(["x,y,a", *(f"{row}," for row in rows)]))
    assert read_codes(tmp_path / "a.csv", ["a"]).codes[3].tolist() == [3, 3.5]
    (tmp_path / "a.csv").write_text("\n".join(["x,y,a", *(f"{row},7" for row in rows)]))
    with pytest.raises(InputError, match=r"a\.csv has rows of more cells than its first line has names"):
        read_codes(tmp_path / "a.csv", ["a"])


@pytest.mark.parametrize("name", ["\x1b[31m", "a\x07", "\u202e"])
def test_a_name_that_would_command_a_terminal_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "a.csv").write_text(f"x,{name}\n1,2\n")
    np.savez(tmp_path / "a.npz", codes=np.zeros((5, 2)), factors=np.zeros((5, 2)), names=["x", name])
    for path in (tmp_path / "a.csv", tmp_path / "a.npz"):
        with pytest.raises(InputError, match="expected a name that can be printed"):
            read_codes(path, ["x"] if path.suffix == ".csv" else ())


def test_columns_and_names_have_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("unbraid.metrics.code_files", "unbraid.data.tables"):
        monkeypatch.setattr(f"{module}.COLUMNS_LIMIT", 3)
    (tmp_path / "a.csv").write_text("x,y,z,a\n1,2,3,4\n")
    np.savez(tmp_path / "a.npz", codes=np.zeros((1, 4)), factors=np.zeros((1, 1)))
    for path in (tmp_path / "a.csv", tmp_path / "a.npz"):
        with pytest.raises(InputError, match="4 columns; expected at most 3"):
            read_codes(path, ["a"] if path.suffix == ".csv" else ())
    np.savez(tmp_path / "b.npz", codes=np.zeros((2, 2)), factors=np.zeros((2, 1)), names=["a"] * 1000)
    with pytest.raises(InputError, match="holds 1,000 names for 1 factors"):
        read_codes(tmp_path / "b.npz")
