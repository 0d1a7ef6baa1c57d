"""The cost of bf16 in quality: the ELBO of β-VAE in bf16 and fp32 after the same steps from the same seeds.

    python bench/precision.py [--steps 3000] [--seeds 2] [--network small] [--resolution 32]

Prints the largest difference over the last half of training, and draws both curves.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from matplotlib.figure import Figure

from unbraid.data import load
from unbraid.methods import build
from unbraid.training.loop import step_seed, train

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "precision.png"


def curve(precision: str, seed: int, options: argparse.Namespace) -> np.ndarray:
    """Steps and ELBO in nats, one row per report."""
    data = load("dsprites", options.resolution)
    torch.manual_seed(step_seed(seed, 0, "weights"))
    settings = {"network": options.network, "learning_rate": 1e-3, "beta": 1.0}
    method = build("beta_vae", data, settings).prepare("cpu", precision)
    return np.array(
        [
            (report.step, -report.terms["reconstruction"] - report.terms["kl"])
            for report in train(method, data, steps=options.steps, seed=seed, every=options.every)
        ]
    )


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--network", default="small")
    parser.add_argument("--resolution", type=int, default=32)
    parser.add_argument("--every", type=int, default=100, help="steps between two reports")
    parser.add_argument("--out", type=Path, help=f"the picture to write, by default docs/pictures/{PICTURE.name}")
    parser.add_argument("--tiny", action="store_true", help="the least of everything: does it run?")
    options = parser.parse_args(arguments)
    if options.tiny:
        options.steps, options.seeds, options.resolution, options.every = 2, 1, 16, 1
    figure = Figure(figsize=(7, 4), layout="tight")
    axes = figure.subplots()
    for seed in range(options.seeds):
        curves = {precision: curve(precision, seed, options) for precision in ("fp32", "bf16")}
        for precision, style in (("fp32", "-"), ("bf16", "--")):
            axes.plot(*curves[precision].T, style, color=f"C{seed}", label=f"{precision}, seed {seed}")
        fp32, bf16 = curves["fp32"][:, 1], curves["bf16"][:, 1]
        half = len(fp32) // 2
        relative = np.abs(bf16 - fp32) / np.abs(fp32)
        print(
            f"seed {seed}: ELBO after {options.steps} steps fp32 {fp32[-1]:.3f}, bf16 {bf16[-1]:.3f} "
            f"({relative[-1]:.2%}); over the last half at most {relative[half:].max():.2%}, "
            f"on average {relative[half:].mean():.2%}"
        )
    side = options.resolution
    axes.set(xlabel="step", ylabel="ELBO (nats)", title=f"β-VAE, β=1, dSprites {side}x{side}")
    axes.set_ylim(bottom=np.quantile(fp32, 0.1))
    axes.legend(frameon=False)
    figure.savefig(options.out or (PICTURE.name if options.tiny else PICTURE), dpi=120)


if __name__ == "__main__":
    main()
