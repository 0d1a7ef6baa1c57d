"""Results of disentanglement_lib, the paper's released code, as a table of models.

The library writes one `evaluation.json` per model, representation (`mean`, `sampled`) and metric,

    output/STUDY/17/metrics/mean/mig/results/aggregate/evaluation.json

a flat object: settings as gin writes them (`train_config.vae.beta` is "4.0", `train_config.dataset.name` is
"'dsprites_full'") and numbers (`evaluation_results.discrete_mig`). `dlib_aggregate_results` joins many of them into one
`results.json`, by column and then by row, as pandas writes tables.
"""

from __future__ import annotations

import ast
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from unbraid.errors import InputError
from unbraid.metrics.protocols import SAMPLED as DRAWN
from unbraid.report.run_table import RunTable
from unbraid.studies.assumptions.models import MEAN, OTHER, SAMPLED, describe

PATTERN = "results/aggregate/evaluation.json"
DATA = {"dsprites_full": "dsprites", "smallnorb": "small_norb", "shapes3d": "shapes3d_official"}
"""Data sets with other names here."""
METHODS = {"@vae()": "beta_vae", "@factor_vae()": "factor_vae", "@annealed_vae()": "annealed_vae",
           "@beta_tc_vae()": "beta_tc_vae"}  # fmt: skip
"""By the gin reference of the model; DIP-VAE has two kinds."""
METRICS: Mapping[str, Mapping[str, str]] = {
    "beta_vae_sklearn": {"eval_accuracy": "beta_vae_score"},
    "factor_vae_score": {"eval_accuracy": "factor_vae_score"},
    "mig": {"discrete_mig": "mig"},
    "dci": {
        "disentanglement": "dci.disentanglement",
        "completeness": "dci.completeness",
        "informativeness_test": "dci.informativeness",
    },
    "sap_score": {"SAP_score": "sap"},
    "modularity_explicitness": {"modularity_score": "modularity", "explicitness_score_test": "explicitness"},
    "irs": {"IRS": "irs"},
    "unsupervised_metrics": {
        "gaussian_total_correlation": "total_correlation",
        "gaussian_wasserstein_correlation": "wasserstein_correlation",
        "gaussian_wasserstein_correlation_norm": "wasserstein_correlation.normalised",
        "mutual_info_score": "code_information",
    },
}
"""Our names of scores, by the library's metric and its name of the score."""
LEARNERS = {"@logistic_regression_cv": "logistic", "@gradient_boosting_classifier": "gbt"}
TRAINED = {"reconstruction_loss": "reconstruction", "kl_loss": "kl", "elbo": "elbo"}
_FEW = 100  # points in the numerator of the statistical efficiency
Record = Mapping[str, Any]


def read_reference(path: Path) -> RunTable:
    """The models of a `results.json`, an `evaluation.json` or a folder with many of them: one row per trained model.

    Scores of means go by `scores.dlib.…`, of sampled codes by `scores.sampled.dlib.…`; accuracies downstream, the ELBO
    and total correlations by the names that the study's models have. The library's other scores keep their names.
    """
    rows: dict[str, dict[str, Any]] = {}
    for source, record in _records(path):
        try:
            key = str(record.get("train_results.uuid") or sorted(_group(record, "train_config").items()))
            row = rows.setdefault(key, _model(source, record))
            row |= {f"scores.{name}": value for name, value in _scores(record)}
        except (KeyError, ValueError) as error:
            reason = f"it has no {error}" if isinstance(error, KeyError) else str(error)
            raise InputError(f"{source} is not a result of disentanglement_lib: {reason}") from error
    for row in rows.values():
        _add_derived(row)
    return RunTable(pd.DataFrame([{**row, **describe(row)} for row in rows.values()]), identity=("strength",))


def _records(path: Path) -> Iterator[tuple[str, Record]]:
    """Every evaluation, with words that say where it stands."""
    if path.is_dir():
        files = sorted(path.rglob(PATTERN))
        if not files:
            raise InputError(f"{path} holds no results of disentanglement_lib; expected files …/{PATTERN}")
        for file in files:
            yield str(file), _object(file)
        return
    contents = _object(path)
    if "evaluation_config.evaluation.evaluation_fn" in contents and not _columns(contents):
        yield str(path), contents
        return
    if not contents or not _columns(contents):
        expected = "expected columns such as train_config.model.name"
        raise InputError(f"{path} is not a result of disentanglement_lib: {expected}")
    rows = dict.fromkeys(row for column in contents.values() for row in column)
    for row in rows:
        record = {name: column[row] for name, column in contents.items() if column.get(row) is not None}
        yield f"row {row} of {path}", record


def _columns(contents: Record) -> bool:
    """Whether an object is a table, by column and then by row."""
    return all(isinstance(column, dict) for column in contents.values())


def _object(path: Path) -> Record:
    try:
        contents = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path} cannot be read as results of disentanglement_lib: {reason}") from error
    if not isinstance(contents, dict):
        raise InputError(f"{path} is not a result of disentanglement_lib: expected an object, not {str(contents)[:40]}")
    return contents


def _group(record: Record, group: str) -> dict[str, Any]:
    """The entries of a group, such as `train_config`, without its name."""
    return {name.removeprefix(f"{group}."): value for name, value in record.items() if name.startswith(f"{group}.")}


def _gin(value: Any) -> Any:
    """A value as gin writes it: 'a' or "a", 4.0, True; references such as @vae() stay as they are."""
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return value


def _model(source: str, record: Record) -> dict[str, Any]:
    """The columns that say what a model is."""
    config = {name: _gin(value) for name, value in _group(record, "train_config").items()}
    method, data = _method(config), str(config["dataset.name"])
    number = config.get("model.model_num")
    row = {
        "run": source if number is None else f"model-{number}",
        "state": "done",
        "method": method,
        "data": DATA.get(data, data),
        "seed": _whole("model.random_seed", config["model.random_seed"]),
        "seconds": record.get("train_results.elapsed_time"),
    }
    if "model.training_steps" in config:
        row["steps"] = _whole("model.training_steps", config["model.training_steps"])
    own = str(config.get("model.model", "")).strip("@()")
    settings = {name.removeprefix(f"{own}."): value for name, value in config.items() if name.startswith(f"{own}.")}
    renamed = {"iteration_threshold": "threshold"}
    return row | {f"settings.{renamed.get(name, name)}": value for name, value in settings.items()}


def _method(config: Record) -> str:
    model = config.get("model.model")
    if model == "@dip_vae()":
        return f"dip_vae_{config.get('dip_vae.dip_type', 'i')}"
    return METHODS.get(str(model)) or str(config["model.name"])


def _whole(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int):
        raise ValueError(f"{name} is {value!r}; expected a whole number")
    return value


def _scores(record: Record) -> Iterator[tuple[str, float]]:
    """Names and values of the scores of one evaluation."""
    config = {name: _gin(value) for name, value in _group(record, "evaluation_config").items()}
    metric = str(config["evaluation.evaluation_fn"]).removeprefix("@")
    post = str(record["postprocess_config.postprocess.postprocess_fn"]).removeprefix("@")
    sampled = post == "sampled_representation"
    prefix = f"{DRAWN}.{OTHER}" if sampled else OTHER
    names = METRICS.get(metric, {})
    for name, value in _numbers(record, "train_results"):
        if name in TRAINED:
            yield TRAINED[name], value
    for name, value in _numbers(record, "evaluation_results"):
        if metric == "downstream_task":
            yield from _downstream(name, value, LEARNERS.get(str(config.get("predictor.predictor_fn"))), sampled)
        elif name in names:
            yield prefix + names[name], value
            if names[name] == "total_correlation":
                yield SAMPLED if sampled else MEAN, value
        elif not names:
            yield f"{prefix}{metric}.{name}", value


def _downstream(name: str, value: float, learner: str | None, sampled: bool) -> Iterable[tuple[str, float]]:
    match = re.fullmatch(r"(\d+):mean_test_accuracy", name)
    if match and learner:
        yield f"{f'{DRAWN}.' if sampled else ''}downstream.{learner}.{match[1]}", value


def _numbers(record: Record, group: str) -> Iterator[tuple[str, float]]:
    """The scores of a group; lists, such as one number per factor, and words are left out."""
    for name, value in _group(record, group).items():
        if isinstance(value, int | float) and not isinstance(value, bool) and name != "elapsed_time":
            yield name, float(value)


def _add_derived(row: dict[str, Any]) -> None:
    """What follows from other scores: the ELBO, which the library leaves out for FactorVAE, and the efficiency."""
    parts = [row.get(f"scores.{name}", math.nan) for name in ("reconstruction", "kl")]
    row.setdefault("scores.elbo", -sum(parts))
    for learner in LEARNERS.values():
        stem = f"scores.downstream.{learner}."
        accuracies = {int(name.removeprefix(stem)): row[name] for name in row if name.startswith(stem)}
        if _FEW in accuracies and max(accuracies) > _FEW and accuracies[max(accuracies)] > 0:
            row[f"{stem}efficiency"] = accuracies[_FEW] / accuracies[max(accuracies)]
