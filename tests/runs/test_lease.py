from __future__ import annotations

import fcntl
import os
import subprocess
import threading
from pathlib import Path

from unbraid.runs.lease import is_leased, lease


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
