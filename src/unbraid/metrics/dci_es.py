"""DCI-ES: explicitness from loss-capacity curves, and size (Eastwood et al. 2023)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from unbraid.errors import InputError, nearest
from unbraid.metrics._arrays import Array, Pair, Rng, Scores, generator, r2, split, standardise
from unbraid.metrics._classes import avoided_errors, checked_classes
from unbraid.metrics._logistic import logistic
from unbraid.metrics.declaration import Metric

# Probes of one family, fitted to standardised training codes and a factor: test predictions at each capacity.
Family = Callable[[Array, Array, Array, Sequence[int], bool, np.random.Generator], list[Array]]
_SECONDS = 2e-10
CAPACITIES = {"fourier": (0, 8, 32, 128, 512), "forest": (1, 2, 4, 8, 16)}


def dci_es(
    codes: Any,
    factors: Any,
    *,
    test: Pair | None = None,
    family: str = "fourier",
    capacities: Sequence[int] | None = None,
    categorical: Sequence[int] = (),
    draws: int = 3,
    rng: Rng = None,
) -> Scores:
    """How simple a probe can read the factors (`explicitness`), and how few codes there are (`size`).

    For each factor, continuous or not, probes of growing capacity κ_1 … κ_T give a curve of test losses: 1 - R², or for
    `categorical` factors the error rate relative to guessing the most frequent value. The curve never rises (a probe
    counts as at least as good as weaker ones) and never exceeds 1. `explicitness` is the mean over factors of
    1 - A / ½(κ_T - κ_1), where A is the area between the curve and its lowest loss: 1 if the simplest probe is the
    best, 0 if the loss falls linearly from 1 to 0 over the whole range, at least -1. `size` is the number of factors
    over the number of codes. `informativeness` is 1 minus the mean lowest loss, in [0, 1].

    One code per factor scores 1, 1, 1. Codes that only a strong probe can read have low explicitness. **Noise has an
    explicitness near 1**, because no probe improves on the simplest: read it together with the informativeness. Scaling
    and shifting codes changes nothing. Permuting and flipping them pairs them with other random probes and changes the
    score a little. Losses are means over `draws` draws of the probes. Constant codes have informativeness 0 and
    explicitness 1, and so has a factor with a single value.

    Families: `fourier`, linear models of the codes and of as many random Fourier features as the capacity says (0 is a
    linear probe; κ is the logarithm of the number of weights; ridge regression, or logistic regression for
    `categorical` factors); `forest`, random forests whose depth is the capacity (κ is the depth).

    `arrays`: `loss` (T, k), `capacity` (T,): κ, `per_factor` (k,).
    """
    if family not in FAMILIES:
        raise InputError(f"there is no family '{family}'{nearest(family, FAMILIES)}")
    steps = sorted(set(CAPACITIES[family] if capacities is None else capacities))
    if len(steps) < 2 or steps[0] < (0 if family == "fourier" else 1):
        raise InputError(f"capacities are {tuple(steps)}; expected two or more, each at least {CAPACITIES[family][0]}")
    if draws < 1:
        raise InputError(f"draws is {draws}; expected at least 1")
    rng = generator(rng)
    train_codes, train_factors, test_codes, test_factors = split(codes, factors, test, rng)
    count = train_factors.shape[1]
    categorical = checked_classes(categorical, train_factors)
    train_codes, test_codes = standardise(train_codes, test_codes)
    width = train_codes.shape[1]
    capacity = np.log(np.asarray(steps) + width + 1.0) if family == "fourier" else np.asarray(steps, float)
    loss = np.ones((len(steps), count))
    for column in range(count):
        target, truth = train_factors[:, column], test_factors[:, column]
        if np.ptp(target) == 0:
            continue
        named = column in categorical
        measure = _error_rate if named else _unexplained
        curves = []
        for _ in range(draws):
            predictions = FAMILIES[family](train_codes, target, test_codes, steps, named, rng)
            curves.append([measure(truth, predicted) for predicted in predictions])
        loss[:, column] = np.mean(curves, axis=0)
    loss = np.minimum.accumulate(loss.clip(0, 1), axis=0)
    above = loss - loss[-1]
    area = ((above[1:] + above[:-1]) / 2 * np.diff(capacity)[:, None]).sum(0)
    per_factor = 1 - area / (0.5 * (capacity[-1] - capacity[0]))
    scores = {
        "explicitness": per_factor.mean(),
        "size": count / width,
        "informativeness": 1 - loss[-1].mean(),
    }
    return Scores(scores, loss=loss, capacity=capacity, per_factor=per_factor)


def _unexplained(truth: Array, predicted: Array) -> float:
    return 1 - r2(truth, predicted)


def _error_rate(truth: Array, predicted: Array) -> float:
    """The error rate relative to that of always predicting the most frequent value."""
    return 1 - avoided_errors(truth, predicted)


def _fourier(
    codes: Array, target: Array, test: Array, steps: Sequence[int], named: bool, rng: np.random.Generator
) -> list[Array]:
    """Linear in the codes and in the first features cos(w·z + b) of one draw, as many as each capacity says."""
    width = codes.shape[1]
    w, b = rng.normal(size=(width, steps[-1])), rng.uniform(0, 2 * np.pi, steps[-1])
    train, unseen = (np.concatenate([z, np.cos(z @ w + b)], axis=1) for z in (codes, test))
    if named:
        return [logistic(train[:, : width + step], target, unseen[:, : width + step]) for step in steps]
    shift, centre = train.mean(0), target.mean()
    train, unseen = train - shift, unseen - shift
    gram, moment = train.T @ train + 1e-3 * len(train) * np.eye(width + steps[-1]), train.T @ (target - centre)
    ends = [width + step for step in steps]
    return [unseen[:, :end] @ np.linalg.solve(gram[:end, :end], moment[:end]) + centre for end in ends]


def _forest(
    codes: Array, target: Array, test: Array, steps: Sequence[int], named: bool, rng: np.random.Generator
) -> list[Array]:
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    model_class, seed = RandomForestClassifier if named else RandomForestRegressor, int(rng.integers(2**31))
    models = (model_class(n_estimators=30, max_depth=depth, random_state=seed) for depth in steps)
    return [np.asarray(model.fit(codes, target).predict(test)) for model in models]


FAMILIES: dict[str, Family] = {"fourier": _fourier, "forest": _forest}


DECLARED = Metric(
    dci_es, "split",
    asks="how simple a probe reads the factors, from how few codes?",
    range="-1 to 1; size above 0",
    better="higher",
    noise="explicitness 1, informativeness 0",
    perfect="1",
    invariant="scale; order and sign nearly",
    trust="if informativeness is well above 0",
    report="beside dci",
    seconds=lambda size, settings: _SECONDS
    * settings.get("draws", 3) * size.rows * (size.codes + 512) ** 2 * size.factors,
    axes={"loss": "tf", "capacity": "t", "per_factor": "f"},
    refits=True,
)  # fmt: skip
