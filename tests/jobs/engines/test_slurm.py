"""Real jobs of submitit, as processes of this machine; for sbatch and arrays, `slurm_commands` stand in for SLURM's."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.examples import tasks, toy_jobs
from tests.examples.processes import alive, eventually
from tests.examples.slurm_commands import write_commands
from tests.examples.toy_jobs import run, table, tiny, told
from unbraid import cli
from unbraid.cli._engine import minutes
from unbraid.errors import InputError
from unbraid.jobs import schedule
from unbraid.jobs.engines import WorkerDiedError
from unbraid.jobs.engines.slurm import SlurmExecutor
from unbraid.jobs.job import Job
from unbraid.jobs.study_folder import StudyFolder
from unbraid.own.sources import import_file
from unbraid.runs.run import Run

TOYS, TASKS = Path(toy_jobs.__file__), Path(tasks.__file__)
STEPS = 300
MODEL: Job = tiny(steps=STEPS, every=2)


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[SlurmExecutor]:
    """Submitit's jobs as processes of this machine, which know the tasks' file only from what is sent to them."""
    pytest.importorskip("submitit", reason="submitit is not installed: pip install 'unbraid[slurm]'")
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # submitit cancels by it; after & it is ignored
    with SlurmExecutor(2, folder=tmp_path / "study", modules=[TOYS, TASKS], cluster="local") as executor:
        yield executor
    signal.signal(signal.SIGINT, before)


def trainer(out: Path, before: int = 0) -> int:
    """The process that is training the model, once it has taken some steps more than a process before it."""
    log, lease = StudyFolder(out).folder(MODEL) / "train.jsonl", StudyFolder(out).lease(MODEL)

    def pid() -> int:
        words = lease.read_text().split() if lease.exists() else []  # empty for a moment, when it changes hands
        return int(words[0]) if words else before

    assert eventually(lambda: log.exists() and pid() != before)
    size = log.stat().st_size
    assert eventually(lambda: log.stat().st_size > size)
    return pid()


def test_a_model_that_is_preempted_and_killed_resumes_and_gives_the_same_table(
    queue: SlurmExecutor, tmp_path: Path
) -> None:
    out, said, steps = tmp_path / "study", list[str](), list[int]()

    def interrupt() -> None:
        pid = 0
        for by in (signal.SIGUSR2, signal.SIGKILL):
            pid = trainer(out, pid)
            os.kill(pid, by)
            assert eventually(lambda: not alive(pid))  # noqa: B023
            steps.append(Run(StudyFolder(out).folder(MODEL)).state["step"])

    thread = threading.Thread(target=interrupt)
    thread.start()
    result = schedule.run([MODEL], out, executor=queue, workers=1, say=said.append)
    thread.join()
    assert str(result) == "1 done", said
    assert 0 < steps[0] <= steps[1] < STEPS, "it had saved its state when it was pre-empted, and began there again"
    assert len(said) == 1, "pre-emption is no death"
    assert said[0].startswith(f"{MODEL.label} ({MODEL.id}): the SLURM job ")
    assert said[0].endswith(" ended without a result (finished); it resumes in another process")
    assert str(run([MODEL], tmp_path / "whole")[0]) == "1 done"
    assert table(out, [MODEL]) == table(tmp_path / "whole", [MODEL])


def test_a_slurm_job_is_like_a_local_worker(queue: SlurmExecutor, tmp_path: Path) -> None:
    module = import_file(TASKS)
    futures: dict[str, Any] = {
        "threads": queue.submit(module.threads), "fail": queue.submit(module.fail, 4),
        "lock": queue.submit(module.give_a_lock), "sent": queue.submit(len, threading.Lock()),
    }  # fmt: skip
    assert futures["threads"].result() == (1, "1", "1")
    with pytest.raises(ValueError, match="not 4"):
        futures["fail"].result()
    for name in ("lock", "sent"):
        with pytest.raises(TypeError, match="pickle"):
            futures[name].result()
    queue.shutdown()
    assert not (tmp_path / "study" / "slurm").exists(), "where no job died, submitit's files are removed"
    with pytest.raises(RuntimeError, match="was shut down"):
        queue.submit(len, [])


def test_cancelled_jobs_end(queue: SlurmExecutor, tmp_path: Path) -> None:
    future = queue.submit(import_file(TASKS).nap, 600.0, tmp_path / "nap")
    assert eventually(lambda: (tmp_path / "nap").exists() and bool((tmp_path / "nap").read_text()))
    queue.shutdown(cancel_futures=True)
    with pytest.raises(WorkerDiedError, match="was cancelled"):
        future.result()
    assert eventually(lambda: not alive(int((tmp_path / "nap").read_text())))


def test_the_command_submits_an_array_and_a_preempted_job_is_queued_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("submitit", reason="submitit is not installed: pip install 'unbraid[slurm]'")
    slurm, out = tmp_path / "bin", tmp_path / "study"
    slurm.mkdir()
    write_commands(slurm)
    monkeypatch.setenv("PATH", f"{slurm}:{os.environ['PATH']}")
    study = tmp_path / "two_notes.py"
    study.write_text(
        "from tests.examples.toy_jobs import Note\ndef jobs(scale):\n    return [Note('one'), Note('two')]\n"
    )
    out.mkdir()
    (out / "wait").touch()

    def preempt() -> None:
        assert eventually(lambda: len(told(out, "begin")) == 2)
        os.kill(int((out / "log.txt").read_text().split()[2]), signal.SIGUSR2)
        assert eventually(lambda: len(told(out, "begin")) == 3)
        (out / "wait").unlink()

    thread = threading.Thread(target=preempt)
    thread.start()
    options = ["--partition", "gpu", "--time", "1:00:00", "--gpus-per-job", "1", "--sbatch", "account=lab"]
    words = ["unbraid", "study", "run", str(study), "--out", str(out), "--engine", "slurm", *options]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    thread.join()
    assert (ended.value.code or 0, capsys.readouterr().out) == (0, f"{out}  2 done\n")
    assert sorted(told(out, "end")) == ["one", "two"]
    script = (slurm / "101.sh").read_text().splitlines()
    for line in (
        "array=0-1%2",
        "partition=gpu",
        "time=60",
        "gpus-per-node=1",
        "account=lab",
        "cpus-per-task=1",
        "requeue",
    ):
        assert f"#SBATCH --{line}" in script
    assert not (slurm / "102.sh").exists(), "both in one array"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"workers": 0}, "workers is 0; expected at least 1"),
        ({"array": 0}, "array is 0; expected at least 1"),
        ({"gpus_per_job": 0.5}, "the GPUs of a job are 0.5; SLURM gives whole ones, such as 0 or 1"),
        ({"memory": -1.0}, "the memory of a job is -1.0 GB; expected more than 0"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        SlurmExecutor(folder=tmp_path, **settings)


def test_a_machine_without_slurm_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("submitit", reason="submitit is not installed: pip install 'unbraid[slurm]'")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="this machine has no srun"):
        SlurmExecutor(folder=tmp_path)


def test_submitit_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "submitit", None)
    with pytest.raises(InputError, match=r"the engine slurm needs submitit: pip install 'unbraid\[slurm\]'"):
        SlurmExecutor(folder=tmp_path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [("90", 90), ("1:30", 2), ("4:00:00", 240), ("0:00:61", 2), ("1-12", 2160), ("1-12:30", 2190), ("2-0:0:1", 2881)],
)
def test_times_are_read_as_sbatch_reads_them(text: str, expected: int) -> None:
    assert minutes(text) == expected


@pytest.mark.parametrize("text", ["", "4h", "1:2:3:4", "0", "0:30", "-5"])
def test_a_bad_time_is_named(text: str) -> None:
    with pytest.raises(InputError, match=r"--time is '.*'; expected"):
        minutes(text)
