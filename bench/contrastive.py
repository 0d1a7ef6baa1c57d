"""The cost of a step of contrastive learning, as ratios in one run.

Desk scale: 32x32 images, batches of 256 pairs, `resnet_small`, fp32. What is compared takes turns, so that a ratio
compares neighbours in time; the figure is the median of the rounds. InfoNCE is compared with the same formula in a
Python loop over anchors, and a plain step with one step for each regularizer.

    python bench/contrastive.py [--rounds 5] [--pairs 256] [--network resnet_small] [--threads N]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from unbraid.data import load
from unbraid.methods import build
from unbraid.methods.contrastive import Contrastive
from unbraid.methods.contrastive_losses import info_max, positives
from unbraid.nets import NETWORKS
from unbraid.training.device import keep_freed_memory

REGULARIZERS = ("info_min", "ortho", "p_ortho", "hessian")
RESNETS = [name for name, network in NETWORKS.items() if network.features]


def in_turns(work: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each, round by round, after a first round that is not counted."""
    spent: dict[str, list[float]] = {name: [] for name in work}
    for number in range(rounds + 1):
        for name, run in work.items():
            begun = time.perf_counter()
            run()
            if number:
                spent[name].append(time.perf_counter() - begun)
    return spent


def ratio(spent: dict[str, list[float]], name: str, base: str) -> str:
    ratios = [one / other for one, other in zip(spent[name], spent[base], strict=True)]
    return f"{statistics.median(ratios):7.3f}  ({min(ratios):.3f} to {max(ratios):.3f})"


def looped(z: Tensor, temperature: float) -> Tensor:
    """info_max of pairs, one anchor at a time."""
    n, total = len(z) // 2, z.new_zeros(())
    for i in range(len(z)):
        others = torch.cat([z[:i], z[i + 1 :]])
        positive = z[i] @ z[(i + n) % len(z)] / temperature
        total = total + torch.logsumexp(others @ z[i] / temperature, 0) - positive
    return total / len(z)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--pairs", type=int, default=256)
    parser.add_argument("--network", choices=RESNETS, default="resnet_small")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--tiny", action="store_true", help="the least of everything: does it run?")
    options = parser.parse_args(arguments)
    if options.tiny:
        options.rounds, options.pairs, options.network = 1, 4, "resnet_tiny"
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    data = load("mnist_stl10", 32, digits="sklearn", backgrounds="scenes")
    batch = data.batch(options.pairs, 0)
    settings = {"network": options.network, "latents": NETWORKS[options.network].features, "head": "whole"}
    learner = build("contrastive", data, settings).prepare("cpu", "fp32").train()
    assert isinstance(learner, Contrastive)

    def step(name: str | None = None) -> None:
        for regularizer in REGULARIZERS:
            learner.hp[f"lambda_{regularizer}"] = 0.1 * (regularizer == name)
        learner.update(batch)

    images = learner.pixels(torch.cat([batch["images"], batch["partners"]]))
    work: dict[str, Callable[[], object]] = {
        "step": step,
        "views": lambda: learner.views(images),
        "drawing the pairs": lambda: data.batch(options.pairs, 1),
    }
    for name in REGULARIZERS:
        work[f"step with {name}"] = lambda name=name: step(name)  # type: ignore[misc]
    what = f"{options.pairs} pairs of 32x32, {options.network}, {options.threads} threads"
    print(f"{what}; median of {options.rounds} rounds\n")
    spent = in_turns(work, options.rounds)
    speed = 2 * options.pairs / statistics.median(spent["step"])
    print(f"{'a plain step':40}{statistics.median(spent['step']) * 1000:6.0f} ms, {speed:,.0f} views per second")
    goals = {"views": "goal: below 0.15", "step with hessian": "goal: at most 1.6"}
    for name in list(work)[1:]:
        print(f"{name + ' / a plain step':40}{ratio(spent, name, 'step')}  {goals.get(name, '')}")

    pairs = 4 if options.tiny else 512
    z = F.normalize(torch.randn(2 * pairs, 16), dim=1).requires_grad_()
    positive = positives(torch.arange(pairs)[:, None])[0]
    losses = in_turns(
        {
            "loop": lambda: torch.autograd.grad(looped(z, 0.1), z),
            "info_max": lambda: torch.autograd.grad(info_max(z, positive, 0.1), z),
        },
        options.rounds,
    )
    print(f"\n{f'info_max of {pairs} pairs, with gradient':40}{statistics.median(losses['info_max']) * 1000:6.0f} ms")
    print(f"{'a loop over anchors / info_max':40}{ratio(losses, 'loop', 'info_max')}")


if __name__ == "__main__":
    main()
