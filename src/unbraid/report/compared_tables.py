"""A comparison of methods for people: its tables, and what they say in sentences."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pandas as pd

from unbraid.pictures.names import better, data_name, method_name, metric_name
from unbraid.report.compared import ALL, Compared, Setting, setting_value
from unbraid.report.estimates import Array, Estimate, average
from unbraid.report.run_table import numbers


def means_table(compared: Compared) -> pd.DataFrame:
    """One row per data set and method, one column per score."""
    rows = []
    for data in compared.data_sets:
        for method in compared.methods:
            row = {"data": data_name(data), "method": method_name(method)}
            if any(compared.choosing.values()):
                row["setting"] = setting_words(compared.setting(method, data))
            row["seeds"] = str(_seeds(compared, method, data))
            row |= {head(score): _cell(compared.mean(method, data, score)) for score in compared.scores}
            rows.append(row)
    return pd.DataFrame(rows)


def differences_table(compared: Compared) -> pd.DataFrame:
    """One row per data set and method other than the baseline, and one over all data sets."""
    rows = []
    for data in compared.cases:
        for method in compared.others:
            row = {"data": data if data == ALL else data_name(data), "method": method_name(method)}
            for score in compared.scores:
                text = _cell(compared.difference(method, data, score), "+.3f")
                verdict = compared.verdict(method, data, score)
                row[head(score)] = f"{text} {verdict}" if text and verdict in ("better", "worse") else text
            rows.append(row)
    return pd.DataFrame(rows)


def wins_table(compared: Compared) -> pd.DataFrame:
    """On how many seeds each method beats the baseline, and which method has the best mean, by data set."""
    judged = [score for score in compared.scores if better(score) != "neither"]
    rows = []
    for data in compared.data_sets:
        for method in compared.others:
            row = {"data": data_name(data), "": f"{method_name(method)} wins"}
            for score in judged:
                won, of = compared.wins(method, data, score)
                row[head(score)] = f"{won} of {of}" if of else ""
            rows.append(row)
        best = {"data": data_name(data), "": "best mean"}
        for score in judged:
            means = {method: compared.mean(method, data, score).value for method in compared.methods}
            finite = {method: value for method, value in means.items() if math.isfinite(value)}
            pick = (min if better(score) == "lower" else max)(finite, key=lambda m: finite[m], default=None)
            best[head(score)] = "" if pick is None else method_name(pick)
        rows.append(best)
    return pd.DataFrame(rows)


def cost_table(compared: Compared) -> pd.DataFrame:
    """What the models of each method took: time and images, and how many did not finish."""
    rows = []
    for data in compared.data_sets:
        for method in compared.methods:
            if (method, data) not in compared.trials:
                continue
            runs = compared.trials[method, data].runs
            done = runs[runs["state"] == "done"]
            seconds = numbers(done["seconds"]) if "seconds" in done else np.array([])
            images = _images(done)
            rows.append({
                "data": data_name(data),
                "method": method_name(method),
                "models": len(done),
                "not finished": len(runs) - len(done),
                "images per model": _whole(average(images)),
                "seconds per model": _whole(average(seconds)),
                "hours in all": float(np.nansum(seconds)) / 3600,
            })  # fmt: skip
    return pd.DataFrame(rows)


def _images(runs: pd.DataFrame) -> Array:
    """How many images each model was trained on."""
    if not {"steps", "settings.batch_size"} <= set(runs):
        return np.array([])
    return numbers(runs["steps"]) * numbers(runs["settings.batch_size"])


def _whole(value: float) -> int | None:
    return round(value) if math.isfinite(value) else None


def _seeds(compared: Compared, method: str, data: str) -> int:
    row = compared.data_sets.index(data)
    return max(int(np.isfinite(compared.values(method, score)[row]).sum()) for score in compared.scores)


def _cell(entry: Estimate, form: str = ".3f") -> str:
    """A number with its interval; the text breaks only before that."""
    return entry.text(form).replace(" ", "\u00a0").replace("\u00a0[", " [") if entry.known else ""


def head(score: str) -> str:
    """The name of a score with an arrow the way that is better."""
    return metric_name(score) + {"higher": " ↑", "lower": " ↓", "neither": ""}[better(score)]


def setting_words(setting: Setting) -> str:
    return ", ".join(f"{name} {setting_value(value)}" for name, value in setting) or "–"


def sweep_words(settings: Sequence[Setting]) -> str:
    """All settings of a method: `beta 1, 4, 16`, or each in full where they differ in more than one value."""
    if settings and all(len(setting) == 1 for setting in settings):
        return f"{settings[0][0][0]} {', '.join(setting_value(value) for ((_, value),) in settings)}"
    return "; ".join(map(setting_words, settings)).replace("–", "one setting")


def in_words(compared: Compared) -> str:
    """What the differences say, one line per method."""
    judged = [score for score in compared.scores if better(score) != "neither"]
    parts = []
    for method in compared.others:
        by_verdict: dict[str, list[str]] = {"better": [], "worse": []}
        cases = 0
        for score in judged:
            for data in compared.cases:
                entry = compared.difference(method, data, score)
                if entry.has_interval:
                    cases += 1
                    if (verdict := compared.verdict(method, data, score)) in by_verdict:
                        where = "all data sets together" if data == ALL else data_name(data)
                        by_verdict[verdict].append(f"{metric_name(score)} on {where}")
        words = [f"clearly {verdict} in {_listed(cases_of)}" for verdict, cases_of in by_verdict.items() if cases_of]
        rest = cases - sum(map(len, by_verdict.values()))
        name, base = method_name(method), method_name(compared.baseline)
        if not cases:
            parts.append(f"**{name}** against {base}: too few seeds for an interval; three are needed.")
        else:
            undecided = f"{rest} of {cases} differences are unclear" if rest else "no difference is unclear"
            parts.append(f"**{name}** against {base}: {'; '.join([*words, undecided])}.")
    return "\n".join(f"- {part}" for part in parts)


def _listed(cases: Sequence[str], most: int = 4) -> str:
    if len(cases) <= most:
        return ", ".join(cases)
    return f"{', '.join(cases[:most])} and {len(cases) - most} more"


def rule(compared: Compared) -> str:
    """How settings were chosen and which seeds are compared."""
    if not any(compared.choosing.values()):
        return ""
    name = metric_name(compared.chosen_by, long=True)
    way = "lowest" if better(compared.chosen_by) == "lower" else "highest"
    if all(
        compared.choosing[data] == compared.comparing[data] for data in compared.data_sets if compared.choosing[data]
    ):
        return (
            f"Each method has the setting with the {way} {name}, on the very seed that is compared: this flatters "
            "methods with many settings. Train more seeds for a fair comparison."
        )
    counts = [f"{_count(compared.choosing[data])}, and is compared on {len(compared.comparing[data])} others"
              for data in compared.data_sets]  # fmt: skip
    seeds = counts[0] if len(set(counts)) == 1 else "some seeds, and is compared on others: " + "; ".join(
        f"{len(compared.choosing[data])} and {len(compared.comparing[data])} on {data_name(data)}"
        for data in compared.data_sets
    )  # fmt: skip
    return (
        f"Each method has, on each data set, the setting with the {way} mean {name} on {seeds}. "
        "No number below comes from a model that had a part in the choice."
    )


def _count(seeds: Sequence[int]) -> str:
    return f"{len(seeds)} seed{'' if len(seeds) == 1 else 's'}"


def caution(compared: Compared) -> str:
    """What is not the same for all methods."""
    lines = []
    for name, values in compared.unlike().items():
        each = "; ".join(f"{method_name(method)} {value}" for method, value in values.items())
        lines.append(f"*{name}*: {each}")
    return f"The methods were not trained alike. {'. '.join(lines)}." if lines else ""
