"""What the paper says, as rules that a table of runs satisfies or violates. The rules were fixed before any run.

Every claim comes down to numbers with a 95 % interval over seeds and one threshold. It holds where every interval lies
on the claimed side of the threshold, does not hold where one lies wholly on the other side, and cannot be said
otherwise: nor with fewer than two data sets or three seeds a setting.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from unbraid.figures import data_name, method_name
from unbraid.report import Claim
from unbraid.studies.assumptions.models import (
    DATA_SETS,
    MEAN,
    METRICS,
    RESAMPLES,
    SAMPLED,
    SEEDS,
    UNSUPERVISED,
    WEAKER,
    Array,
    Estimate,
    Models,
    estimate,
    mean,
    number,
    rank_correlations,
)
from unbraid.studies.assumptions.selection import CASES, PAPER, Transfer, transfer

CORRELATED = 0.3  # a rank correlation counts from here on
MAJORITY = 0.5
MOSTLY = 0.75  # of all data sets and metrics: a method or a strength that is the best this often is the one to take
BETTER = 0.6  # a probability of beating a random model that is worth having; the paper's are 0.52 to 0.55, and 0.77
EXPLAINED = 0.5  # of the pixel variance that the factors explain: what a reasonable reconstruction explains at least
TRIO = ("scores.beta_vae", "scores.factor_vae", "scores.mig")
ISOLATING = ("scores.dci.disentanglement", "scores.modularity")
SPRITES = ("dsprites", "color_dsprites", "noisy_dsprites", "scream_dsprites")
CORRELATION = (-1.0, 1.0)


def _named(columns: Iterable[str]) -> dict[str, str]:
    return {column: METRICS[column] for column in columns}


@dataclass(frozen=True)
class Rule:
    """The threshold of a claim, and the side on which the claim puts every number."""

    numbers: str
    """What is measured, in a few words."""
    side: str
    """`above` or `below`."""
    threshold: float

    def verdict(self, estimates: Iterable[Estimate]) -> str:
        sides = [entry.side(self.threshold) for entry in estimates]
        if sides and all(side == self.side for side in sides):
            return "holds"
        if any(side not in (self.side, "unclear") for side in sides):
            return "does not hold"
        return "cannot be said"

    def text(self) -> str:
        return (
            f"{self.numbers}: holds where every 95 % interval over seeds is {self.side} {self.threshold:g}, "
            f"does not hold where one is wholly on the other side, cannot be said otherwise"
        ).replace(" -", " −")


def judged(
    models: Models,
    words: str,
    paper: str,
    rule: Rule,
    estimates: Mapping[str, Estimate],
    columns: Iterable[str],
    methods: Iterable[str] | None = None,
    data: Callable[[str], bool] = lambda name: True,
) -> Claim:
    """The claim with its verdict, or with what is missing for one.

    The models it speaks of are those that have all the columns, of these methods and data sets.
    """
    known = {name: entry for name, entry in estimates.items() if math.isfinite(entry.value)}
    there = np.all([models.present, *(np.isfinite(models.get(column)) for column in columns)], 0)
    there[[not data(name) for name in models.data]] = False
    there[~np.isin(models.method, models.methods if methods is None else list(methods))] = False
    sets = len(set(models.data[there.any(1)]))
    scale = f"n = {there.sum()} models, {sets} data sets, {models.seeds} seeds a setting"
    lacking = _lacking(models, sets, known)
    verdict = "cannot be said" if lacking else rule.verdict(known.values())
    ours = f"{_summary(known, rule)}; {scale}" if known else "not measured; n = 0 models"
    return Claim(words, paper, ours, verdict, rule.text() + (f". {lacking}" if lacking else ""))


def _lacking(models: Models, sets: int, known: Mapping[str, Estimate]) -> str:
    if sets < DATA_SETS:
        return f"{sets} data sets have what it needs; at least {DATA_SETS} are needed"
    if models.seeds < SEEDS:
        return f"Most settings have {models.seeds} seeds; at least {SEEDS} are needed"
    return "" if known else "The table does not hold what it needs"


def _summary(known: Mapping[str, Estimate], rule: Rule) -> str:
    """All numbers where they are few, else their range and how many lie where."""
    if len(known) <= 4:
        return "; ".join(f"{name} {entry.text()}" for name, entry in known.items())
    values = sorted(entry.value for entry in known.values())
    sides = Counter(entry.side(rule.threshold) for entry in known.values())
    weakest = (min if rule.side == "above" else max)(known, key=lambda name: known[name].value)
    counts = ", ".join(f"{sides[side]} {side}" for side in ("above", "below", "unclear") if sides[side])
    span = f"{number(values[0])} to {number(values[-1])} (median {number(float(np.median(values)))})"
    return f"{span} in {len(known)} cases: {counts}; least favourable {weakest} {known[weakest].text()}"


# 5.2: total correlation


def _trend(models: Models, column: str, data: str, method: str) -> float:
    """The rank correlation of a score with the strength of the regularisation, over all models of a method."""
    cells = models.cells(data, method)
    values = models.get(column)[cells]
    strength = np.broadcast_to(models.strength[cells][:, None], values.shape) * (-1 if method in WEAKER else 1)
    return float(rank_correlations(strength.reshape(-1, 1), values.reshape(-1, 1))[0, 0])


def _trends(column: str, methods: Iterable[str]) -> Callable[[Models], dict[str, float]]:
    def measure(models: Models) -> dict[str, float]:
        cases = itertools.product(models.data_sets, methods)
        return {f"{method_name(m)} on {data_name(data)}": _trend(models, column, data, m) for data, m in cases}

    return measure


def sampled_falls(models: Models, resamples: int) -> Claim:
    measure = _trends(SAMPLED, ("beta_vae", "beta_tc_vae"))
    return judged(
        models,
        "Stronger regularisation lowers the total correlation of the sampled codes of β-VAE and β-TCVAE.",
        "clear on all seven data sets (5.2, figure 2)",
        Rule("rank correlation of strength and total correlation, by data set and method", "below", -CORRELATED),
        estimate(models, measure, CORRELATION, resamples),
        [SAMPLED],
        ("beta_vae", "beta_tc_vae"),
    )


def factor_vae_does_not_fall(models: Models, resamples: int) -> Claim:
    def measure(models: Models) -> dict[str, float]:
        return {"mean": mean(_trend(models, SAMPLED, data, "factor_vae") for data in models.data_sets)}

    return judged(
        models,
        "The total correlation of FactorVAE's sampled codes does not fall with its strength.",
        "no decrease seen (5.2, figure 2)",
        Rule("rank correlation of strength and total correlation, mean over data sets", "above", -CORRELATED),
        estimate(models, measure, CORRELATION, resamples),
        [SAMPLED],
        ["factor_vae"],
    )


def plain_is_highest(models: Models, resamples: int) -> Claim:
    def not_norb(data: str) -> bool:
        return data != "small_norb"

    def measure(models: Models) -> dict[str, float]:
        medians = models.medians(SAMPLED)
        plain = np.isin(models.method, ("beta_vae", "beta_tc_vae")) & (models.strength == 1)
        others = ~plain & (models.method != "annealed_vae")
        found = {}
        for data in models.data_sets:
            here = (models.data == data) & np.isfinite(medians)
            if not_norb(data) and (here & plain).any() and (here & others).any():
                highest = medians[here & others].max()
                found[data_name(data)] = float(medians[here & plain].mean() / highest) if highest > 0 else math.nan
        return found

    return judged(
        models,
        "The plain VAE (β = 1) has the highest total correlation of sampled codes, AnnealedVAE aside.",
        "on all data sets except SmallNORB (5.2, figure 2)",
        Rule("the plain VAE's median over the highest median of another setting, by data set", "above", 1.0),
        estimate(models, measure, (0, math.inf), resamples),
        [SAMPLED],
        [method for method in models.methods if method != "annealed_vae"],
        not_norb,
    )


def mean_rises(models: Models, resamples: int) -> Claim:
    measure = _trends(MEAN, ("beta_vae", "beta_tc_vae"))
    return judged(
        models,
        "Stronger regularisation raises the total correlation of the mean codes of β-VAE and β-TCVAE.",
        "substantially increased (5.2, figure 3)",
        Rule("rank correlation of strength and total correlation, by data set and method", "above", CORRELATED),
        estimate(models, measure, CORRELATION, resamples),
        [MEAN],
        ("beta_vae", "beta_tc_vae"),
    )


def mean_exceeds_sampled(models: Models, resamples: int) -> Claim:
    def measure(models: Models) -> dict[str, float]:
        both = models.rows([MEAN, SAMPLED], models.cells())
        both = both[np.isfinite(both).all(1)]
        return {"share": mean(both[:, 0] > both[:, 1])}

    return judged(
        models,
        "For most models the mean codes have a higher total correlation than the sampled codes.",
        "for a large number of models, much higher (5.2, figure 4)",
        Rule("share of models with a higher total correlation of the mean", "above", MAJORITY),
        estimate(models, measure, (0, 1), resamples),
        [MEAN, SAMPLED],
    )


def only_dip_i_factorises(models: Models, resamples: int) -> Claim:
    def measure(models: Models) -> dict[str, float]:
        values = models.get(MEAN)
        worst = {}
        for method in models.methods:
            groups = [values[models.cells(data, method)] for data in models.data_sets]
            medians = [float(np.nanmedian(group)) for group in groups if np.isfinite(group).any()]
            if len(medians) == len(models.data_sets):
                worst[method] = max(medians)
        mine = worst.pop("dip_vae_i", math.nan)
        lowest = min(worst.values(), default=math.nan)
        return {"ratio": mine / lowest if lowest > 0 else math.nan}

    return judged(
        models,
        "Only DIP-VAE-I keeps the total correlation of the mean codes low on all data sets.",
        "the only method that does so consistently (5.2, figures 3 and 4)",
        Rule(
            "DIP-VAE-I's median total correlation on its worst data set, over the lowest such number of another method",
            "below",
            1.0,
        ),
        estimate(models, measure, (0, math.inf), resamples),
        [MEAN],
    )


# 5.3: agreement of metrics


def _agreement(models: Models, data: str, pairs: Iterable[tuple[str, str]]) -> float:
    """The mean rank correlation of pairs of metrics over all models on a data set."""
    columns = list(models.known(METRICS))
    table = models.rows(columns, models.cells(data))
    if not columns:
        return math.nan
    matrix = rank_correlations(table, table)
    places = {column: place for place, column in enumerate(columns)}
    return mean(matrix[places[a], places[b]] for a, b in pairs if a in places and b in places)


_PAIRS = list(itertools.combinations(METRICS, 2))
_TRIO_PAIRS = list(itertools.combinations(TRIO, 2))


def trio_agrees(models: Models, resamples: int) -> Claim:
    def measure(models: Models) -> dict[str, float]:
        return {data_name(data): _agreement(models, data, _TRIO_PAIRS) for data in models.data_sets}

    return judged(
        models,
        "BetaVAE score, FactorVAE score and MIG agree with each other, on every data set.",
        "substantially correlated, consistently (5.3, figures 5 and 6)",
        Rule("mean rank correlation of their three pairs, by data set", "above", CORRELATED),
        estimate(models, measure, CORRELATION, resamples),
        models.known(_named(TRIO)),
    )


def others_disagree(models: Models, resamples: int) -> Claim:
    pairs = [pair for pair in _PAIRS if pair not in _TRIO_PAIRS]

    def measure(models: Models) -> dict[str, float]:
        return {"mean": mean(_agreement(models, data, pairs) for data in models.data_sets)}

    return judged(
        models,
        "The other pairs of metrics do not agree.",
        "no significant correlation (5.3, figure 6)",
        Rule("rank correlation of the other pairs, mean over pairs and data sets", "below", CORRELATED),
        estimate(models, measure, CORRELATION, resamples),
        models.known(METRICS),
    )


# 5.4: methods and their strengths


def variance_shares(models: Models, column: str, data: str) -> tuple[float, float, float]:
    """The shares of a score's variance that come from the method, from the strength within a method, and from the seed.

    Components of variance of the nested design (method, strength, seed), by the method of moments on cell means; a
    negative component counts 0. NaN without two methods, two strengths of one of them, and two seeds of a setting.
    """
    values, methods = models.get(column)[models.cells(data)], models.method[models.cells(data)]
    there = np.isfinite(values)
    values, methods, there = values[there.any(1)], methods[there.any(1)], there[there.any(1)]
    counts = there.sum(1)
    if not len(values) or counts.max() < 2:
        return math.nan, math.nan, math.nan
    means = np.nanmean(values, 1)
    residual = np.nansum((values - means[:, None]) ** 2)
    seed = float(residual / (counts - 1).sum())
    groups = [(means[methods == method], counts[methods == method]) for method in sorted(set(methods))]
    spread = [(group.var(ddof=1), mean(seed / number), len(group)) for group, number in groups if len(group) > 1]
    if len(groups) < 2 or not spread:
        return math.nan, math.nan, math.nan
    strength = max(0.0, mean(variance - noise for variance, noise, _ in spread))
    centres = np.array([group.mean() for group, _ in groups])
    noise = mean((strength + mean(seed / number)) / len(group) for group, number in groups)
    method = max(0.0, float(centres.var(ddof=1)) - noise)
    total = method + strength + seed
    if total <= 0:
        return math.nan, math.nan, math.nan
    return method / total, strength / total, seed / total


def strength_matters_more(models: Models, resamples: int) -> Claim:
    def measure(models: Models) -> dict[str, float]:
        cases = itertools.product(models.known(METRICS), models.data_sets)
        shares = [variance_shares(models, column, data) for column, data in cases]
        return {"difference": mean(strength - method for method, strength, _ in shares)}

    shares = [variance_shares(models, column, data) for column in models.known(METRICS) for data in models.data_sets]
    words = ("method", "strength", "seed")
    parts = {f"{word}'s share": Estimate(mean(share[place] for share in shares)) for place, word in enumerate(words)}
    rule = Rule(
        "share of the variance of a score due to the strength minus that due to the method (components of variance), "
        "mean over metrics and data sets",
        "above",
        0.0,
    )
    claim = judged(
        models,
        "The strength of the regularisation matters more for disentanglement than the choice of method.",
        "ranges of methods overlap heavily (5.4, figures 7 and 8)",
        rule,
        estimate(models, measure, CORRELATION, resamples),
        models.known(METRICS),
    )
    shown = ", ".join(f"{name} {entry.text()}" for name, entry in parts.items() if math.isfinite(entry.value))
    return Claim(claim.words, claim.paper, f"{claim.ours}; {shown}" if shown else claim.ours, claim.verdict, claim.why)


def _winners(scores: Mapping[str, float]) -> dict[str, float]:
    """Who has the highest score; those that share it share the win."""
    known = {name: score for name, score in scores.items() if math.isfinite(score)}
    best = [name for name, score in known.items() if score == max(known.values())]
    return {name: 1 / len(best) for name in best}


def _largest_share(contests: Iterable[Mapping[str, float]]) -> float:
    """The share of the contests that the most frequent winner wins; NaN where nobody had a rival."""
    wins: dict[str, float] = {}
    number = 0
    for scores in contests:
        if sum(math.isfinite(score) for score in scores.values()) > 1:
            number += 1
            for name, part in _winners(scores).items():
                wins[name] = wins.get(name, 0.0) + part
    return max(wins.values()) / number if number else math.nan


def no_method_dominates(models: Models, resamples: int) -> Claim:
    def measure(models: Models) -> dict[str, float]:
        contests = []
        for column in models.known(METRICS):
            medians = models.medians(column)
            for data in models.data_sets:
                groups = {method: medians[models.cells(data, method)] for method in models.methods}
                contests.append({m: float(np.nanmax(g)) for m, g in groups.items() if np.isfinite(g).any()})
        return {"share": _largest_share(contests)}

    return judged(
        models,
        "No method is the best everywhere.",
        "no model dominates the others (5.4 and 5.5, figures 7 and 8)",
        Rule("share of data sets and metrics on which the most frequent best method is the best", "below", MOSTLY),
        estimate(models, measure, (0, 1), resamples),
        models.known(METRICS),
    )


def no_strength_is_best(models: Models, resamples: int) -> Claim:
    def measure(models: Models) -> dict[str, float]:
        medians = {column: models.medians(column) for column in models.known(METRICS)}
        shares = []
        for method in models.methods:
            contests = []
            for values, data in itertools.product(medians.values(), models.data_sets):
                cells = models.cells(data, method)
                contests.append({str(models.strength[cell]): float(values[cell]) for cell in cells})
            shares.append(_largest_share(contests))
        return {"share": mean(shares)}

    return judged(
        models,
        "For no method is there one strength to take, whatever the data set and the metric.",
        "no consistent strategy (5.5, figure 8)",
        Rule(
            "share of data sets and metrics on which a method's most frequent best strength is its best, "
            "mean over methods",
            "below",
            MOSTLY,
        ),
        estimate(models, measure, (0, 1), resamples),
        models.known(METRICS),
    )


# 5.5: choosing without labels, and transfer


def unsupervised_do_not_help(models: Models, resamples: int) -> Claim:
    def measure(models: Models) -> dict[str, float]:
        scores, metrics = models.known(UNSUPERVISED), models.known(METRICS)
        if not scores or not metrics:
            return {}
        found = []
        for data in models.data_sets:
            cells = models.cells(data)
            found.append(rank_correlations(models.rows(scores, cells), models.rows(metrics, cells)))
        stacked = np.stack(found) if found else np.zeros((0, len(scores), len(metrics)))
        return {name: abs(mean(stacked[:, place])) for place, name in enumerate(scores.values())}

    return judged(
        models,
        "No unsupervised score (reconstruction, KL, ELBO, total correlation) tells which models are disentangled.",
        "no clear pattern (abstract, 5.5, figure 9)",
        Rule("size of the rank correlation with the metrics, mean over metrics and data sets", "below", CORRELATED),
        estimate(models, measure, (0, 1), resamples),
        [*models.known(UNSUPERVISED), *models.known(METRICS)],
    )


def across_data(models: Models, column: str) -> Array:
    """The rank correlation of the settings' medians between data sets (data sets, data sets)."""
    medians = models.by_setting(models.medians(column)).T
    return rank_correlations(medians, medians)


def _is_colour_pair(one: str, other: str) -> bool:
    return {one.removesuffix("_official"), other.removesuffix("_official")} == {"dsprites", "color_dsprites"}


def _transfers(colour: bool) -> Callable[[Models], dict[str, float]]:
    """The mean over metrics and pairs of data sets: dSprites with Color-dSprites, or all others."""

    def measure(models: Models) -> dict[str, float]:
        pairs = list(itertools.combinations(range(len(models.data_sets)), 2))
        names = models.data_sets
        kept = [(i, j) for i, j in pairs if _is_colour_pair(names[i], names[j]) == colour]
        matrices = [across_data(models, column) for column in models.known(METRICS)]
        return {"mean": mean(matrix[i, j] for matrix in matrices for i, j in kept)}

    return measure


def settings_transfer_to_colour(models: Models, resamples: int) -> Claim:
    return judged(
        models,
        "Good settings on dSprites are good on Color-dSprites.",
        "clearly correlated (5.5, figures 10 and 11)",
        Rule("rank correlation of the settings' median scores, mean over metrics", "above", CORRELATED),
        estimate(models, _transfers(True), CORRELATION, resamples),
        models.known(METRICS),
        data=lambda name: name.removesuffix("_official") in ("dsprites", "color_dsprites"),
    )


def settings_do_not_transfer(models: Models, resamples: int) -> Claim:
    return judged(
        models,
        "Good settings do not carry over between other data sets.",
        "no correlation between other data sets (abstract, 5.5, figures 10 and 11)",
        Rule("rank correlation of the settings' median scores, mean over metrics and pairs", "below", CORRELATED),
        estimate(models, _transfers(False), CORRELATION, resamples),
        models.known(METRICS),
    )


def _chance(found: Transfer) -> str:
    return f"; chance with ties counted {100 * found.chance:.1f} %" if math.isfinite(found.chance) else ""


def labels_help_on_the_same(models: Models, resamples: int) -> Claim:
    found, case = transfer(models, resamples=resamples), "same metric, same data set"
    claim = judged(
        models,
        "A setting chosen by a metric beats a random one on another seed, for the same metric and data set.",
        f"{100 * PAPER[case]:.1f} % (5.5, table 1)",
        Rule("probability of doing at least as well, over all draws", "above", BETTER),
        {case: found.exact[case]},
        models.known(METRICS),
    )
    return Claim(claim.words, claim.paper, claim.ours + _chance(found), claim.verdict, claim.why)


def labels_do_not_transfer(models: Models, resamples: int) -> Claim:
    found = transfer(models, resamples=resamples)
    cases = [case for case, same in CASES.items() if same != (True, True)]
    claim = judged(
        models,
        "A setting chosen by a metric is hardly better than a random one for another metric or data set.",
        "; ".join(f"{case} {100 * PAPER[case]:.1f} %" for case in cases) + " (abstract, 5.5, table 1)",
        Rule("probability of doing at least as well, over all draws, in each of the three cases", "below", BETTER),
        {case: found.exact[case] for case in cases},
        models.known(METRICS),
    )
    return Claim(claim.words, claim.paper, claim.ours + _chance(found), claim.verdict, claim.why)


# 5.6: downstream tasks


def _usefulness(
    metrics: Iterable[str], targets: Mapping[str, str], kept: Callable[[str], bool] = lambda data: True
) -> Callable[[Models], dict[str, float]]:
    """The rank correlation of metrics and targets, mean over both and over data sets."""

    def measure(models: Models) -> dict[str, float]:
        columns = [column for column in metrics if column in models.scores]
        if not columns or not targets:
            return {}
        found = []
        for data in filter(kept, models.data_sets):
            cells = models.cells(data)
            found.append(mean(rank_correlations(models.rows(columns, cells), models.rows(targets, cells)).ravel()))
        return {"mean": mean(found)}

    return measure


def trio_goes_with_accuracy(models: Models, resamples: int) -> Claim:
    def sprites_or_shapes(data: str) -> bool:
        return data.removesuffix("_official") in (*SPRITES, "shapes3d")

    return judged(
        models,
        "BetaVAE score, FactorVAE score and MIG go with better downstream accuracy on dSprites' variants and Shapes3D.",
        "correlated, on Shapes3D to some degree (5.6, figure 12)",
        Rule("rank correlation with the accuracies, mean over metrics, accuracies, data sets", "above", CORRELATED),
        estimate(models, _usefulness(TRIO, models.downstream, sprites_or_shapes), CORRELATION, resamples),
        [*models.known(_named(TRIO)), *models.downstream],
        data=sprites_or_shapes,
    )


def isolating_scores_do_not(models: Models, resamples: int) -> Claim:
    return judged(
        models,
        "DCI disentanglement and modularity do not go with better downstream accuracy.",
        "not correlated (5.6, figure 12)",
        Rule("rank correlation with the accuracies, mean over metrics, accuracies, data sets", "below", CORRELATED),
        estimate(models, _usefulness(ISOLATING, models.downstream), CORRELATION, resamples),
        [*models.known(_named(ISOLATING)), *models.downstream],
    )


def no_better_efficiency(models: Models, resamples: int) -> Claim:
    return judged(
        models,
        "Higher disentanglement does not mean that fewer labels suffice downstream.",
        "no evidence of a higher statistical efficiency (abstract, 5.6, figures 13 and 14)",
        Rule("rank correlation with the efficiency, mean over metrics, learners, data sets", "below", CORRELATED),
        estimate(models, _usefulness(METRICS, models.efficiencies), CORRELATION, resamples),
        [*models.known(METRICS), *models.efficiencies],
    )


# 5.1: reconstructions


def reconstructs(explained: Mapping[str, Sequence[float]], seeds: int) -> Claim:
    """From the share of the explainable pixel variance that random models explain, by data set."""
    known = {data: [value for value in values if math.isfinite(value)] for data, values in explained.items()}
    medians = {data: float(np.median(values)) for data, values in known.items() if values}
    why = (
        "the pixel variance around the mean image that a random model's reconstructions explain, over the variance "
        f"that knowing the factors explains, median over models: holds where it is at least {EXPLAINED:g} on every "
        f"data set, does not hold otherwise; cannot be said of fewer than {DATA_SETS} data sets or {SEEDS} seeds a "
        "setting"
    )
    number_of = sum(map(len, known.values()))
    ours = "; ".join(f"{data_name(data)} {number(value)}" for data, value in medians.items()) or "not measured"
    verdict = "holds" if all(value >= EXPLAINED for value in medians.values()) else "does not hold"
    return Claim(
        "Models with reasonable reconstructions can be trained on every data set.",
        "seen by eye: reasonable, blurry on some, the shape lost on Scream-dSprites (5.1, figure 1)",
        f"{ours}; n = {number_of} models, {len(medians)} data sets",
        verdict if len(medians) >= DATA_SETS and seeds >= SEEDS else "cannot be said",
        why,
    )


Judge = Callable[[Models, int], Claim]
FACTORISATION: tuple[Judge, ...] = (
    sampled_falls, factor_vae_does_not_fall, plain_is_highest, mean_rises, mean_exceeds_sampled, only_dip_i_factorises,
)  # fmt: skip
AGREEMENT: tuple[Judge, ...] = (trio_agrees, others_disagree)
IMPORTANCE: tuple[Judge, ...] = (strength_matters_more, no_method_dominates, no_strength_is_best)
CHOICE: tuple[Judge, ...] = (
    unsupervised_do_not_help, settings_transfer_to_colour, settings_do_not_transfer, labels_help_on_the_same,
    labels_do_not_transfer,
)  # fmt: skip
USEFULNESS: tuple[Judge, ...] = (trio_goes_with_accuracy, isolating_scores_do_not, no_better_efficiency)
ALL: tuple[Judge, ...] = (*FACTORISATION, *AGREEMENT, *IMPORTANCE, *CHOICE, *USEFULNESS)


def judge(models: Models, judges: Iterable[Judge] = ALL, resamples: int = RESAMPLES) -> list[Claim]:
    return [decide(models, resamples) for decide in judges]
