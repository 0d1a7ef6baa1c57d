"""Laws that every metric must obey, by a table of what kind of metric it is. A metric without a row fails."""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import Phase, example, given, settings
from hypothesis import strategies as st

from unbraid.errors import InputError
from unbraid.metrics import METRICS, Scores, entangle, total_correlation, udr

Array = np.ndarray[Any, Any]
pytestmark = pytest.mark.filterwarnings("ignore")  # few rows make many learners complain

SIZES = (3, 4, 2)
GUESS = sum(1 / size for size in SIZES) / len(SIZES)  # the accuracy of uninformative codes
GRID = np.stack(np.meshgrid(*map(np.arange, SIZES), indexing="ij"), -1).reshape(-1, len(SIZES))
VOTES = {"batch": 16, "train_points": 400, "test_points": 200}
EXACT = 1e-9


@dataclass(frozen=True)
class Kind:
    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    keys: tuple[str, ...] = ()
    """The scores that describe codes as a whole; by default the one of the metric's name."""
    moves: float = EXACT
    """How far a score may move when codes or samples are permuted or flipped: by rounding only, or by what fits and
    random draws add."""
    scale_free: bool = True
    low: float = 0.0
    high: float = 1.0
    best: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Scores of one code per factor, with tolerances."""
    noise: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Scores of uninformative codes, if these are the worst. Left out: scores that noise can raise."""
    falls: tuple[str, ...] = ()
    """Scores of disentanglement, which `entangle` must lower."""
    continuous: str = "refused"
    """What happens to a continuous factor: `refused`, `binned` if `factor_bins` is given, or `taken` as it is."""

    def __str__(self) -> str:
        return self.name + "".join(f"-{value}" for value in self.settings.values() if isinstance(value, str))

    def of(self, scores: Scores) -> Array:
        return np.array([scores[key] for key in self.keys or (self.name,)])


def one(name: str, best: float, noise: float | None, within: float = 0.05, **rest: Any) -> Kind:
    """A metric with a single score."""
    worst = {} if noise is None else {name: (noise, within)}
    return Kind(name, best={name: (best, 1e-6)}, noise=worst, **rest)


D, C, I = "disentanglement", "completeness", "informativeness"  # noqa: E741
KINDS = [
    one("mig", 1, 0, falls=("mig",), continuous="binned"),
    Kind(
        "dci",
        {"estimator": "gbt"},
        keys=(D, C, I),
        moves=0.05,
        best={D: (1, 1e-6), C: (1, 1e-6), I: (1, 1e-6)},
        noise={D: (0, 0.05), C: (0, 0.05), I: (GUESS, 0.1)},
        falls=(D, C),
    ),
    Kind(
        "dci",
        {"estimator": "l1_svm"},
        keys=(D, C, I),
        moves=0.05,
        best={D: (1, 0.2)},  # the middle values of a factor are not a half-line of its code
        falls=(D, C),
    ),
    Kind(
        "dci",
        {"estimator": "lasso"},
        keys=(D, C, I),
        moves=1e-2,
        low=-1,
        best={D: (1, 1e-6), C: (1, 1e-6), I: (1, 1e-2)},
        noise={I: (0, 0.1)},
        falls=(D, C),
        continuous="taken",
    ),
    Kind(
        "dci",
        {"estimator": "forest", "max_depth": 3},
        keys=(D, C, I),
        moves=0.05,
        low=-1,
        best={D: (1, 1e-6), C: (1, 1e-6), I: (1, 0.02)},
        noise={I: (0, 0.1)},
        falls=(D, C),
        continuous="taken",
    ),
    one("sap", 1, 0, settings={"predictor": "r2"}, falls=("sap",), continuous="taken"),
    Kind("sap", {"predictor": "svm"}, moves=0.05, scale_free=False, noise={"sap": (0, 0.1)}, falls=("sap",)),
    one("modularity", 1, None, falls=("modularity",), continuous="binned"),
    one("explicitness", 1, 0.5, 0.1, moves=1e-3),
    one("beta_vae_score", 1, 1 / 3, 0.12, settings=VOTES, moves=0.12, scale_free=False, falls=("beta_vae_score",)),
    one("factor_vae_score", 1, 1 / 3, 0.12, settings=VOTES, moves=0.12, falls=("factor_vae_score",)),
    one("irs", 1, 0, 0.35, scale_free=False, low=-1, falls=("irs",), continuous="taken"),
    Kind(
        "infomec",
        keys=("infom", "infoe", "infoc"),
        moves=1e-2,
        best={"infom": (1, 0.05), "infoe": (1, 0.05), "infoc": (1, 0.05)},
        noise={"infoe": (0, 0.05)},
        falls=("infom", "infoc"),
        continuous="taken",
    ),
    one("mig_sup", 1, 0, falls=("mig_sup",), continuous="binned"),
    one("jemmig", 1, 0, 0.15, falls=("jemmig",), continuous="binned"),
    one("dcimig", 1, 0, falls=("dcimig",), continuous="binned"),
    one("med", 1, 0, falls=("med",), continuous="binned"),
    one("mcc", 1, 0, 0.12, falls=("mcc",), continuous="taken"),
    one("linear_r2", 1, 0, 0.05, moves=1e-6, low=-1, continuous="taken"),
    Kind(
        "retrieved_factors",
        {"bonferroni": True},
        keys=("retrieved", "fraction", "mean"),
        high=len(SIZES),
        best={"retrieved": (3, 0), "fraction": (1, 0), "mean": (1, 1e-6)},
        noise={"retrieved": (0, 0), "mean": (0, 0)},
        continuous="taken",
    ),
    Kind(
        "dci_es",
        {"capacities": (0, 8, 32), "draws": 1},
        keys=("explicitness", "size", "informativeness"),
        moves=0.1,
        best={"explicitness": (1, 0.02), "size": (1, 0), "informativeness": (1, 0.02)},
        noise={"informativeness": (0, 0.1)},
        continuous="taken",
    ),
    Kind(
        "downstream",
        {"sizes": (100,)},
        keys=("logistic.100", "gbt.100"),
        moves=0.12,
        high=math.inf,  # the efficiency
        best={"logistic.100": (1, 0.02), "gbt.100": (1, 0.02)},
        noise={"logistic.100": (GUESS, 0.1), "gbt.100": (GUESS, 0.1)},
    ),
    Kind(
        "probes",
        keys=("r", "gap"),
        moves=0.05,
        best={"r": (1, 0.02)},
        noise={"r": (GUESS, 0.1), "gap": (0, 0.1)},
        falls=("gap",),
        continuous="taken",
    ),
    one("total_correlation", 0, 0, moves=1e-9, high=math.inf),
    Kind(
        "wasserstein_correlation",
        keys=("wasserstein_correlation", "normalised"),
        moves=1e-6,
        scale_free=False,
        high=math.inf,
        best={"wasserstein_correlation": (0, 1e-6), "normalised": (0, 1e-6)},
        noise={"normalised": (0, 0.05)},
    ),
    one("code_information", 0, None, high=math.inf),
    one("active_units", 3, 3, 0, scale_free=False, high=math.inf),
]
SLOW = {"dci", "downstream", "dci_es", "infomec", "probes", "explicitness", "sap"}  # they fit models
BY_NAME = {str(kind): kind for kind in KINDS}
EVERY = pytest.mark.parametrize("kind", KINDS, ids=str)
SUPERVISED = pytest.mark.parametrize("kind", [kind for kind in KINDS if METRICS[kind.name].reads != "codes"], ids=str)
FALLING = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.falls], ids=str)
seeds = st.integers(0, 2**31)


@pytest.fixture(autouse=True, scope="module")
def _small() -> Iterator[None]:
    """The laws hold for any number of trees and of strengths of a penalty: few of them, to be quick."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("unbraid.metrics._forest.TREES", 25)
        patch.setattr("unbraid.metrics._logistic.STRENGTHS", np.array([0.01, 1.0, 100.0]))
        yield


def tried(kind: Kind | None = None) -> settings:
    """The stated example, and three random ones for metrics that are quick."""
    slow = kind is not None and kind.name in SLOW
    phases = (Phase.explicit,) if slow else (Phase.explicit, Phase.generate, Phase.shrink)
    return settings(derandomize=True, deadline=None, max_examples=3, database=None, phases=phases)


def factors_of(n: int, rng: np.random.Generator) -> Array:
    return GRID[rng.permutation(np.arange(n) % len(GRID))]


def mixed(seed: int, n: int = 240) -> tuple[Array, Array]:
    """Codes with something of everything: a mixture of the factors, noise, and one code of noise alone."""
    rng = np.random.default_rng(seed)
    factors = factors_of(n, rng)
    spread = (factors - factors.mean(0)) / factors.std(0)
    weights = np.eye(3) + 0.5 * rng.normal(size=(3, 3))
    return np.hstack([spread @ weights + 0.1 * rng.normal(size=(n, 3)), rng.normal(size=(n, 1))]), factors


def measured(kind: Kind, codes: Any, factors: Any, test: Any = None) -> Scores:
    metric = METRICS[kind.name]
    if metric.reads == "codes":
        return metric.function(codes, rng=0, **kind.settings)
    if metric.reads == "split" and test is not None:
        return metric.function(codes, factors, test=test, rng=0, **kind.settings)
    return metric.function(codes, factors, rng=0, **kind.settings)


def halves(kind: Kind, codes: Array, factors: Array) -> Array:
    """The scores with the second half of the rows for the test set, so that no random split moves them."""
    if METRICS[kind.name].reads != "split":
        return kind.of(measured(kind, codes, factors))
    cut = len(codes) // 2
    return kind.of(measured(kind, codes[:cut], factors[:cut], (codes[cut:], factors[cut:])))


@functools.cache
def unchanged(kind: str, seed: int) -> Array:
    """The scores that a change of codes or samples must keep."""
    return halves(BY_NAME[kind], *mixed(seed))


def few(kind: Kind, factors: Array, count: int = 1) -> Array:
    """A metric that fits a model for each factor needs no more than `count` of them to be tried."""
    return factors[:, -count:] if kind.name in SLOW else factors


def within(kind: Kind, scores: Scores) -> None:
    for name, value in scores.items():
        assert math.isfinite(value), name
        assert kind.low - EXACT <= value <= kind.high + EXACT, name


def test_every_metric_is_classified() -> None:
    assert {kind.name for kind in KINDS} == set(METRICS)


@EVERY
def test_permuting_codes_changes_nothing(kind: Kind) -> None:
    @tried(kind)
    @given(seed=seeds, order=st.permutations(range(4)))
    @example(seed=0, order=[2, 0, 3, 1])
    def check(seed: int, order: list[int]) -> None:
        codes, factors = mixed(seed)
        assert halves(kind, codes[:, order], factors) == pytest.approx(unchanged(str(kind), seed), abs=kind.moves)

    check()


@EVERY
def test_flipping_signs_changes_nothing(kind: Kind) -> None:
    @tried(kind)
    @given(seed=seeds, signs=st.lists(st.sampled_from([-1.0, 1.0]), min_size=4, max_size=4))
    @example(seed=0, signs=[-1.0, 1.0, -1.0, -1.0])
    def check(seed: int, signs: list[float]) -> None:
        codes, factors = mixed(seed)
        assert halves(kind, codes * signs, factors) == pytest.approx(unchanged(str(kind), seed), abs=kind.moves)

    check()


@EVERY
def test_permuting_samples_changes_nothing(kind: Kind) -> None:
    @tried(kind)
    @given(seed=seeds)
    @example(seed=0)
    def check(seed: int) -> None:
        codes, factors = mixed(seed)
        rng, cut = np.random.default_rng(seed), len(codes) // 2
        order = np.concatenate([rng.permutation(cut), cut + rng.permutation(len(codes) - cut)])
        moves = max(kind.moves, 0.15) if kind.name == "downstream" else kind.moves  # it takes the first 100
        assert halves(kind, codes[order], factors[order]) == pytest.approx(unchanged(str(kind), seed), abs=moves)

    check()


@EVERY
def test_scaling_a_code_changes_nothing_where_the_metric_is_scale_free(kind: Kind) -> None:
    @tried(kind)
    @given(seed=seeds, power=st.sampled_from([-2, -1, 1, 4]), code=st.integers(0, 3))
    @example(seed=0, power=4, code=1)
    def check(seed: int, power: int, code: int) -> None:
        codes, factors = mixed(seed)
        scaled = codes.copy()
        scaled[:, code] *= 2.0**power
        assert halves(kind, scaled, factors) == pytest.approx(unchanged(str(kind), seed), abs=kind.moves)

    if kind.scale_free:
        check()
    else:
        codes, factors = mixed(0)
        assert halves(kind, codes * [50, 1, 0.02, 1], factors) != pytest.approx(unchanged(str(kind), 0), abs=1e-6)


@EVERY
def test_scores_are_in_their_range(kind: Kind) -> None:
    @tried(kind)
    @given(seed=seeds)
    @example(seed=0)
    def check(seed: int) -> None:
        codes, factors = mixed(seed, 120)
        within(kind, measured(kind, codes, factors))

    check()


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.best], ids=str)
def test_one_code_per_factor_reaches_the_best_score(kind: Kind) -> None:
    factors = factors_of(480, np.random.default_rng(0))
    found = measured(kind, 2.0 * factors - 1, factors)
    for name, (value, tolerance) in kind.best.items():
        assert found[name] == pytest.approx(value, abs=tolerance), name


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.noise], ids=str)
def test_noise_has_the_worst_score(kind: Kind) -> None:
    rng = np.random.default_rng(1)
    factors = factors_of(600, rng)
    found = measured(kind, rng.normal(size=(600, 3)), factors)
    for name, (value, tolerance) in kind.noise.items():
        assert found[name] == pytest.approx(value, abs=tolerance), name


# scores of one code per factor with a copy of every code: low if the metric requires a single code per factor
COPIES = {
    "mig": {"mig": 0.0},
    "dci-gbt": {D: 1.0, C: 1 - math.log(2, 6)},  # two of six codes share a factor
    "sap-r2": {"sap": 0.0},
    "sap-svm": {"sap": 0.0},
    "modularity": {"modularity": 1.0},
    "explicitness": {"explicitness": 1.0},
    "beta_vae_score": {"beta_vae_score": 1.0},
    "factor_vae_score": {"factor_vae_score": 1.0},
    "irs": {"irs": 1.0},
    "infomec": {"infom": 1.0},
    "mig_sup": {"mig_sup": 1.0},
    "dcimig": {"dcimig": 1.0},
    "med": {"med": 1.0},
    "retrieved_factors": {"fraction": 1.0},
    "dci_es": {"size": 0.5},
    "probes": {"gap": 0.0},
    "active_units": {"active_units": 6.0},
}


@EVERY
def test_copies_of_codes(kind: Kind) -> None:
    factors = factors_of(480, np.random.default_rng(0))
    found = measured(kind, np.hstack([factors, factors]).astype(float), factors)
    within(kind, found)
    for name, value in COPIES.get(str(kind), {}).items():
        assert found[name] == pytest.approx(value, abs=0.05), name
    if kind.name in ("total_correlation", "wasserstein_correlation", "code_information"):
        assert found[kind.name] > 0.1


@FALLING
def test_entangling_lowers_every_score_of_disentanglement(kind: Kind) -> None:
    rng = np.random.default_rng(2)
    factors = factors_of(600, rng)
    codes = factors + rng.uniform(-0.3, 0.3, factors.shape)
    before, after = (measured(kind, table, factors) for table in (codes, entangle(codes)))
    for name in kind.falls:
        assert after[name] < before[name] - 0.05, name


def test_entangling_does_not_move_the_total_correlation() -> None:
    codes = np.random.default_rng(0).normal(size=(600, 4))
    moved = total_correlation(entangle(codes))["total_correlation"] - total_correlation(codes)["total_correlation"]
    assert abs(moved) < 0.02


# Inputs at the edge: a number with a meaning


@EVERY
@pytest.mark.parametrize("what", ["constant code", "constant codes", "one code", "one factor", "one value", "wide"])
def test_degenerate_inputs_give_numbers(kind: Kind, what: str) -> None:
    codes, factors = mixed(0, 120)
    factors = few(kind, factors, 2)
    match what:
        case "constant code":
            codes[:, 1] = 0.3
        case "constant codes":
            codes[:] = 0.3
        case "one code":
            codes = codes[:, :1]
        case "one factor":
            factors = factors[:, :1]
        case "one value":
            factors = factors.copy()
            factors[:, 1] = 2
        case "wide":
            codes, factors = np.random.default_rng(0).normal(size=(24, 40)), factors[:24]
    if (kind.name, what) == ("probes", "one code"):
        with pytest.raises(InputError, match=r"^codes have 1 column; expected at least 2 for two halves"):
            measured(kind, codes, factors)
        return
    scores = measured(kind, codes, factors)
    for name, value in scores.items():
        assert math.isfinite(value), name
    if what == "constant codes" and kind.name != "jemmig":  # which likes codes of little entropy
        for name in kind.falls:  # nothing is disentangled where nothing moves; votes guess one factor of three
            assert scores[name] <= 1 / len(SIZES) + 0.1, name


@EVERY
def test_a_constant_code_beside_perfect_ones(kind: Kind) -> None:
    factors = factors_of(480, np.random.default_rng(0))
    found = measured(kind, np.hstack([2.0 * factors - 1, np.full((480, 1), 0.7)]), factors)
    spared = {"modularity", "size", "mean"}  # means over all codes: one that tells nothing counts 0
    for name, (value, tolerance) in kind.best.items():
        if name not in spared:
            assert found[name] == pytest.approx(value, abs=tolerance + EXACT), name


@EVERY
def test_tensors_lists_and_other_types_score_alike(kind: Kind) -> None:
    codes, factors = mixed(3, 120)
    factors, codes = few(kind, factors), codes.astype(np.float32)
    expected = measured(kind, codes.astype(np.float64), factors)
    tensors = torch.from_numpy(codes).requires_grad_(), torch.from_numpy(factors).to(torch.int32)
    assert measured(kind, *tensors) == expected
    assert measured(kind, codes.tolist(), factors.tolist()) == expected
    assert measured(kind, codes, factors.astype(np.float32)) == expected
    halves = torch.from_numpy(codes).bfloat16()
    assert measured(kind, halves, tensors[1]) == measured(kind, halves.float(), tensors[1])


# Inputs that are wrong: one line that says where


@EVERY
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_bad_number_names_its_column(kind: Kind, bad: float) -> None:
    codes, factors = mixed(0, 60)
    codes[7, 2] = bad
    with pytest.raises(InputError, match=r"^codes column 2 is -?(nan|inf) at row 7; expected finite numbers$"):
        measured(kind, codes, factors)


@SUPERVISED
def test_a_bad_factor_names_its_column(kind: Kind) -> None:
    codes, factors = mixed(0, 60)
    for bad in (math.nan, math.inf):
        table = factors.astype(float)
        table[5, 1] = bad
        with pytest.raises(InputError, match=r"^factors column 1 is (nan|inf) at row 5; expected finite numbers$"):
            measured(kind, codes, table)


@SUPERVISED
def test_wrong_lengths(kind: Kind) -> None:
    codes, factors = mixed(0, 60)
    with pytest.raises(InputError, match=r"^there are 60 rows of codes but 59 of factors$"):
        measured(kind, codes, factors[:-1])


@EVERY
def test_strings_and_wrong_shapes(kind: Kind) -> None:
    codes, factors = mixed(0, 60)
    with pytest.raises(InputError, match=r"^codes are text; expected numbers$"):
        measured(kind, codes.astype(str), factors)
    cells = codes.astype(object)
    cells[3, 1] = "high"
    with pytest.raises(InputError, match=r"^codes column 1 is 'high' at row 3; expected numbers$"):
        measured(kind, cells, factors)
    with pytest.raises(InputError, match=r"^codes have shape \(60, 2, 2\); expected \(samples, columns\)$"):
        measured(kind, codes.reshape(60, 2, 2), factors)
    with pytest.raises(InputError, match=r"^codes have shape \(60, 0\); expected \(samples, columns\)$"):
        measured(kind, codes[:, :0], factors)
    with pytest.raises(InputError, match=r"^codes (have|are) "):
        measured(kind, [[1.0, 2.0], [3.0]], factors)


@SUPERVISED
def test_factors_as_strings(kind: Kind) -> None:
    codes, factors = mixed(0, 60)
    with pytest.raises(InputError, match=r"^factors are text; expected numbers, such as numpy.unique\("):
        measured(kind, codes, factors.astype(str))


# Continuous factors: taken, binned if it is asked for, or refused by name

CONTINUOUS = np.random.default_rng(5).uniform(size=(480, 3))
CONTINUOUS[:, 2] = factors_of(480, np.random.default_rng(6))[:, 1]  # one of whole numbers beside two continuous ones
TAKING = pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.continuous != "refused"], ids=str)
FALLING_TOO = pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if kind.continuous != "refused" and kind.falls], ids=str
)


def binned(kind: Kind) -> Kind:
    return replace(kind, settings={**kind.settings, "factor_bins": 10}) if kind.continuous == "binned" else kind


@SUPERVISED
def test_a_continuous_factor_is_refused_in_one_line_unless_it_can_be_taken(kind: Kind) -> None:
    codes, factors = mixed(0, 60)
    table = factors.astype(float)
    table[5:, 1] = np.linspace(0.25, 0.9, 55)
    if kind.continuous == "taken":
        within(kind, measured(kind, codes, table))
        return
    line = rf"^factors column 1 is continuous \(0.25 at row 5\); {kind.name}.*(use |factor_bins=20)[^\n]*$"
    with pytest.raises(InputError, match=line):
        measured(kind, codes, table)
    if METRICS[kind.name].reads == "split":
        with pytest.raises(InputError, match=r"^test factors column 1 is continuous"):
            measured(kind, codes, factors, (codes, table))


@TAKING
def test_codes_that_are_continuous_factors_reach_the_best_score(kind: Kind) -> None:
    found = measured(binned(kind), 3 - 2.0 * CONTINUOUS, CONTINUOUS)
    loose = {"irs": 0.15, "dci": 0.05, "jemmig": 0.3, "modularity": 0.05, "mig": 0.15, "med": 0.35}  # bins
    for name, (value, tolerance) in kind.best.items():
        assert found[name] == pytest.approx(value, abs=tolerance + loose.get(kind.name, 0.1)), name


@TAKING
def test_noise_tells_nothing_of_continuous_factors(kind: Kind) -> None:
    rng = np.random.default_rng(1)
    found = measured(binned(kind), rng.normal(size=(480, 3)), CONTINUOUS)
    within(kind, found)
    for name, (value, tolerance) in kind.noise.items():
        if kind.name != "probes":  # whose chance is 0 for these factors
            assert found[name] == pytest.approx(value, abs=tolerance + 0.2), name


@FALLING_TOO
def test_entangling_continuous_codes_lowers_scores(kind: Kind) -> None:
    codes = CONTINUOUS + np.random.default_rng(2).uniform(-0.05, 0.05, CONTINUOUS.shape)
    before, after = (measured(binned(kind), table, CONTINUOUS) for table in (codes, entangle(codes)))
    for name in kind.falls:
        assert after[name] < before[name] - 0.05, name


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.continuous == "binned"], ids=str)
def test_whole_numbers_are_never_binned(kind: Kind) -> None:
    codes, factors = mixed(0)
    factors = factors * 100  # bins of equal width would be others
    assert measured(binned(kind), codes, factors) == measured(kind, codes, factors)
    with pytest.raises(InputError, match=r"^factor_bins is 1; expected at least 2$"):
        measured(replace(kind, settings={"factor_bins": 1}), codes, factors)


def test_values_of_a_grid_may_be_numbered() -> None:
    codes, factors = mixed(0)
    line = r"^factors column 0 is continuous \(0.5 at row \d+\); .*; or number its 3 values: numpy.unique\(column"
    with pytest.raises(InputError, match=line):
        METRICS["mig"].function(codes, factors / 2)


# The one metric of many models


def models(seed: int, count: int = 4, n: int = 200) -> list[Array]:
    rng = np.random.default_rng(seed)
    shared = rng.normal(size=(n, 4))
    return [shared @ (np.eye(4) + 0.4 * rng.normal(size=(4, 4))) for _ in range(count)]


@pytest.mark.parametrize("correlation", ["lasso", "spearman"])
def test_udr_ignores_order_sign_scale_and_samples(correlation: str) -> None:
    signs_of_four = st.lists(st.sampled_from([-1, 1]), min_size=4, max_size=4)

    @tried()
    @given(seed=seeds, order=st.permutations(range(4)), signs=signs_of_four)
    @example(seed=0, order=[2, 0, 3, 1], signs=[-1, 1, -1, -1])
    def check(seed: int, order: list[int], signs: list[int]) -> None:
        codes, kl = models(seed), [np.ones(4)] * 4
        plain = udr(codes, kl, correlation)
        changed = [codes[0][:, order] * signs * [3.0, 0.1, 1.0, 20.0], *codes[1:]]
        rows = np.random.default_rng(seed).permutation(len(codes[0]))
        for other in (changed, [table[rows] for table in codes]):
            found = udr(other, kl, correlation)
            assert np.abs(found["pairs"] - plain["pairs"]).max() < 1e-3  # where the lasso stops
            assert np.abs(found["scores"] - plain["scores"]).max() < 1e-3
        assert (plain["pairs"] >= 0).all()
        assert (plain["pairs"] <= 1).all()

    check()


def test_udr_of_models_that_agree_and_of_noise() -> None:
    rng = np.random.default_rng(0)
    grid = (GRID - GRID.mean(0)).repeat(20, 0)
    agreeing = [grid[:, rng.permutation(3)] for _ in range(4)]
    assert udr(agreeing, correlation="spearman")["scores"] == pytest.approx(1)
    assert udr(agreeing, correlation="lasso")["scores"] == pytest.approx(0.9, abs=0.01)  # it shrinks weights by α
    noise = [rng.normal(size=(480, 3)) for _ in range(4)]
    assert udr(noise, correlation="lasso")["scores"].max() < 0.05
    assert udr(noise, correlation="spearman")["scores"].max() < 0.2


def test_udr_says_what_is_wrong() -> None:
    codes = models(0)
    bad = codes[1].copy()
    bad[3, 2] = np.nan
    with pytest.raises(InputError, match=r"^codes of model 1 column 2 is nan at row 3; expected finite numbers$"):
        udr([codes[0], bad])
    with pytest.raises(InputError, match="model 1 has 199 rows of codes; model 0 has 200"):
        udr([codes[0], codes[1][1:]])
    with pytest.raises(InputError, match="expected at least 2"):
        udr(codes[:1])
    with pytest.raises(InputError, match="expected lasso or spearman"):
        udr(codes, correlation="pearson")
    with pytest.raises(InputError, match="4 models but 2 rows of kl"):
        udr(codes, [np.ones(4)] * 2)
    with pytest.raises(InputError, match=r"kl has shape \(3,\)"):
        udr(codes, [np.ones(3)] * 4)
