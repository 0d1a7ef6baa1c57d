from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unbraid.errors import InputError
from unbraid.metrics.code_files import read_codes


def test_an_npz_with_and_without_names_and_a_test_set(tmp_path: Path) -> None:
    codes, factors = np.random.default_rng(0).normal(size=(5, 3)), np.arange(5)
    np.savez(tmp_path / "a.npz", codes=codes, factors=factors)
    found = read_codes(tmp_path / "a.npz")
    assert np.array_equal(found.codes, codes)
    assert found.factors.shape == (5, 1)
    assert (found.names, found.test) == (["0"], None)
    np.savez(tmp_path / "b.npz", codes=codes, factors=factors, names=["digit"], test_codes=codes, test_factors=factors)
    found = read_codes(tmp_path / "b.npz")
    assert found.names == ["digit"]
    assert found.test is not None


def test_a_csv_numbers_words(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("z0,shape,z1,size\n0.5,heart,1,3\n0.25,square,2,4\n0,heart,3,3\n")
    found = read_codes(tmp_path / "a.csv", ["shape", "size"])
    assert found.codes.tolist() == [[0.5, 1], [0.25, 2], [0, 3]]
    assert found.factors.tolist() == [[0, 3], [1, 4], [0, 3]]
    assert found.names == ["shape", "size"]


def test_a_csv_keeps_numbers_as_they_are(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("z,size,on,word\n1,0.5,True,b\n2,0.25,False,a\n3,4,True,b\n")
    found = read_codes(tmp_path / "a.csv", ["size", " on", "word"])
    assert found.factors.tolist() == [[0.5, 1, 1], [0.25, 0, 0], [4, 1, 1]]  # words by the alphabet
    assert found.names == ["size", "on", "word"]


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
    assert found.factors.tolist() == [[1], [2]]
    assert found.test is not None
    assert found.test[1].tolist() == [[2], [0]]


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
        ("a.txt", [], "is not an .npz, .csv or .parquet file"),
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
        ("a.csv", ["shape", "note"], "column 'shape' of a.csv is empty or not a number in line 3; expected a value"),
        ("a.csv", ["shape", "shape"], "--factors names 'shape' twice"),
        ("semicolons.csv", ["shape"], "has one column, 'z0;shape'; expected columns separated by commas"),
        ("rows.csv", ["shape"], "rows.csv has column names but no rows"),
        ("holes.csv", ["shape"], "column 'z0' of holes.csv is empty or not a number in line 3; expected a value"),
        ("inf.csv", ["shape"], "column 'z0' of inf.csv is inf in line 3; expected a value in every row"),
        ("a.csv", ["z0", "shape", "note"], "expected at least one column of codes"),
    ]
    for name, factors, message in cases:
        with pytest.raises(InputError, match=message):
            read_codes(tmp_path / name, factors)
