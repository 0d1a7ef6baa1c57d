"""The study's tables: the paper's tables 1 to 9, ours beside its own, and what it does not have."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from unbraid.report.estimates import Array, Estimate, average, mean
from unbraid.studies.contrastive import paper
from unbraid.studies.contrastive.claims import Found, degenerate
from unbraid.studies.contrastive.models import CODES, SHARED, SHORT, Models, described, turned
from unbraid.studies.contrastive.rotations import ROTATIONS
from unbraid.studies.contrastive.study import ROTATED

Rows = list[dict[str, Any]]
GAP = "gap"
HERE, THERE = "here", "paper"


def shown(values: Array, low: float = 0.0, high: float = 100.0, form: str = ".1f") -> str:
    """A mean with its interval, which ends where values can; empty where nothing is known."""
    found = mean(values)
    if not found.known:
        return ""
    low, high = (end if math.isnan(end) else min(max(end, low), high) for end in (found.low, found.high))
    return Estimate(found.value, low, high).text(form)


def accuracies(models: Models, variant: str, settings: Sequence[str], inputs: Sequence[str]) -> pd.DataFrame:
    """A row an input of the classifier, a column a setting and factor; the last row is the gap between the halves.

    That is the layout of tables 1 to 6. A setting that nobody trained has only the paper's column.
    """
    rows: Rows = []
    there = [name for name in settings if len(models.all_of(variant, name)) or paper.said(variant, name)]
    for line in (*inputs, GAP):
        row: dict[str, Any] = {"input": f"|C({inputs[-2]}) − C({inputs[-1]})|" if line == GAP else line}
        for name in there:
            said = paper.said(variant, name)
            for place, factor in enumerate(SHARED[variant]):
                code = inputs[-1][0]
                values = (
                    models.gap(variant, name, factor, code)
                    if line == GAP
                    else models.accuracy(variant, name, line, factor)
                )
                theirs = _said(said, line, code, place)
                head = f"{name} {SHORT[factor]}" if len(there) > 1 else SHORT[factor]
                row[head] = shown(values)
                row[f"{head} (paper)"] = "" if theirs is None else f"{theirs:.1f}"
        rows.append(row)
    frame = pd.DataFrame(rows)
    ours = [name for name in frame.columns[1:] if not name.endswith("(paper)")]
    return frame if frame[ours].ne("").any(axis=None) else pd.DataFrame()


def _said(rows: paper.Rows, line: str, code: str, place: int) -> float | None:
    """The paper's figure for an input, or for the gap of the halves of a code."""
    if line == GAP:
        return float(paper.gaps(rows, code)[place]) if f"{code}1" in rows else None
    return rows[line][place] if line in rows else None


def repeated(models: Models, setting: str, variant: str = "dc_bc") -> pd.DataFrame:
    """Tables 8 and 9: a row a run, and below them the mean and the variance of the gaps over runs."""
    theirs = paper.REPEATED[setting]
    measured = np.isfinite(models.accuracy(variant, setting, "z", SHARED[variant][0]))
    known = [seed for seed, there in zip(models.seeds, measured, strict=True) if there]
    if not known:
        return pd.DataFrame()
    rows: Rows = []
    for run in range(max(len(known), len(theirs))):
        row: dict[str, Any] = {"run": str(run)}
        for line in ("z", "z0", "z1", GAP):
            for place, factor in enumerate(SHARED[variant]):
                head = f"{line} {SHORT[factor]}"
                if run < len(known):
                    at = models.seeds.index(known[run])
                    values = (
                        models.gap(variant, setting, factor)
                        if line == GAP
                        else models.accuracy(variant, setting, line, factor)
                    )
                    row[head] = _plain(float(values[at]))
                said = _said(theirs[run], line, "z", place) if run < len(theirs) else None
                row[f"{head} (paper)"] = "" if said is None else f"{said:.1f}"
        rows.append(row)
    return pd.DataFrame([*rows, *_moments(models, setting, variant)]).fillna("")


def _moments(models: Models, setting: str, variant: str) -> Rows:
    """The mean and the variance over runs of the gaps, as appendix A.5 has them."""
    said = paper.repeated_gaps(setting)
    rows: Rows = [{"run": "mean"}, {"run": "variance"}]
    for place, factor in enumerate(SHARED[variant]):
        values = models.gap(variant, setting, factor)
        values = values[np.isfinite(values)]
        head = f"{GAP} {SHORT[factor]}"
        rows[0] |= {head: _plain(average(values)), f"{head} (paper)": f"{said[:, place].mean():.1f}"}
        rows[1] |= {
            head: _plain(float(values.var(ddof=1))) if len(values) > 1 else "",
            f"{head} (paper)": f"{said[:, place].var(ddof=1):.1f}",
        }
    return rows


def _plain(value: float) -> str:
    return f"{value:.1f}" if math.isfinite(value) else ""


def degenerated(models: Models, variant: str = "dc_dl", setting: str = "ortho 0.1") -> pd.DataFrame:
    """Table 7: every run with this setting, and the paper's two."""
    rows: Rows = []
    heads = [(line, factor) for line in ("z", "z0", "z1") for factor in SHARED[variant]]
    for at, seed in enumerate(models.seeds):
        cells = {
            f"{line} {SHORT[factor]}": _plain(float(models.accuracy(variant, setting, line, factor)[at]))
            for line, factor in heads
        }
        if any(cells.values()):
            chance, alike = (
                models.numbers(f"scores.{name}.z", variant, setting)[at] for name in ("at_chance", "alike")
            )
            rows.append({"run": f"seed {seed}", **cells, "at chance": _share(chance), "told alike": _share(alike)})
    if not rows:
        return pd.DataFrame()
    for name, said in paper.DEGENERATE.items():
        cells = {
            f"{line} {SHORT[factor]}": f"{said[line][SHARED[variant].index(factor)]:.1f}" for line, factor in heads
        }
        rows.append({"run": f"paper, {name}", **cells, "at chance": "", "told alike": ""})
    return pd.DataFrame(rows)


def _share(value: float) -> str:
    return f"{2 * value:.0f} of 2" if math.isfinite(value) else ""


def degeneracy(models: Models) -> pd.DataFrame:
    """How often each setting falls into a degenerate solution, by variant: shares of factors, means over seeds."""
    rows: Rows = []
    for setting in models.settings:
        row: dict[str, Any] = {"setting": setting}
        for variant in models.variants:
            row[f"{variant}, at chance"] = average(models.numbers("scores.at_chance.z", variant, setting))
            row[f"{variant}, told alike"] = average(models.numbers("scores.alike.z", variant, setting))
            row[f"{variant}, either"] = average(degenerate(models, variant, setting))
        rows.append(row)
    frame = pd.DataFrame(rows)
    return frame[frame.iloc[:, 1:].notna().any(axis=1)].reset_index(drop=True) if len(frame) else frame


MEASURES = {
    "scores.dci.disentanglement": "DCI disentanglement",
    "scores.dci.completeness": "DCI completeness",
    "scores.dci.informativeness": "DCI informativeness",
    "scores.med.z": "MED of z",
    "scores.med.r": "MED of r",
    "scores.udr.lasso": "UDR, lasso",
    "scores.udr.spearman": "UDR, Spearman",
}


def measures(models: Models) -> pd.DataFrame:
    """Beyond the paper: scores of single dimensions of z."""
    rows: Rows = []
    for variant in models.variants:
        for setting in models.settings:
            cells = {
                name: shown(models.numbers(column, variant, setting), 0, 1, ".3f") for column, name in MEASURES.items()
            }
            if any(cells.values()):
                rows.append({"data": variant, "setting": setting, **cells})
    return pd.DataFrame(rows)


def third_factor(models: Models) -> pd.DataFrame:
    """How well r and z tell the factor that pairs do not share, which their training calls on them to forget."""
    rows: Rows = []
    for variant in models.variants:
        (factor,) = [name for name in SHORT if name not in SHARED[variant]]
        for setting in models.settings:
            cells = {code: shown(models.accuracy(variant, setting, code, factor)) for code in CODES}
            if any(cells.values()):
                chance = _plain(average(models.chance(variant, setting, factor)))
                rows.append({"data": variant, "factor": SHORT[factor], "setting": setting, **cells, "chance": chance})
    return pd.DataFrame(rows)


GROUPS = {"halves": "halves", "dependence": "without labels", "labels": "with labels"}


def rotated(found: Found) -> pd.DataFrame:
    """Beyond the paper, one table: regularized codes, and plain ones rotated afterwards.

    Of each factor the accuracy of the whole code and of its better half; the gap, and its mean over both factors.
    """
    models, rows = found.models, Rows()
    for variant in models.variants:
        for setting in models.settings:
            if setting not in ROTATED:
                row = _row(variant, setting, "r" if setting == "supervised" else "z", "as trained", "halves")
                rows.append(row | _trained(models, variant, setting, str(row["code"])))
        for setting in ROTATED:
            for code in CODES:
                for rotation in ROTATIONS:
                    for groups in GROUPS:
                        row = _row(variant, setting, code, rotation, groups)
                        rows.append(row | _turned(found, variant, setting, code, rotation, groups))
    frame = pd.DataFrame(rows)
    if frame.empty:
        return frame
    return frame[frame.iloc[:, 5:].ne("").any(axis=1)].reset_index(drop=True)


def _row(variant: str, setting: str, code: str, rotation: str, groups: str) -> dict[str, Any]:
    return {"data": variant, "setting": setting, "code": code, "rotation": rotation, "halves by": GROUPS[groups]}


def _trained(models: Models, variant: str, setting: str, code: str) -> dict[str, str]:
    cells = {"mean gap": shown(models.gap(variant, setting, code=code))}
    for place, factor in enumerate(SHARED[variant], start=1):
        values = {
            "whole": models.accuracy(variant, setting, code, factor),
            "better half": models.parts(variant, setting, factor, code).max(0),
            "gap": models.gap(variant, setting, factor, code),
        }
        cells |= {f"factor {place}, {name}": shown(array) for name, array in values.items()}
    return cells


def _turned(found: Found, variant: str, setting: str, code: str, rotation: str, groups: str) -> dict[str, str]:
    where = (found.rotations, found.models.seeds, variant, setting, code, rotation, groups)
    cells = {"mean gap": shown(turned(*where))}
    for place, factor in enumerate(SHARED[variant], start=1):
        for name, what in (("whole", "whole"), ("better half", "part"), ("gap", "gap")):
            cells[f"factor {place}, {name}"] = shown(turned(*where, what, factor))
    return cells


def states(runs: pd.DataFrame) -> pd.DataFrame:
    """How many models of each setting are done, of those there are."""
    found = described(runs)
    rows: Rows = []
    for setting in Models(found).settings:
        row = {"setting": setting}
        for variant in Models(found).variants:
            here = found[(found["setting"] == setting) & (found["variant"] == variant)]
            row[variant] = f"{(here['state'] == 'done').sum()} of {len(here)}" if len(here) else ""
        rows.append(row)
    return pd.DataFrame(rows)
