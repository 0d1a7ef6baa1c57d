"""Training speed beside the obvious PyTorch program, as ratios in one run.

The reference is what one would write first: the same network and loss in fp32, default memory layout, a DataLoader over
a uint8 TensorDataset, torch.optim.Adam. Everything runs in a process of its own (allocator settings stick to one),
round by round, so that a ratio compares neighbours in time; the figure is the median of the rounds.

    python bench/train.py [--rounds 5] [--seconds 8]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

BATCH = 64
IMAGES = 64 * 200  # the reference's data set: enough that no cache holds it


def images() -> Tensor:
    from unbraid.data import load

    return load("dsprites").sample(IMAGES, 0)[0]


# The obvious program


class Reference(nn.Module):
    """The network of assumptions, table 2."""

    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 32, 4, 2, 1), nn.ReLU(),
            nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU(), nn.Conv2d(64, 64, 4, 2, 1), nn.ReLU(),
            nn.Flatten(), nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, 20),
        )  # fmt: skip
        self.decoder = nn.Sequential(
            nn.Linear(10, 256), nn.ReLU(), nn.Linear(256, 1024), nn.ReLU(), nn.Unflatten(1, (64, 4, 4)),
            nn.ConvTranspose2d(64, 64, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(32, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 1, 4, 2, 1),
        )  # fmt: skip

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        mean, logvar = self.encoder(x).chunk(2, 1)
        z = mean + torch.exp(logvar / 2) * torch.randn_like(mean)
        return mean, logvar, z, self.decoder(z)


def negative_elbo(x: Tensor, mean: Tensor, logvar: Tensor, logits: Tensor, beta: float) -> Tensor:
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)
    kl = 0.5 * (mean.square() + logvar.exp() - logvar - 1).sum(1).mean()
    return reconstruction + beta * kl


def endless() -> Iterator[Tensor]:
    loader = DataLoader(TensorDataset(images()), batch_size=BATCH, shuffle=True)
    while True:
        for (batch,) in loader:
            yield batch


def reference() -> Callable[[], int]:
    model, batches = Reference(), endless()
    optimiser = torch.optim.Adam(model.parameters(), 1e-4)

    def step() -> int:
        x = next(batches).float() / 255
        mean, logvar, _, logits = model(x)
        optimiser.zero_grad()
        negative_elbo(x, mean, logvar, logits, 4.0).backward()
        optimiser.step()
        return BATCH

    return step


def reference_factor_vae() -> Callable[[], int]:
    model, batches = Reference(), endless()
    layers: list[nn.Module] = []
    for layer in range(6):
        layers += [nn.Linear(1000 if layer else 10, 1000), nn.LeakyReLU(0.2)]
    discriminator = nn.Sequential(*layers, nn.Linear(1000, 2))
    optimiser = torch.optim.Adam(model.parameters(), 1e-4)
    adversary = torch.optim.Adam(discriminator.parameters(), 1e-4, betas=(0.5, 0.9))
    zeros, ones = torch.zeros(BATCH, dtype=torch.long), torch.ones(BATCH, dtype=torch.long)

    def step() -> int:
        x = next(batches).float() / 255
        mean, logvar, z, logits = model(x)
        ratio = discriminator(z)
        loss = negative_elbo(x, mean, logvar, logits, 1.0) + 10 * (ratio[:, 0] - ratio[:, 1]).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        z = z.detach()
        permuted = torch.stack([z[torch.randperm(len(z)), j] for j in range(z.shape[1])], 1)
        loss = 0.5 * (F.cross_entropy(discriminator(z), zeros) + F.cross_entropy(discriminator(permuted), ones))
        adversary.zero_grad()
        loss.backward()
        adversary.step()
        return BATCH

    return step


# Ours


def ours(method: str, precision: str) -> Callable[[], int]:
    from unbraid.data import load
    from unbraid.methods import build
    from unbraid.training.device import resolve_precision
    from unbraid.training.loop import train

    data = load("dsprites")
    learner = build(method, data).prepare("cpu", resolve_precision(precision, torch.device("cpu")))
    reports = train(learner, data, steps=1 << 40, seed=0, every=10)

    def step() -> int:
        next(reports)
        return 10 * BATCH

    return step


def encoding() -> Callable[[], int]:
    from unbraid.data import load
    from unbraid.methods import build
    from unbraid.training.device import resolve_precision
    from unbraid.training.representation import represent

    data = load("dsprites")
    learner = build("beta_vae", data).prepare("cpu", resolve_precision("auto", torch.device("cpu")))

    def step() -> int:
        return len(represent(learner, data, samples=2048).codes)

    return step


WORK: dict[str, Callable[[], Callable[[], int]]] = {
    "reference": reference,
    "beta_vae auto": lambda: ours("beta_vae", "auto"),
    "beta_vae fp32": lambda: ours("beta_vae", "fp32"),
    "encoding": encoding,
    "reference factor_vae": reference_factor_vae,
    "factor_vae auto": lambda: ours("factor_vae", "auto"),
}


def measure(name: str, seconds: float) -> float:
    """Images a second, after a warm-up."""
    step = WORK[name]()
    end = time.perf_counter() + seconds / 4
    while time.perf_counter() < end:
        step()
    start, done = time.perf_counter(), 0
    while time.perf_counter() < start + seconds:
        done += step()
    return done / (time.perf_counter() - start)


def share_of_the_step(seconds: float) -> float:
    """How much of the time of a whole run (data, logging, checkpoints) its bare steps take.

    Both are timed in one process, one around the other, so that a noisy machine slows both.
    """
    import tempfile

    import unbraid
    from unbraid.methods.beta_vae import BetaVAE
    from unbraid.runs.recording import _steps

    inside, bare = 0.0, BetaVAE.update

    def timed(self: BetaVAE, batch: Any) -> Any:
        nonlocal inside
        start = time.perf_counter()
        terms = bare(self, batch)
        inside += time.perf_counter() - start
        return terms

    BetaVAE.update = timed  # type: ignore[method-assign]
    data = unbraid.data.load("dsprites")
    settings = unbraid.runs.identity.full_settings("beta_vae", {})
    config = unbraid.runs.run.RunConfig("bench", "beta_vae", settings, data.describe(), 1 << 40, 0, "fp32")
    learner = unbraid.methods.build("beta_vae", data).prepare("cpu", "fp32")
    with tempfile.TemporaryDirectory() as folder:
        run = unbraid.Run(folder)
        run.begin(config, data)
        reports = _steps(run, config, learner, data, 100, 30.0, print)
        for _ in range(2):
            next(reports)  # the first only opens the log
        start, inside = time.perf_counter(), 0.0
        for _ in reports:
            if time.perf_counter() - start > max(seconds, 35.0):  # a checkpoint at least
                break
        return inside / (time.perf_counter() - start)


def in_processes(name: str, seconds: float, processes: int = 1, threads: int = 2) -> float:
    """The sum of the speeds of several processes that work at once."""
    command = [sys.executable, __file__, "--work", name, "--seconds", str(seconds)]
    environment = {**os.environ, "OMP_NUM_THREADS": str(threads)}
    running = [subprocess.Popen(command, stdout=subprocess.PIPE, env=environment) for _ in range(processes)]
    return sum(float(json.loads(process.communicate()[0])) for process in running)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", choices=WORK, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=8.0)
    arguments = parser.parse_args()
    if arguments.work:
        print(json.dumps(measure(arguments.work, arguments.seconds)))
        return
    from unbraid.training.device import resolve_precision

    auto = resolve_precision("auto", torch.device("cpu"))
    print(f"64x64x1, batch 64, two threads; auto precision is {auto} here; median of {arguments.rounds} rounds")
    cases = [
        ("beta_vae auto", 1, 2, "reference", 2.0),
        ("beta_vae fp32", 1, 2, "reference", 1.4),
        ("beta_vae auto", 2, 1, "reference", 2.4),
        ("encoding", 1, 2, "reference", 3.0),
        ("factor_vae auto", 1, 2, "reference factor_vae", 1.6),
    ]
    ratios: list[list[float]] = [[] for _ in cases]
    for _ in range(arguments.rounds):
        base = {name: in_processes(name, arguments.seconds) for name in dict.fromkeys(case[3] for case in cases)}
        for found, (name, processes, threads, against, _) in zip(ratios, cases, strict=True):
            found.append(in_processes(name, arguments.seconds, processes, threads) / base[against])
    print(f"{'':42}{'ratio':>8}{'wanted':>8}   rounds")
    for found, (name, processes, threads, against, wanted) in zip(ratios, cases, strict=True):
        what = f"{name}{f', {processes} processes x {threads} thread' if processes > 1 else ''} / {against}"
        rounds = " ".join(f"{ratio:.2f}" for ratio in found)
        print(f"{what:42}{statistics.median(found):8.2f}{wanted:8.2f}   {rounds}")
    share = share_of_the_step(arguments.seconds)
    print(f"{'bare steps / the loop around them':42}{share:8.3f}{0.95:8.2f}   one round, in one process")


if __name__ == "__main__":
    main()
