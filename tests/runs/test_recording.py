from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import unbraid
from tests.examples.processes import eventually
from tests.examples.squares import squares
from tests.examples.tiny_run import TINY, tiny
from unbraid.data import Correlated, Subset
from unbraid.errors import InputError
from unbraid.runs.lease import lease
from unbraid.runs.record import LEASE
from unbraid.runs.run import Run
from unbraid.runs.table import run_row


def contents(run: Run) -> dict[str, bytes]:
    return {name: run.path(name).read_bytes() for name in ("train", "model", "codes")}


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return tiny(tmp_path_factory.mktemp("run") / "done")


def test_a_run_leaves_everything(done: Run) -> None:
    assert sorted(path.name for path in done.folder.iterdir()) == [
        "codes.npz", "config.json", "model.safetensors", "state.json", "train.jsonl",
    ]  # fmt: skip
    state = done.state
    assert state["state"] == "done"
    assert state["versions"]["torch"] == torch.__version__
    assert done.log["step"].tolist() == [10, 20, 30, 40, 50, 60]
    assert state["terms"] == {k: v for k, v in done.log.iloc[-1].items() if k != "step"}
    assert json.loads(done.path("config").read_text())["id"] == done.config.id


def test_codes_are_scored_where_there_are_factors(tmp_path: Path) -> None:
    data = unbraid.data.load("dsprites", 16, coarse="orientation=8,x=8,y=4")  # fewer classes to fit for DCI
    settings = {key: value for key, value in TINY.items() if key not in ("resolution", "protocol", "samples")}
    said = list[str]()
    run = unbraid.train(
        "beta_vae", data, out=tmp_path / "scored", protocol="fast", samples=2000, say=said.append, **settings
    )
    assert re.fullmatch(
        r"trained; scoring 4 codes of 2,000 images by protocol fast, about [1-9]\d* s on one core", *said
    )
    found = json.loads(run.path("scores").read_text())
    assert found["protocol"] == "fast"
    assert found["samples"] == {"train": 1000, "test": 500, "all": 2000}
    table = unbraid.load_runs(tmp_path)
    assert table["scores.mig"][0] == found["scores"]["mig"]
    again = unbraid.score(run.representation().codes, run.representation().factors, protocol="fast")
    assert {name: found["scores"][name] for name in again} == dict(again)
    assert {"reconstruction", "kl", "elbo", "total_correlation_sampled"} <= found["scores"].keys()


def test_the_protocol_says_how_total_correlations_of_the_elbo_are_computed(tmp_path: Path) -> None:
    run = tiny(tmp_path / "scored", protocol={"total_correlation": {"epsilon": 0.5}}, samples=300)
    expected = unbraid.metrics.total_correlation(run.representation().codes, epsilon=0.5)["total_correlation"]
    found = json.loads(run.path("scores").read_text())["scores"]
    assert found["total_correlation_mean"] == pytest.approx(expected)


def test_the_method_comes_back_from_its_folder(done: Run) -> None:
    method = unbraid.load(done.folder)
    representation = done.representation()
    images = done.data().images_at(representation.rows)
    with torch.inference_mode():
        assert torch.allclose(method.encode(images), representation.codes, atol=1e-5)
    assert torch.equal(done.data().factors_at(representation.rows), representation.factors)
    assert representation.logvar is not None


def test_codes_come_back_with_their_groups_and_no_draw_counts_as_the_whole(tmp_path: Path) -> None:
    given: dict[str, Any] = {"steps": 1, "seed": 0, "protocol": None, "samples": 36, "network": "small", "latents": 4}
    for name, data in {"whole": squares(), "drawn": Correlated(squares(), [("row", "column")], strength=0.1)}.items():
        found = unbraid.train("factor_vae", data, out=tmp_path / name, dimensions=2, **given).representation()
        assert len(found.rows) == len(data)
        assert found.groups == [[0, 1], [2, 3]]
        assert found.whole == (name == "whole")


def test_the_same_settings_give_the_same_files(done: Run, tmp_path: Path) -> None:
    assert contents(tiny(tmp_path / "again")) == contents(done)
    assert contents(tiny(tmp_path / "other", seed=1)) != contents(done)


def test_a_finished_run_is_left_alone(done: Run) -> None:
    before, said = done.path("state").read_bytes(), list[str]()
    tiny(done.folder, say=said.append)
    assert done.path("state").read_bytes() == before
    assert said == [f"{done.folder} is done already"]


def test_another_runs_folder_is_refused_and_the_difference_named(done: Run) -> None:
    before = contents(done)
    with pytest.raises(InputError, match=r"holds another run: settings.beta is 4.0, not 6.0; steps is 60, not 70"):
        tiny(done.folder, beta=6, steps=70)
    assert contents(done) == before


def test_the_id_follows_what_changes_the_numbers(done: Run, tmp_path: Path) -> None:
    changes = [{}, {"beta": 5.0}, {"seed": 1}, {"steps": 2}, {"resolution": 32}, {"precision": "bf16"}]
    usual = {"steps": 1, "precision": "fp32"}
    ids = {tiny(tmp_path / str(i), **{**usual, **change}).config.id for i, change in enumerate(changes)}
    assert len(ids) == 6
    assert tiny(tmp_path / "elsewhere", every=7, checkpoint_seconds=0.0).config.id == done.config.id


def test_parts_of_the_data_have_their_own_id(done: Run, tmp_path: Path) -> None:
    data = unbraid.data.load("dsprites", 16)
    settings = {key: value for key, value in TINY.items() if key != "resolution"}
    half = unbraid.train("beta_vae", Subset(data, range(1000)), out=tmp_path / "half", **settings)
    other = unbraid.train("beta_vae", Subset(data, range(2000)), out=tmp_path / "other", **settings)
    assert len({done.config.id, half.config.id, other.config.id}) == 3
    with pytest.raises(InputError, match="was trained on data made in Python"):
        half.data()


KILLED = """
    import os, random, signal, sys, time
    from pathlib import Path
    import torch
    import torch._dynamo  # used by all children, imported once
    torch.set_num_threads(1)
    import unbraid
    from unbraid.data import load

    folder, settings = Path(sys.argv[1]), eval(sys.argv[2])
    data = load("dsprites", settings.pop("resolution"))

    def begin(name):
        child = os.fork()
        if child == 0:
            unbraid.train("beta_vae", data, out=folder / name, checkpoint_seconds=0.05, **settings)
            os._exit(0)
        return child

    def lines():
        log = folder / "killed" / "train.jsonl"
        return log.read_bytes().count(b"\\n") if log.exists() else 0

    assert os.waitpid(begin("whole"), 0)[1] == 0
    chance, kills = random.Random(1), 0
    for wanted in sorted(chance.choices(range(settings["steps"] // settings["every"] - 5), k=6)):
        child = begin("killed")
        while lines() < wanted:
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.05))
        os.kill(child, signal.SIGKILL)
        kills += os.WIFSIGNALED(os.waitpid(child, 0)[1])
    assert os.waitpid(begin("killed"), 0)[1] == 0
    print(kills)
"""


def test_killed_six_times_at_random_it_gives_the_uninterrupted_result(tmp_path: Path) -> None:
    settings = {**TINY, "steps": 150, "batch_size": 16}
    program = [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path), repr(settings)]
    done = subprocess.run(program, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "6\n"
    assert contents(Run(tmp_path / "killed")) == contents(Run(tmp_path / "whole"))
    left, expected = ({path.name for path in (tmp_path / name).iterdir()} for name in ("killed", "whole"))
    assert left == expected, "no checkpoint, and nothing half written"


def test_killed_from_the_command_line(tmp_path: Path) -> None:
    command = [
        sys.executable, "-m", "unbraid.cli", "train", "beta_vae", "--data", "dsprites", "--resolution", "16",
        "--network", "small", "--steps", "100000", "--every", "5", "--checkpoint-seconds", "0",
        "--out", str(tmp_path / "run"),
    ]  # fmt: skip
    process = subprocess.Popen(command, stderr=subprocess.PIPE, env={**os.environ, "OMP_NUM_THREADS": "1"})
    previous = tmp_path / "run" / "checkpoint.previous.safetensors"
    assert eventually(lambda: previous.exists() or process.poll() is not None)
    assert process.poll() is None
    process.send_signal(signal.SIGKILL)
    process.wait()
    run = Run(tmp_path / "run")
    assert run.state["state"] == "running"
    assert run.status == run_row(run)["state"] == "stopped"
    with lease(run.folder / LEASE, keep=False):
        assert run.status == "running"
    method = unbraid.methods.build("beta_vae", run.spec, run.config.settings)
    step, faults = run.load_checkpoint(method)
    assert step >= 5
    assert faults == []


def test_reports_are_told_and_scores_are_logged_without_changing_the_run(done: Run, tmp_path: Path) -> None:
    told: list[tuple[Path, int, set[str]]] = []

    def on_report(run: Run, step: int, terms: dict[str, float]) -> None:
        told.append((run.folder, step, set(terms)))

    run = tiny(tmp_path / "watched", on_report=on_report, evaluate_every=20, protocol={"mig": {}})
    assert [step for _, step, _ in told] == [10, 20, 30, 40, 50, 60]
    assert told[0] == (run.folder, 10, {"loss", "reconstruction", "kl"})
    assert contents(run) == contents(done)
    assert run.score_log["step"].tolist() == [20, 40, 60]
    assert run.score_log["mig"].iloc[-1] == run.scores["mig"]
    assert run.score_log["mig"].notna().all()


def test_scores_during_training_are_resumed_too(tmp_path: Path) -> None:
    def stop(run: Run, step: int, terms: dict[str, float]) -> None:
        if step == 40:
            raise KeyboardInterrupt

    settings: dict[str, Any] = {"evaluate_every": 10, "protocol": {"mig": {}}}
    whole = tiny(tmp_path / "whole", **settings)
    with pytest.raises(KeyboardInterrupt):
        tiny(tmp_path / "stopped", on_report=stop, checkpoint_seconds=0.0, **settings)
    stopped = Run(tmp_path / "stopped")
    assert stopped.score_log["step"].tolist() == [10, 20, 30, 40], "one after the last checkpoint"
    again = tiny(tmp_path / "stopped", **settings)
    assert (again.folder / "scores.jsonl").read_bytes() == (whole.folder / "scores.jsonl").read_bytes()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"evaluate_every": 15, "protocol": "fast"}, "evaluate_every is 15; expected a multiple of every, which is 10"),
        ({"evaluate_every": 10}, "evaluate_every needs a protocol"),
    ],
)
def test_scores_that_cannot_be_logged_are_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        tiny(tmp_path / "run", **changes)


def test_a_run_tells_what_it_is(done: Run, tmp_path: Path) -> None:
    assert repr(done).endswith("done': beta_vae on dsprites, 60 steps, seed 0, done)")
    assert done.scores == {}
    assert "is not a run: it has no config.json" in repr(Run(tmp_path))
    page = done._repr_html_()
    assert "beta_vae on dsprites" in page
    assert "data:image/png;base64," in page, "its learning curve"


@pytest.fixture(scope="module")
def stopped_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, append = tmp_path_factory.mktemp("run") / "stopped", Run.append_log

    def stop(run: Run, step: int, terms: dict[str, float], *name: str) -> None:
        append(run, step, terms, *name)
        if step == 50:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Run, "append_log", stop)
        with pytest.raises(KeyboardInterrupt):
            tiny(folder, checkpoint_seconds=0.0)
    return folder


@pytest.fixture
def stopped(stopped_once: Path, tmp_path: Path) -> Run:
    """A run that was stopped at step 40 of 60 with two checkpoints, of steps 30 and 40."""
    return Run(shutil.copytree(stopped_once, tmp_path / "stopped"))


@pytest.mark.parametrize("damage", ["none", "cut", "empty", "flip", "foreign", "both"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before(stopped: Run, done: Run, damage: str) -> None:
    newest, previous = stopped.path("checkpoint"), stopped.folder / "checkpoint.previous.safetensors"
    good = newest.read_bytes()
    flipped = bytearray(good)
    flipped[-100] ^= 1
    bad = {"cut": good[:-100], "both": good[:100], "empty": b"", "flip": bytes(flipped), "foreign": b"PK\3\4"}
    newest.write_bytes(bad.get(damage, good))
    if damage == "both":
        previous.write_bytes(b"")
    said = list[str]()
    run = tiny(stopped.folder, say=said.append)
    assert contents(run) == contents(done)
    step = {"none": 40, "both": 0}.get(damage, 30)
    if damage == "none":
        assert said == ["resuming from step 40 of 60"]
    else:
        assert "checkpoint.safetensors is damaged" in said[0]
        assert said[0].endswith(f"resuming from step {step}")


def test_a_torn_log_line_is_dropped(stopped: Run, done: Run) -> None:
    with stopped.path("train").open("a") as file:
        file.write('{"step": 60, "lo')
    assert stopped.log["step"].tolist() == [10, 20, 30, 40, 50]
    assert contents(tiny(stopped.folder)) == contents(done)


def test_a_loss_that_diverges_ends_the_run_and_keeps_the_record(tmp_path: Path) -> None:
    said = list[str]()
    run = tiny(tmp_path / "wild", learning_rate=1e20, say=said.append)
    state = run.state
    assert state["state"] == "diverged"
    assert state["step"] >= 1
    assert f"{state['term']} became" in state["reason"]
    assert said == [f"diverged: {state['reason']}"]
    assert tiny(tmp_path / "wild", learning_rate=1e20).state == state
    table = unbraid.load_runs(tmp_path)
    assert table["state"].tolist() == ["diverged"]
    with pytest.raises(InputError, match="has no trained model; it is diverged"):
        unbraid.load(run.folder)


def test_a_full_disk_is_named_and_loses_nothing(stopped: Run, done: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write = Path.write_bytes

    def full(path: Path, contents: bytes) -> int:
        if "safetensors" in path.name:
            raise OSError(28, "No space left on device")
        return write(path, contents)

    before = stopped.path("checkpoint").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("pathlib.Path.write_bytes", full)
        with pytest.raises(InputError, match=r"cannot write to .*stopped: No space left on device"):
            tiny(stopped.folder, checkpoint_seconds=0.0)
    assert stopped.path("checkpoint").read_bytes() == before
    assert stopped.state["state"] == "failed"
    assert contents(tiny(stopped.folder)) == contents(done)


SCORED: dict[str, Any] = {"samples": 2000, "protocol": {"mig": {}}}


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return tiny(tmp_path_factory.mktemp("run") / "scored", **SCORED)


@pytest.mark.parametrize("moment", [f"unbraid.runs.recording.{name}" for name in ("represent", "score", "evidence")])
def test_stopped_after_training_it_goes_on_from_there(
    moment: str, scored: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(moment, stop)
        with pytest.raises(KeyboardInterrupt):
            tiny(tmp_path / "stopped", **SCORED)
    run = Run(tmp_path / "stopped")
    assert run.state["state"] == "running"
    assert tiny(run.folder, **SCORED).state["state"] == "done"
    assert contents(run) == contents(scored)
    assert run.path("scores").read_bytes() == scored.path("scores").read_bytes()


def test_codes_that_were_damaged_before_scoring_are_made_again(tmp_path: Path) -> None:
    whole = tiny(tmp_path / "whole")
    before = contents(whole)
    whole.set_state("running")
    whole.path("codes").write_bytes(before["codes"][:-50])
    assert contents(tiny(whole.folder)) == before


def test_an_error_of_ours_leaves_its_traceback(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("unbraid.runs.recording.represent", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        tiny(tmp_path / "broken")
    state = Run(tmp_path / "broken").state
    assert (state["state"], state["reason"]) == ("failed", "ZeroDivisionError: division by zero")
    assert "test_recording.py" in state["traceback"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"steps": 0}, "steps is 0; expected at least 1"),
        ({"every": 0}, "every is 0"),
        ({"beta": -1}, "beta is -1.0; expected at least 0"),
        ({"batch_size": 0}, "batch_size is 0; expected at least 1"),
        ({"latents": 0}, "latents is 0"),
        ({"bta": 1}, "there is no setting 'bta'; did you mean 'beta'"),
        ({"network": "smal"}, "network is 'smal'; did you mean 'small'"),
        ({"network": "multitask"}, "network 'multitask' cannot take images of 16 x 16"),
        ({"protocol": "dlab"}, "there is no protocol 'dlab'; did you mean 'dlib'"),
        ({"protocol": {"migg": {}}}, "there is no metric 'migg'; did you mean 'mig'"),
        ({"precision": "fp8"}, "precision is 'fp8'; expected fp32, bf16 or auto"),
        ({"device": "tpu7"}, "device 'tpu7' cannot be used"),
    ],
)
def test_bad_settings_are_named_and_leave_nothing(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        tiny(tmp_path / "bad", **settings)
    assert not (tmp_path / "bad").exists()


def test_scores_of_labelled_data_know_names_and_types(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (120, 1, 16, 16), dtype=np.uint8)
    labels = {"shape": rng.choice(["round", "square"], 120), "angle": rng.uniform(size=120)}
    data = unbraid.data.ArrayData(images, labels)
    settings = {"network": "small", "latents": 3, "batch_size": 8}
    run = unbraid.train("beta_vae", data, steps=2, out=tmp_path / "run", protocol="fast", **settings)
    record = json.loads(run.path("scores").read_text())
    assert record["factors"] == {"shape": "classes", "angle": "continuous"}
    assert any("angle" in note for note in record["notes"])
