from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.examples import toy_jobs
from tests.examples.toy_jobs import Note, Now, Trouble, run, table, tiny, told
from unbraid.jobs import schedule
from unbraid.jobs.agreement import Udr
from unbraid.jobs.engines import WorkerDiedError
from unbraid.jobs.engines.local import LocalExecutor
from unbraid.jobs.job import Job, ordered
from unbraid.jobs.results import read_results
from unbraid.jobs.schedule import tallies, tally
from unbraid.jobs.study_folder import StudyFolder
from unbraid.runs.folder import Folder
from unbraid.runs.lease import lease
from unbraid.runs.tracking import Tracking, tracked

TOYS, ROOT = Path(toy_jobs.__file__), Path(__file__).parents[2]


# What is missing


def test_jobs_run_behind_what_they_need_and_read_it(tmp_path: Path) -> None:
    a, b = Note("a"), Note("b")
    jobs: list[Job] = [Note("last", (Note("c", (a, b)), b)), b]
    found, said = run(jobs, tmp_path)
    assert (str(found), said) == ("4 done", [])
    assert told(tmp_path, "end") == ["a", "b", "c", "last"]
    note = json.loads((StudyFolder(tmp_path).folder(jobs[0]) / "note.json").read_text())
    assert note["read"][0] == {"name": "c", "read": [{"name": "a", "read": []}, {"name": "b", "read": []}]}


def test_what_a_job_made_possible_comes_next(tmp_path: Path) -> None:
    first, second = Note("first"), Note("second")
    behind = [Note("a", (first,)), Note("b", (first,)), Note("c", (second,))]
    run([first, second, *behind], tmp_path)
    assert told(tmp_path, "begin") == ["first", "a", "b", "second", "c"]


def test_nothing_missing_runs_nothing(tmp_path: Path) -> None:
    jobs = toy_jobs.jobs("broken")
    run(jobs, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    found, said = run(jobs, tmp_path)
    assert (str(found), said) == ("4 done", [])
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()} == before


def test_only_what_is_new_runs(tmp_path: Path) -> None:
    first, second = Note("first"), Note("second")
    run([first], tmp_path)
    run([first, second, Note("third", (first,))], tmp_path)
    assert told(tmp_path, "begin") == ["first", "second", "third"]


def test_at_most_so_many_at_a_time(tmp_path: Path) -> None:
    counts: list[int] = []
    lock, now = threading.Lock(), [0]

    class Counting(ThreadPoolExecutor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            with lock:
                now[0] += 1
                counts.append(now[0])
            future = super().submit(fn, *args, **kwargs)
            future.add_done_callback(lambda _: now.__setitem__(0, now[0] - 1))
            return future

    with Counting(8) as pool:
        run([Note(str(number), wait=0.01) for number in range(12)], tmp_path, executor=pool, workers=3)
    assert max(counts) == 3


def test_running_jobs_that_train_nothing_imports_no_torch() -> None:
    modules = "unbraid.cli.study, unbraid.jobs.schedule, unbraid.jobs.engines.local, unbraid.search.rules"
    program = f"import sys, tests.examples.toy_jobs, {modules}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout == "False\n"


# Trouble


def test_a_job_that_raises_is_recorded_and_the_others_finish(tmp_path: Path) -> None:
    bad = Trouble("bad")
    jobs: list[Job] = [Note("a"), bad, Note("b")]
    found, said = run(jobs, tmp_path)
    assert str(found) == "2 done, 1 failed"
    assert said == [f"bad ({bad.id}) failed: ArithmeticError: two and two are five"]
    state = StudyFolder(tmp_path).status(bad)
    assert state["reason"] == "ArithmeticError: two and two\nare five"
    assert 'raise ArithmeticError("two and two\\nare five")' in state["traceback"]
    assert told(tmp_path, "end") == ["a", "b"]


def test_a_job_that_ends_python_has_failed(tmp_path: Path) -> None:
    jobs: list[Job] = [Trouble("bad", by="exit"), Note("b")]
    found, said = run(jobs, tmp_path)
    assert str(found) == "1 done, 1 failed"
    assert said[0].endswith("failed: SystemExit: enough")


def test_what_fails_fails_what_needs_it_but_not_what_can_do_without(tmp_path: Path) -> None:
    (tmp_path / "trouble").touch()
    jobs = toy_jobs.jobs("broken")
    bad, needy, patient, _ = jobs
    found, said = run(jobs, tmp_path)
    assert str(found) == "2 done, 2 failed"
    assert said[1] == f"needy ({needy.id}) failed: needs bad ({bad.id}), which failed"
    assert (StudyFolder(tmp_path).state(patient), StudyFolder(tmp_path).state(needy)) == ("done", "failed")
    assert json.loads((StudyFolder(tmp_path).folder(patient) / "note.json").read_text())["read"] == []


def test_failed_jobs_stay_failed_until_they_are_tried_again(tmp_path: Path) -> None:
    (tmp_path / "trouble").touch()
    jobs = toy_jobs.jobs("broken")
    run(jobs, tmp_path)
    begun = told(tmp_path, "begin")
    assert str(run(jobs, tmp_path)[0]) == "2 done, 2 failed"
    assert told(tmp_path, "begin") == begun, "without retry, nothing is run"
    (tmp_path / "trouble").unlink()
    found, said = run(jobs, tmp_path, retry=True)
    assert (str(found), said) == ("4 done", [])
    assert told(tmp_path, "begin")[len(begun) :] == ["bad", "needy", "patient"], "the other was done"
    whole = tmp_path / "whole"
    run(jobs, whole)
    assert table(tmp_path, jobs) == table(whole, jobs), "what did without the failed job was made again"


def test_a_retry_of_some_jobs_leaves_nothing_that_was_made_without_them(tmp_path: Path) -> None:
    (tmp_path / "trouble").touch()
    jobs = toy_jobs.jobs("broken")
    bad, _, patient, _ = jobs
    run(jobs, tmp_path)
    (tmp_path / "trouble").unlink()
    run([bad], tmp_path, retry=True, among=jobs)
    assert [StudyFolder(tmp_path).state(job) for job in jobs] == ["done", "queued", "queued", "done"]
    assert not StudyFolder(tmp_path).folder(patient).exists(), "its result may change, so it starts from nothing"
    assert str(run(jobs, tmp_path)[0]) == "4 done"
    run(jobs, tmp_path / "whole")
    assert table(tmp_path, jobs) == table(tmp_path / "whole", jobs)


def test_a_retry_that_is_killed_while_it_queues_leaves_nothing_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "trouble").touch()
    jobs = toy_jobs.jobs("broken")
    run(jobs, tmp_path)
    (tmp_path / "trouble").unlink()
    for stop in (1, 2):
        left = iter(range(stop))

        def stopping(change: Callable[..., Any], left: Iterator[int] = left) -> Callable[..., Any]:
            def changing(*given: Any, **more: Any) -> Any:
                if next(left, None) is None:
                    raise KeyboardInterrupt
                return change(*given, **more)

            return changing

        with monkeypatch.context() as patch:
            patch.setattr(Folder, "set_state", stopping(Folder.set_state))
            patch.setattr(StudyFolder, "set_aside", stopping(StudyFolder.set_aside))
            with pytest.raises(KeyboardInterrupt):
                run(jobs, tmp_path, retry=True)
        run(jobs, tmp_path)  # without retry
    run(jobs, tmp_path, retry=True)
    run(jobs, tmp_path / "whole")
    assert table(tmp_path, jobs) == table(tmp_path / "whole", jobs)


def test_a_job_whose_process_dies_goes_on_in_another_and_fails_the_third_time(tmp_path: Path) -> None:
    class Deadly(Now):
        """Its process dies where the job's name says so, as often as it says."""

        deaths = {"once": 1, "often": 9}

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            name = args[0].label
            if self.deaths.get(name, 0) > 0:
                self.deaths[name] -= 1
                future: Future[Any] = Future()
                future.set_exception(WorkerDiedError("the worker process ended with SIGKILL"))
                return future
            return super().submit(fn, *args, **kwargs)

    often = Note("often")
    found, said = run([Note("once"), often, Note("never")], tmp_path, executor=Deadly())
    assert str(found) == "2 done, 1 failed"
    assert sum("resumes in another" in line for line in said) == 3
    reason = StudyFolder(tmp_path).status(often)["reason"]
    assert reason == "the worker process ended with SIGKILL, 3 times; perhaps it ran out of memory"


def test_a_job_that_cannot_be_sent_has_failed(tmp_path: Path) -> None:
    class Picky(Now):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            if args[0].label == "heavy":
                future: Future[Any] = Future()
                future.set_exception(TypeError("cannot pickle a piano"))
                return future
            return super().submit(fn, *args, **kwargs)

    found, said = run([Note("heavy"), Note("light")], tmp_path, executor=Picky())
    assert str(found) == "1 done, 1 failed"
    assert said[0].endswith("failed: TypeError: cannot pickle a piano")


def test_an_executor_that_breaks_is_no_failure_of_the_jobs(tmp_path: Path) -> None:
    jobs: list[Job] = [Trouble("bad", by="kill"), Note("a")]
    with ProcessPoolExecutor(1) as pool, pytest.raises(Exception, match="terminated abruptly"):
        run(jobs, tmp_path, executor=pool)
    assert tally(jobs, tmp_path).states["failed"] == 0


def test_diverging_and_greedy_jobs_are_recorded_and_the_others_finish(tmp_path: Path) -> None:
    wild = tiny(settings={"learning_rate": 1e20}, steps=60)
    hungry, good = Trouble("hungry", by="memory"), tiny(1)
    jobs: list[Job] = [wild, hungry, good, Note("a"), Udr((wild, good, tiny(2)), rows=50), Udr((wild, good), rows=50)]
    said: list[str] = []
    with LocalExecutor(1, modules=[TOYS], memory_limit=6_000_000_000) as pool:
        found = schedule.run(jobs, tmp_path, executor=pool, workers=1, say=said.append)
    study = StudyFolder(tmp_path)
    assert [study.state(job) for job in jobs] == ["diverged", "failed", "done", "done", "done", "failed"]
    assert found.total == 7
    assert "became" in study.status(wild)["reason"]
    assert study.status(hungry)["reason"].startswith("MemoryError")
    assert "bytearray" in study.status(hungry)["traceback"]
    assert set(read_results(study.folder(jobs[4])).scores) == {good.id, tiny(2).id}
    assert "1 of 2 are done" in study.status(jobs[5])["reason"]


# Several at once


def test_a_job_that_another_is_at_is_waited_for(tmp_path: Path) -> None:
    job = Note("slow")
    study = StudyFolder(tmp_path)
    with lease(study.lease(job)):
        thread = threading.Thread(target=run, args=([job, Note("next", (job,))], tmp_path))
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()
        assert tally([job], tmp_path).states == {"running": 1}
        study.open(job).set_state("done")  # by the other
    thread.join(20)
    assert not thread.is_alive()
    assert told(tmp_path, "end") == ["next"]


def test_a_dead_ones_job_is_taken_over(tmp_path: Path) -> None:
    job = Note("slow")
    with lease(StudyFolder(tmp_path).lease(job)):
        thread = threading.Thread(target=run, args=([job], tmp_path))
        thread.start()
        thread.join(0.5)
        assert told(tmp_path, "begin") == []
    thread.join(20)
    assert told(tmp_path, "end") == ["slow"]


def test_what_is_queued_again_meanwhile_is_done_before_what_needs_it(tmp_path: Path) -> None:
    first = Note("first")
    second = Note("second", (first,), patient=True)

    class Meddling(Now):
        """Somebody else retries the first job just as the second is about to start."""

        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
            if args[0].label == "second" and not (tmp_path / "meddled").exists():
                (tmp_path / "meddled").touch()
                Folder(StudyFolder(tmp_path).folder(first)).set_state("queued")
            return super().submit(fn, *args, **kwargs)

    found, _ = run([second], tmp_path, executor=Meddling())
    assert str(found) == "2 done"
    assert told(tmp_path, "begin") == ["first", "first", "second"]


def test_many_threads_on_one_folder_run_each_job_once(tmp_path: Path) -> None:
    jobs: list[Job] = [Note(f"n{number}", wait=0.005) for number in range(20)]
    jobs.append(Note("last", tuple(jobs)))
    threads = [threading.Thread(target=run, args=(jobs, tmp_path)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(told(tmp_path, "begin")) == sorted(job.label for job in jobs)
    assert tally(ordered(jobs), tmp_path).states == {"done": 21}


# Progress

Bars = tuple[list[tuple[float, str]], list[float]]


@pytest.fixture
def bars(monkeypatch: pytest.MonkeyPatch) -> Bars:
    """What progress bars are told, and their totals."""
    shown, totals = list[tuple[float, str]](), list[float]()

    @contextlib.contextmanager
    def record(label: str, total: float, **settings: object) -> Iterator[Callable[..., None]]:
        totals.append(total)
        yield lambda amount, note: shown.append((amount, note))

    monkeypatch.setattr("unbraid.jobs.schedule.progress", record)
    return shown, totals


def test_what_was_done_before_the_jobs_that_are_asked_for_is_not_counted(tmp_path: Path, bars: Bars) -> None:
    first, other = Note("first"), Note("other")
    run([first], tmp_path)
    bars[0].clear()
    run([Note("next", (first, other))], tmp_path)
    assert bars[0][0] == (0.0, "0 of 2 done")
    assert bars[0][-1][1] == "2 of 2 done"


def test_a_long_job_counts_for_more_than_a_short_one(
    tmp_path: Path, bars: Bars, monkeypatch: pytest.MonkeyPatch
) -> None:
    shown, totals = bars
    monkeypatch.setattr(Note, "seconds", property(lambda job: 90.0 if job.label == "long" else 5.0))
    run([Note("long"), Note("a"), Note("b")], tmp_path)
    assert totals == [100.0]
    assert sum(amount for amount, _ in shown) == pytest.approx(100.0)
    assert shown[0] == (0.0, "0 of 3 done")
    assert shown[-1][1] == "3 of 3 done"
    assert 90.0 in itertools.accumulate(amount for amount, _ in shown)


def test_a_job_that_runs_moves_the_bar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = Note("first"), Note("second")
    study = StudyFolder(tmp_path)
    queue = schedule._Queue(study, [first, second], lambda line: None)
    queue.running = {Future(): first, Future(): second}
    clock = [100.0]
    monkeypatch.setattr("unbraid.jobs.schedule.time.monotonic", lambda: clock[0])
    monkeypatch.setattr(StudyFolder, "state", lambda self, job: "running" if job is first else "queued")
    weights = {first.id: 60.0, second.id: 60.0}
    assert queue.under_way(weights) == 0  # just seen to run
    clock[0] += 30
    assert queue.under_way(weights) == 30  # and the second waits for a machine
    queue.spent, queue.expected = 20.0, 10.0
    assert queue.under_way(weights) == 15  # jobs take twice as long here as they were expected to
    clock[0] += 3000
    assert queue.under_way(weights) == 57  # but is not done


# Tallies


def test_tallies(tmp_path: Path) -> None:
    jobs = [*toy_jobs.jobs("broken"), Note("other", patient=True), Note("other", (Note("x"),))]
    (tmp_path / "trouble").touch()
    run(jobs[:4], tmp_path)
    with lease(StudyFolder(tmp_path).lease(jobs[5])):
        found = tallies(ordered(jobs), tmp_path)
        assert found["other"].states == {"done": 1, "running": 1}
        assert found["x"].states == {"remaining": 1}
        whole = tally(ordered(jobs), tmp_path)
    assert str(whole) == "2 done, 2 failed, 1 running, 1 remaining"
    assert whole.total == 6


def test_the_time_remaining_is_corrected_by_what_was_measured(tmp_path: Path) -> None:
    jobs: list[Job] = [Note("a"), Note("b"), Note("c")]
    assert tally(jobs, tmp_path).seconds_remaining == 3.0
    StudyFolder(tmp_path).open(jobs[0]).set_state("done", seconds=5.0)
    assert tally(jobs, tmp_path).seconds_remaining == 10.0


# Trackers


def test_each_job_is_a_run_of_its_own_in_the_tracker_also_from_workers(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed: pip install 'unbraid[tensorboard]'")
    jobs: list[Job] = [tiny(0), tiny(1)]
    with LocalExecutor(1) as pool, tracked(Tracking.of("tensorboard", tmp_path / "study")):
        assert str(schedule.run(jobs, tmp_path / "study", executor=pool, workers=1)) == "2 done"
    folders = sorted((tmp_path / "study" / "tensorboard").iterdir())
    assert [folder.name for folder in folders] == sorted(f"{job.label}-{job.id}" for job in jobs)
    assert all(list(folder.glob("events.out.tfevents.*")) for folder in folders)
    run(jobs, tmp_path / "plain")
    assert table(tmp_path / "study", jobs) == table(tmp_path / "plain", jobs), "the same runs, with the same ids"
