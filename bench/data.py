"""How fast the embedded data is drawn and sampled. Prints a table; `--quick` does a tenth of the work.

Each data set is drawn in a process of its own with an empty cache, to measure its memory.
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
from collections.abc import Sequence

import torch

from unbraid.data import load
from unbraid.data.catalogue import DRAWN

DRAW = """
import json, re, sys, time
from unbraid.data import load

def peak():
    return int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1e3

before = peak()
start = time.perf_counter()
load(sys.argv[1], int(sys.argv[2])).images_at([0])
seconds = time.perf_counter() - start
print(json.dumps([seconds, peak(), before]))
"""


def drawing(name: str, resolution: int, again: bool = True) -> tuple[float, float, float, float]:
    """Seconds to draw into an empty cache, seconds to open it `again`, peak memory in MB, memory before in MB."""
    with tempfile.TemporaryDirectory() as cache:
        runs = [
            json.loads(
                subprocess.run(
                    [sys.executable, "-c", DRAW, name, str(resolution)],
                    env={**os.environ, "UNBRAID_CACHE": cache},
                    check=True,
                    capture_output=True,
                ).stdout
            )
            for _ in range(1 + again)
        ]
    return runs[0][0], runs[-1][0] if again else 0.0, runs[0][1], runs[0][2]


def sampling(name: str, resolution: int, batch: int, batches: int, repeats: int = 5) -> float:
    """Random images per second in batches: the median of the repeats."""
    data = load(name, resolution)
    rng = torch.Generator().manual_seed(0)
    data.sample(batch, rng)
    speeds = []
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(batches):
            data.sample(batch, rng)
        speeds.append(batch * batches / (time.perf_counter() - start))
    return statistics.median(speeds)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the batches")
    parser.add_argument("--tiny", action="store_true", help="the least of everything: does it run?")
    options = parser.parse_args(arguments)
    batches = 1 if options.tiny else 50 if options.quick else 500
    side = 8 if options.tiny else 64
    print(f"{side}x{side}, {torch.get_num_threads()} threads, batches of 64")
    print(f"{'data set':18}{'draw s':>8}{'open s':>8}{'peak MB':>9}{'(import MB)':>12}{'images/s':>12}")
    for name in DRAWN[:1] if options.tiny else DRAWN:
        draw, again, peak, before = drawing(name, side, again=not options.tiny)
        speed = sampling(name, side, 64, batches)
        print(f"{name:18}{draw:8.1f}{again:8.2f}{peak:9.0f}{before:12.0f}{speed:12,.0f}")


if __name__ == "__main__":
    main()
