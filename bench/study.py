"""The cost of planning, watching, reading and reporting a study of 12,600 models; with `--speed`, of a second worker.

The folders are made up: finished runs of the assumptions study at paper scale, with every file, but tiny models and
codes. `--keep DIR` makes them there, or uses those that are there. `--against SRC` measures another version of the
package beside this one, each command of both in turn: `git worktree add ../before v1`, `--against ../before/src`.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

from unbraid.data import catalogue
from unbraid.jobs.agreement import Udr
from unbraid.jobs.engines.local import LocalExecutor
from unbraid.jobs.job import ordered
from unbraid.jobs.results import write_results
from unbraid.jobs.schedule import run
from unbraid.jobs.study_folder import StudyFolder
from unbraid.jobs.training import Train
from unbraid.methods import Spec
from unbraid.runs.folder import Folder, now
from unbraid.runs.identity import NUMBERS
from unbraid.runs.record import RunConfig
from unbraid.studies.assumptions.study import jobs

COLOURS = ("color_dsprites", "noisy_dsprites", "scream_dsprites", "cars3d", "shapes3d_official")
SCORES = (
    "mig", "dci.disentanglement", "dci.completeness", "dci.informativeness", "sap", "modularity", "explicitness",
    "beta_vae_score", "factor_vae_score", "irs", "total_correlation", "wasserstein_correlation", "code_information",
    "active_units",
    *(f"downstream.{kind}.{rows}" for kind in ("logistic", "gbt") for rows in (10, 100, 1000, 10_000, "efficiency")),
    "reconstruction", "kl", "elbo", "active_latents", "total_correlation_mean", "total_correlation_sampled",
)  # fmt: skip
LOAD = """
import time
from unbraid import load_runs
start, cpu = time.perf_counter(), time.process_time()
runs = load_runs({folder!r})
print(time.perf_counter() - start, time.process_time() - cpu, len(runs), (runs["state"] == "done").sum())
"""


@contextmanager
def without_sync() -> Iterator[None]:
    """90,000 files that need not be safe."""
    sync = os.fsync
    os.fsync = lambda file: None  # type: ignore[assignment]
    try:
        yield
    finally:
        os.fsync = sync


def make(out: Path, scale: str) -> None:
    """Write a folder that looks finished for every job of the study."""
    study, rng, plan = StudyFolder(out), random.Random(0), ordered(jobs(scale))
    study.begin("assumptions", scale, plan)
    for job in plan:
        folder = study.open(job)
        study.lease(job).parent.mkdir(exist_ok=True)
        study.lease(job).touch()
        if isinstance(job, Train):
            _train(job, folder, rng)
        else:
            udr = {other.id: {"udr.lasso": rng.random(), "udr.spearman": rng.random()} for other in job.needs}
            write_results(folder.folder, udr if isinstance(job, Udr) else {})
            folder.set_state("done", started=now(), seconds=9.5, finished=now())


def _train(job: Train, folder: Folder, rng: random.Random) -> None:
    entry = catalogue.declared(job.data)
    shape = (3 if job.data in COLOURS else 1, 64, 64)
    data = {"data": job.data, "image_shape": list(shape), "sizes": list(entry.sizes), "content": "0" * 64}
    config = RunConfig(
        job.id, job.method, job.full_settings, data, job.steps, job.seed, job.precision, job.samples, job.protocol
    )
    spec = Spec(shape, entry.images or 0, entry.names, entry.sizes)
    opened = {"name": job.data, "resolution": 64, "settings": {}}
    more = {"spec": asdict(spec), "opened": opened}
    folder.write_json("config", {"numbers": NUMBERS, **asdict(config), **more})
    terms = {"loss": rng.uniform(50, 200), "reconstruction": rng.uniform(20, 100), "kl": rng.uniform(0, 30)}
    (folder.folder / "train.jsonl").write_text("".join(f'{{"step": {n}, "loss": {rng.random()}}}\n' for n in range(20)))
    (folder.folder / "model.safetensors").write_bytes(rng.randbytes(1000))
    (folder.folder / "codes.npz").write_bytes(rng.randbytes(1000))
    scores = {name: rng.random() for name in SCORES}
    folder.write_json("scores", {"scores": scores, "protocol": "assumptions", "seed": str(job.seed), "notes": []})
    seconds = 6000 + 600 * rng.random()
    folder.set_state("done", step=job.steps, terms=terms, started=now(), seconds=seconds, finished=now())


@dataclass(frozen=True)
class Cost:
    """What a process takes."""

    seconds: float
    """From start to end."""
    cpu: float
    """Seconds of computing: about what `seconds` would be on a machine with nothing else to do."""
    peak: float
    """Memory in MB, of the process and those it started together."""
    printed: str


def measured(command: list[str], source: Path | None = None) -> Cost:
    """What a command takes; `source` holds another version of the package than this one."""
    environment = os.environ if source is None else {**os.environ, "PYTHONPATH": str(source)}
    start, peaks, over = time.perf_counter(), [0.0], threading.Event()

    def watch(session: int) -> None:
        while not over.wait(0.2):
            peaks.append(session_memory(session))

    with tempfile.TemporaryFile("w+") as output:
        process = subprocess.Popen(command, stdout=output, env=environment, start_new_session=True)
        threading.Thread(target=watch, args=[process.pid]).start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
        finally:
            over.set()
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
        return Cost(seconds, usage.ru_utime + usage.ru_stime, max(*peaks, usage.ru_maxrss / 1e3), output.read())


def session_memory(session: int) -> float:
    """MB that the processes of a session hold now, pages that they share counted once."""
    total = 0
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if os.getsid(int(folder.name)) == session:
                total += int((folder / "smaps_rollup").read_text().split("\nPss:")[1].split()[0])
        except (OSError, IndexError):  # it has just ended
            continue
    return total / 1e3


def multiplied(jobs: Path, out: Path, count: int) -> None:
    """`count` folders with the files of the runs of a study, as links to the same bytes."""
    runs = sorted(path.parent for path in jobs.glob("*/config.json"))
    for number in range(count):
        folder = out / f"run{number:05}"
        folder.mkdir(parents=True)
        for file in runs[number % len(runs)].iterdir():
            os.link(file, folder / file.name)


def size(out: Path, scale: str, tiny: bool = False, against: Path | None = None) -> None:
    plan = ordered(jobs(scale))
    models = sum(isinstance(job, Train) for job in plan)
    unbraid = [sys.executable, "-m", "unbraid.cli"]
    print(f"{'':38}{'seconds':>9}{'of CPU':>9}{'goal':>9}{'peak MB':>9}{'goal':>9}")

    def row(what: str, goal: str, cost: Cost, memory: str = "< 1000") -> None:
        print(f"{what:38}{cost.seconds:9.2f}{cost.cpu:9.2f}{goal:>9}{cost.peak:9.0f}{memory:>9}", flush=True)

    def both(what: str, goal: str, command: list[str], memory: str = "< 1000") -> Cost:
        if against is not None:
            row(f"  before: {what}", "", measured(command, against), "")
        cost = measured(command)
        row(what, goal, cost, memory)
        return cost

    row("unbraid --help, for comparison", "< 0.4", measured([*unbraid, "--help"]))
    loading = measured([sys.executable, "-c", LOAD.format(folder=str(out / "jobs"))])
    seconds, cpu, count, done = loading.printed.split()
    assert (int(count), int(done)) == (models, models), loading.printed
    row(f"load_runs of {models:,} runs", "< 10", Cost(float(seconds), float(cpu), loading.peak, ""))
    again = both("study run with nothing missing", "", [*unbraid, "study", "run", "assumptions", "--scale", scale,
                                                          "--out", str(out)])  # fmt: skip
    assert f"{len(plan)} done" in again.printed, again.printed
    status = both("study status", "< 2", [*unbraid, "study", "status", str(out)])
    assert str(len(plan)) in status.printed, status.printed
    with tempfile.TemporaryDirectory(dir=out.parent) as many:
        count = 30 if tiny else 20_000
        multiplied(out / "jobs", Path(many) / "runs", count)
        for name, form in (("table", []), ("JSON", ["--json"])):
            cost = both(
                f"unbraid runs of {count:,}, {name}", "< 5", [*unbraid, "runs", str(Path(many) / "runs"), *form]
            )
            assert cost.printed.count("beta_") + cost.printed.count("_vae") >= count // 2
    if not tiny:
        with tempfile.TemporaryDirectory() as report:
            both("the report", "< 30", [*unbraid, "report", str(out), "--out", report], "< 500")


def speed() -> None:
    """Time the smoke study on one worker and on two: its jobs alone, and the whole command, which starts workers."""
    jobs_alone = {workers: _jobs_alone(workers) for workers in (1, 2)}
    command = [sys.executable, "-m", "unbraid.cli", "study", "run", "assumptions", "--scale", "smoke"]
    whole: dict[int, float] = {}
    for workers in (1, 2) * 2:
        with tempfile.TemporaryDirectory() as out:
            cost = measured([*command, "--workers", str(workers), "--out", f"{out}/study"])
        whole[workers] = min(cost.seconds, whole.get(workers, cost.seconds))
    for what, taken, goal in (("the jobs", jobs_alone, "1.7"), ("the whole command", whole, "none")):
        times = f"one worker {taken[1]:.1f} s, two {taken[2]:.1f} s: {taken[1] / taken[2]:.2f} times as fast"
        print(f"smoke study, {what}: {times} (goal {goal})")


def _jobs_alone(workers: int) -> float:
    """Seconds with workers that have started: the first of three times is not counted."""
    taken = []
    with LocalExecutor(workers) as executor:
        for _ in range(3):
            with tempfile.TemporaryDirectory() as out:
                start = time.perf_counter()
                run(jobs("smoke"), out, executor=executor, workers=workers)
                taken.append(time.perf_counter() - start)
    return min(taken[1:])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--speed", action="store_true", help="measure one worker against two instead")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="make the folders here, or use those that are here")
    parser.add_argument("--against", type=Path, metavar="SRC", help="also measure the version in this folder")
    parser.add_argument("--tiny", action="store_true", help="the least of everything: does it run?")
    options = parser.parse_args(arguments)
    scale = "smoke" if options.tiny else "paper"
    if options.speed:
        speed()
        return
    with tempfile.TemporaryDirectory() as temporary:
        out = options.keep or Path(temporary) / "study"
        if not (out / "study.json").exists():
            start = time.perf_counter()
            with without_sync():
                make(out, scale)
            print(f"{len(list((out / 'jobs').iterdir())):,} folders made in {time.perf_counter() - start:.0f} s")
        size(out, scale, options.tiny, options.against)


if __name__ == "__main__":
    main()
