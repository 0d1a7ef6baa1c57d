"""Speed of the metrics compared with the plain scikit-learn version of the same protocol, as ratios in one run.

The plain version is what one would write first, and how the reference code works: a `mutual_info_score` for every pair,
scikit-learn's booster, a Python loop over the points of the intervention scores. Where it takes minutes, a fraction of
it runs and its time is scaled up; every line says which. Encoding runs in a process of its own, because the settings of
the allocator stay with a process.

    python bench/metrics.py [--quick]
    python bench/metrics.py --golden FOLDER      our scores of fixed codes and those of the reference implementation
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
Pair = tuple[Array, Array]
BATCH = 64
ROUNDS = 100  # of the booster
POINTS = 15_000  # of an intervention score, training and test
# images the reference encodes: train and test sets for each metric, then two batches a point or one, and the variances
ENCODED = {"sets": 6 * 10_000 + 3 * 5_000, "beta_vae": 2 * BATCH * POINTS, "factor_vae": 10_000 + BATCH * POINTS}


@dataclass(frozen=True)
class Size:
    """How much to do."""

    factors: tuple[int, ...] = (3, 6, 40, 32, 32)
    train: int = 10_000
    test: int = 5_000
    points: int = 500
    """Of the intervention scores, for the plain version."""
    models: int = 50
    """For UDR."""
    udr_rows: int = 1_000
    encoded: int = 12_800
    """Images the plain version encodes."""
    samples: int = 50_000
    """Images we encode and score."""
    protocol: str = "dlib"


QUICK = Size(train=2_000, test=1_000, points=100, models=10, encoded=1_280, samples=3_000)
TINY = Size((2, 2, 3, 2, 2), 100, 50, 2, 2, 50, 64, 200, "fast")


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def example(rows: int, sizes: Sequence[int], seed: int = 0) -> Pair:
    """Codes such as a VAE finds: some factors clean, some mixed, some codes noise."""
    rng = np.random.default_rng(seed)
    factors = np.stack([rng.integers(size, size=rows) for size in sizes], 1)
    spread = (factors - factors.mean(0)) / factors.std(0)
    weights = np.eye(5) + 0.4 * np.random.default_rng(1).normal(size=(5, 5))
    return np.hstack([spread @ weights, np.zeros((rows, 5))]) + 0.2 * rng.normal(size=(rows, 10)), factors


# The plain version


def histograms(codes: Array) -> Array:
    return np.stack([np.digitize(column, np.histogram(column, 20)[1][:-1]) for column in codes.T], 1)


def information_by_loop(a: Array, b: Array) -> Array:
    from sklearn.metrics import mutual_info_score

    return np.array([[mutual_info_score(x, y) for y in b.T] for x in a.T])


def plain_mig(train: Pair, test: Pair) -> float:
    from sklearn.metrics import mutual_info_score

    information = np.sort(information_by_loop(histograms(train[0]), train[1]), axis=0)
    entropies = np.array([mutual_info_score(column, column) for column in train[1].T])
    return float(np.mean((information[-1] - information[-2]) / entropies))


def plain_modularity(train: Pair, test: Pair) -> float:
    squared = information_by_loop(histograms(train[0]), train[1]) ** 2
    top = squared.max(1)
    return float(np.mean(1 - (squared.sum(1) - top) / top / (squared.shape[1] - 1)))


def plain_dci(train: Pair, test: Pair, rounds: int) -> list[float]:
    from sklearn.ensemble import GradientBoostingClassifier

    accuracies = []
    for column in range(train[1].shape[1]):
        model = GradientBoostingClassifier(n_estimators=rounds).fit(train[0], train[1][:, column])
        model.feature_importances_  # noqa: B018
        accuracies.append(float(np.mean(model.predict(test[0]) == test[1][:, column])))
    return accuracies


def plain_sap(train: Pair, test: Pair) -> float:
    from sklearn.svm import LinearSVC

    scores = np.zeros((train[0].shape[1], train[1].shape[1]))
    for i, j in np.ndindex(scores.shape):
        model = LinearSVC(C=0.01, class_weight="balanced").fit(train[0][:, [i]], train[1][:, j])
        scores[i, j] = np.mean(model.predict(test[0][:, [i]]) == test[1][:, j])
    scores = np.sort(scores, axis=0)
    return float(np.mean(scores[-1] - scores[-2]))


def plain_explicitness(train: Pair, test: Pair) -> float:
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.preprocessing import LabelBinarizer, StandardScaler

    scaler, scores = StandardScaler().fit(train[0]), []
    for column in range(train[1].shape[1]):
        model = LogisticRegression().fit(scaler.transform(train[0]), train[1][:, column])
        binary = LabelBinarizer().fit(model.classes_).transform(test[1][:, column])
        likely = model.predict_proba(scaler.transform(test[0]))
        shown = [value for value in range(binary.shape[1]) if 0 < binary[:, value].sum() < len(binary)]
        scores.append(np.mean([roc_auc_score(binary[:, value], likely[:, value]) for value in shown]))
    return float(np.mean(scores))


def plain_points(train: Pair, test: Pair, sizes: Sequence[int], points: int) -> None:
    """The points of both intervention scores, one after the other; their classifiers take next to nothing."""
    rng = np.random.default_rng(0)
    codes, factors = np.concatenate([train[0], test[0]]), np.concatenate([train[1], test[1]])
    variances = codes.var(0, ddof=1)
    rows_of = [
        [np.flatnonzero(column == value) for value in range(size)]
        for column, size in zip(factors.T, sizes, strict=True)
    ]
    for _ in range(points):
        column = rng.integers(factors.shape[1])
        values = rng.integers(sizes[column], size=BATCH)
        first, second = ([rng.choice(rows_of[column][value]) for value in values] for _ in range(2))
        np.abs(codes[first] - codes[second]).mean(0)
        rows = rng.choice(rows_of[column][values[0]], BATCH)
        np.argmin(codes[rows].var(0, ddof=1) / variances)


def plain_rest(train: Pair, test: Pair) -> None:
    """IRS and what needs no factors."""
    from scipy.linalg import sqrtm

    codes, factors = train
    binned = histograms(factors.astype(float))
    largest = np.abs(codes - codes.mean(0)).max(0)
    for column in binned.T:
        for value in np.unique(column):
            group = codes[column == value]
            np.percentile(np.abs(group - group.mean(0)), 99, axis=0) / largest
    covariance = np.cov(codes.T)
    np.linalg.slogdet(covariance)
    np.trace(sqrtm(covariance @ np.diag(np.diag(covariance))))
    information_by_loop(histograms(codes), histograms(codes))


def plain_protocol(train: Pair, test: Pair, sizes: Sequence[int], rounds: int, points: int) -> dict[str, float]:
    """Seconds of each part, scaled up to the whole protocol."""
    parts: dict[str, tuple[Callable[[], Any], float]] = {
        "mig": (lambda: plain_mig(train, test), 1),
        "modularity": (lambda: plain_modularity(train, test), 1),
        "sap": (lambda: plain_sap(train, test), 1),
        "explicitness": (lambda: plain_explicitness(train, test), 1),
        "interventions": (lambda: plain_points(train, test, sizes, points), POINTS / points),
        "rest": (lambda: plain_rest(train, test), 1),
    }
    times = {name: seconds(work)[0] * scale for name, (work, scale) in parts.items()}
    one, some = (seconds(lambda count=count: plain_dci(train, test, count))[0] for count in (1, rounds))
    times["dci"] = one + (ROUNDS - 1) * (some - one) / (rounds - 1)  # what is done once is not scaled
    return times


# From images


def plain_encoding(images: int) -> float:
    """Seconds per image to draw a batch, make floats of it and encode it: default allocator, layout and precision."""
    import torch
    from torch import nn

    from unbraid.data import load

    data = load("dsprites")
    encoder = nn.Sequential(
        nn.Conv2d(1, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 32, 4, 2, 1), nn.ReLU(),
        nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU(), nn.Conv2d(64, 64, 4, 2, 1), nn.ReLU(),
        nn.Flatten(), nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, 20),
    )  # fmt: skip
    rng = np.random.default_rng(0)
    data.sample(BATCH, rng)
    start = time.perf_counter()
    with torch.no_grad():
        for _ in range(images // BATCH):
            encoder(data.sample(BATCH, rng)[0].float() / 255)
    return (time.perf_counter() - start) / (images // BATCH * BATCH)


def ours_from_images(samples: int, protocol: str) -> float:
    """Seconds from images to all scores: encode once, every metric reads the codes."""
    from unbraid import score
    from unbraid.data import load
    from unbraid.methods import build
    from unbraid.training.representation import represent

    data = load("dsprites")
    data.sample(BATCH, 0)  # drawing the data set for the first time is not measured
    method = build("beta_vae", data)

    def work() -> None:
        representation = represent(method, data, samples=samples)
        score(representation.codes, representation.factors, protocol=protocol)

    return seconds(work)[0]


def from_images(work: str, size: Size) -> float:
    """Seconds of `encode` per image, or of `score`."""
    return plain_encoding(size.encoded) if work == "encode" else ours_from_images(size.samples, size.protocol)


def in_process(work: str, size: Size) -> float:
    """The same in a process of its own."""
    if size == TINY:
        return from_images(work, size)
    command = [sys.executable, __file__, "--work", work, *(["--quick"] if size == QUICK else [])]
    return float(json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))


# The table


def report(what: str, ours: float, plain: float, goal: float, note: str) -> None:
    print(f"{what:34}{ours:9.2f} s{plain:10.1f} s{plain / ours:8.1f}x{goal:7.0f}x   {note}", flush=True)


def golden(folder: Path) -> None:
    """Print our scores and the reference's for every case, and the largest difference."""
    sys.path.insert(0, str(Path(__file__).parents[1]))
    from tests.metrics.golden import CASES, DCI, EXACT, FITTED, SCORES, boosted, read, udr_differences

    cases = [read(folder / f"{name}.npz", folder / f"{name}.json") for name in CASES]
    ours = {name: [work(c) if name in c.scores else np.nan for c in cases] for name, (work, _) in SCORES.items()}
    fits = [boosted(case) for case in cases]
    ours |= {name: [part(fit) for fit in fits] for name, part in DCI.items()}
    allowed = {name: SCORES[name][1] if name in SCORES else FITTED for name in ours}
    print(f"{'ours / the reference':34}" + "".join(f"{name:>19}" for name in CASES) + "  largest difference")
    for name, scores in ours.items():
        expected = [case.scores.get(name, np.nan) for case in cases]
        pairs = zip(scores, expected, strict=True)
        cells = "".join(f"{'-' if np.isnan(b) else f'{a:.4f} / {b:.4f}':>19}" for a, b in pairs)
        largest = np.nanmax(np.abs(np.subtract(scores, expected)))
        print(f"{name:34}{cells}  {largest:8.1e} of {allowed[name]:.0e} allowed")
    for kind in ("lasso", "spearman"):
        largest = max(udr_differences(folder / "udr.npz", folder / "udr.json", kind))
        print(f"{f'udr, {kind}: pairs and scores':{34 + 19 * len(CASES)}}  {largest:8.1e} of {EXACT:.0e} allowed")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a fifth of the rows and smaller fractions: does it run?")
    parser.add_argument("--work", choices=["encode", "score"], help=argparse.SUPPRESS)
    parser.add_argument("--golden", type=Path, metavar="FOLDER", help="only compare scores with those in this folder")
    parser.add_argument("--tiny", action="store_true", help="the least of everything: does it run?")
    options = parser.parse_args(arguments)
    size = TINY if options.tiny else QUICK if options.quick else Size()
    if options.golden:
        golden(options.golden)
    elif options.work:
        print(json.dumps(from_images(options.work, size)))
    else:
        with warnings.catch_warnings(action="ignore"):
            compare(size)


def compare(size: Size) -> None:
    from unbraid import score
    from unbraid.metrics import dci, udr
    from unbraid.metrics._information import discretise, mutual_information

    rounds, points = 3, size.points
    train, test = example(size.train, size.factors), example(size.test, size.factors, 2)
    note = "" if size == Size() else "; a smaller size"
    print(f"{size.train} + {size.test} points, factors {size.factors}, 10 codes{note}")
    print(f"{'':34}{'ours':>11}{'plain':>12}{'ratio':>9}{'goal':>8}")

    score(*example(300, size.factors), protocol=size.protocol, metrics=["dci", "sap"])  # imports
    plain = plain_protocol(train, test, size.factors, rounds, points)
    whole = sum(plain.values())
    fractions = f"booster 1 and {rounds} of {ROUNDS} rounds, {points} of {POINTS} points, scaled"
    ours = seconds(lambda: score(*train, test=test, protocol=size.protocol))[0]
    report(f"protocol {size.protocol}", ours, whole, 15, f"plain: {fractions}")
    ours = seconds(lambda: dci(*train, test=test))[0]
    report("dci, gbt", ours, plain["dci"], 20, f"plain: from 1 and {rounds} of {ROUNDS} rounds")

    binned = discretise(train[0])
    repeats = 5
    ours = min(seconds(lambda: mutual_information(binned, train[1]))[0] for _ in range(repeats))
    slow, expected = seconds(lambda: information_by_loop(binned, train[1]))
    difference = np.abs(mutual_information(binned, train[1]) - expected).max()
    report("mutual information of all pairs", ours, slow, 20, f"largest difference {difference:.0e}; best of {repeats}")
    assert difference < 1e-9

    rng = np.random.default_rng(0)
    shared = rng.normal(size=(size.udr_rows, 10))
    codes = [shared @ (np.eye(10) + 0.3 * rng.normal(size=(10, 10))) for _ in range(size.models)]
    for kind in ("lasso", "spearman"):
        took = seconds(lambda kind=kind: udr(codes, correlation=kind))[0]
        print(f"{f'udr of {size.models} models, {kind}':34}{took:9.2f} s{'':29}   goal: under 10 s for 50 models")

    images = sum(ENCODED.values())
    encoding = in_process("encode", size) * images
    ours = in_process("score", size)
    note = f"plain: {images:,} images at the speed of {size.encoded:,} ({encoding:.0f} s), and the protocol above"
    report(f"{size.samples:,} images to all scores", ours, encoding + whole, 20, note)
    print("plain by part, scaled: " + ", ".join(f"{name} {took:.1f} s" for name, took in plain.items()))


if __name__ == "__main__":
    main()
