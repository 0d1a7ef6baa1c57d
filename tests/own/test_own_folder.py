"""A method, a network, a metric, a data set and a study in a folder outside the package, through all that runs do."""

from __future__ import annotations

import itertools
import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.examples import own_folder
from tests.examples.command import Here
from tests.examples.processes import eventually
from unbraid.jobs.engines.inline import InlineExecutor
from unbraid.jobs.study_folder import StudyFolder
from unbraid.own import sources, trust
from unbraid.runs.table import find_runs
from unbraid.studies import open_study


def start(folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "unbraid.cli", "study", "run", "study.py", "--out", "out", "--workers", "1"]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def begun(folder: Path) -> bool:
    """Whether a model has taken its first steps and waits."""
    return any("running" in state.read_text() for state in folder.glob("out/jobs/SparseVAE-*/state.json"))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder after its study was killed while it trained, and run again: on processes of this machine."""
    folder = own_folder.write(tmp_path_factory.mktemp("somewhere") / "mine")
    (folder / "wait").touch()
    with start(folder) as process:
        assert eventually(lambda: begun(folder) or process.poll() is not None), "it trains"
        process.send_signal(signal.SIGKILL)
    (folder / "wait").unlink()
    with start(folder) as process:
        stdout, stderr = process.communicate(timeout=300)
    assert (process.returncode, stdout) == (0, "out  3 done\n"), stderr
    return folder


@pytest.fixture
def moved(trained: Path, tmp_path: Path) -> Path:
    """The same folder at another place."""
    shutil.copytree(trained, tmp_path / "elsewhere")
    return tmp_path / "elsewhere"


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that knows nothing of this code yet."""
    monkeypatch.setattr(trust, "_here", set())
    monkeypatch.setattr(sources, "_SOURCES", {})
    for name in [name for name in sys.modules if name.startswith("unbraid_code_")]:
        monkeypatch.delitem(sys.modules, name)


@pytest.fixture
def stranger(fresh: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A user who has never run any of this code."""
    monkeypatch.setenv("UNBRAID_STATE", str(tmp_path / "state"))


def files(study: Path) -> dict[str, bytes]:
    """All results, by name."""
    kept = (".json", ".npz", ".safetensors")
    results = [path for path in sorted(study.glob("jobs/*/*")) if path.is_file() and path.suffix in kept]
    return {path.relative_to(study).as_posix(): path.read_bytes() for path in results}


def test_runs_keep_references_and_copies_of_the_code(trained: Path) -> None:
    first, second = find_runs(trained / "out")
    config = first.read_json("config")
    assert config["method"].startswith("sparse_vae.py:SparseVAE@")
    assert config["settings"]["network"].startswith("networks.py:LITTLE@")
    assert config["opened"]["name"].startswith("blobs.py:Blobs@")
    metrics = [name.partition("@")[0] for name in config["protocol"]]
    assert metrics == ["spread.py:spread", "spread.py:brightness", "mig"]
    assert str(trained) not in first.path("config").read_text(), "no path of this machine"
    key = config["method"][-12:]
    assert sorted(path.name for path in (first.folder / "code" / key).glob("*.py")) == ["penalties.py", "sparse_vae.py"]
    scores, codes = first.read_json("scores")["scores"], first.representation().codes
    assert scores["brightness"] == pytest.approx(float(first.method().decode(codes).detach().mean()))
    assert {"spread", "mig", "elbo"} <= scores.keys()
    assert 0 < scores["spread"] < 10 * float((codes.std(0) ** 2).mean())
    assert second.config.seed == 1


def test_all_commands_find_the_code_again_where_the_folder_was_moved(moved: Path, here: Here, tmp_path: Path) -> None:
    out = moved / "out"
    before, run = files(out), str(find_runs(out)[0].folder)
    for command in (
        ["show", run],
        ["encode", run, "--out", "codes.npy"],
        ["explore", run, "--no-open", "--out", "page.html"],
        ["study", "status", str(out)],
        ["report", str(out), "--out", "report"],
    ):
        done = here(*command)
        assert (done.returncode, done.stderr) == (0, ""), command
    assert len(np.load(tmp_path / "codes.npy")) == 36
    assert "SparseVAE on Blobs" in (tmp_path / "page.html").read_text()
    assert "2 models of my own" in (tmp_path / "report" / "report.html").read_text()
    done = here("study", "run", str(moved / "study.py"), "--out", str(out), "--workers", "1")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{out}  3 done\n", ""), "nothing is run again"
    assert files(out) == before


@pytest.mark.usefixtures("fresh")
def test_the_copies_are_enough_where_the_files_are_gone(moved: Path, here: Here) -> None:
    out = moved / "out"
    for name in own_folder.FILES:
        (moved / name).unlink()
    done = here("study", "status", str(out))
    assert (done.returncode, done.stderr) == (0, "")
    run = find_runs(out)[0]
    assert str(vars(run.method().config)["network"]).startswith("networks.py:LITTLE@")
    with pytest.raises(FileNotFoundError, match=r"level.txt"):
        run.data()  # what the code reads beside itself is not code, and not kept


@pytest.mark.usefixtures("fresh")
def test_a_changed_loss_trains_anew(moved: Path, here: Here, monkeypatch: pytest.MonkeyPatch) -> None:
    out, before = moved / "out", {job.id for job in open_study(str(moved / "study.py")).jobs("smoke")}
    text = (moved / "penalties.py").read_text()
    (moved / "penalties.py").write_text(text.replace("mean()", "mean() * 100"))
    jobs = open_study(str(moved / "study.py")).jobs("smoke")
    assert not before & {job.id for job in jobs}
    monkeypatch.setattr("unbraid.cli._engine.LocalExecutor", lambda *_, **__: InlineExecutor())
    done = here("study", "run", str(moved / "study.py"), "--out", str(out))
    assert (done.returncode, done.stdout) == (0, f"{out}  3 done\n")
    assert "your sparse_vae.py changed since this study ran: the jobs that use it run again" in done.stderr
    old = {path.name for path in out.glob("jobs/*") if path.name[-12:] in before}
    assert len(old) == 3, "what was made before stays"
    new = [StudyFolder(out).folder(job) for job in jobs[:2]]
    sizes = [[json.loads(line)["size"] for line in (folder / "train.jsonl").read_text().splitlines()] for folder in new]
    assert min(map(min, sizes)) > 0


@pytest.mark.usefixtures("fresh")
def test_a_ray_cluster_gives_the_same_results(trained: Path, tmp_path: Path, here: Here) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'unbraid[ray]'")
    folder = own_folder.write(tmp_path / "mine")
    out = folder / "out"
    done = here("study", "run", str(folder / "study.py"), "--out", str(out), "--engine", "ray", "--workers", "1")
    assert (done.returncode, done.stdout) == (0, f"{out}  3 done\n"), done.stderr
    local, ray = files(trained / "out"), files(out)
    assert ray.keys() == local.keys()
    for name, content in local.items():
        assert name.endswith(("state.json", "scores.json")) or ray[name] == content, name


# A folder from elsewhere


@pytest.mark.usefixtures("stranger")
def test_code_from_elsewhere_is_not_run_without_trust(moved: Path, here: Here, tmp_path: Path) -> None:
    out = moved / "out"
    (moved / "study.py").write_text("raise SystemExit('run')")
    run = str(find_runs(out)[0].folder)
    for command in (["show", run], ["encode", run, "--out", "codes.npy"], ["explore", run, "--no-open"]):
        done = here(*command)
        assert done.returncode == 2
        assert "runs code that has not been run here before" in done.stderr
        assert "--trust" in done.stderr
    done = here("study", "status", str(out))
    assert (done.returncode, done.stderr) == (0, ""), "the folder's plan says enough"
    done = here("report", str(out), "--out", "report")
    assert done.returncode == 0
    assert "runs code that has not been run here before" in done.stderr
    assert "the general overview" in done.stderr
    assert "models of my own" not in (tmp_path / "report" / "report.html").read_text()
    assert not [name for name in sys.modules if name.startswith("unbraid_code_")]
    done = here("show", run, "--trust")
    assert (done.returncode, done.stderr) == (0, "")
    done = here("report", str(out), "--out", "report", "--trust")
    assert "changed since" in done.stderr, "by the copy, not by the file"
    assert "2 models of my own" in (tmp_path / "report" / "report.html").read_text()
    assert here("show", run).returncode == 0, "it has been run here now"


@pytest.mark.usefixtures("stranger")
@pytest.mark.parametrize("record", [{"name": "d/evil.py"}, {"name": "evil.py", "code": "../.."}])
def test_a_study_file_that_a_folder_names_is_not_imported(record: dict[str, str], here: Here, tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "evil.py").write_text("from pathlib import Path\nPath('ran').touch()\n")
    (tmp_path / "d" / "study.json").write_text(json.dumps({**record, "scale": "smoke"}))
    for command, flag in itertools.product((["report", "d"], ["study", "status", "d"]), ([], ["--trust"])):
        done = here(*command, *flag)
        assert "Traceback" not in done.stderr
        assert done.stderr.count("\n") == 1
        assert not (tmp_path / "ran").exists()


@pytest.mark.usefixtures("stranger")
@pytest.mark.parametrize("name", ["../evil.py:Evil", "evil.py:Evil", "evil.py:Evil@000000000000"])
def test_a_run_runs_no_code_that_it_does_not_hold(name: str, moved: Path, here: Here, tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text("from pathlib import Path\nPath('ran').touch()\nEvil = None\n")
    run = find_runs(moved / "out")[0]
    record = run.read_json("config")
    settings, opened = {**record["settings"], "network": name}, {**record["opened"], "name": name}
    for change in ({"method": name}, {"settings": settings}, {"opened": opened}):
        run.write_json("config", {**record, **change})
        run.seal()
        done = here("show", str(run.folder))
        assert done.returncode == 2
        assert not (tmp_path / "ran").exists()


@pytest.mark.usefixtures("stranger")
def test_a_copy_that_was_changed_is_damaged_and_a_link_is_none(moved: Path, here: Here) -> None:
    run = find_runs(moved / "out")[0]
    key = run.config.method[-12:]
    file = run.folder / "code" / key / "penalties.py"
    file.write_text(file.read_text() + "\n# changed\n")
    done = here("show", str(run.folder), "--trust")
    assert done.returncode == 2
    assert f"code/{key} is damaged: its files have another checksum" in done.stderr
    file.unlink()
    file.symlink_to(moved / "penalties.py")
    done = here("show", str(run.folder), "--trust")
    assert done.returncode == 2
    assert "penalties.py is a link" in done.stderr
