"""How much a desk network learns in the same time: ELBO and MIG of β-VAE by CPU seconds of training.

    python bench/networks.py [--seconds 60] [--seeds 3] [--networks tiny,small,patches] [--data dsprites,shapes3d]

Prints, for each data set and network, the mean over seeds after a quarter, half and all of the time, and how many times
sooner it is where `tiny` (or the first network named) is in the end; draws the curves.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure

from unbraid.data import FactorData, load
from unbraid.methods import build
from unbraid.metrics import mig
from unbraid.metrics.elbo import evidence
from unbraid.training.loop import step_seed, train
from unbraid.training.representation import represent

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "networks.png"


@dataclass(frozen=True)
class Curve:
    """What a model had learned after so many CPU seconds and steps: four arrays of one length."""

    seconds: np.ndarray
    steps: np.ndarray
    elbo: np.ndarray
    mig: np.ndarray


def curve(network: str, data: FactorData, seed: int, options: argparse.Namespace) -> Curve:
    """Train for `options.seconds`; evaluations and the first steps, in which PyTorch prepares itself, cost nothing."""
    torch.manual_seed(step_seed(seed, 0, "weights"))
    settings = {"network": network, "learning_rate": 1e-3, "beta": options.beta, "pixel_weight": options.pixel_weight}
    method = build("beta_vae", data, settings).prepare("cpu", "fp32")
    next(train(method, data, steps=2, seed=seed))
    marks = list(np.linspace(0, options.seconds, options.points + 1)[1:])
    rows, spent, started = [], 0.0, time.process_time()
    for report in train(method, data, steps=10**9, seed=seed, every=options.every):
        spent += time.process_time() - started
        if spent >= marks[0]:
            codes = represent(method, data, 0, samples=options.samples)
            score = mig(codes.codes.numpy(), codes.factors.numpy())["mig"]
            rows.append((spent, report.step, evidence(method, data, codes, 0)["elbo"], score))
            marks = [mark for mark in marks if mark > spent]
            if not marks:
                break
        started = time.process_time()
    return Curve(*np.array(rows).T)


def sooner(reference: Sequence[Curve], others: Sequence[Curve]) -> float:
    """How many times sooner the mean ELBO of `others` is where that of `reference` ends; NaN where it never is."""
    goal = np.mean([one.elbo[-1] for one in reference])
    whole = np.mean([one.seconds[-1] for one in reference])
    seconds = np.mean([one.seconds for one in others], 0)
    best = np.maximum.accumulate(np.mean([one.elbo for one in others], 0))
    if best[-1] < goal:
        return float("nan")
    return float(whole / np.interp(goal, best, seconds))


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60.0, help="CPU seconds of training per model")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--networks", default="tiny,small,patches")
    parser.add_argument("--data", default="dsprites,shapes3d")
    parser.add_argument("--resolution", type=int, default=32)
    parser.add_argument("--beta", type=float, default=4.0)
    parser.add_argument("--pixel-weight", type=float, default=4.0)
    parser.add_argument("--points", type=int, default=8, help="evaluations per model")
    parser.add_argument("--every", type=int, default=50, help="steps between two looks at the clock")
    parser.add_argument("--samples", type=int, default=5000, help="images per evaluation")
    parser.add_argument("--out", type=Path, help=f"the picture to write, by default docs/pictures/{PICTURE.name}")
    parser.add_argument("--tiny", action="store_true", help="the least of everything: does it run?")
    options = parser.parse_args(arguments)
    if options.tiny:
        options.seconds, options.seeds, options.resolution, options.networks = 0.05, 1, 16, "tiny,patches"
        options.points, options.every, options.samples, options.data = 2, 1, 200, "dsprites"
    torch.set_num_threads(1)
    names, networks = options.data.split(","), options.networks.split(",")
    figure = Figure(figsize=(4.5 * len(names), 6), layout="tight")
    axes = figure.subplots(2, len(names), squeeze=False)
    print(
        f"{'data':10} {'network':10} {'ms/step':>8} " + "".join(f"{part:>18}" for part in ("¼", "½", "all")) + " sooner"
    )
    for column, name in enumerate(names):
        data = load(name, options.resolution)
        curves: dict[str, list[Curve]] = {network: [] for network in networks}
        for seed in range(options.seeds):  # networks take turns, so that a slow minute of the machine hits them all
            for network in networks:
                curves[network].append(curve(network, data, seed, options))
        for network, ran in curves.items():
            points = min(len(one.seconds) for one in ran)
            ran[:] = [
                Curve(one.seconds[:points], one.steps[:points], one.elbo[:points], one.mig[:points]) for one in ran
            ]
            seconds = np.mean([one.seconds for one in ran], 0)
            elbo, score = (np.mean([getattr(one, field) for one in ran], 0) for field in ("elbo", "mig"))
            parts = [max(0, round(points * share) - 1) for share in (0.25, 0.5, 1.0)]
            shown = "".join(f"{elbo[part]:>11.1f} {score[part]:>6.3f}" for part in parts)
            step = 1000 * np.mean([one.seconds[-1] / one.steps[-1] for one in ran])
            print(f"{name:10} {network:10} {step:8.1f} {shown} {sooner(curves[networks[0]], ran):6.2f}", flush=True)
            axes[0, column].plot(seconds, elbo, label=network)
            axes[1, column].plot(seconds, score, label=network)
        axes[0, column].set(title=name, ylabel="ELBO (nats)", ylim=(np.quantile(elbo, 0.1), None))
        axes[1, column].set(xlabel="CPU seconds of training", ylabel="MIG")
        axes[0, column].legend(frameon=False)
    figure.savefig(options.out or (PICTURE.name if options.tiny else PICTURE), dpi=110)


if __name__ == "__main__":
    main()
