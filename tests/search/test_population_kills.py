"""A population whose processes are really killed has the history of one that nothing happened to; so has one on Ray."""

from __future__ import annotations

import multiprocessing
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from multiprocessing.context import ForkServerContext
from pathlib import Path

import pytest

from tests.examples.processes import eventually
from tests.examples.small_population import FLAGS, evolve_small
from unbraid.jobs.engines.ray import RayExecutor
from unbraid.runs.lease import is_leased
from unbraid.runs.run import Run
from unbraid.runs.table import find_runs
from unbraid.search import History


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> History:
    """The population, run here and now without a worker."""
    return evolve_small(tmp_path_factory.mktemp("whole"))


def same(out: Path, best: Run, whole: History) -> None:
    """The same history to the last byte, and the same weights of every model."""
    assert (out / "population.csv").read_bytes() == (whole.out / "population.csv").read_bytes()
    assert best.path("model").read_bytes() == whole.best.path("model").read_bytes()
    models = {run.folder.name: run.path("model").read_bytes() for run in find_runs(whole.out / "jobs")}
    found = {run.folder.name: run.path("model").read_bytes() for run in find_runs(out / "jobs")}
    trained = [name for name in models if name.startswith("generation")]
    assert len(trained) == 12
    assert {name: found[name] for name in trained} == {name: models[name] for name in trained}
    assert not list(out.rglob("*.part"))
    assert not (out / "damaged").exists()


def begun(out: Path) -> int:
    """How many jobs have a folder."""
    return len(list(out.glob("jobs/*/state.json")))


def forks() -> ForkServerContext:
    """Processes that begin with everything imported, also what is imported on first use."""
    context = multiprocessing.get_context("forkserver")
    first_used = ["matplotlib.figure", "sklearn.linear_model", "torch._dynamo"]
    context.set_forkserver_preload([evolve_small.__module__, *first_used])
    return context


def test_a_population_killed_four_times_has_the_history_of_one_left_alone(tmp_path: Path, whole: History) -> None:
    out, chance, reached = tmp_path / "killed", random.Random(7), []
    command = [sys.executable, "-m", "unbraid.cli", "population", "beta_tc_vae", *FLAGS, "--out", str(out)]
    with subprocess.Popen([*command, "--workers", "2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        at_work = eventually(lambda: begun(out) >= 2 or process.poll() is not None)
        time.sleep(chance.uniform(0.0, 0.5))
        process.send_signal(signal.SIGKILL)
    assert at_work
    leases = out / "leases"
    assert eventually(lambda: not any(is_leased(path) for path in leases.glob("*"))), "workers leave by themselves"
    reached.append(begun(out))
    for _ in range(3):
        wanted = begun(out) + chance.randint(1, 6)
        child = forks().Process(target=evolve_small, args=(out,))
        child.start()
        assert eventually(lambda: begun(out) >= wanted or not child.is_alive())  # noqa: B023
        time.sleep(chance.uniform(0.0, 0.3))
        child.kill()
        child.join()
        assert child.exitcode == -signal.SIGKILL, "it was still at work"
        reached.append(begun(out))
    assert reached == sorted(set(reached)), "each got further than the one before"
    history = evolve_small(out)
    same(out, history.best, whole)


# Ray


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayExecutor]:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'unbraid[ray]'")
    with RayExecutor(2) as executor:
        yield executor


def test_a_ray_cluster_gives_the_same_history(cluster: RayExecutor, whole: History, tmp_path: Path) -> None:
    history = evolve_small(tmp_path, executor=cluster, workers=2)
    same(tmp_path, history.best, whole)
