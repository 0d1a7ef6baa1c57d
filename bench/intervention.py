"""The cost of disentanglement by intervention, as ratios in one run.

A full step (s = 5 inner steps, differentiated through) is compared with a plain β-VAE step of the same network, batch
64, both in fp32. They take turns, so that a ratio compares neighbours in time; the figure is the median of the rounds.
Then the peak memory of a process that takes such steps, and the seconds of `translation_difficulty` on 1,100 pairs of
values of ten features at 32x32.

    python bench/intervention.py [--rounds 5] [--steps 3] [--threads N]
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

import torch

from unbraid.data import load
from unbraid.methods import build
from unbraid.training.device import keep_freed_memory

BATCH = 64
CASES = (("dsprites", 64, "intervention"), ("shapes3d", 64, "intervention"), ("dsprites", 32, "small"))
LEARNERS = {
    "beta_vae": ("beta_vae", {}),
    "without difficulty": ("intervention", {"lambda_3": 0.0}),
    "full": ("intervention", {}),
}
RATIO, MEGABYTES, SECONDS = 8.0, 2000, 60  # the goals


def step_times(
    data: str, resolution: int, network: str, batch_size: int, rounds: int, steps: int
) -> dict[str, list[float]]:
    """Seconds per step of each learner, one number per round."""
    opened = load(data, resolution)
    batch = opened.batch(batch_size, 0)
    learners = {}
    for name, (method, settings) in LEARNERS.items():
        torch.manual_seed(0)
        learners[name] = build(method, opened, {"network": network, **settings}).prepare("cpu", "fp32").train()
        learners[name].update(batch)
    seconds: dict[str, list[float]] = {name: [] for name in learners}
    for _ in range(rounds):
        for name, learner in learners.items():
            begun = time.perf_counter()
            for _ in range(steps):
                learner.update(batch)
            seconds[name].append((time.perf_counter() - begun) / steps)
    return seconds


def peak_megabytes(method: str, batch_size: int) -> float:
    """The largest memory of this process after ten steps on 64x64 images in colour."""
    data = load("shapes3d")
    batch = data.batch(batch_size, 0)
    learner = build(method, data, {"network": "intervention"}).prepare("cpu", "fp32").train()
    for _ in range(10):
        learner.update(batch)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def metric_seconds(values: int) -> tuple[float, float]:
    """Wall and processor seconds of the score, on an untrained β-VAE."""
    from unbraid.metrics.translation_difficulty import translation_difficulty

    data = load("dsprites", 32)
    learner = build("beta_vae", data, {"network": "intervention"}).prepare("cpu", "fp32")
    wall, own = time.perf_counter(), time.process_time()
    translation_difficulty(learner, data, values=values)
    return time.perf_counter() - wall, time.process_time() - own


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3, help="steps of each per round")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--memory", choices=("intervention", "beta_vae"), help=argparse.SUPPRESS)
    parser.add_argument("--tiny", action="store_true", help="the least of everything: does it run?")
    options = parser.parse_args(arguments)
    cases, methods, batch, values = CASES, ("beta_vae", "intervention"), BATCH, 11
    if options.tiny:
        options.rounds, options.steps = 1, 1
        cases, methods, batch, values = (("dsprites", 16, "small"),), ("intervention",), 2, 2
    torch.set_num_threads(options.threads)
    keep_freed_memory()
    if options.memory:
        print(json.dumps(peak_megabytes(options.memory, batch)))
        return
    print(f"{options.threads} threads, batch {batch}, {options.rounds} rounds of {options.steps} steps\n")
    print(f"{'a step, β-VAE = 1':44}{'ratio':>8}{'goal':>8}   rounds")
    for data, resolution, network in cases:
        times = step_times(data, resolution, network, batch, options.rounds, options.steps)
        for name in ("without difficulty", "full"):
            ratios = [one / plain for one, plain in zip(times[name], times["beta_vae"], strict=True)]
            what = f"{name}, {data} {resolution}x{resolution}, {network}"
            shown = " ".join(f"{ratio:.1f}" for ratio in ratios)
            goal = f"{RATIO:.1f}" if name == "full" else ""
            print(f"{what:44}{statistics.median(ratios):8.2f}{goal:>8}   {shown}")
    print(f"\n{'peak memory of a process, megabytes':44}{'':8}{'goal':>8}")
    for method in methods:
        command = [sys.executable, __file__, "--memory", method, "--threads", str(options.threads)]
        command += ["--tiny"] if options.tiny else []
        peak = float(json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))
        print(f"{method + ', shapes3d 64x64':44}{peak:8.0f}{MEGABYTES if method != 'beta_vae' else '':>8}")
    wall, own = metric_seconds(values)
    what = f"translation_difficulty, {10 * values * (values - 1):,} pairs, 32x32"
    print(f"\n{what:44}{wall:8.1f}{SECONDS:8}   seconds, {own:.1f} of processor")


if __name__ == "__main__":
    main()
