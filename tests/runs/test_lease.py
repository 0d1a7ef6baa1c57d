from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from unbraid.errors import InputError
from unbraid.runs.lease import holder, is_leased, is_stopped, lease


def test_a_lease_is_one_processs_and_ends_with_it(tmp_path: Path) -> None:
    path = tmp_path / "leases" / "a"
    assert not is_leased(path)
    with lease(path) as leased:
        assert leased
        assert is_leased(path)
        with lease(path) as again:
            assert not again
    assert not is_leased(path)
    holder = subprocess.Popen(["flock", str(path), "sleep", "60"], start_new_session=True)
    try:
        while not is_leased(path):
            assert holder.poll() is None
    finally:
        os.killpg(holder.pid, 9)
        holder.wait()
    with lease(path) as leased:
        assert leased


def test_looking_at_a_lease_does_not_keep_others_from_taking_it(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.touch()
    with path.open() as file:
        fcntl.flock(file, fcntl.LOCK_SH)
        timer = threading.Timer(0.005, lambda: fcntl.flock(file, fcntl.LOCK_UN))
        timer.start()
        with lease(path) as leased:
            assert leased
        timer.join()


def test_a_file_system_without_locks_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(file: object, operation: int) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    (tmp_path / "a").touch()
    with pytest.raises(InputError, match=r"is on a file system without file locks.*use --out"), lease(tmp_path / "a"):
        pass
    with pytest.raises(InputError, match="is on a file system without file locks"):
        is_leased(tmp_path / "a")


def test_a_stopped_process_that_has_a_lease_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a"
    program = (
        "import time\nfrom pathlib import Path\nfrom unbraid.runs.lease import lease\n"
        f"with lease(Path({str(path)!r})):\n print(1, flush=True)\n time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        process.stdout.readline()
        assert holder(path) == f"process {process.pid}"
        process.send_signal(signal.SIGSTOP)
        while not is_stopped(process.pid):
            pass
        assert f"process {process.pid}, which is stopped (`kill -CONT {process.pid}`" in holder(path)
        with lease(path) as leased:
            assert not leased
    finally:
        process.kill()
        process.communicate()
