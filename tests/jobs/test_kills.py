"""Real processes, really killed. What comes out is what comes out of a study that nothing happened to."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.examples import tasks, toy_jobs
from tests.examples.processes import alive, eventually
from tests.examples.toy_jobs import run, table, told
from unbraid.jobs import schedule
from unbraid.jobs.engines import WorkerDiedError
from unbraid.jobs.engines.local import LocalExecutor
from unbraid.jobs.engines.ray import RayExecutor
from unbraid.jobs.job import Job, ordered
from unbraid.jobs.study_folder import StudyFolder
from unbraid.own.sources import import_file
from unbraid.runs.lease import is_leased
from unbraid.runs.run import Run

TOYS, TASKS = Path(toy_jobs.__file__), Path(tasks.__file__)
JOBS: list[Job] = ordered(import_file(TOYS).jobs("mixed"))  # three models, their UDR and five notes


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The table of the mixed study, run here and now without a worker."""
    out = tmp_path_factory.mktemp("whole")
    assert str(run(JOBS, out)[0]) == "9 done"
    return table(out, JOBS)


def start(out: Path, scale: str, *options: str) -> subprocess.Popen[str]:
    """Run a study in a group of processes of its own."""
    command = [sys.executable, "-m", "unbraid.cli", "study", "run", str(TOYS), "--scale", scale, "--out", str(out)]
    return subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def begun(out: Path) -> int:
    """How many jobs have a folder."""
    return len(list(out.glob("jobs/*/state.json")))


def done(out: Path) -> dict[str, int]:
    """The ids of the jobs that are done, and when that was written."""
    study = StudyFolder(out)
    finished = [job for job in JOBS if study.state(job) == "done"]
    return {job.id: (study.folder(job) / "state.json").stat().st_mtime_ns for job in finished}


def nobody_works(out: Path) -> bool:
    return not any(is_leased(path) for path in (out / "leases").glob("*"))


def test_a_study_killed_at_random_moments_ends_as_if_it_had_not_been(tmp_path: Path, whole: dict[str, Any]) -> None:
    out, chance = tmp_path / "study", random.Random(4)
    finished: dict[str, int] = {}
    wasted: Counter[str] = Counter()
    for _ in range(2):
        wanted, ended = begun(out) + chance.randint(1, 2), Counter(told(out, "end"))
        process = start(out, "mixed", "--workers", "2")
        with process:
            assert eventually(lambda: begun(out) >= wanted or process.poll() is not None)  # noqa: B023
            time.sleep(chance.uniform(0.0, 0.5))
            process.send_signal(signal.SIGKILL)
        assert eventually(lambda: nobody_works(out)), "its workers leave by themselves"
        now_done = done(out)
        assert finished.items() <= now_done.items(), "what was done is left alone"
        finished = now_done
        labels = {job.label for job in JOBS if job.id in finished}
        wasted += Counter(name for name in (Counter(told(out, "end")) - ended).elements() if name not in labels)
    with start(out, "mixed", "--workers", "2") as process:
        stdout, stderr = process.communicate(timeout=300)
    assert (process.returncode, stdout) == (0, f"{out}  9 done\n"), stderr
    assert finished.items() <= done(out).items()
    notes = [job.label for job in JOBS if type(job).__name__ == "Note"]
    assert Counter(told(out, "end")) == Counter(notes) + wasted, "each ends once, unless killed before that was written"
    assert table(out, JOBS) == whole
    assert not list(out.rglob("*.part"))
    assert not (out / "damaged").exists()


def killing(
    out: Path, pids: Callable[[], list[int]], chance: random.Random, by: Sequence[int] = (signal.SIGKILL,) * 2
) -> threading.Thread:
    """Send a signal to one of the processes while no note can end, and another to one later."""
    (out / "wait").touch()

    def kill() -> None:
        for jobs, number in zip((2, 6), by, strict=True):
            eventually(lambda: begun(out) >= jobs and bool(pids()))  # noqa: B023
            time.sleep(chance.uniform(0.0, 0.3))
            with suppress(ProcessLookupError):
                for pid in pids()[-1:]:
                    os.kill(pid, number)
            (out / "wait").unlink(missing_ok=True)

    thread = threading.Thread(target=kill)
    thread.start()
    return thread


def test_killed_workers_are_replaced_and_nothing_is_lost(tmp_path: Path, whole: dict[str, Any]) -> None:
    said: list[str] = []
    with LocalExecutor(2, modules=[TOYS]) as pool:
        thread = killing(tmp_path, pool.pids, random.Random(5))
        found = schedule.run(JOBS, tmp_path, executor=pool, workers=2, say=said.append)
        thread.join()
    assert str(found) == "9 done", said
    assert said, "at least one was killed at work"
    assert all("the worker process ended with SIGKILL; it resumes in another process" in line for line in said)
    assert table(tmp_path, JOBS) == whole


@pytest.mark.parametrize("engine", ["local", "ray"])
def test_a_stopped_study_has_saved_what_it_trained_and_says_how_to_resume(tmp_path: Path, engine: str) -> None:
    options = ["--workers", "1"]
    if engine == "ray":
        pytest.importorskip("ray", reason="Ray is not installed: pip install 'unbraid[ray]'")
        options = ["--engine", "ray", *options]
    (job,) = import_file(TOYS).jobs("long")
    run = Run(StudyFolder(tmp_path).folder(job))
    log = run.folder / "train.jsonl"
    with start(tmp_path, "long", *options) as process:
        assert eventually(lambda: (log.exists() and log.stat().st_size > 0) or process.poll() is not None)
        if engine == "local":
            os.killpg(process.pid, signal.SIGTERM)  # as a batch system does: to the workers too
        else:
            process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=300)
    assert process.returncode == 143, said
    step = len(log.read_text().splitlines()) * 5
    assert (run.state["state"], run.state["step"]) == ("running", step)
    assert run.path("checkpoint").exists()
    assert nobody_works(tmp_path)
    command = f"unbraid study run {TOYS} --scale long --out {tmp_path} {' '.join(options)}"
    assert [line for line in said.splitlines() if line][-2:] == [
        "unbraid: stopping when the training jobs have saved a checkpoint; press Ctrl-C again to stop at once",
        f"unbraid: stopped; to resume: {command}",
    ]


def test_two_studies_on_one_folder_run_every_job_once(tmp_path: Path) -> None:
    (tmp_path / "wait").touch()
    both = [start(tmp_path, "notes", "--workers", "1") for _ in range(2)]
    try:
        assert eventually(lambda: len(told(tmp_path, "begin")) == 2), "both are at a job"
        (tmp_path / "wait").unlink()
        answers = [process.communicate(timeout=300) for process in both]
    finally:
        for process in both:
            process.kill()
    assert [(process.returncode, stdout) for process, (stdout, _) in zip(both, answers, strict=True)] == [
        (0, f"{tmp_path}  16 done\n")
    ] * 2, answers
    labels = sorted(job.label for job in toy_jobs.jobs("notes"))
    assert sorted(told(tmp_path, "begin")) == sorted(told(tmp_path, "end")) == labels


# Ray


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayExecutor]:
    """Two workers of a cluster on this machine, which know the study's file only from what is sent to them."""
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'unbraid[ray]'")
    with RayExecutor(2, modules=[TOYS, TASKS]) as executor:
        yield executor


def test_a_ray_cluster_gives_the_same_table(
    cluster: RayExecutor, tmp_path: Path, whole: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert cluster.workers == 2
    found = schedule.run(JOBS, "study", executor=cluster, workers=2)
    assert str(found) == "9 done"
    assert table(tmp_path / "study", JOBS) == whole


def test_killed_ray_workers_are_replaced_and_nothing_is_lost(
    cluster: RayExecutor, tmp_path: Path, whole: dict[str, Any]
) -> None:
    said: list[str] = []

    def at_work() -> list[int]:
        log = tmp_path / "log.txt"
        lines = [line.split() for line in log.read_text().splitlines()] if log.exists() else []
        busy = [int(pid) for event, name, pid in lines if event == "begin" and ["end", name, pid] not in lines]
        return [pid for pid in busy if alive(pid)]

    signals = signal.SIGTERM, signal.SIGKILL  # the first is how Ray and clusters end them
    thread = killing(tmp_path, at_work, random.Random(6), signals)
    found = schedule.run(JOBS, tmp_path, executor=cluster, workers=2, say=said.append)
    thread.join()
    assert str(found) == "9 done", said
    assert said, "at least one was killed at work"
    assert all("the Ray worker died (WorkerCrashedError); it resumes in another process" in line for line in said)
    assert table(tmp_path, JOBS) == whole


def test_a_ray_worker_is_like_a_local_one(cluster: RayExecutor) -> None:
    assert cluster.submit(import_file(TASKS).threads).result() == (1, "1", "1")
    assert cluster.submit(dict, a=1).result() == {"a": 1}
    with pytest.raises(ValueError, match="invalid literal") as caught:
        cluster.submit(int, "x").result()
    assert type(caught.value) is ValueError
    with pytest.raises(WorkerDiedError, match="the Ray worker died"):
        cluster.submit(os._exit, 3).result()
    with pytest.raises(TypeError, match="pickle"):
        cluster.submit(len, threading.Lock()).result()


def test_a_killed_study_takes_its_ray_cluster_with_it(tmp_path: Path) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'unbraid[ray]'")
    (tmp_path / "wait").touch()
    with start(tmp_path, "notes", "--engine", "ray", "--workers", "1") as process:
        assert eventually(lambda: bool(told(tmp_path, "begin")) or process.poll() is not None)
        process.send_signal(signal.SIGKILL)
    assert eventually(lambda: nobody_works(tmp_path))
    (tmp_path / "wait").unlink()
    found, said = run(toy_jobs.jobs("notes"), tmp_path)
    assert (str(found), said) == ("16 done", [])
