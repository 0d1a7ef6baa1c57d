"""A population on two workers compared with two training runs at once; and the cost of its scores.

Both train the same method on the same data with the same batch. The ratio is of images per second: those that the
population trained, over the time from its first job to the end of its last generation, and those of two `unbraid train`
at once, from the first to the last line of their logs. The clock starts when the workers have started, and the runs
have taken their first steps. The score is MIG with 1,000 labels.

With `--score udr` a member is five models. The last line is the cost of the score: seconds to load a member's models,
encode and compare them, over the seconds that it took to train them.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path

import torch

from unbraid.data import load
from unbraid.jobs.engines.inline import InlineExecutor
from unbraid.jobs.engines.local import LocalExecutor
from unbraid.runs.run import Run
from unbraid.search import Hyperparameter, PopulationConfig, Score, evolve
from unbraid.search.fitness import fitness, label_sets

METHOD, DATA, SEED = "beta_tc_vae", "dsprites", 0


def population(options: argparse.Namespace, out: Path) -> tuple[float, float, float]:
    """Images per second of the whole, and the seconds that some members took to train and to score."""
    config = PopulationConfig(
        size=options.size,
        generations=options.generations,
        steps=options.steps,
        seed=SEED,
        space={"beta": Hyperparameter((1, 2, 4, 6, 8), 1, 100, whole=True)},
    )
    settings = {"network": options.network, "batch_size": options.batch, "learning_rate": 1e-4}
    labels = None if options.score == "udr" else 1000
    workers: Executor = InlineExecutor() if options.tiny else LocalExecutor(2)
    with workers as executor:
        for future in [executor.submit(time.sleep, 0.0 if options.tiny else 1.0) for _ in range(2)]:  # both started
            future.result()
        ends = [time.perf_counter()]

        def say(line: str) -> None:
            ends.append(time.perf_counter())
            print(f"  {line}", flush=True)

        history = evolve(
            METHOD, DATA, config, out, score=Score(options.score, labels), settings=settings,
            resolution=options.resolution, protocol=None, samples=100, executor=executor, workers=2, say=say,
        )  # fmt: skip
    images = int(history.table["images"].sum())
    return images / (ends[-1] - ends[0]), *share(options, out, Score(options.score, labels))


def share(options: argparse.Namespace, out: Path, score: Score) -> tuple[float, float]:
    """Seconds that members of the last generation took to train, and take to score here, with one thread."""
    torch.set_num_threads(1)
    data, training, scoring = load(DATA, options.resolution), 0.0, 0.0
    for member in range(min(4, options.size)):
        pattern = f"jobs/generation{options.generations - 1:02}-member{member:02}-model*"
        runs = [Run(path) for path in sorted(out.glob(pattern))]
        training += sum(float(run.state["seconds"]) for run in runs)
        start = time.perf_counter()
        fitness(score, [run.method() for run in runs], data, label_sets(score, data, None, SEED), SEED)
        scoring += time.perf_counter() - start
    return training, scoring


def separate(options: argparse.Namespace, out: Path) -> float:
    """Images per second of the training runs at once, one thread each."""
    command = [
        sys.executable, "-m", "unbraid.cli", "train", METHOD, "--data", DATA, "--resolution", str(options.resolution),
        "--steps", str(options.separate_steps), "--network", options.network, "--batch-size", str(options.batch),
        "--learning-rate", "1e-4", "--precision", "fp32", "--protocol", "none", "--every", str(options.every),
    ]  # fmt: skip
    prefix = ["env", "OMP_NUM_THREADS=1", "MKL_NUM_THREADS=1"]
    runs = [Run(out / str(seed)) for seed in range(options.runs)]
    started = [
        subprocess.Popen([*prefix, *command, "--seed", str(seed), "--out", str(run.folder)], stdout=subprocess.DEVNULL)
        for seed, run in enumerate(runs)
    ]
    first: dict[int, tuple[float, int]] = {}
    last: dict[int, tuple[float, int]] = {}
    while len(last) < options.runs:
        if any(process.poll() not in (None, 0) for process in started):
            raise SystemExit("a training run failed")
        for seed, run in enumerate(runs):
            log = run.path("train")
            steps = options.every * len(log.read_text().splitlines()) if log.exists() else 0
            now = time.perf_counter(), steps
            if steps:
                first.setdefault(seed, now)
            if steps >= options.separate_steps:
                last.setdefault(seed, now)
        time.sleep(0.05)
    for process in started:  # they would encode the data now
        process.terminate()
        process.wait()
    return sum(options.batch * (last[s][1] - first[s][1]) / (last[s][0] - first[s][0]) for s in first)


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=8)
    parser.add_argument("--generations", type=int, default=3)
    parser.add_argument("--steps", type=int, default=400, help="per generation")
    parser.add_argument("--separate-steps", type=int, default=2000, help="of each of the two training runs")
    parser.add_argument("--score", default="mig", help="udr, for populations with five models per member")
    parser.add_argument("--resolution", type=int, default=64)
    parser.add_argument("--network", default="assumptions")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--every", type=int, default=20, help="steps between two lines of the log")
    parser.add_argument("--tiny", action="store_true", help="the least of everything: does it run?")
    options = parser.parse_args(arguments)
    options.runs = 2
    if options.tiny:
        options.size, options.generations, options.steps, options.separate_steps = 2, 2, 2, 200
        options.resolution, options.network, options.batch, options.every, options.runs = 16, "small", 4, 1, 1
    with tempfile.TemporaryDirectory() as temporary:
        alone = separate(options, Path(temporary) / "separate")
        print(f"{options.runs} separate runs: {alone:,.0f} images per second", flush=True)
        speed, training, scoring = population(options, Path(temporary) / "population")
    print(f"population of {options.size} on two workers: {speed:,.0f} images per second")
    print(f"ratio {speed / alone:.3f} (goal: 0.9)")
    share = scoring / max(training, 0.1)  # seconds are rounded to tenths
    print(f"{options.score} is {share:.1%} of the training before it (goal for udr: less than 10 %)")


if __name__ == "__main__":
    main()
