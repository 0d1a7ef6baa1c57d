"""Results of disentanglement_lib, in files as its `utils/results.py` and `utils/aggregate_results.py` write them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.examples.command import Here
from unbraid.errors import InputError
from unbraid.report import Judged
from unbraid.report.run_table import RunTable
from unbraid.studies.assumptions.analysis import report
from unbraid.studies.assumptions.models import OTHER, Models
from unbraid.studies.assumptions.reference import read_reference

MODELS = {  # gin bindings of the library's sweep
    "beta_vae": {"model.model": "@vae()", "vae.beta": "{}"},
    "annealed_vae": {"model.model": "@annealed_vae()", "annealed_vae.c_max": "{}",
                     "annealed_vae.iteration_threshold": "100000", "annealed_vae.gamma": "1000"},
    "factor_vae": {"model.model": "@factor_vae()", "factor_vae.gamma": "{}"},
    "dip_vae_ii": {"model.model": "@dip_vae()", "dip_vae.lambda_od": "{}", "dip_vae.lambda_d_factor": "1.0",
                   "dip_vae.dip_type": "'ii'"},
}  # fmt: skip
METRICS: dict[str, tuple[dict[str, str], dict[str, float]]] = {  # config, results
    "mig": ({"evaluation.evaluation_fn": "@mig"}, {"discrete_mig": 0.1}),
    "beta_vae_sklearn": (
        {"evaluation.evaluation_fn": "@beta_vae_sklearn"}, {"train_accuracy": 1.0, "eval_accuracy": 0.2},
    ),
    "factor_vae_metric": (
        {"evaluation.evaluation_fn": "@factor_vae_score"},
        {"train_accuracy": 1.0, "eval_accuracy": 0.3, "num_active_dims": 7},
    ),
    "dci": (
        {"evaluation.evaluation_fn": "@dci"},
        {"informativeness_train": 1.0, "informativeness_test": 0.4, "disentanglement": 0.5, "completeness": 0.6},
    ),
    "unsupervised": (
        {"evaluation.evaluation_fn": "@unsupervised_metrics"},
        {"gaussian_total_correlation": 0.7, "gaussian_wasserstein_correlation": 0.8,
         "gaussian_wasserstein_correlation_norm": 0.9, "mutual_info_score": 1.1},
    ),
    "downstream_task_logistic_regression": (
        {"evaluation.evaluation_fn": "@downstream_task", "predictor.predictor_fn": "@logistic_regression_cv"},
        {"10:mean_test_accuracy": 0.25, "100:mean_test_accuracy": 0.5, "10000:mean_test_accuracy": 0.8,
         "100:min_test_accuracy": 0.1, "100:test_accuracy_factor_0": 0.1},
    ),
    "fairness": ({"evaluation.evaluation_fn": "@fairness"}, {"mean_fairness": 0.15}),
}  # fmt: skip


def namespaced(**groups: Mapping[str, Any]) -> dict[str, Any]:
    return {f"{group}.{name}": value for group, values in groups.items() for name, value in values.items()}


def write_model(folder: Path, method: str, strength: float, seed: int, data: str = "dsprites_full", number: int = 0,
                shift: float = 0.0) -> None:  # fmt: skip
    """The files of one model, as `dlib_reproduce` leaves them."""
    uuid = f"{method}-{strength}-{seed}-{data}"
    bindings = {name: value.format(strength) for name, value in MODELS[method].items()}
    train_config = {
        "dataset.name": f"'{data}'", "model.batch_size": "64", "model.model_num": f"{number}",
        "model.name": f"'{method}'", "model.random_seed": f"{seed}", "model.training_steps": "300000", **bindings,
    }  # fmt: skip
    losses = {"global_step": 300000, "kl_loss": 20.0, "loss": 80.0, "reconstruction_loss": 60.0, "regularizer": 20.0}
    elbo = {} if method == "factor_vae" else {"elbo": -80.5}
    trained = {**losses, **elbo, "elapsed_time": 3600.5, "uuid": uuid}
    for post in ("mean", "sampled"):
        for metric, (config, results) in METRICS.items():
            moved = {name: value + shift + (0.01 if post == "sampled" else 0.0) for name, value in results.items()}
            merged = namespaced(
                evaluation_config={"dataset.name": f"'{data}'", "evaluation.name": f"'{metric}'",
                                   "evaluation.random_seed": "209652396", **config},
                evaluation_results={**moved, "elapsed_time": 5.0, "uuid": f"{uuid}-{post}-{metric}"},
                postprocess_config={"postprocess.name": f"'{post}'",
                                    "postprocess.postprocess_fn": f"@{post}_representation"},
                postprocess_results={"elapsed_time": 1.0, "uuid": f"{uuid}-{post}"},
                train_config=train_config,
                train_results=trained,
            )  # fmt: skip
            file = folder / str(number) / "metrics" / post / metric / "results" / "aggregate" / "evaluation.json"
            file.parent.mkdir(parents=True)
            file.write_text(json.dumps(merged, indent=2))


def aggregate(folder: Path, out: Path) -> Path:
    """What `dlib_aggregate_results` does."""
    files = sorted(folder.glob("*/metrics/*/*/results/aggregate/evaluation.json"))
    records = [{**json.loads(file.read_text()), "path": str(file)} for file in files]
    pd.DataFrame(records).to_json(out)
    return out


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("output")
    for number, method in enumerate(MODELS):
        write_model(folder, method, 4.0 + number, seed=number, number=number)
    write_model(folder, "beta_vae", 4.0, seed=0, data="smallnorb", number=8)
    return folder


@pytest.mark.parametrize("joined", [False, True])
def test_models_have_our_names_and_columns(output: Path, tmp_path: Path, joined: bool) -> None:
    frame = read_reference(aggregate(output, tmp_path / "results.json") if joined else output).frame
    assert sorted(zip(frame["data"], frame["method"], frame["strength"], frame["seed"], strict=True)) == [
        ("dsprites", "annealed_vae", 5.0, 1), ("dsprites", "beta_vae", 4.0, 0), ("dsprites", "dip_vae_ii", 7.0, 3),
        ("dsprites", "factor_vae", 6.0, 2), ("small_norb", "beta_vae", 4.0, 0),
    ]  # fmt: skip
    assert set(frame["state"]) == {"done"}
    assert set(frame["steps"]) == {300_000}
    row = frame[(frame["method"] == "beta_vae") & (frame["data"] == "dsprites")].iloc[0]
    expected = {
        "dlib.mig": 0.1, "dlib.beta_vae_score": 0.2, "dlib.factor_vae_score": 0.3, "dlib.dci.informativeness": 0.4,
        "dlib.dci.disentanglement": 0.5, "dlib.dci.completeness": 0.6, "dlib.total_correlation": 0.7,
        "dlib.wasserstein_correlation": 0.8, "dlib.wasserstein_correlation.normalised": 0.9,
        "dlib.code_information": 1.1, "sampled.dlib.mig": 0.11, "total_correlation_mean": 0.7,
        "total_correlation_sampled": 0.71, "downstream.logistic.100": 0.5, "downstream.logistic.10000": 0.8,
        "downstream.logistic.efficiency": 0.625, "sampled.downstream.logistic.100": 0.51, "reconstruction": 60.0,
        "kl": 20.0, "elbo": -80.5, "dlib.fairness.mean_fairness": 0.15,
    }  # fmt: skip
    for name, value in expected.items():
        assert row[f"scores.{name}"] == pytest.approx(value), name
    factor = frame[frame["method"] == "factor_vae"].iloc[0]
    assert factor["scores.elbo"] == -80.0, "the library does not evaluate it for FactorVAE"
    assert frame[frame["method"] == "annealed_vae"].iloc[0]["settings.threshold"] == 100_000


def test_the_table_survives_keeping_and_serves_the_study(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    number = 0
    for data in ("dsprites_full", "shapes3d"):
        for strength in (1.0, 4.0):
            for seed in range(3):
                write_model(tmp_path / "output", "beta_vae", strength, seed, data, number, float(rng.random()))
                number += 1
    read_reference(aggregate(tmp_path / "output", tmp_path / "results.json")).save(tmp_path / "kept")
    table = RunTable.load(tmp_path / "kept")
    models = Models(table, OTHER)
    assert models.data_sets == ["dsprites", "shapes3d_official"]
    assert np.isfinite(models.scores("mig", "dsprites")).all()
    assert models.downstream == {f"downstream.logistic.{size}": f"LR {size}" for size in (10, 100, 10_000)}
    sections = report(table)
    judged = {item.key: item for section in sections for item in section.items if isinstance(item, Judged)}
    assert judged["mean-exceeds-sampled"].verdict == "does not hold"  # sampled codes are 0.01 above


def test_the_command_and_the_report_from_it(tmp_path: Path, here: Here) -> None:
    for seed in range(2):
        write_model(tmp_path / "output", "beta_vae", 4.0, seed, number=seed)
    done = here("import", str(tmp_path / "output"), "--out", str(tmp_path / "kept"))
    assert done.returncode == 0, done.stderr
    assert "2 models with" in done.stdout
    page = here("report", "assumptions", "--results", str(tmp_path / "kept"), "--out", str(tmp_path / "page"))
    assert page.returncode == 0, page.stderr
    assert (tmp_path / "page" / "report.html").exists()


@pytest.mark.parametrize(
    ("name", "contents", "message"),
    [
        ("results.json", "{", "cannot be read as results of disentanglement_lib"),
        ("results.json", "\udcff", "cannot be read as results of disentanglement_lib"),
        ("results.json", "[" * 100_000, "cannot be read as results of disentanglement_lib"),
        ("results.json", "[1, 2]", "expected an object, not"),
        ("results.json", "{}", "expected columns such as train_config.model.name"),
        ("results.json", '{"mig": 3}', "expected columns such as train_config.model.name"),
        ("results.json", '{"train_config.model.name": {"0": "x"}}', "row 0 of .* it has no 'dataset.name'"),
    ],
)
def test_damaged_files_are_errors(tmp_path: Path, name: str, contents: str, message: str) -> None:
    file = tmp_path / name
    file.write_bytes(contents.encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError, match=message):
        read_reference(file)


def test_other_mistakes(tmp_path: Path, output: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_reference(tmp_path / "missing.json")
    with pytest.raises(InputError, match="holds no results of disentanglement_lib; expected files"):
        read_reference(tmp_path)
    shutil.copytree(output / "0", tmp_path / "0")
    file = tmp_path / "0" / "metrics" / "mean" / "mig" / "results" / "aggregate" / "evaluation.json"
    good = json.loads(file.read_text())
    assert read_reference(file).frame["scores.dlib.mig"].tolist() == [0.1]
    file.write_text(json.dumps({**good, "train_config.model.random_seed": "'first'"}))
    with pytest.raises(InputError, match=r"model\.random_seed is 'first'; expected a whole number"):
        read_reference(tmp_path)
    file.write_text(json.dumps({name: value for name, value in good.items() if "evaluation_fn" not in name}))
    with pytest.raises(InputError, match=r"it has no 'evaluation\.evaluation_fn'"):
        read_reference(tmp_path)
    file.write_text(file.read_text()[:100])
    with pytest.raises(InputError, match=r"evaluation\.json cannot be read"):
        read_reference(tmp_path)
