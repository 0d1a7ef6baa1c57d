from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor, ThreadPoolExecutor, wait
from pathlib import Path

import pytest

from tests.examples.processes import alive, eventually
from tests.examples.tasks import (
    allocate,
    die,
    double,
    fail,
    fail_oddly,
    fail_to_read,
    give_a_lock,
    is_silent,
    nap,
    show_progress,
    stop_python,
    threads,
    zeros,
)
from tests.examples.toy_jobs import Note
from unbraid import progress
from unbraid.errors import InputError
from unbraid.jobs import schedule
from unbraid.jobs.engines import WorkerDiedError
from unbraid.jobs.engines.local import LocalExecutor
from unbraid.jobs.engines.ray import RayExecutor
from unbraid.own.sources import import_file


@pytest.fixture(scope="module")
def pool() -> Iterator[LocalExecutor]:
    with LocalExecutor(1, memory_limit=4_000_000_000) as executor:
        yield executor


def test_results(pool: LocalExecutor) -> None:
    assert pool.workers == 1
    assert [pool.submit(double, n, plus=1).result() for n in range(3)] == [1, 3, 5]
    assert list(pool.map(double, [4, 5])) == [8, 10]


def test_errors_come_back_as_what_they_were(pool: LocalExecutor) -> None:
    before = pool.submit(nap, 0).result()
    with pytest.raises(ValueError, match="not 4") as caught:
        pool.submit(fail, 4).result()
    assert str(caught.value) == "not 4"
    assert 'raise ValueError(f"not {number}")' in "".join(caught.value.__notes__)
    with pytest.raises(OSError, match="cannot read"):
        pool.submit(fail_to_read).result()
    with pytest.raises(RuntimeError, match="OddError: odd 3"):
        pool.submit(fail_oddly).result()
    with pytest.raises(RuntimeError, match="SystemExit: 7"):
        pool.submit(stop_python).result()
    assert pool.submit(nap, 0).result() == before, "none of these is a reason to end the process"


def test_what_cannot_be_sent_is_an_error_of_its_task(pool: LocalExecutor) -> None:
    before = pool.submit(nap, 0).result()
    with pytest.raises(Exception, match="pickle"):
        pool.submit(double, threading.Lock()).result()
    with pytest.raises(Exception, match="pickle"):
        pool.submit(give_a_lock).result()
    assert pool.submit(nap, 0).result() == before


def test_a_task_from_a_file_that_the_worker_does_not_know_is_an_error_of_its_task(
    pool: LocalExecutor, tmp_path: Path
) -> None:
    file = tmp_path / "unknown.py"
    file.write_text("def f():\n    return 1\n")
    with pytest.raises(ModuleNotFoundError, match="unbraid_code_"):
        pool.submit(import_file(file).f).result()


def test_a_machine_that_starts_no_process_is_no_fault_of_the_task(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(process: object) -> None:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    with LocalExecutor(1) as executor:
        monkeypatch.setattr("multiprocessing.context.SpawnProcess.start", refused)
        error = executor.submit(threads).exception()
    assert isinstance(error, BrokenExecutor)  # which ends a study; nothing is recorded as failed
    assert isinstance(error, InputError)
    assert str(error) == "a worker process cannot be started: Resource temporarily unavailable"


def test_workers_have_one_thread_and_this_process_keeps_its_own(
    pool: LocalExecutor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "5")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with pytest.raises(WorkerDiedError):
        pool.submit(die).result()  # the next is started with the settings above
    assert pool.submit(threads).result() == (1, "1", "1")
    assert os.environ["OMP_NUM_THREADS"] == "5"
    assert "OPENBLAS_NUM_THREADS" not in os.environ


def test_a_bar_is_shown_here_but_not_by_workers(
    pool: LocalExecutor, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "PLAIN", 0.0)
    show_progress()
    assert "working: 50%" in capfd.readouterr().err
    monkeypatch.setattr(progress, "_silent", pool.submit(is_silent).result())
    show_progress()
    assert capfd.readouterr().err == ""


def test_a_killed_worker_fails_only_its_own_task_and_is_replaced(tmp_path: Path) -> None:
    with LocalExecutor(2) as pool:
        slow = pool.submit(nap, 1.0, tmp_path / "slow")
        killed = pool.submit(nap, 60.0, tmp_path / "killed")
        queued = pool.submit(double, 21)
        assert eventually(lambda: (tmp_path / "killed").exists() and (tmp_path / "slow").exists())
        victim = int((tmp_path / "killed").read_text())
        os.kill(victim, signal.SIGKILL)
        with pytest.raises(WorkerDiedError, match="ended with SIGKILL"):
            killed.result()
        assert slow.result() == int((tmp_path / "slow").read_text())
        assert queued.result() == 42
        wait([pool.submit(nap, 0.3) for _ in range(4)])
        assert len(pool.pids()) == 2
        assert victim not in pool.pids()


def test_a_worker_that_is_killed_while_it_is_idle_is_replaced(pool: LocalExecutor) -> None:
    assert pool.submit(double, 1).result() == 2
    (victim,) = pool.pids()
    os.kill(victim, signal.SIGKILL)
    assert eventually(lambda: not pool.pids())
    assert pool.submit(double, 21).result() == 42
    assert len(pool.pids()) == 1


def test_a_memory_limit_makes_an_error_and_the_worker_goes_on(pool: LocalExecutor) -> None:
    before = pool.submit(nap, 0).result()
    with pytest.raises(MemoryError):
        pool.submit(allocate, 6_000_000_000).result()
    with pytest.raises(RuntimeError, match="can't allocate memory"):
        pool.submit(zeros, 3_000_000_000).result()
    assert pool.submit(nap, 0).result() == before


def test_nothing_is_taken_after_the_end() -> None:
    pool = LocalExecutor(1)
    pool.shutdown()
    pool.shutdown()
    with pytest.raises(RuntimeError, match="was shut down"):
        pool.submit(double, 1)


def test_the_end_waits_or_does_not(tmp_path: Path) -> None:
    pool = LocalExecutor(1)
    running, queued = pool.submit(nap, 600.0, tmp_path / "nap"), pool.submit(double, 1)
    assert eventually((tmp_path / "nap").exists)
    pids = pool.pids()
    pool.shutdown(cancel_futures=True)
    assert isinstance(running.exception(), WorkerDiedError)
    assert queued.cancelled()
    assert not any(alive(pid) for pid in pids)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"workers": 0}, "workers is 0; expected at least 1"),
        ({"workers": 10**30}, "expected at most 1,000 processes of one machine"),
        ({"workers": 1, "memory_limit": 0}, "the memory limit is 0 bytes; expected more than 0"),
    ],
)
def test_bad_settings_are_named(settings: dict[str, int], message: str) -> None:
    with pytest.raises(InputError, match=message):
        LocalExecutor(**settings)


PARENT = """
    import sys, time
    from pathlib import Path
    from tests.examples.tasks import nap
    from unbraid.jobs.engines.local import LocalExecutor

    if __name__ == "__main__":
        pool = LocalExecutor(1)
        pool.submit(nap, 600.0, Path(sys.argv[1]))
        while not pool.pids():
            time.sleep(0.01)
        print(pool.pids()[0], flush=True)
        if sys.argv[2] == "killed":
            time.sleep(600)
"""


@pytest.mark.parametrize("how", ["ends", "killed"])
def test_workers_end_with_the_process_that_made_them(tmp_path: Path, how: str) -> None:
    program, mark = tmp_path / "parent.py", tmp_path / "mark"
    program.write_text(textwrap.dedent(PARENT))
    parent = subprocess.Popen(
        [sys.executable, str(program), str(mark), how],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    assert parent.stdout
    with parent:
        try:
            worker = int(parent.stdout.readline())
            if how == "killed":
                assert eventually(mark.exists)  # it is in the middle of its task
                parent.send_signal(signal.SIGKILL)
            parent.wait(timeout=300)
            assert eventually(lambda: not alive(worker))
        finally:
            parent.kill()


def test_anything_that_looks_like_an_executor_runs_a_study(tmp_path: Path) -> None:
    first = Note("first")
    with ThreadPoolExecutor(2) as pool:
        assert str(schedule.run([Note("second", (first,))], tmp_path, executor=pool, workers=2)) == "2 done"


def test_a_file_is_imported_once_under_a_name_of_its_own(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "same.py").write_text(f"WHERE = {folder!r}\n")
    a, b = (import_file(tmp_path / folder / "same.py") for folder in ("a", "b"))
    assert (a.WHERE, b.WHERE) == ("a", "b")
    assert import_file(tmp_path / "a" / "same.py") is a


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def jobs(:", "SyntaxError"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("import no_such_module", "No module named 'no_such_module'"),
    ],
)
def test_a_file_that_cannot_be_imported_is_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "mine.py").write_text(text)
    for _ in range(2):
        with pytest.raises(InputError, match=rf"mine.py cannot be imported: .*{message}"):
            import_file(tmp_path / "mine.py")


def test_ray_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InputError, match=r"the engine ray needs Ray: pip install 'unbraid\[ray\]'"):
        RayExecutor(1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"workers": 0}, "workers is 0; expected at least 1"),
        ({"gpus_per_job": -1.0}, "the GPUs of a job are -1; expected a share from 0 to 1, or a whole number"),
        ({"gpus_per_job": 1.5}, "the GPUs of a job are 1.5"),
        ({"address": "127.0.0.1:9"}, "there is no Ray cluster at '127.0.0.1:9': .*refused; expected HOST:PORT or auto"),
        ({"address": "somewhere"}, "there is no Ray cluster at 'somewhere'"),
    ],
)
def test_bad_settings_of_ray_are_named(settings: dict[str, object], message: str) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'unbraid[ray]'")
    with pytest.raises(InputError, match=message):
        RayExecutor(**settings)  # type: ignore[arg-type]
