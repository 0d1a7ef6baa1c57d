from __future__ import annotations

import doctest
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from unbraid.data import labels
from unbraid.data.labels import as_labels, read_types, together
from unbraid.errors import InputError

NAN = math.nan


@pytest.mark.parametrize(
    ("column", "kind", "values"),
    [
        (["b", "a", "b"], "classes", [1, 0, 1]),
        ([True, False, True], "classes", [1, 0, 1]),
        (np.array(["x", "", "y"]), "classes", [0, NAN, 1]),
        (["x", None, "y"], "classes", [0, NAN, 1]),
        (["10", 9, "10"], "classes", [0, 1, 0]),
        ([3, 1, 3], "ordered", [3, 1, 3]),
        ([3.0, 1.0, NAN], "ordered", [3, 1, NAN]),
        ([3, None, 1], "ordered", [3, NAN, 1]),
        ([0.5, 0.25, 3.0], "continuous", [0.5, 0.25, 3]),
        ([2**60, 2**60 + 1, 2**60], "ordered", [0, 1, 0]),  # which floats do not tell apart
        (np.array([2**64 - 1, 5], dtype=np.uint64), "ordered", [1, 0]),
        (torch.tensor([1, 2]), "ordered", [1, 2]),
        (pd.Series(["b", "a", None]), "classes", [1, 0, NAN]),
        (pd.Series([1, None, 3], dtype="Int64"), "ordered", [1, NAN, 3]),
        (pd.Series([7, 3, 7], dtype="category"), "classes", [1, 0, 1]),
        (pd.Series(pd.Categorical(["low", "high"], ["low", "high"], ordered=True)), "ordered", [0, 1]),
        (pd.Series([True, None, False], dtype="boolean"), "classes", [1, NAN, 0]),
    ],
    ids=str,
)
def test_types_follow_the_rules(column: Any, kind: str, values: list[float]) -> None:
    found = as_labels({"v": column})
    assert found.types == (kind,)
    np.testing.assert_array_equal(found.values[:, 0], values)
    assert found.complete.tolist() == [value == value for value in values]
    assert as_labels(pd.DataFrame({"v": column})).types == (kind,)


def test_few_values_of_a_grid_are_ordered_with_a_note() -> None:
    column = np.tile([0.5, 0.6, 0.7, 1.0], 20)
    found = as_labels({"scale": column, "x": np.linspace(0.1, 0.9, 80)})
    assert found.types == ("ordered", "continuous")
    assert found.levels[0] == (0.5, 0.6, 0.7, 1.0)
    assert found.values[:4, 0].tolist() == [0, 1, 2, 3]
    assert found.notes == (
        "factor 'scale' has 4 values from 0.5 to 1, which are taken as ordered values; its type may also be continuous",
    )
    asked = as_labels(column, ["scale"], {"scale": "continuous"})
    assert (asked.types, asked.notes) == (("continuous",), ())
    assert asked.table()[:4, 0].tolist() == [0.5, 0.6, 0.7, 1.0]


def test_types_can_be_said() -> None:
    ids = np.array([[4, 9, 4]]).T
    assert as_labels(ids, ["id"], {"id": "classes"}).values[:, 0].tolist() == [0, 1, 0]
    whole = as_labels(ids, ["id"], {"id": "continuous"})
    assert whole.table()[:, 0].tolist() == [4.5, 9.5, 4.5]  # metrics would count whole numbers
    assert as_labels([0.5, 0.25], None, {"0": "ordered"}).values[:, 0].tolist() == [1, 0]
    assert as_labels(as_labels(ids), types={"0": "classes"}).types == ("classes",)
    assert read_types(" a=classes, b=c=continuous") == {"a": "classes", "b=c": "continuous"}


def test_two_tables_number_words_alike() -> None:
    both, cut = together({"v": ["b", "c"]}, {"v": ["c", "a", "b"]})
    assert (both.values[:, 0].tolist(), cut) == ([1, 2, 2, 0, 1], 2)
    frames = [pd.DataFrame({"v": pd.Categorical(values)}) for values in ([3, 5], [5, 4])]
    assert together(*frames)[0].types == ("classes",)
    with pytest.raises(InputError, match="factors have 1 columns but 2 in the test set"):
        together(np.ones((3, 1)), np.ones((3, 2)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None,), "factors are None; expected an array"),
        (("abc",), "factors are 'abc'; expected an array"),
        ((np.zeros((3, 2, 2)),), r"factors have shape \(3, 2, 2\); expected \(samples, columns\)"),
        ((np.zeros((0, 2)),), r"factors have shape \(0, 2\)"),
        (([[1], [2, 3]],), "factors have rows of different lengths"),
        (({"a": [1], "b": [1, 2]},), "columns of different lengths"),
        ((np.zeros((3, 2)), ["a"]), "there are 1 names for 2 factors"),
        ((np.zeros((3, 2)), ["a", "a"]), "two factors are called 'a'"),
        ((pd.DataFrame(np.zeros((3, 2)), columns=["a", "a"]),), "two columns of factors have the same name"),
        ((np.zeros(3), ["size"], {"siz": "classes"}), "there is no factor 'siz'; did you mean 'size'"),
        ((np.zeros(3), ["size"], {"size": "words"}), "the type of factor 'size' is 'words'; expected classes, ordered"),
        ((["a"], ["size"], {"size": "ordered"}), "factor 'size' has words or booleans, which have no order"),
        (([1.0, math.inf], ["size"]), "factor 'size' is inf at row 1; expected finite numbers"),
        ((np.array(["2020-01-01"], dtype="datetime64[D]"), ["day"]), "factor 'day' is datetime64"),
    ],
)
def test_errors_are_one_line(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InputError, match=f"^{message}|{message}"):
        as_labels(*arguments)
    with pytest.raises(InputError, match="types has 'a'; expected NAME=TYPE"):
        read_types("a")


def test_examples_in_docstrings_run() -> None:
    assert doctest.testmod(labels).failed == 0
