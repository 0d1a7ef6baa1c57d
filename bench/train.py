"""Training speed compared with the obvious PyTorch program, as ratios in one run.

That program is in `_plain.py`. Everything runs in a process of its own, because the settings of the allocator and of
OpenMP stay with a process, and round by round, so that a ratio compares neighbours in time. The figure is the median of
the rounds.

The last rows compare how threads wait: soon asleep, as `import unbraid` sets it, with spinning, libgomp's default. On
a machine with nothing else to do spinning is faster; with one busy process on two cores it is far slower.

    python bench/train.py [--rounds 5] [--seconds 8]
    python bench/train.py --only threads         only those rows
    python bench/train.py --waits                other numbers of spins before a thread sleeps
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import unbraid  # before torch, which reads how threads should wait when it is loaded

if TYPE_CHECKING:
    from _plain import Step
    from torch import Tensor

SPINNING = 300_000  # times libgomp's threads look again before they sleep, where nothing is set


@dataclass(frozen=True)
class Size:
    batch: int = 64
    images: int = 64 * 200
    """The plain program's data set: enough that no cache holds it."""
    every: int = 10
    """Steps between two reports of ours."""
    encoded: int = 2048
    discriminator_width: int = 1000


TINY = Size(batch=4, images=8, every=1, encoded=8, discriminator_width=8)


def images(size: Size) -> Tensor:
    return unbraid.data.load("dsprites").sample(size.images, 0)[0]


def plain_beta_vae(size: Size) -> Step:
    import _plain

    return _plain.beta_vae(images(size), size.batch)


def plain_factor_vae(size: Size) -> Step:
    import _plain

    return _plain.factor_vae(images(size), size.batch, size.discriminator_width)


def ours(method: str, precision: str, size: Size) -> Step:
    from unbraid.training.device import resolve_precision
    from unbraid.training.loop import train

    data = unbraid.data.load("dsprites")
    settings = {"discriminator_width": size.discriminator_width} if method == "factor_vae" else {}
    learner = unbraid.methods.build(method, data, {"batch_size": size.batch, **settings})
    learner = learner.prepare("cpu", resolve_precision(precision, _cpu()))
    reports = train(learner, data, steps=10**12, seed=0, every=size.every)

    def step() -> int:
        next(reports)
        return size.every * size.batch

    return step


def encoding(size: Size) -> Step:
    from unbraid.training.device import resolve_precision

    data = unbraid.data.load("dsprites")
    learner = unbraid.methods.build("beta_vae", data).prepare("cpu", resolve_precision("auto", _cpu()))

    def step() -> int:
        return len(unbraid.represent(learner, data, samples=size.encoded).codes)

    return step


def _cpu() -> Any:
    import torch

    return torch.device("cpu")


WORK: dict[str, Callable[[Size], Step]] = {
    "plain beta_vae": plain_beta_vae,
    "beta_vae auto": lambda size: ours("beta_vae", "auto", size),
    "beta_vae fp32": lambda size: ours("beta_vae", "fp32", size),
    "encoding": encoding,
    "plain factor_vae": plain_factor_vae,
    "factor_vae auto": lambda size: ours("factor_vae", "auto", size),
}


@dataclass(frozen=True)
class Speed:
    """Something to measure: which work, in how many processes of how many threads, and beside what."""

    work: str
    processes: int = 1
    threads: int = 2
    spins: int | None = None
    """How often a waiting thread looks before it sleeps; None for what `import unbraid` sets."""
    busy: bool = False
    """Whether another process computes all the time."""


@dataclass(frozen=True)
class Ratio:
    label: str
    ours: Speed
    base: Speed
    goal: float


PLAIN = Speed("plain beta_vae", spins=SPINNING)
RATIOS = [
    Ratio("beta_vae auto / plain", Speed("beta_vae auto"), PLAIN, 2.0),
    Ratio("beta_vae fp32 / plain", Speed("beta_vae fp32"), PLAIN, 1.4),
    Ratio("beta_vae auto, 2 processes x 1 thread / plain", Speed("beta_vae auto", 2, 1), PLAIN, 2.4),
    Ratio("encoding / plain", Speed("encoding"), PLAIN, 3.0),
    Ratio(
        "factor_vae auto / plain", Speed("factor_vae auto"), Speed("plain factor_vae", spins=SPINNING), 1.6
    ),
    Ratio(
        "quiet: sleeping / spinning threads", Speed("beta_vae fp32"), Speed("beta_vae fp32", spins=SPINNING), 0.9
    ),
    Ratio(
        "busy neighbour: sleeping / spinning threads",
        Speed("beta_vae fp32", busy=True),
        Speed("beta_vae fp32", spins=SPINNING, busy=True),
        4.0,
    ),
]  # fmt: skip


CHOICES = [
    Ratio(
        f"{'busy neighbour' if busy else 'quiet'}: {label} / {SPINNING:,} spins",
        Speed("beta_vae fp32", spins=spins, busy=busy),
        Speed("beta_vae fp32", spins=SPINNING, busy=busy),
        4.0 if busy else 0.9,
    )
    for busy in (False, True)
    for label, spins in (("as set", None), ("0 spins", 0), ("3,000 spins", 3_000), ("10,000 spins", 10_000))
]
"""How long a thread might spin before it sleeps."""


def measure(work: str, seconds: float, size: Size) -> float:
    """Images per second over at least `seconds`, after a warm-up."""
    step = WORK[work](size)
    end = time.perf_counter() + seconds / 4
    while time.perf_counter() < end:
        step()
    start = time.perf_counter()
    done = step()
    while time.perf_counter() < start + seconds:
        done += step()
    return done / (time.perf_counter() - start)


@contextmanager
def neighbour(busy: bool) -> Iterator[None]:
    """With `busy`, a process that computes as long as the block runs."""
    if not busy:
        yield
        return
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        process.kill()
        process.wait()


def in_processes(speed: Speed, seconds: float, size: Size) -> float:
    """Images per second: the sum over several processes that work at once."""
    command = [sys.executable, __file__, "--work", speed.work, "--seconds", str(seconds)]
    command += ["--tiny"] if size == TINY else []
    kept = {name: value for name, value in os.environ.items() if name not in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT")}
    spins = {} if speed.spins is None else {"GOMP_SPINCOUNT": str(speed.spins)}
    environment = {**kept, "OMP_NUM_THREADS": str(speed.threads), **spins}
    with neighbour(speed.busy):
        running = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) for _ in range(speed.processes)]
        return sum(float(json.loads(process.communicate()[0])) for process in running)


class TimeIsUp(Exception):  # noqa: N818
    """Ends a run that is measured."""


def share_of_the_step(seconds: float, size: Size) -> float:
    """How much of the time of a whole run (data, logging, checkpoints) its bare steps take.

    Both are timed in one process, one around the other, so that a noisy machine slows both.
    """
    from unbraid.methods.beta_vae import BetaVAE

    inside, steps, start, bare = 0.0, 0, 0.0, BetaVAE.update

    def timed(self: BetaVAE, batch: Any) -> Any:
        nonlocal inside, steps, start
        begun = time.perf_counter()
        if steps == 10:  # the first steps are slower
            inside, start = 0.0, begun
        elif steps > 10 and begun - start > seconds:
            raise TimeIsUp
        terms = bare(self, batch)
        inside, steps = inside + time.perf_counter() - begun, steps + 1
        return terms

    BetaVAE.update = timed  # type: ignore[method-assign]
    try:
        with tempfile.TemporaryDirectory() as folder:
            unbraid.train(
                "beta_vae", "dsprites", steps=10**12, out=folder, precision="fp32", protocol=None,
                batch_size=size.batch,
            )  # fmt: skip
    except TimeIsUp:
        return inside / (time.perf_counter() - start)
    finally:
        BetaVAE.update = bare  # type: ignore[method-assign]
    raise AssertionError("the run ended by itself")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", choices=WORK, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--only", metavar="TEXT", default="", help="only the ratios whose name has this in it")
    parser.add_argument("--waits", action="store_true", help="compare how long threads spin before they sleep")
    parser.add_argument("--tiny", action="store_true", help="a step of everything: does it run?")
    options = parser.parse_args(arguments)
    size = TINY if options.tiny else Size()
    if options.work:
        print(json.dumps(measure(options.work, options.seconds, size)))
        return
    if options.tiny:
        for name in WORK:
            print(f"{name:50}{measure(name, 0.0, size):8,.0f} images/s")
        print(f"{'with a busy neighbour':50}{in_processes(RATIOS[-1].ours, 0.0, size):8,.0f} images/s")
        print(f"{'bare steps / the whole run':50}{share_of_the_step(0.0, size):8.3f}")
        return
    from unbraid.training.device import resolve_precision

    auto = resolve_precision("auto", _cpu())
    print(f"64x64x1, batch 64, two threads; auto precision is {auto} here; median of {options.rounds} rounds")
    chosen = [ratio for ratio in (CHOICES if options.waits else RATIOS) if options.only in ratio.label]
    measure_ratios(chosen, options.rounds, options.seconds, size)
    if not options.only and not options.waits:
        share = share_of_the_step(max(options.seconds, 35.0), size)  # at least one checkpoint
        print(f"{'bare steps / the whole run':50}{share:8.3f}{0.95:8.2f}   one round, in one process")


def measure_ratios(ratios: Sequence[Ratio], rounds: int, seconds: float, size: Size) -> None:
    measured: list[list[float]] = [[] for _ in ratios]
    for _ in range(rounds):
        base = {speed: in_processes(speed, seconds, size) for speed in dict.fromkeys(ratio.base for ratio in ratios)}
        for values, ratio in zip(measured, ratios, strict=True):
            values.append(in_processes(ratio.ours, seconds, size) / base[ratio.base])
    print(f"{'':50}{'ratio':>8}{'goal':>8}   rounds")
    for values, ratio in zip(measured, ratios, strict=True):
        shown = " ".join(f"{value:.2f}" for value in values)
        print(f"{ratio.label:50}{statistics.median(values):8.2f}{ratio.goal:8.2f}   {shown}", flush=True)


if __name__ == "__main__":
    main()
