from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from unbraid.errors import InputError
from unbraid.tables import read_codes


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


def test_bad_files_are_named(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("z0,shape,note\n0.5,heart,x\n0.25,,y\n")
    (tmp_path / "empty.csv").write_text("")
    (tmp_path / "bad.npz").write_bytes(b"PK\x03\x04")
    (tmp_path / "a.txt").write_text("")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    np.savez(tmp_path / "pickle.npz", codes=np.array([{}], dtype=object), factors=np.zeros(1), allow_pickle=True)
    cases: list[tuple[str, list[str], str]] = [
        ("nothing.npz", [], "does not exist; expected a run folder"),
        ("a.txt", [], "is no .npz, .csv or .parquet file"),
        ("bad.npz", [], "cannot be read as an .npz"),
        ("pickle.npz", [], "cannot be read as an .npz"),
        ("other.npz", [], "holds x; expected arrays 'codes' and 'factors'"),
        ("empty.csv", [], "cannot be read"),
        ("a.csv", [], "say which columns of a.csv are factors with --factors; it has z0, shape, note"),
        ("a.csv", ["shap"], "has no column 'shap'; did you mean 'shape'"),
        ("a.csv", ["shape"], "column 'note' of a.csv is not numeric"),
        ("a.csv", ["shape", "note"], "factor 'shape' of a.csv has empty cells"),
        ("a.csv", ["z0", "shape", "note"], "no codes are left"),
    ]
    for name, factors, message in cases:
        with pytest.raises(InputError, match=message):
            read_codes(tmp_path / name, factors)
