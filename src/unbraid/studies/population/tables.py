"""The study's tables, each a function of the models."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd

from unbraid.pictures.style import data_name
from unbraid.report.estimates import known, mean, number
from unbraid.studies.population import paper
from unbraid.studies.population.models import MATCH, METRICS, NAMES, RPU, Models
from unbraid.studies.population.study import SIX


def comparison(models: Models, approaches: Sequence[str], data_sets: Sequence[str]) -> pd.DataFrame:
    """What each approach spends, and how its models score: mean with its interval, and standard deviation."""
    rows = []
    for data in data_sets:
        for approach in approaches:
            found = models.of_approach(approach, data)
            if not len(found):
                continue
            row: dict[str, object] = {
                "data": data_name(data),
                "approach": NAMES.get(approach, approach),
                "models": len(found),
                "trained images": _count(found["trained"]),
                "seen by the model": _count(found["lineage"]),
            }
            for column, name in METRICS.items():
                values = known(found[column])
                row[f"{name}, mean"] = mean(values).text(".3f") if len(values) else None
                row[f"{name}, deviation"] = number(float(values.std(ddof=1)), ".3f") if len(values) > 1 else None
            rows.append(row)
    return pd.DataFrame(rows)


def _count(images: pd.Series) -> str:
    """A number of images, or a mean of several."""
    found = known(images)
    if not len(found):
        return "not known"
    return f"{found[0]:,.0f}" if np.ptp(found) == 0 else f"{found.mean():,.0f} on average"


def first_epochs(models: Models, data: str) -> pd.DataFrame:
    """Figure 2 in numbers: the best model of each population by UDR."""
    epochs = models.epochs_of(data)
    if not len(epochs):
        return pd.DataFrame()
    scores = models.of_approach("pbt-udr", data).set_index("seed")
    rows = []
    for epoch in epochs[epochs["metaepoch"] == 1].itertuples():
        row = {"seed": epoch.seed, "UDR": epoch.udr, "active latents": len(epoch.latents), "found": _names(epoch.found)}
        row |= {
            name: float(scores.loc[epoch.seed, column]) if epoch.seed in scores.index else None
            for column, name in METRICS.items()
        }
        best = {name: max(told[name] for told in epoch.knows) for name in (epoch.knows[0] if epoch.knows else ())}
        rows.append({**row, **{f"knows {name}": value for name, value in best.items()}})
    return pd.DataFrame(rows)


def meta_epochs(models: Models, data: str) -> pd.DataFrame:
    """Figure 5 in numbers: what every metaEpoch found."""
    said = paper.figure_5(data)
    rows = [
        {
            "seed": epoch.seed,
            "leaf-run": epoch.leaf or None,
            "metaEpoch": epoch.metaepoch,
            "images": epoch.images,
            "trained images": epoch.trained,
            "UDR": epoch.udr,
            "active": len(epoch.latents),
            "found": _names(epoch.found),
            "new": _names(epoch.new),
            "paper's example": said[epoch.metaepoch - 1] if epoch.metaepoch <= len(said) else None,
            "ended because": epoch.stop or None,
        }
        for epoch in models.epochs_of(data).itertuples()
    ]
    return pd.DataFrame(rows)


def _names(factors: Sequence[str]) -> str:
    return ", ".join(factors) or "none"


def equal_budget(models: Models, data_sets: Sequence[str]) -> pd.DataFrame:
    """How many models of each method the images of one rPU-VAE would pay for, and what they would take here."""
    rows = []
    for data in data_sets:
        budget = known(models.of_approach(RPU, data)["trained"])
        for method in SIX if len(budget) else ():
            found = models.of_approach(method, data)
            images, seconds = known(found["trained"]), known(found["seconds"])
            if not len(images):
                continue
            count = budget.mean() / images.mean()
            hours = count * seconds.mean() / 3600 if len(seconds) else None
            rows.append({
                "data": data_name(data),
                "method": NAMES[method],
                "models for the images of one rPU-VAE": round(count),
                "core hours": None if hours is None else round(hours, 2),
                "searches done": len(models.of_approach(MATCH, data)) if method == "beta_tc_vae" else 0,
            })  # fmt: skip
    return pd.DataFrame(rows)


def leaf_runs(models: Models, data_sets: Sequence[str]) -> pd.DataFrame:
    """Figure 6 in numbers."""
    rows = []
    for data in data_sets:
        for leaves in range(models.most_leaves(data) + 1):
            found = models.of_approach(RPU, data, leaves)
            if not len(found):
                continue
            row = {"data": data_name(data), "leaf-runs": leaves, "rPU-VAEs": len(found)}
            row |= {"trained images": _count(found["trained"])}
            for column, name in METRICS.items():
                values = known(found[column])
                row[f"{name}, mean"] = mean(values).text(".3f") if len(values) else None
                row[f"{name}, deviation"] = number(float(values.std(ddof=1)), ".3f") if len(values) > 1 else None
            rows.append(row)
    return pd.DataFrame(rows)


def states(runs: pd.DataFrame) -> pd.DataFrame:
    """How many models of each approach are done, of those there are."""
    if not {"state", "approach", "data"} <= set(runs.columns):
        return pd.DataFrame()
    rows = []
    for (data, approach), found in runs.groupby(["data", "approach"], sort=False):
        done = int((found["state"] == "done").sum())
        rows.append({"data": data_name(str(data)), "approach": NAMES.get(str(approach), str(approach)), "done": done,
                     "of": len(found)})  # fmt: skip
    return pd.DataFrame(rows)


def failures(runs: pd.DataFrame, most: int = 20) -> pd.DataFrame:
    """What is not done, and why."""
    if "state" not in runs or (runs["state"] == "done").all():
        return pd.DataFrame()
    left = runs[runs["state"] != "done"]
    reason = left["reason"].fillna("") if "reason" in left else pd.Series("", index=left.index)
    told = pd.DataFrame({
        "approach": [NAMES.get(name, name) for name in left.get("approach", left["state"])],
        "state": left["state"],
        "reason": reason.astype(str).str.slice(0, 160),
    })  # fmt: skip
    return told.value_counts().reset_index(name="models").head(most)
