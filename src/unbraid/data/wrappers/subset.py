"""Some of the rows of a data set: chosen at random, listed in a file, on a coarser grid, or drawn by weight."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import torch

from unbraid.arguments import checked, need_whole
from unbraid.data.declaration import Wrapper
from unbraid.data.factors import FactorData, Index, Rng, generator
from unbraid.data.user_files import read_array
from unbraid.data.wrappers.selection import Selection
from unbraid.errors import InputError

MOST_DRAWS = 10**9  # eight gigabytes of row numbers


class Subset(Selection):
    """The given rows of `data`, in the order given."""

    def __init__(self, data: FactorData, rows: Index) -> None:
        rows = data.check_index(rows)
        super().__init__(data, rows, None if data.weights is None else data.weights[rows])


@checked
def split(data: FactorData, fractions: Sequence[float], rng: Rng) -> list[Subset]:
    """Disjoint random subsets with these fractions of the rows; rows beyond the sum of the fractions are in none."""
    if not fractions or min(fractions) <= 0 or sum(fractions) > 1 + 1e-9:
        raise InputError(f"fractions are {list(fractions)}; expected positive numbers that sum to at most 1")
    order = torch.randperm(len(data), generator=generator(rng))
    edges = [min(round(sum(fractions[:i]) * len(data)), len(data)) for i in range(len(fractions) + 1)]
    return [Subset(data, order[start:stop]) for start, stop in pairwise(edges)]


def with_coarse(data: FactorData, coarse: str = "") -> FactorData:
    """`data` on a coarser grid: `x=4,y=4` keeps every fourth value of x and of y, the first among them."""
    keep = torch.ones(len(data), dtype=torch.bool)
    factors = data.all_factors()
    for part in coarse.split(","):
        name, _, step = part.partition("=")
        column = data.column(name)
        if not step.isdecimal() or not 0 < int(step) <= data.sizes[column]:
            raise InputError(f"coarse is '{coarse}'; expected factors with steps from 1 to their size, as x=4,y=4")
        keep &= factors[:, column] % int(step) == 0
    return Subset(data, keep.nonzero().flatten())


def with_rows(data: FactorData, rows: int = 0, rows_seed: int = 0) -> FactorData:
    """This many random rows of `data`, in their order, as a data set of its own."""
    if not 0 < rows <= len(data):
        raise InputError(f"rows is {rows:,}; expected 1 to {len(data):,}, the rows of the data")
    return Subset(data, torch.randperm(len(data), generator=generator(rows_seed))[:rows].sort().values)


def with_row_file(data: FactorData, row_file: str = "") -> Subset:
    """The rows of `data` that an .npy file lists, in its order, as a data set of its own."""
    return Subset(data, read_array(row_file, "rows"))


def with_draws(data: FactorData, draws: int = 0, draws_seed: int = 0) -> Selection:
    """A set of this many random rows of `data`, by weight and with repetition, as a data set of its own."""
    need_whole("draws", draws, 1, MOST_DRAWS)
    drawn = Selection(data, data.sample_index(draws, draws_seed), None)
    drawn.held_out = data.held_out
    return drawn


COARSE = Wrapper(with_coarse, {"coarse": "Keep every so many values of factors: x=4,y=4 keeps a fourth of each."})
ROWS = Wrapper(
    with_rows,
    {"rows": "Take this many random rows as the whole data set.", "rows_seed": "Seed that chooses these rows."},
)
ROW_FILE = Wrapper(
    with_row_file, {"row_file": "An .npy of the rows to take as the whole data set."}, user_files={"row_file": ()}
)
DRAWS = Wrapper(
    with_draws,
    {"draws": "Take this many random draws as the whole data set.", "draws_seed": "Seed that chooses them."},
    divides=True,
)
