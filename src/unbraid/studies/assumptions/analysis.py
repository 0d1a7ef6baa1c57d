"""The report: the paper's figures 1 to 16 and table 1 from a table of models, and the verdicts on its claims."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
from PIL import Image

from unbraid.pictures.names import data_name, method_name
from unbraid.pictures.sheets import beside
from unbraid.report import Figure, Picture, Section, Table
from unbraid.report.claims import NEWER_THAN_THE_RUN, judge
from unbraid.report.estimates import Array, average, choices, mean, wins
from unbraid.report.run_table import RunTable
from unbraid.report.sections import Items, in_short, section, tabled, verdict_table
from unbraid.runs.folder import unlinked
from unbraid.studies.assumptions import claims, figures, paper
from unbraid.studies.assumptions.claims import CASES, beats_random, cube, theorem_metrics, variance_shares
from unbraid.studies.assumptions.models import (
    MEAN,
    METRICS,
    MORE_METRICS,
    OTHER,
    SAMPLED,
    UDR,
    UNSUPERVISED,
    Models,
    by_reference_alone,
    quietly,
    rank_matrix,
    table,
)

__all__ = ["report", "table"]

RULES = (
    "Verdicts follow rules that were fixed before the run. Each claim comes down to numbers with a 95 % interval over "
    "seeds and one threshold; data sets and settings are taken as given. A claim holds where the intervals are on its "
    "side of the threshold, in all cases or in the share of them that the rule states; it does not hold where too many "
    "are wholly on the other side, and is inconclusive otherwise. They are verdicts on these runs: other data, "
    "networks and lengths of training may give others."
    f" {NEWER_THAN_THE_RUN}"
)


def report(runs: RunTable) -> list[Section]:
    """The sections of the report."""
    models = Models(runs, OTHER if by_reference_alone(runs) else "")
    parts = [
        _theorem(models),
        _reconstruction(models),
        _factorisation(models),
        _agreement(models),
        _importance(models),
        _choice(models),
        _beyond(models),
        _usefulness(models),
    ]
    return [_summary(models, parts), *parts]


def _summary(models: Models, parts: Sequence[Section]) -> Section:
    caption = (
        "First edition: the verdicts of this study's first run, by its rules of then; — for a new claim. The columns "
        "behind the verdict ask whether it hangs on models that learned nothing, or on the protocol of the scores."
    )
    words = (
        f"{len(models.data_sets)} data sets, {len(models.methods)} methods, {len(models.settings)} settings (a method "
        f"with one strength of regularisation), {models.seeds} seeds per setting. The paper has {paper.MODELS}."
    )
    states = models.table.states("data", "method", method_name)
    verdicts = verdict_table(parts, caption, paper.FIRST_EDITION, others=sensitivity(models))
    return in_short(models.table, parts, words, RULES, states, verdicts=verdicts)


def sensitivity(models: Models) -> dict[str, dict[str, str]]:
    """The verdicts without dead models and by the other protocol, by the claims' keys."""
    variants = {"without dead models": models.alive()}
    if models.prefix != OTHER and any(str(column).startswith(f"scores.{OTHER}") for column in models.table.frame):
        variants["by the reference code's protocol"] = Models(models.table, OTHER)
    return {name: {item.key: item.verdict for item in judge(claims.CLAIMS, one)} for name, one in variants.items()}


def _theorem(models: Models) -> Section:
    items: Items = []
    metrics = theorem_metrics(models)
    if metrics:
        caption = (
            "One line per model. Each column of the entangled codes is a permutation of the old one, so that no loss "
            "that sees images alone prefers one of the two."
        )
        drawing = partial(figures.theorem, models, metrics)
        items.append(Figure("theorem", "Theorem 1 on trained codes", drawing, caption))
    items += judge(claims.THEOREM, models)
    text = (
        "Without further assumptions disentanglement cannot be learned: every code has a twin with the same "
        "distribution that mixes all factors. Here the proof's construction is applied to the codes of trained models."
    )
    return section("3 Theorem 1", text, items, "no codes were entangled")


def _reconstruction(models: Models) -> Section:
    items: Items = []
    picture = models.table.picture("reconstructions", lambda: _strips(models))
    if picture is not None:
        caption = "One model per data set. Odd columns: real images; even columns: their reconstructions."
        items.append(Picture("reconstructions", "Figure 1: reconstructions", picture, caption))
    rows = []
    for data in models.data_sets:
        for score, name in {"explained": "explained", "noise_kept": "noise kept"}.items():
            values = models.scores(score, data)
            if np.isfinite(values).any():
                rows.append({"data": data_name(data), "number": name, "mean [95 %]": mean(values.ravel()).text()})
    items += tabled("explained", "What reconstructions show", pd.DataFrame(rows))
    items += judge(claims.RECONSTRUCTION, models)
    text = (
        "Explained is the share of the change between two images with other factors, and the same noise, that their "
        "reconstructions show; a model that paints a background and no object scores 0. Noise kept is the share of the "
        "noise that is not a factor which a reconstruction shows."
    )
    return section("5.1 Reconstructions", text, items, "no model was examined")


def _strips(models: Models) -> Image.Image | None:
    """The strip of one examined model per data set, from the study's folder."""
    assert models.table.folder is not None
    strips: dict[str, Image.Image] = {}
    for path in sorted((models.table.folder / "jobs").glob("reconstruct-*/strip.png")):
        label = unlinked(path, models.table.folder).parent.name.rpartition("-")[0]
        data = next((name for name in models.data_sets if label.endswith(f"-{name}")), None)
        if data is not None and data not in strips:
            with Image.open(path, formats=["PNG"]) as file:
                strips[data] = file.convert("RGB")
    return beside([strips[data] for data in models.data_sets if data in strips], 1) if strips else None


def _factorisation(models: Models) -> Section:
    items: Items = []
    without = [method for method in models.methods if method != "annealed_vae"]
    note = "Medians over seeds; strengths from the weakest (1) to the strongest."
    for score, codes, numbers in ((SAMPLED, "sampled", (2, 15)), (MEAN, "mean", (3, 16))):
        if not models.known({score: codes}):
            continue
        title = f"total correlation of the {codes} representation against the strength of the regularisation"
        drawing = partial(figures.against_strength, models, score, without)
        if without:
            items.append(
                Figure(f"tc_{codes}", f"Figure {numbers[0]}: {title}", drawing, f"{note} Without AnnealedVAE.")
            )
        if "annealed_vae" in models.methods:
            drawing = partial(figures.against_strength, models, score, models.methods)
            caption = f"{note} AnnealedVAE's largest capacity is its weakest regularisation."
            title = f"Figure {numbers[1]}: {title}, with AnnealedVAE"
            items.append(Figure(f"tc_{codes}_all", title, drawing, caption, folded=True))
    if len(models.known({MEAN: "", SAMPLED: ""})) == 2:
        caption = "One dot per model. Above the line the mean codes are more correlated than the sampled ones."
        title = "Figure 4: log total correlation of mean and sampled representation"
        items.append(Figure("tc_mean_sampled", title, partial(figures.mean_against_sampled, models), caption))
    items += judge(claims.FACTORISATION, models)
    text = "Does regularisation make the codes factorise: those sampled from q(z|x), and their means?"
    return section("5.2 Factorising codes", text, items, "no finished model has a total correlation")


def _agreement(models: Models) -> Section:
    items: Items = []
    metrics = models.known(METRICS)
    if metrics and models.data_sets:
        first = models.data_sets[0]
        if len(metrics) > 1:
            title = f"Figure 5: pairs of metrics on {data_name(first)}"
            drawing = partial(figures.metric_pairs, models, first)
            items.append(Figure("metric_pairs", title, drawing, "One dot per model."))
        title, caption = "rank correlation of metrics", "Spearman's, over all models of a data set, in hundredths."
        drawing = partial(figures.by_data, models, metrics, metrics)
        items.append(Figure("metric_correlation", f"Figure 6: {title}", drawing, caption))
        if others := models.known(MORE_METRICS):
            drawing = partial(figures.by_data, models, {**metrics, **others}, {**metrics, **others}, 3.6, 3.1, 3)
            title = f"Beyond figure 6: {title}, more of them"
            items.append(Figure("metric_correlation_all", title, drawing, caption, folded=True))
    items += judge(claims.AGREEMENT, models)
    return section("5.3 Agreement of metrics", "Do the metrics rank models alike?", items,
                   "no finished model has scores")  # fmt: skip


def _importance(models: Models) -> Section:
    items: Items = []
    if models.known(METRICS):
        caption = "Medians over seeds of all settings of a method; the bar is the median of these."
        drawing = partial(figures.scores_by_method, models)
        items.append(Figure("scores_by_method", "Figure 7: scores by method", drawing, caption))
        caption = (
            "Medians over seeds; strengths from the weakest regularisation (1) to the strongest; AnnealedVAE's largest "
            "capacity is its weakest."
        )
        drawing = partial(figures.scores_by_strength, models)
        items.append(Figure("scores_by_strength", "Figure 8: scores by strength", drawing, caption))
        caption = "Components of variance of the nested design: method, strength within a method, seed."
        items += tabled("variance", "Where the variance of the scores comes from", variance_table(models), caption)
    items += judge(claims.IMPORTANCE, models)
    text = "How much do the method, the strength of its regularisation and the seed matter?"
    return section("5.4 Methods and strengths", text, items, "no finished model has scores")


def variance_table(models: Models) -> pd.DataFrame:
    names, rows = [method for method, _ in models.settings], []
    for data, (metric, name) in itertools.product(models.data_sets, models.known(METRICS).items()):
        shares = variance_shares(models.scores(metric, data), names)
        if math.isfinite(shares[0]):
            parts = zip(("method", "strength", "seed"), shares, strict=True)
            rows.append({"data": data_name(data), "metric": name, **{word: f"{100 * s:.0f} %" for word, s in parts}})
    return pd.DataFrame(rows)


def _choice(models: Models) -> Section:
    items: Items = []
    metrics, scores = models.known(METRICS), {**models.known(UNSUPERVISED), **models.known(UDR)}
    if metrics and scores:
        caption = "Spearman's, over all models of a data set, in hundredths."
        if models.known(UDR):
            caption += " UDR, of Duan et al. (2020), is not in the paper; it compares the seeds of one setting."
        drawing = partial(figures.by_data, models, scores, metrics, 2.5, 1.9)
        title = "Figure 9: rank correlation of unsupervised scores and metrics"
        items.append(Figure("unsupervised", title, drawing, caption))
    if metrics and len(models.data_sets) > 1:
        names = [data_name(data) for data in models.data_sets]
        medians = {name: quietly(np.nanmedian, models.by_setting(metric), 2).T for metric, name in metrics.items()}
        matrices = {name: rank_matrix(values, values) for name, values in medians.items()}
        side = 1.5 + 0.24 * len(names)
        drawing = partial(figures.matrices, matrices, names, names, side, side * 0.85, 3)
        caption = "Spearman's, of the settings' medians over seeds, in hundredths."
        items.append(Figure("transfer", "Figure 10: rank correlation of settings between data sets", drawing, caption))
        title = f"Figure 11: scores on {names[0]} (across) and on other data sets (up)"
        caption = "One dot per setting: its medians over seeds."
        items.append(Figure("transfer_scatter", title, partial(figures.scatter_of_settings, models), caption))
    if metrics and len(models.table.seeds) > 1:
        items.append(Table("table_1", "Table 1: probability of doing at least as well as a random model",
                           table_one(models), TABLE_ONE))  # fmt: skip
    items += judge(claims.CHOICE, models)
    text = "Can a good setting be found without labels, or with the labels of another data set or metric?"
    return section("5.5 Choosing settings", text, items, "no finished model has scores")


TRIALS = 10_000
TABLE_ONE = (
    "A metric, a data set and a seed are drawn, and the setting with the highest score there is compared with a random "
    "setting, both with another seed. Doing equally well counts as success, as in the paper, and the random setting "
    "may be the chosen one, so that chance is above one half: 51.4 % with the paper's 36 settings. Trials: "
    f"{TRIALS:,} draws, without those in which a model is missing. Exact: the mean over all possible draws, with an "
    "interval over seeds."
)


def table_one(models: Models) -> pd.DataFrame:
    scores = cube(models)
    drawn, exact = trials(scores), beats_random(*CASES)(models)
    chance = average(wins(scores).ravel())
    rows = []
    for case in CASES:
        number = exact[case].map(lambda value: 100 * value)
        rows.append({
            "case": case, "paper": _percent(paper.TABLE_1[case]), "here, trials": _percent(drawn[case]),
            "here, exact [95 %]": f"{number.text('.1f')} %" if number.known else "not known",
            "chance": _percent(chance),
        })  # fmt: skip
    return pd.DataFrame(rows)


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %" if math.isfinite(value) else "not known"


def trials(scores: Array, count: int = TRIALS) -> dict[str, float]:
    """Section 5.5's random trials, of scores (data sets, metrics, settings, seeds), by case."""
    sets, metrics, settings, seeds = scores.shape
    result = dict.fromkeys(CASES, math.nan)
    if not scores.size or seeds < 2:
        return result
    rng, chosen = np.random.default_rng(0), choices(scores)
    data, metric, seed = (rng.integers(size, size=count) for size in (sets, metrics, seeds))
    other_seed, other_data, other_metric = (
        (value + rng.integers(1, size, size=count)) % size if size > 1 else value
        for value, size in ((seed, seeds), (data, sets), (metric, metrics))
    )
    own, random = chosen[data, metric, seed], rng.integers(settings, size=count)
    for case, (same_metric, same_data) in CASES.items():
        if (same_data or sets > 1) and (same_metric or metrics > 1):
            at = scores[data if same_data else other_data, metric if same_metric else other_metric, :, other_seed]
            left, right = at[np.arange(count), own], at[np.arange(count), random]
            both = (own >= 0) & np.isfinite(left) & np.isfinite(right)
            result[case] = average(left[both] >= right[both])
    return result


# Beyond the paper: what each way of choosing one model loses

SCORED = {
    # strategy: (score, whether higher is better)
    "highest ELBO": ("elbo", True),
    "lowest reconstruction error": ("reconstruction", False),
    "lowest KL": ("kl", False),
    "lowest TC (sampled)": (SAMPLED, False),
}
STRATEGIES = ("random", *SCORED, *UDR.values(), "transfer from another data set", "best setting (labels)", "oracle")
HOW = (
    "The regret is the best score among the models of a data set minus the score of the selected one. random: the mean "
    "over all models. ELBO, reconstruction error, KL and TC: the one model with the best value. UDR: the setting with "
    "the highest median UDR over its seeds, and within it the model with the highest UDR of its own. transfer: the "
    "setting with the highest median score on another data set with labels, a random seed of it here, averaged over "
    "the other data sets. best setting: the setting with the highest median score on this data set, a random seed of "
    "it. oracle: the best model. Without intervals: a regret hangs on single models, of which seeds show one draw."
)


def _beyond(models: Models) -> Section:
    items: Items = []
    caption = "Mean over data sets of Spearman's rank correlation with each metric, over all models."
    items += tabled("udr", "UDR beside the unsupervised scores", udr_table(models), caption)
    items += tabled("regret", "What each way of choosing a model loses", regret_table(models).round(3), HOW)
    text = (
        "Not in the paper: how much score each way of choosing one model loses against the best model there is, and "
        "the unsupervised disentanglement ranking (UDR, Duan et al. 2020)."
    )
    known = int(np.isfinite(models.by_setting("udr.lasso")).sum())
    text += f" UDR is known of {known} of {models.count} models." if known else " No UDR was computed."
    return section("Choosing models, beyond the paper", text, items, "no finished model has scores")


def udr_table(models: Models) -> pd.DataFrame:
    metrics, scores = models.known(METRICS), {**models.known(UNSUPERVISED), **models.known(UDR)}
    if not metrics or not models.known(UDR):
        return pd.DataFrame()
    stacked = np.stack([rank_matrix(models.rows(scores, d), models.rows(metrics, d)) for d in models.data_sets])
    rows = []
    for index, name in enumerate(scores.values()):
        row = {metric: round(average(stacked[:, index, at]), 2) for at, metric in enumerate(metrics.values())}
        rows.append({"score": name, **row, "mean": round(average(stacked[:, index].ravel()), 2)})
    return pd.DataFrame(rows)


def regrets(models: Models) -> dict[tuple[str, str, str], float]:
    """By strategy, metric and data set; strategies whose scores are not known are left out."""
    numbers: dict[tuple[str, str, str], float] = {}
    for metric in models.known(METRICS):
        grid = models.by_setting(metric)
        medians, means = quietly(np.nanmedian, grid, 2), quietly(np.nanmean, grid, 2)
        for index, data in enumerate(models.data_sets):
            here = grid[index]
            if not np.isfinite(here).any():
                continue
            best = float(np.nanmax(here))
            selected = {"random": average(here.ravel()), "oracle": best}
            for strategy, (score, higher_is_better) in SCORED.items():
                selected[strategy] = _selected(here, models.scores(score, data) * (1 if higher_is_better else -1))
            for score, strategy in UDR.items():
                ranking = np.where(np.isfinite(here), models.scores(score, data), np.nan)
                middle = quietly(np.nanmedian, ranking, 1)
                chosen = middle == np.nanmax(middle) if np.isfinite(middle).any() else np.zeros(len(middle), bool)
                selected[strategy] = _selected(here, np.where(chosen[:, None], ranking, np.nan))
            selected["best setting (labels)"] = _expected(medians[index], means[index])
            others = [_expected(row, means[index]) for other, row in enumerate(medians) if other != index]
            selected["transfer from another data set"] = average(others)
            numbers |= {(strategy, metric, data): best - value for strategy, value in selected.items()}
    return {key: value for key, value in numbers.items() if math.isfinite(value)}


def _selected(scores: Array, by: Array) -> float:
    """The score of the model with the highest value."""
    known = np.isfinite(by) & np.isfinite(scores)
    return float(scores[known][by[known].argmax()]) if known.any() else math.nan


def _expected(by: Array, expected: Array) -> float:
    """What is expected of the setting with the highest value, among those that are known here."""
    known = np.isfinite(by) & np.isfinite(expected)
    return float(expected[known][by[known].argmax()]) if known.any() else math.nan


def regret_table(models: Models) -> pd.DataFrame:
    """One row per strategy: the mean regret, then the mean by metric and by data set."""
    numbers, rows = regrets(models), []
    for strategy in STRATEGIES:
        own = {key[1:]: value for key, value in numbers.items() if key[0] == strategy}
        if own:
            row: dict[str, object] = {"strategy": strategy, "mean regret": average(own.values())}
            for metric, name in models.known(METRICS).items():
                row[name] = average(value for key, value in own.items() if key[0] == metric)
            for data in models.data_sets if len(models.data_sets) > 1 else ():
                row[data_name(data)] = average(value for key, value in own.items() if key[1] == data)
            rows.append(row)
    return pd.DataFrame(rows)


def _usefulness(models: Models) -> Section:
    items: Items = []
    metrics = models.known(METRICS)
    if metrics and models.downstream:
        caption = "LR: logistic regression, GBT: boosted trees, on so many points. Spearman's, in hundredths."
        drawing = partial(figures.by_data, models, metrics, models.downstream, 2.7, 2.0)
        title = "Figure 12: rank correlation of metrics and downstream accuracy"
        items.append(Figure("downstream", title, drawing, caption))
    for score, learner in models.efficiencies.items() if metrics else ():
        number = 14 if "gbt" in score else 13
        title = f"Figure {number}: statistical efficiency of {learner} against the metrics"
        caption = "One dot per model. Efficiency: accuracy on 100 points over accuracy on the most points."
        drawing = partial(figures.efficiency, models, score)
        items.append(Figure(f"efficiency_{score.split('.')[1]}", title, drawing, caption))
    items += judge(claims.USEFULNESS, models)
    text = (
        "Do disentangled codes help to predict the factors, and from fewer labels? Codes that tell nothing are "
        "efficient too: few points do as badly as many."
    )
    return section("5.6 Downstream tasks", text, items, "no finished model has downstream accuracies")
