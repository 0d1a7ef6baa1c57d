"""What disentanglement by intervention costs, as ratios in one run.

A full step (s = 5 inner steps, differentiated through) beside a plain β-VAE step of the same network, batch 64, both in
fp32; they take turns, so that a ratio compares neighbours in time, and the figure is the median of the rounds. The peak
memory of a process that takes such steps. And the seconds of `translation_difficulty` on 1,100 pairs of values of ten
features at 32x32.

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
WANTED_RATIO, WANTED_MEGABYTES, WANTED_SECONDS = 8.0, 2000, 60


def step_times(data: str, resolution: int, network: str, rounds: int, steps: int) -> dict[str, list[float]]:
    """Seconds of a step of each learner, one a round."""
    opened = load(data, resolution)
    batch = opened.batch(BATCH, 0)
    learners = {}
    for name, (method, settings) in LEARNERS.items():
        torch.manual_seed(0)
        learners[name] = build(method, opened, {"network": network, **settings}).prepare("cpu", "fp32").train()
        learners[name].update(batch)
    found: dict[str, list[float]] = {name: [] for name in learners}
    for _ in range(rounds):
        for name, learner in learners.items():
            begun = time.perf_counter()
            for _ in range(steps):
                learner.update(batch)
            found[name].append((time.perf_counter() - begun) / steps)
    return found


def peak_megabytes(method: str) -> float:
    """The largest memory of this process after ten steps on 64x64 images in colour."""
    data = load("shapes3d")
    batch = data.batch(BATCH, 0)
    learner = build(method, data, {"network": "intervention"}).prepare("cpu", "fp32").train()
    for _ in range(10):
        learner.update(batch)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000


def metric_seconds() -> tuple[float, float]:
    """Wall and processor seconds of the score, on an untrained β-VAE."""
    from unbraid.metrics.translation_difficulty import translation_difficulty

    data = load("dsprites", 32)
    learner = build("beta_vae", data, {"network": "intervention"}).prepare("cpu", "fp32")
    wall, own = time.perf_counter(), time.process_time()
    translation_difficulty(learner, data)
    return time.perf_counter() - wall, time.process_time() - own


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=3, help="steps of each in a round")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--memory", choices=("intervention", "beta_vae"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    keep_freed_memory()
    if arguments.memory:
        print(json.dumps(peak_megabytes(arguments.memory)))
        return
    print(f"{arguments.threads} threads, batch {BATCH}, {arguments.rounds} rounds of {arguments.steps} steps\n")
    print(f"{'a step, β-VAE = 1':44}{'ratio':>8}{'wanted':>8}   rounds")
    for data, resolution, network in CASES:
        times = step_times(data, resolution, network, arguments.rounds, arguments.steps)
        for name in ("without difficulty", "full"):
            ratios = [mine / plain for mine, plain in zip(times[name], times["beta_vae"], strict=True)]
            what = f"{name}, {data} {resolution}x{resolution}, {network}"
            shown = " ".join(f"{ratio:.1f}" for ratio in ratios)
            wanted = f"{WANTED_RATIO:.1f}" if name == "full" else ""
            print(f"{what:44}{statistics.median(ratios):8.2f}{wanted:>8}   {shown}")
    print(f"\n{'peak memory of a process, megabytes':44}{'':8}{'wanted':>8}")
    for method in ("beta_vae", "intervention"):
        command = [sys.executable, __file__, "--memory", method, "--threads", str(arguments.threads)]
        found = float(json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout))
        print(f"{method + ', shapes3d 64x64':44}{found:8.0f}{WANTED_MEGABYTES if method != 'beta_vae' else '':>8}")
    wall, own = metric_seconds()
    what = "translation_difficulty, 1,100 pairs, 32x32"
    print(f"\n{what:44}{wall:8.1f}{WANTED_SECONDS:8}   seconds, {own:.1f} of processor")


if __name__ == "__main__":
    main()
