"""The study's tables: ours with 95 % intervals over seeds, the paper's beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from unbraid.pictures.style import data_name, data_order
from unbraid.report.estimates import Array, Estimate, average, mean
from unbraid.studies.intervention import claims, paper
from unbraid.studies.intervention.models import (
    ABLATED,
    APART,
    CANDIDATE,
    CHOOSING,
    COMPARED,
    CORRELATED,
    DIFFICULT,
    ERROR,
    INDEPENDENT,
    METRICS,
    OTHERS,
    OURS,
    PERMUTED,
    PLAIN,
    RIVAL,
    SHARE,
    WEIGHTED,
    Kind,
    Models,
    described,
    numbers,
)

HERE, THERE = "here", "paper"
RELATIONS = (INDEPENDENT, CORRELATED)
Rows = list[dict[str, Any]]


def shown(values: Array, form: str = ".3f", low: float = -math.inf, high: float = math.inf) -> str:
    """A mean with its interval, which ends where values can; empty where nothing is known."""
    found = mean(values)
    if not found.known:
        return ""
    low, high = (end if math.isnan(end) else min(max(end, low), high) for end in (found.low, found.high))
    return Estimate(found.value, low, high).text(form).replace(" ", "\u00a0").replace("\u00a0[", " [")


def scores(models: Models, data: str) -> pd.DataFrame:
    """Tables 1 to 3: a row a model, and below it the paper's."""
    at, metrics, rows = models.data_sets.index(data), models.metrics(data), Rows()
    for kind in COMPARED:
        ours, theirs = {}, {}
        for relation in RELATIONS:
            for column, metric in metrics.items():
                head = f"{relation} {metric}"
                ours[head] = shown(models.scores(column, kind, relation)[at], low=0.0, high=1.0)
                said = paper.said(data, kind.name, relation, metric)
                theirs[head] = "" if said is None else f"{said:.2f}"
            if models.known(data, APART):
                ours[f"{relation} apart"] = shown(models.scores(APART, kind, relation)[at], ".2f", 0.0, 1.0)
        if any(ours.values()):
            rows.append({"model": kind.name, "": HERE, **ours})
            if any(theirs.values()):
                rows.append({"model": kind.name, "": THERE, **theirs})
    return pd.DataFrame(rows)


def drops(models: Models) -> pd.DataFrame:
    """What each model loses with correlated factors, by data set and metric."""
    rows: Rows = []
    for at, data in enumerate(models.data_sets):
        for kind in (*models.strengths, *(kind for kind in COMPARED if kind not in models.strengths)):
            cells = {}
            for column, metric in METRICS.items():
                cells[metric] = shown(claims.drop(models, kind, column)[at])
                pair = [paper.said(data, kind.name, relation, metric) for relation in RELATIONS]
                cells[f"{metric} (paper)"] = "" if None in pair else f"{pair[0] - pair[1]:.2f}".replace("-", "−")  # type: ignore[operator]
            if any(cells[metric] for metric in METRICS.values()):
                rows.append({"data": data_name(data), "model": kind.name, **cells})
    return pd.DataFrame(rows)


def difficulties(models: Models) -> pd.DataFrame:
    """Translation difficulty of every model that decodes, in nats an image, with the error of its reconstructions."""
    rows: Rows = []
    for at, data in enumerate(models.data_sets):
        for kind in (*COMPARED, *RIVAL):
            row: dict[str, Any] = {"data": data_name(data), "model": kind.name}
            for relation in RELATIONS:
                row[f"{relation} difficulty"] = shown(models.scores(DIFFICULT, kind, relation)[at], ".1f", 0.0)
                row[f"{relation} squared error"] = shown(models.scores(ERROR, kind, relation)[at], ".4f", 0.0)
            if any(list(row.values())[2:]):
                rows.append(row)
    return pd.DataFrame(rows)


def ranks(models: Models) -> pd.DataFrame:
    """Figure 3 in numbers: Spearman's correlation of difficulty with each score, by data set and over all."""
    rows: Rows = []
    for relation in (None, *RELATIONS):
        tables = {data: models.factor_vaes(data, relation) for data in models.ranked}
        tables = {data: table for data, table in tables.items() if len(table)}
        for data, table in tables.items():
            pairs = {name: [claims.pair(table, column)] for column, name in METRICS.items()}
            cells = {name: _text(claims.rank_correlation(pair)) for name, pair in pairs.items()}
            rows.append({"factors": relation or "both", "data": data_name(data), "models": len(table), **cells})
        if len(tables) > 1:
            count = sum(len(table) for table in tables.values())
            cells = {name: _text(entry) for name, entry in claims.correlations(models, relation).items()}
            rows.append({"factors": relation or "both", "data": "mean", "models": count, **cells})
    return pd.DataFrame(rows)


def _text(entry: Estimate) -> str:
    return entry.text() if entry.known else ""


def candidates(models: Models) -> pd.DataFrame:
    """λ₁ and λ₂ that were tried, their difficulty on training images, and which was chosen."""
    runs = models.runs
    tried = runs[(runs["method"] == OURS.method) & (runs["variant"] == CANDIDATE)]
    rows: Rows = []
    if CHOOSING not in tried:
        return pd.DataFrame(rows)
    errors = numbers(tried[ERROR]) if ERROR in tried else np.nan
    tried = tried.assign(difficulty=numbers(tried[CHOOSING]), error=errors)
    for data in models.data_sets:
        mine = tried[tried["data"] == data].groupby(["settings.lambda_1", "settings.lambda_2"])
        for (one, two), (value, error) in mine[["difficulty", "error"]].mean().iterrows():
            taken = models.of_kind(OURS, data)
            chosen = bool(((taken["settings.lambda_1"] == one) & (taken["settings.lambda_2"] == two)).any())
            said = paper.CHOSEN.get(paper.DATA.get(data, ""))
            rows.append({
                "data": data_name(data), "λ₁": one, "λ₂": two, "difficulty": value, "squared error": error,
                "chosen": "yes" if chosen else "", "paper's choice": "yes" if said == (one, two) else "",
            })  # fmt: skip
    return pd.DataFrame(rows)


def beyond(models: Models, kinds: Sequence[Kind]) -> pd.DataFrame:
    """Scores with correlated factors: of `intervention`, and of these; with how far each is from it."""
    rows: Rows = []
    for at, data in enumerate(models.data_sets):
        if not any(len(models.of_kind(kind, data, CORRELATED)) for kind in kinds):
            continue
        for kind in (OURS, *kinds):
            cells = {}
            for column, metric in METRICS.items():
                values = models.scores(column, kind, CORRELATED)[at]
                cells[metric] = shown(values, low=0.0, high=1.0)
                if kind != OURS:
                    cells[f"{metric}, minus {OURS.name}"] = shown(values - models.scores(column, OURS, CORRELATED)[at])
            cells["difficulty"] = shown(models.scores(DIFFICULT, kind, CORRELATED)[at], ".1f", 0.0)
            cells["squared error"] = shown(models.scores(ERROR, kind, CORRELATED)[at], ".4f", 0.0)
            if any(cells.values()):
                rows.append({"data": data_name(data), "model": kind.name, **cells})
    return pd.DataFrame(rows).fillna("")


def ablations(models: Models) -> pd.DataFrame:
    return beyond(models, ABLATED)


def rivals(models: Models) -> pd.DataFrame:
    return beyond(models, (*RIVAL, *OTHERS)) if any(len(models.of_kind(kind)) for kind in RIVAL) else pd.DataFrame()


def told_apart(models: Models) -> pd.DataFrame:
    """The two-sample test: accuracies of a new classifier, with W's weights and without."""
    rows: Rows = []
    for at, data in enumerate(models.data_sets):
        for kind in (OURS, *ABLATED):
            for relation in RELATIONS:
                plain, weighted, permuted, share = (
                    models.scores(name, kind, relation)[at] for name in (PLAIN, WEIGHTED, PERMUTED, SHARE)
                )
                if np.isfinite(plain).any():
                    rows.append({
                        "data": data_name(data), "model": kind.name, "factors": relation,
                        "accuracy without weights": shown(plain, low=0.0, high=1.0),
                        "with weights": shown(weighted, low=0.0, high=1.0),
                        "with weights in another order": shown(permuted, low=0.0, high=1.0),
                        "difference of these two": shown(weighted - permuted),
                        "effective share": f"{average(share):.2f}",
                    })  # fmt: skip
    return pd.DataFrame(rows)


def states(runs: pd.DataFrame) -> pd.DataFrame:
    """How many models of each kind are done, of those there are."""
    found, rows = described(runs), Rows()
    for key, mine in found.groupby(["method", "variant", "relation"], sort=True):
        method, variant, relation = map(str, key)
        row = {"model": Kind(method, variant).name, "factors": relation}
        for data in data_order(found["data"]):
            here = mine[mine["data"] == data]
            row[data_name(data)] = f"{(here['state'] == 'done').sum()} of {len(here)}" if len(here) else ""
        rows.append(row)
    return pd.DataFrame(rows)
