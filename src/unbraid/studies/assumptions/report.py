"""The analyses of the assumptions paper (sections 5.1 to 5.6), its figures and table made anew from a table of runs.

Everything here is a function of the table; only figure 1 opens the runs themselves.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import torch

from unbraid import figures
from unbraid.data.factors import generator
from unbraid.errors import InputError
from unbraid.figures import data_name, method_name
from unbraid.pictures import Strip, sheet
from unbraid.record import Run
from unbraid.report import Figure, Picture, Section, Table
from unbraid.report.estimates import SEEDS, average
from unbraid.report.runs import failures
from unbraid.report.sections import Items, section, tabled, verdict_table
from unbraid.show import reconstructions
from unbraid.studies.assumptions import claims, drawings, measures
from unbraid.studies.assumptions.draws import RESAMPLES, drawn, rank_correlations
from unbraid.studies.assumptions.models import (
    MEAN,
    METRICS,
    MORE_METRICS,
    SAMPLED,
    UDR,
    UNSUPERVISED,
    Models,
    finished,
    table,
)
from unbraid.studies.assumptions.selection import HOW, PAPER, TRIALS, Transfer, regret_table, transfer

__all__ = ["report", "table"]

IMAGES = 128  # from which figure 1's variances are estimated
SHOWN = 6  # pairs of images in figure 1
LOOKS = 5  # models a data set whose reconstructions are measured
RULES = (
    "Verdicts follow rules that were fixed beforehand. Each claim comes down to numbers with a 95 % interval, from a "
    "bootstrap that draws the seeds of every setting anew, and one threshold; data sets and settings are taken as "
    "given. A rank correlation (Spearman's) counts from 0.3 on. A claim holds where every interval is on its side of "
    "the threshold, does not hold where one is wholly on the other, and inconclusive otherwise, nor where a number "
    "is missing, nor of fewer than two data sets or three seeds a setting. They are verdicts on these runs: other "
    "data, networks and lengths of training may give others."
)


def report(runs: pd.DataFrame, folder: Path | None = None, resamples: int = RESAMPLES) -> list[Section]:
    """The sections of the report. `folder` is the study's: figure 1 opens runs in it, and is left out without it."""
    models = Models.of(runs)
    parts = [
        _reconstruction(finished(runs), folder, models.seeds),
        _factorisation(models, resamples),
        _agreement(models, resamples),
        _importance(models, resamples),
        _choice(models, resamples),
        _beyond(models, resamples),
        _usefulness(models, resamples),
    ]
    return [_summary(runs, models, parts), *parts]


# What was run


def _summary(runs: pd.DataFrame, models: Models, parts: Sequence[Section]) -> Section:
    items: Items = [verdict_table(parts)]
    if {"state", "data", "method"} <= set(runs.columns) and len(runs):
        items.append(Table("states", "Models that are done, of those there are", _states(runs)))
        items += tabled("failures", "Models that are not done, and why", failures(runs))
    settings = len(models.settings)
    text = (
        f"{models.count} finished models: {len(models.data_sets)} data sets, {len(models.methods)} methods, "
        f"{settings} settings (a method with one strength of regularisation), {models.seeds} seeds a setting. "
        f"The paper has 12,600: 7 data sets, 6 methods, 36 settings, 50 seeds. {RULES}"
    )
    return Section("In short", text if models.count else f"There are no finished models yet. {RULES}", tuple(items))


def _states(runs: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for data in figures.data_order(runs["data"].dropna()):
        row = {"data": data_name(data)}
        for method in [name for name in figures.STYLES if name in set(runs["method"])]:
            here = runs[(runs["data"] == data) & (runs["method"] == method)]
            row[method_name(method)] = f"{(here['state'] == 'done').sum()} of {len(here)}"
        rows.append(row)
    return pd.DataFrame(rows)


# 5.1


@dataclass(frozen=True)
class _Look:
    """A model: what it makes of images, and how much of their variance it explains."""

    strip: Strip
    explained: float


def _reconstruction(done: pd.DataFrame, folder: Path | None, seeds: int) -> Section:
    sets = figures.data_order(done["data"]) if folder is not None else []
    looks, faults = dict[str, list[_Look]](), list[str]()
    rng = np.random.default_rng(0)
    for data in sets:
        here = done[done["data"] == data]
        for place in rng.permutation(len(here))[:LOOKS]:
            row = here.iloc[int(place)]
            try:
                look = _look(_place(str(row["run"]), folder), data_name(data), row)
            except (InputError, OSError) as error:
                faults.append(f"{data_name(data)}: {error}")
            else:
                looks.setdefault(data, []).append(look)
    items: Items = []
    if looks:
        strips = [found[0].strip for found in looks.values()]
        picture = sheet("Reconstructions", "odd columns: real images; even columns: their reconstructions", strips)
        caption = "One random finished model for each data set."
        items.append(Picture("reconstructions", "Figure 1: reconstructions", picture, caption))
    explained = {data: [look.explained for look in looks.get(data, ())] for data in sets}
    items.append(claims.reconstructs(explained, seeds))
    text = (
        "Explained is the variance of pixels around the mean image that the reconstructions explain, over the variance "
        f"that knowing the factors explains ({IMAGES} images, up to {LOOKS} random models a data set). Noise that is "
        "no factor counts as not explainable, so a model that learns it too, such as the colour of Color-dSprites, can "
        "pass 1; one worse than the mean image is below 0."
    )
    if faults:
        text += " Could not be opened: " + "; ".join(faults) + "."
    missing = "; ".join(faults) or "no folder with finished models was given"
    return section("5.1 Reconstructions", text, items, missing)


def _place(run: str, folder: Path | None) -> Path:
    """The run's folder: in the study's, wherever that is now, or where the table says."""
    moved = folder / "jobs" / Path(run).name if folder is not None else Path(run)
    return moved if moved.is_dir() else Path(run)


def _look(path: Path, name: str, row: pd.Series) -> _Look:
    run = Run(path)
    method, data, rng = run.method(), run.data(), generator(0)
    images, factors = data.sample(IMAGES, rng)
    real, decoded = (strip.images for strip in reconstructions(method, images))
    again = data.images(factors, rng)
    pixels, made, twin = real.float() / 255, decoded.float() / 255, again.float() / 255
    variance = float((pixels - pixels.mean(0)).square().mean())
    left, noise = float((pixels - made).square().mean()), float((pixels - twin).square().mean()) / 2
    explained = (variance - left) / (variance - noise) if variance > noise else math.nan
    pairs = torch.stack([real[:SHOWN], decoded[:SHOWN]], 1).flatten(0, 1)
    note = f"{method_name(str(row['method']))} {row['strength']:g}, explained {explained:.2f}"
    return _Look(Strip(name, pairs, note), explained)


# 5.2


def _factorisation(models: Models, resamples: int) -> Section:
    items: Items = []
    without = [method for method in models.methods if method != "annealed_vae"]
    note = "Median over seeds; strengths from the weakest (1) to the strongest."
    for column, kind, numbers in ((SAMPLED, "sampled", (2, 15)), (MEAN, "mean", (3, 16))):
        if column not in models.scores:
            continue
        title = f"total correlation of the {kind} representation against the strength of the regularisation"
        if without:
            drawing = partial(drawings.against_strength, models, column, without)
            items.append(Figure(f"tc_{kind}", f"Figure {numbers[0]}: {title}", drawing, f"{note} Without AnnealedVAE."))
        if "annealed_vae" in models.methods:
            drawing = partial(drawings.against_strength, models, column, models.methods)
            caption = f"{note} AnnealedVAE's largest capacity is its weakest regularisation."
            items.append(Figure(f"tc_{kind}_all", f"Figure {numbers[1]}: {title}, with AnnealedVAE", drawing, caption))
    if {MEAN, SAMPLED} <= set(models.scores):
        caption = "A dot a model. Above the line the mean codes are more correlated than the sampled ones."
        title = "Figure 4: log total correlation of mean and sampled representation"
        items.append(Figure("tc_mean_sampled", title, partial(drawings.mean_against_sampled, models), caption))
    items += claims.judge(models, claims.FACTORISATION, resamples)
    text = "Does regularisation make the codes factorise: those sampled from q(z|x), and their means?"
    return section("5.2 Factorising codes", text, items, "no finished model has a total correlation")


# 5.3


def _agreement(models: Models, resamples: int) -> Section:
    items: Items = []
    metrics = models.known(METRICS)
    if metrics and models.data_sets:
        first = models.data_sets[0]
        if len(metrics) > 1:
            title = f"Figure 5: pairs of metrics on {data_name(first)}"
            items.append(Figure("metric_pairs", title, partial(drawings.metric_pairs, models, first), "A dot a model."))
        title, caption = "rank correlation of metrics", "Spearman's, over all models of a data set, in hundredths."
        drawing = partial(drawings.by_data, models, metrics, metrics)
        items.append(Figure("metric_correlation", f"Figure 6: {title}", drawing, caption))
        if more := models.known(MORE_METRICS):
            drawing = partial(drawings.by_data, models, {**metrics, **more}, {**metrics, **more}, 3.6, 3.1, 3)
            items.append(Figure("metric_correlation_all", f"Beyond figure 6: {title}, more of them", drawing, caption))
    items += claims.judge(models, claims.AGREEMENT, resamples)
    text = "Do the metrics rank models alike?"
    return section("5.3 Agreement of metrics", text, items, "no finished model has scores")


# 5.4


def _importance(models: Models, resamples: int) -> Section:
    items: Items = []
    metrics = models.known(METRICS)
    if metrics:
        caption = "All finished models of a method, its strengths and seeds together; the bar is the median."
        drawing = partial(drawings.scores_by_method, models)
        items.append(Figure("scores_by_method", "Figure 7: scores by method", drawing, caption))
        caption = (
            "Median over seeds; strengths from the weakest regularisation (1) to the strongest; AnnealedVAE's largest "
            "capacity is its weakest."
        )
        drawing = partial(drawings.scores_by_strength, models)
        items.append(Figure("scores_by_strength", "Figure 8: scores by strength", drawing, caption))
        shares = _variance_table(models)
        if len(shares):
            caption = "Components of variance of the nested design: method, strength within a method, seed."
            items.append(Table("variance", "Where the variance of the scores comes from", shares, caption))
    items += claims.judge(models, claims.IMPORTANCE, resamples)
    text = "How much do the method, the strength of its regularisation and the seed matter?"
    return section("5.4 Methods and strengths", text, items, "no finished model has scores")


def _variance_table(models: Models) -> pd.DataFrame:
    rows = []
    for data in models.data_sets:
        for column, name in models.known(METRICS).items():
            shares = measures.variance_shares(drawn(models), column, data)[0].tolist()
            if math.isfinite(shares[0]):
                words = ("method", "strength", "seed")
                parts = {word: f"{100 * share:.0f} %" for word, share in zip(words, shares, strict=True)}
                rows.append({"data": data_name(data), "metric": name, **parts})
    return pd.DataFrame(rows)


# 5.5


def _choice(models: Models, resamples: int) -> Section:
    items: Items = []
    metrics, scores = models.known(METRICS), {**models.known(UNSUPERVISED), **models.known(UDR)}
    if metrics and scores:
        caption = "Spearman's, over all models of a data set, in hundredths."
        if models.known(UDR):
            caption += " UDR, of Duan et al. (2020), is not in the paper; it compares the seeds of one setting."
        drawing = partial(drawings.by_data, models, scores, metrics, 2.5, 1.9)
        title = "Figure 9: rank correlation of unsupervised scores and metrics"
        items.append(Figure("unsupervised", title, drawing, caption))
    if metrics and len(models.data_sets) > 1:
        names = [data_name(data) for data in models.data_sets]
        matrices = {name: measures.across_data(drawn(models), column)[0] for column, name in metrics.items()}
        side = 1.5 + 0.24 * len(names)
        drawing = partial(drawings.matrices, matrices, names, names, side, side * 0.85, 3)
        caption = "Spearman's, of the settings' medians over seeds, in hundredths."
        items.append(Figure("transfer", "Figure 10: rank correlation of settings between data sets", drawing, caption))
        title = f"Figure 11: scores on {names[0]} (across) and on other data sets (up)"
        caption = "A dot a setting: its medians over seeds."
        items.append(Figure("transfer_scatter", title, partial(drawings.scatter_of_settings, models), caption))
    if metrics and models.present.shape[1] > 1:
        found = transfer(models)
        title = "Table 1: probability of doing at least as well as a random model"
        items.append(Table("table_1", title, _table_one(found), _how_table_one(found)))
    items += claims.judge(models, claims.CHOICE, resamples)
    text = "Can a good setting be found without labels, or with the labels of another data set or metric?"
    return section("5.5 Choosing settings", text, items, "no finished model has scores")


def _how_table_one(found: Transfer) -> str:
    return (
        "A metric, a data set and a seed are drawn, and the setting with the highest score there is compared with a "
        "random setting, both with another seed. Doing equally well counts as success, as in the paper, and the random "
        f"setting may be the chosen one, so that chance is {_percent(found.chance)} here and 51.4 % with the paper's "
        f"36 settings. Trials: {TRIALS:,} draws, without those in which a model is missing. Exact: the mean over all "
        "possible draws, with a bootstrap interval over seeds."
    )


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %" if math.isfinite(value) else "not known"


def _table_one(found: Transfer) -> pd.DataFrame:
    rows = []
    for case, exact in found.exact.items():
        shown = _percent(exact.value)
        if math.isfinite(exact.low):
            shown += f" [{100 * exact.low:.1f}, {100 * exact.high:.1f}]"
        rows.append({
            "case": case, "paper": _percent(PAPER[case]), "ours, trials": _percent(found.trials[case]),
            "trials": found.counted[case], "ours, exact [95 %]": shown,
        })  # fmt: skip
    return pd.DataFrame(rows)


# Beyond the paper


def _beyond(models: Models, resamples: int) -> Section:
    items: Items = []
    if len(agreement := _udr_table(models)):
        caption = "Mean over data sets of Spearman's rank correlation with each metric, over all models."
        items.append(Table("udr", "UDR beside the unsupervised scores", agreement, caption))
    regret = regret_table(models, resamples)
    if len(regret):
        interval = f" Intervals are over seeds, where a setting has at least {SEEDS}."
        items.append(Table("regret", "What each way of choosing a model loses", regret.round(3), HOW + interval))
    text = (
        "Not in the paper: how much score each way of choosing one model loses against the best model there is, and "
        "the unsupervised disentanglement ranking (UDR, Duan et al. 2020)."
    )
    known = int(np.isfinite(models.get("scores.udr.lasso")).sum())
    text += f" UDR is known of {known} of {models.count} models." if known else " No UDR was computed."
    return section("Choosing models, beyond the paper", text, items, "no finished model has scores")


def _udr_table(models: Models) -> pd.DataFrame:
    metrics, scores = models.known(METRICS), {**models.known(UNSUPERVISED), **models.known(UDR)}
    if not metrics or not models.known(UDR):
        return pd.DataFrame()
    sets = [models.cells(data) for data in models.data_sets]
    stacked = np.stack([rank_correlations(models.rows(scores, c), models.rows(metrics, c)) for c in sets])
    rows = []
    for place, name in enumerate(scores.values()):
        row: dict[str, object] = {"score": name}
        row |= {metric: round(average(stacked[:, place, at]), 2) for at, metric in enumerate(metrics.values())}
        rows.append({**row, "mean": round(average(stacked[:, place].ravel()), 2)})
    return pd.DataFrame(rows)


# 5.6


def _usefulness(models: Models, resamples: int) -> Section:
    items: Items = []
    metrics = models.known(METRICS)
    if metrics and models.downstream:
        caption = "LR: logistic regression, GBT: boosted trees, on so many points. Spearman's, in hundredths."
        drawing = partial(drawings.by_data, models, metrics, models.downstream, 2.7, 2.0)
        title = "Figure 12: rank correlation of metrics and downstream accuracy"
        items.append(Figure("downstream", title, drawing, caption))
    if metrics:
        for column, learner in models.efficiencies.items():
            number = 14 if "gbt" in column else 13
            title = f"Figure {number}: statistical efficiency of {learner} against the metrics"
            caption = "A dot a model. Efficiency: accuracy on 100 points over accuracy on the most points."
            name = f"efficiency_{column.split('.')[2]}"
            items.append(Figure(name, title, partial(drawings.efficiency, models, column), caption))
    items += claims.judge(models, claims.USEFULNESS, resamples)
    text = (
        "Do disentangled codes help to predict the factors, and from fewer labels? Codes that tell nothing are "
        "efficient too: few points do as badly as many."
    )
    return section("5.6 Downstream tasks", text, items, "no finished model has downstream accuracies")
