"""Training speed with 1, 5, 10 and 50 tasks, as ratios in one run.

The encoder of multitask's table 2 on 64x64 dSprites, batches of 256, heads of table 3, in fp32. Targets are random
numbers, which cost nothing. The numbers of tasks take turns, so that a ratio compares neighbours in time; the figure is
the median of the rounds. The heads that run as one are compared with 50 heads in a Python loop.

    python bench/multitask.py [--rounds 5] [--steps 3] [--threads N]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from unbraid.data import load
from unbraid.methods import Method, Spec, build
from unbraid.training.device import keep_freed_memory

COUNTS = (1, 5, 10, 50)
GOAL = 0.5


class Apart(nn.Module):
    """The same heads, one after the other."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.heads = nn.ModuleList(
            nn.Sequential(
                nn.Linear(8, 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU(), nn.Linear(300, 300), nn.ReLU(),
                nn.Linear(300, 1),
            )
            for _ in range(count)
        )  # fmt: skip

    def forward(self, codes: Tensor, chosen: slice = slice(None)) -> Tensor:
        return torch.stack([head(codes) for head in self.heads[chosen]])


def learner(tasks: int, apart: bool = False) -> Method:
    torch.manual_seed(0)
    method = build("multitask", Spec((1, 64, 64), 737_280, tasks=(1,) * tasks))
    if apart:
        method.heads = Apart(tasks)
        method.add_adam("tasks", method.parameters())
    return method.prepare("cpu", "fp32").train()


def stepper(method: Method, images: Tensor) -> Callable[[], None]:
    targets = torch.randn(len(images), len(method.spec.tasks), generator=torch.Generator().manual_seed(0))

    def step() -> None:
        method.update({"images": images, "targets": targets})

    return step


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3, help="steps of each per round")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--tiny", action="store_true", help="the least of everything: does it run?")
    options = parser.parse_args(arguments)
    if options.tiny:
        options.rounds, options.steps, options.batch = 1, 1, 2
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    images = load("dsprites").sample(options.batch, 0)[0]
    steppers = {f"{count} tasks": stepper(learner(count), images) for count in COUNTS}
    steppers["50 tasks in a loop"] = stepper(learner(50, apart=True), images)
    for step in steppers.values():
        step()
    speeds: dict[str, list[float]] = {name: [] for name in steppers}
    for _ in range(options.rounds):
        for name, step in steppers.items():
            begun = time.perf_counter()
            for _ in range(options.steps):
                step()
            speeds[name].append(options.steps * options.batch / (time.perf_counter() - begun))
    print(f"{options.threads} threads, batch {options.batch}, {options.rounds} rounds of {options.steps} steps\n")
    print(f"{'':20} images/s   speed of 5 tasks = 1")
    for name, values in speeds.items():
        ratios = [one / five for one, five in zip(values, speeds["5 tasks"], strict=True)]
        spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
        print(f"{name:20} {statistics.median(values):8,.0f}   {statistics.median(ratios):.2f}  ({spread})")
    fifty = statistics.median(a / b for a, b in zip(speeds["50 tasks"], speeds["5 tasks"], strict=True))
    verdict = "met" if fifty >= GOAL else "missed"
    print(f"\n50 heads at {fifty:.2f} times the speed of 5; goal at least {GOAL}: {verdict}")


if __name__ == "__main__":
    main()
