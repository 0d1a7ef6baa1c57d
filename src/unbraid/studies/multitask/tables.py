"""The study's tables: a row a model or a task, ours with 95 % intervals over seeds, the paper's beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from unbraid.pictures.style import data_name, data_order
from unbraid.report.estimates import Array, Estimate, average, mean
from unbraid.studies.multitask import claims, paper
from unbraid.studies.multitask.models import (
    AGREEMENT,
    AUTOENCODERS,
    ERROR,
    FACTORS,
    LOOKED_AT,
    MULTI,
    SECTION_4_1,
    Kind,
    Models,
    by_kind,
    decoder_on,
    described,
    heads_on,
    mean_known,
)

HERE, THERE = "here", "paper"
Rows = list[dict[str, Any]]


def _text(values: Array, form: str, low: float = 0.0, high: float = math.inf) -> str:
    """A mean with its interval, which ends where values can."""
    found = mean(values)
    if not found.known:
        return ""
    return _together(Estimate(found.value, _clipped(found.low, low, high), _clipped(found.high, low, high)).text(form))


def _clipped(value: float, low: float, high: float) -> float:
    return value if math.isnan(value) else min(max(value, low), high)


def _together(text: str) -> str:
    """Breaks only before the interval."""
    return text.replace(" ", "\u00a0").replace("\u00a0[", " [")


def _spread(values: Array) -> str:
    """Mean ± standard deviation over seeds, and the interval of the mean."""
    known = values[np.isfinite(values)]
    if not len(known):
        return ""
    shown = f"{known.mean():.3f}" + (f" ± {known.std(ddof=1):.3f}" if len(known) > 1 else "")
    found = mean(values)
    interval = f" [{_clipped(found.low, 0, 1):.3f}, {_clipped(found.high, 0, 1):.3f}]" if np.isfinite(found.low) else ""
    return _together(shown + interval)


def _places(models: Models) -> list[tuple[int, str, int | None]]:
    """Our data sets: their place, their name, and the place of the paper's."""
    return [(at, data_name(data), paper.place(data)) for at, data in enumerate(models.data_sets)]


def base_errors(models: Models) -> pd.DataFrame:
    """Table 1."""
    rows: Rows = []
    for at, data, said in _places(models):
        for codes in (FACTORS, *AUTOENCODERS):
            kind = heads_on(codes)
            squared, rmse = models.scores(ERROR, kind)[at], models.scores("scores.test.rmse", kind)[at]
            if np.isfinite(squared).any():
                value = "" if said is None else "{:.1f} ± {:.1f}".format(*paper.TABLE_1[codes][said])
                rows.append({
                    "data": data, "heads on": kind.name.removeprefix("heads on ").removesuffix(" codes"),
                    "MSE": _text(squared, ".2f"), "RMSE": _text(rmse, ".2f"), "paper's RMSE": value,
                })  # fmt: skip
    return pd.DataFrame(rows)


def decoder_errors(models: Models) -> pd.DataFrame:
    """Table 4."""
    rows: Rows = []
    for at, data, said in _places(models):
        for kind in LOOKED_AT:
            values = models.scores(ERROR, decoder_on(kind))[at]
            if np.isfinite(values).any():
                value = "" if said is None else f"{paper.TABLE_4[kind.name][said]:g}"
                rows.append({"data": data, "codes": kind.name, "MSE a pixel": _text(values, ".5f"), "paper": value})
    return pd.DataFrame(rows)


def scores(models: Models) -> pd.DataFrame:
    """Table 5."""
    rows: Rows = []
    for at, data, said in _places(models):
        for name, values in SECTION_4_1.items():
            cells = {metric: _spread(values(models, column)[at]) for column, metric in models.metrics.items()}
            if any(cells.values()):
                rows.append({"data": data, "model": name, "": HERE, **cells})
                if said is not None:
                    theirs = {
                        metric: "{:.2f} ± {:.2f}".format(*paper.TABLE_5[name][metric][said]) for metric in cells
                    }  # fmt: skip
                    rows.append({"data": data, "model": name, "": THERE, **theirs})
    return pd.DataFrame(rows)


GAINS = (
    ("multi-head", "single-mean"),
    ("multi-head", "single-max"),
    ("multi-head", "random"),
    ("multi-head", "one-head"),
    ("one-head", "single-mean"),
)


def gains(models: Models) -> pd.DataFrame:
    """The differences that the claims on table 5 are about, over all data sets and in each."""
    rows: Rows = []
    for model, other in GAINS:
        found = {
            name: values for name, values in claims.gains(models, model, other).items() if np.isfinite(values).any()
        }
        for at, data in ((None, "all"), *((at, data) for at, data, _ in _places(models))):
            cells = {name: _text(values if at is None else values[at], ".3f", -1.0) for name, values in found.items()}
            if any(cells.values()):
                rows.append({"model": model, "minus": other, "data": data, **cells})
    return pd.DataFrame(rows)


def autoencoder_scores(models: Models) -> pd.DataFrame:
    """Table 6."""
    rows: Rows = []
    for at, data, said in _places(models):
        for method in AUTOENCODERS:
            kind = Kind(method)
            cells = {metric: _text(models.scores(c, kind)[at], ".3f") for c, metric in models.metrics.items()}
            if any(cells.values()):
                rows.append({"data": data, "model": kind.name, "": HERE, **cells})
                if said is not None:
                    theirs = {metric: f"{paper.TABLE_6[method][metric][said]:.3f}" for metric in cells}
                    rows.append({"data": data, "model": kind.name, "": THERE, **theirs})
    return pd.DataFrame(rows)


def retrieved(models: Models) -> pd.DataFrame:
    """Table 7."""
    rows: Rows = []
    for at, data, said in _places(models):
        for kind in LOOKED_AT:
            cells = {
                name: _text(models.scores(column, kind)[at], *((".3f", 0.0, 1.0) if "corr" in name else (".1f",)))
                for column, name in models.retrieved.items()
            }
            if any(cells.values()):
                rows.append({"data": data, "codes": kind.name, "": HERE, **cells})
                if said is not None and kind.name in paper.TABLE_7:
                    count, *correlations = paper.TABLE_7[kind.name][said]
                    theirs = [f"{count}", *(f"{value:.3f}" for value in correlations)]
                    rows.append({
                        "data": data, "codes": kind.name, "": THERE, **dict(zip(cells, theirs, strict=False)),
                    })  # fmt: skip
    return pd.DataFrame(rows)


def agreement(models: Models) -> pd.DataFrame:
    """What figures 5 and 8 show, in numbers: how well neighbours in the plane agree, for each factor."""
    rows: Rows = []
    prefix = f"{AGREEMENT}."
    names = [str(column).removeprefix(prefix) for column in models.runs.columns if str(column).startswith(prefix)]
    for at, data, _ in _places(models):
        for name in ("", *names):
            column = f"{prefix}{name}" if name else AGREEMENT
            cells = {kind.name: _text(models.scores(column, kind)[at], ".2f", -1.0, 1.0) for kind in LOOKED_AT}
            if any(cells.values()):
                rows.append({"data": data, "factor": name.replace("_", " ") or "mean over factors", **cells})
    return pd.DataFrame(rows)


def task_errors(models: Models, at: int) -> pd.DataFrame:
    """Tables 8 to 10: mean test errors over seeds, a row a model, a column a task."""
    rows: Rows = []
    losses = [f"scores.test.error_{task}" for task in range(models.tasks)]
    for task in range(models.tasks):
        cells = [average(models.singles(column)[at, :, task]) for column in (*losses, ERROR)]
        rows.append({"model": f"single-task {task}", **_losses(cells)})
    rows.append({"model": "multi-head", **_losses([average(models.scores(c, MULTI)[at]) for c in (*losses, ERROR)])})
    frame = pd.DataFrame(rows)
    return frame[frame.iloc[:, 1:].notna().any(axis=1)].reset_index(drop=True)


def _losses(cells: Sequence[float]) -> dict[str, float]:
    return {**{f"loss {task}": value for task, value in enumerate(cells[:-1])}, "total": cells[-1]}


def own_and_joint(models: Models) -> pd.DataFrame:
    """Of tables 8 to 10 what belongs side by side: a task learned alone, and among the others."""
    rows: Rows = []
    own, joint = models.own_errors(), models.task_errors(MULTI)
    for at, data, said in _places(models):
        for task in range(models.tasks):
            alone, together = own[at, :, task], joint[at, :, task]
            if np.isfinite(alone).any() or np.isfinite(together).any():
                row = {"data": data, "task": task, "alone": _text(alone, ".2f"), "jointly": _text(together, ".2f")}
                theirs = {"paper, alone": np.nan, "paper, jointly": np.nan}
                if said is not None and task < len(paper.OWN[said]):
                    theirs = {"paper, alone": paper.OWN[said][task], "paper, jointly": paper.JOINT[said][task]}
                rows.append({**row, "ratio": _ratio(together, alone), **theirs})
    return pd.DataFrame(rows)


def _ratio(above: Array, below: Array) -> str:
    with np.errstate(invalid="ignore", divide="ignore"):
        logs = np.log(above) - np.log(below)
    found = mean(np.where(np.isfinite(logs), logs, np.nan)).map(lambda value: float(np.exp(value)))
    return _together(found.text()) if found.known else ""


def total_errors(models: Models) -> pd.DataFrame:
    """Figure 13, with what the paper's tables 8 to 10 have of it."""
    rows: Rows = []
    for at, data, said in _places(models):
        for name, values in SECTION_4_1.items():
            cell = _text(values(models, ERROR)[at], ".1f")
            if cell and name not in ("single-max", "single-min"):
                theirs = "" if said is None else {
                    "single-mean": f"{np.mean(paper.TOTALS[said]):.1f}",
                    "multi-head": f"{paper.JOINT_TOTALS[said]:.1f}",
                }.get(name, "")  # fmt: skip
                rows.append({"data": data, "model": name, "MSE": cell, "paper": theirs})
    return pd.DataFrame(rows)


def trend_table(models: Models) -> pd.DataFrame:
    """Figure 14 in numbers."""
    found = claims.trends(models)
    rows: Rows = [
        {"metric": name, "all data sets": _text(values, ".2f", -1.0, 1.0),
         **{data: _text(values[at], ".2f", -1.0, 1.0) for at, data, _ in _places(models)}}
        for name, values in found.items()
    ]  # fmt: skip
    return pd.DataFrame(rows)


def split_table(models: Models) -> pd.DataFrame:
    """Figure 15 in numbers: how far scores move from those of tasks on all factors."""
    rows: Rows = []
    for name, kind in claims.SPLITS.items():
        if kind != MULTI:
            cells = {
                metric: _text(models.scores(column, kind) - models.scores(column, MULTI), ".3f", -np.inf)
                for column, metric in models.metrics.items()
            }
            if any(cells.values()):
                rows.append({"tasks on": f"{name} minus all", **cells})
    return pd.DataFrame(rows)


def supervision(models: Models) -> pd.DataFrame:
    """Beyond the paper, by metric."""
    rows: Rows = []
    for name, kind in claims.SUPERVISION.items():
        found = claims.explained(models, kind)
        if any(entry.known for entry in found.values()):
            rows.append({"": name, **{metric: _together(entry.text()) for metric, entry in found.items()}})
    return pd.DataFrame(rows)


def supervision_by_data(models: Models) -> pd.DataFrame:
    """Beyond the paper, of the mean of all metrics, by data set, with the gain that it is a share of."""
    rows: Rows = []
    for at, data, _ in _places(models):
        gains = claims.gains(models, "multi-head", "single-mean")
        known = [gains[name][at] for name in models.metrics.values()]
        row = {"data": data, "gain of multi-head": _text(mean_known(known, 0), ".3f", -1.0) if known else ""}
        for name, kind in claims.SUPERVISION.items():
            entry = claims.explained(models, kind, at).get(claims.ALL_METRICS)
            row[name] = _together(entry.text()) if entry is not None and entry.known else ""
        if any(list(row.values())[1:]):
            rows.append(row)
    return pd.DataFrame(rows)


def states(runs: pd.DataFrame) -> pd.DataFrame:
    """How many models of each kind are done, of those there are."""
    found = described(runs)
    rows: Rows = []
    for kind, mine in by_kind(found).items():
        row = {"model": kind.name}
        for data in data_order(found["data"]):
            here = mine[mine["data"] == data]
            row[data_name(data)] = f"{(here['state'] == 'done').sum()} of {len(here)}" if len(here) else ""
        rows.append(row)
    return pd.DataFrame(rows)
