from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.examples.tiny_run import tiny
from unbraid.errors import InputError
from unbraid.runs.run import Run
from unbraid.runs.tracking import TensorBoard, Tracking, settings_of

SCORED: dict[str, Any] = {"protocol": {"mig": {}}, "evaluate_every": 20}
needs_tensorboard = pytest.mark.skipif(
    find_spec("tensorboard") is None, reason="TensorBoard is not installed: pip install 'unbraid[tensorboard]'"
)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A run that nothing follows."""
    return tiny(tmp_path_factory.mktemp("plain") / "run", **SCORED)


def expected(run: Run) -> dict[str, list[tuple[int, float]]]:
    """What a tracker should hold: the log, scores during training and scores at the end, as numbers of 32 bits."""
    table: dict[str, list[tuple[int, float]]] = {}
    for group, log in (("terms", run.log), ("scores", run.score_log[:-1])):
        for name in log.columns.drop("step"):
            table[f"{group}/{name}"] = [*zip(log["step"].tolist(), log[name].tolist(), strict=True)]
    for name, value in run.scores.items():
        table.setdefault(f"scores/{name}", []).append((run.config.steps, value))
    return table


def same(obtained: dict[str, list[tuple[int, float]]], run: Run) -> bool:
    wanted = expected(run)
    return obtained.keys() == wanted.keys() and all(
        [step for step, _ in obtained[name]] == [step for step, _ in wanted[name]]
        and [value for _, value in obtained[name]] == pytest.approx([value for _, value in wanted[name]], rel=1e-5)
        for name in wanted
    )


def scalars(folder: Path) -> dict[str, list[tuple[int, float]]]:
    """What TensorBoard reads in event files."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    events.Reload()
    return {tag: [(event.step, event.value) for event in events.Scalars(tag)] for tag in events.Tags()["scalars"]}


@needs_tensorboard
def test_tensorboard_shows_the_log_and_the_scores_of_an_unchanged_run(plain: Run, tmp_path: Path) -> None:
    run = tiny(tmp_path / "run", track="tensorboard", **SCORED)
    assert run.config == plain.config
    assert same(scalars(tmp_path / "tensorboard" / f"run-{run.config.id}"), plain)
    assert {path.name for path in run.folder.iterdir()} == {path.name for path in plain.folder.iterdir()}


@needs_tensorboard
def test_a_resumed_run_continues_in_tensorboard(plain: Run, tmp_path: Path) -> None:
    def stop(run: Run, step: int, terms: dict[str, float]) -> None:
        if step == 40:
            raise KeyboardInterrupt  # before the tracker hears of it; the last checkpoint is older

    where = f"tensorboard={tmp_path / 'events'}"
    with pytest.raises(KeyboardInterrupt):
        tiny(tmp_path / "run", track=where, on_report=stop, **SCORED)
    run = tiny(tmp_path / "run", track=where, **SCORED)
    assert same(scalars(tmp_path / "events" / f"run-{run.config.id}"), plain), "every step once"


@needs_tensorboard
def test_a_tracker_that_fails_does_not_stop_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: object) -> None:
        raise OSError("No space left on device\nat all")

    monkeypatch.setattr(TensorBoard, "log", fail)
    said: list[str] = []
    run = tiny(tmp_path / "run", track="tensorboard", say=said.append, steps=20)
    assert run.state["state"] == "done"
    assert said == ["tensorboard failed: No space left on device; the run continues without it"]


@pytest.mark.skipif(find_spec("trackio") is None, reason="trackio is not installed: pip install 'unbraid[trackio]'")
def test_trackio_holds_the_log_and_the_scores(plain: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACKIO_DIR", str(tmp_path / "trackio"))  # this test alone imports it: it reads this once
    run = tiny(tmp_path / "run", track=f"trackio={tmp_path / 'trackio'}", **SCORED)
    from trackio.sqlite_storage import SQLiteStorage

    obtained: dict[str, list[tuple[int, float]]] = {}
    for line in SQLiteStorage.get_logs("unbraid", f"run-{run.config.id}"):
        for name, value in line.items():
            if "/" in name:
                obtained.setdefault(name, []).append((line["step"], value))
    assert same(obtained, plain)
    with pytest.raises(InputError, match=r"trackio writes to .* in this process already"):
        tiny(tmp_path / "other", track=f"trackio={tmp_path / 'elsewhere'}")


@pytest.mark.skipif(find_spec("wandb") is None, reason="wandb is not installed: pip install 'unbraid[wandb]'")
def test_wandb_keeps_the_terms_of_an_offline_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("WANDB_MODE", "offline")
    run = tiny(tmp_path / "run", track=f"wandb={tmp_path}", steps=20)
    (file,) = tmp_path.glob(f"wandb/offline-run-*-{run.config.id}/run-{run.config.id}.wandb")
    assert all(word in file.read_bytes() for word in (b"terms/loss", b"latents", run.folder.name.encode()))


@pytest.mark.skipif(
    find_spec("mlflow") is None or find_spec("sqlalchemy") is None,
    reason="MLflow is not installed: pip install 'unbraid[mlflow]'",
)
def test_mlflow_holds_the_log_the_scores_and_the_settings(
    plain: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_DISABLE_TELEMETRY", "true")
    monkeypatch.chdir(tmp_path)
    run = tiny(tmp_path / "run", track="mlflow", **SCORED)
    from mlflow.tracking import MlflowClient

    client = MlflowClient(f"sqlite:///{tmp_path / 'mlflow'}/mlflow.db")
    (tracked,) = client.search_runs([client.get_experiment_by_name("unbraid").experiment_id])
    histories = {name: client.get_metric_history(tracked.info.run_id, name) for name in tracked.data.metrics}
    assert same({name: [(one.step, one.value) for one in sorted(history, key=lambda one: one.step)]
                 for name, history in histories.items()}, plain)  # fmt: skip
    assert tracked.info.status == "FINISHED"
    assert tracked.info.run_name == f"run-{run.config.id}"
    assert tracked.data.params["beta"] == str(run.config.settings["beta"])


def test_settings_are_flat(plain: Run) -> None:
    settings = settings_of(plain)
    assert settings["method"] == "beta_vae"
    assert settings["data"] == "dsprites"
    assert settings["resolution"] == 16
    assert settings["latents"] == 4
    assert settings["id"] == plain.config.id


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ("tensorboard", "/out/tensorboard"),
        ("tensorboard=/else/where", "/else/where"),
        ("trackio", None),
        ("mlflow", "sqlite:////out/mlflow/mlflow.db"),
        ("mlflow=/folder", "sqlite:////folder/mlflow.db"),
        ("mlflow=http://host:5000", "http://host:5000"),
    ],
)
def test_a_tracker_has_a_place(text: str, where: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    tracking = Tracking.of(text, Path("/out"), "my study")
    assert (tracking.where, tracking.project) == (where, "my-study")


def test_mlflow_goes_where_its_own_variable_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "https://host")
    assert Tracking.of("mlflow", Path("/out")).where == "https://host"


def test_an_unknown_tracker_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no tracker 'tensorbord'; did you mean 'tensorboard'\?"):
        tiny(tmp_path / "run", track="tensorbord")
    assert not (tmp_path / "run").exists()


def test_a_tracker_that_is_not_installed_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(InputError, match=r"--track wandb needs wandb: pip install 'unbraid\[wandb\]'"):
        tiny(tmp_path / "run", track="wandb")


@needs_tensorboard
def test_a_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match=r"tensorboard cannot keep runs in .*file"):
        tiny(tmp_path / "run", track=f"tensorboard={tmp_path / 'file'}")
