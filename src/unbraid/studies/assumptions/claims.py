"""What the paper says, as rules that a table of runs satisfies or violates. The rules were fixed before any run.

Every claim comes down to numbers with a 95 % interval over seeds and one threshold. It holds where every interval lies
on the claimed side of the threshold, does not hold where one lies wholly on the other side, and inconclusive
otherwise: nor where a number is missing, nor with fewer than two data sets or three seeds a setting.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from unbraid.figures import data_name, method_name
from unbraid.report import Claim, Judged, Need, Rule
from unbraid.report.estimates import SEEDS, Array, Estimate, number
from unbraid.studies.assumptions import measures
from unbraid.studies.assumptions.draws import RESAMPLES, Draws, Statistic, drawn, estimate, known_mean
from unbraid.studies.assumptions.models import DATA_SETS, MEAN, METRICS, SAMPLED, UNSUPERVISED, Models
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


def judged(
    models: Models,
    words: str,
    paper: str,
    rule: Rule,
    numbers: Mapping[str, Estimate],
    columns: Iterable[str],
    methods: Iterable[str] | None = None,
    data: Callable[[str], bool] = lambda name: True,
) -> Judged:
    """The claim with its verdict, or with what is missing for one: every number has to be known.

    The models it speaks of are those that have all the columns, of these methods and data sets.
    """
    there = np.all([models.present, *(np.isfinite(models.get(column)) for column in columns)], 0)
    there[[not data(name) for name in models.data]] = False
    there[~np.isin(models.method, models.methods if methods is None else list(methods))] = False
    sets = len(set(models.data[there.any(1)]))
    scale = f"n = {there.sum()} models, {sets} data sets, {models.seeds} seeds a setting"
    needs = (
        Need[None](DATA_SETS, "data sets with these scores", lambda *_: sets),
        Need[None](SEEDS, "seeds per setting", lambda *_: models.seeds),
    )
    return Claim[None]("", "", words, paper, rule, lambda _: numbers, needs=needs, note=lambda _: scale).judge(None)


# 5.2: total correlation


def _trends(column: str, methods: Iterable[str]) -> Statistic:
    def measure(draws: Draws) -> measures.Numbers:
        cases = itertools.product(draws.models.data_sets, methods)
        return {f"{method_name(m)} on {data_name(d)}": measures.trend(draws, column, d, m) for d, m in cases}

    return measure


def sampled_falls(models: Models, resamples: int) -> Judged:
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


def factor_vae_does_not_fall(models: Models, resamples: int) -> Judged:
    def measure(draws: Draws) -> measures.Numbers:
        found = [measures.trend(draws, SAMPLED, data, "factor_vae") for data in draws.models.data_sets]
        return {"mean": known_mean(np.stack(found), 0)} if found else {}

    return judged(
        models,
        "The total correlation of FactorVAE's sampled codes does not fall with its strength.",
        "no decrease seen (5.2, figure 2)",
        Rule("rank correlation of strength and total correlation, mean over data sets", "above", -CORRELATED),
        estimate(models, measure, CORRELATION, resamples),
        [SAMPLED],
        ["factor_vae"],
    )


def plain_is_highest(models: Models, resamples: int) -> Judged:
    def not_norb(data: str) -> bool:
        return data != "small_norb"

    def measure(draws: Draws) -> measures.Numbers:
        kept = filter(not_norb, draws.models.data_sets)
        return {data_name(data): measures.plain_over_highest(draws, data) for data in kept}

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


def mean_rises(models: Models, resamples: int) -> Judged:
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


def mean_exceeds_sampled(models: Models, resamples: int) -> Judged:
    return judged(
        models,
        "For most models the mean codes have a higher total correlation than the sampled codes.",
        "for a large number of models, much higher (5.2, figure 4)",
        Rule("share of models with a higher total correlation of the mean", "above", MAJORITY),
        estimate(models, lambda draws: {"share": measures.mean_above_sampled(draws)}, (0, 1), resamples),
        [MEAN, SAMPLED],
    )


def only_dip_i_factorises(models: Models, resamples: int) -> Judged:
    return judged(
        models,
        "Only DIP-VAE-I keeps the total correlation of the mean codes low on all data sets.",
        "the only method that does so consistently (5.2, figures 3 and 4)",
        Rule(
            "DIP-VAE-I's median total correlation on its worst data set, over the lowest such number of another method",
            "below",
            1.0,
        ),
        estimate(models, lambda draws: {"ratio": measures.dip_i_over_lowest(draws)}, (0, math.inf), resamples),
        [MEAN],
    )


# 5.3: agreement of metrics


_PAIRS = list(itertools.combinations(METRICS, 2))
_TRIO_PAIRS = list(itertools.combinations(TRIO, 2))


def trio_agrees(models: Models, resamples: int) -> Judged:
    def measure(draws: Draws) -> measures.Numbers:
        return {data_name(d): measures.agreement(draws, d, _TRIO_PAIRS) for d in draws.models.data_sets}

    return judged(
        models,
        "BetaVAE score, FactorVAE score and MIG agree with each other, on every data set.",
        "substantially correlated, consistently (5.3, figures 5 and 6)",
        Rule("mean rank correlation of their three pairs, by data set", "above", CORRELATED),
        estimate(models, measure, CORRELATION, resamples),
        models.known(_named(TRIO)),
    )


def others_disagree(models: Models, resamples: int) -> Judged:
    pairs = [pair for pair in _PAIRS if pair not in _TRIO_PAIRS]

    def measure(draws: Draws) -> measures.Numbers:
        found = [measures.agreement(draws, data, pairs) for data in draws.models.data_sets]
        return {"mean": known_mean(np.stack(found), 0)} if found else {}

    return judged(
        models,
        "The other pairs of metrics do not agree.",
        "no significant correlation (5.3, figure 6)",
        Rule("rank correlation of the other pairs, mean over pairs and data sets", "below", CORRELATED),
        estimate(models, measure, CORRELATION, resamples),
        models.known(METRICS),
    )


# 5.4: methods and their strengths


def strength_matters_more(models: Models, resamples: int) -> Judged:
    def shares(draws: Draws) -> Array:
        """Mean over metrics and data sets (draws, 3)."""
        cases = itertools.product(draws.models.known(METRICS), draws.models.data_sets)
        found = [measures.variance_shares(draws, column, data) for column, data in cases]
        return known_mean(np.stack(found), 0) if found else np.full((len(draws.counts), 3), np.nan)

    def measure(draws: Draws) -> measures.Numbers:
        found = shares(draws)
        return {"difference": found[:, 1] - found[:, 0]}

    parts = dict(zip(("method", "strength", "seed"), shares(drawn(models))[0].tolist(), strict=True))
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
    shown = ", ".join(f"{name}'s share {number(part)}" for name, part in parts.items() if math.isfinite(part))
    return replace(claim, ours=f"{claim.ours}; {shown}" if shown else claim.ours)


def no_method_dominates(models: Models, resamples: int) -> Judged:
    return judged(
        models,
        "No method is the best everywhere.",
        "no model dominates the others (5.4 and 5.5, figures 7 and 8)",
        Rule("share of data sets and metrics on which the most frequent best method is the best", "below", MOSTLY),
        estimate(models, lambda draws: {"share": measures.best_methods(draws)}, (0, 1), resamples),
        models.known(METRICS),
    )


def no_strength_is_best(models: Models, resamples: int) -> Judged:
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
        estimate(models, lambda draws: {"share": measures.best_strengths(draws)}, (0, 1), resamples),
        models.known(METRICS),
    )


# 5.5: choosing without labels, and transfer


def unsupervised_do_not_help(models: Models, resamples: int) -> Judged:
    return judged(
        models,
        "No unsupervised score (reconstruction, KL, ELBO, total correlation) tells which models are disentangled.",
        "no clear pattern (abstract, 5.5, figure 9)",
        Rule(
            "size of the mean rank correlation with the metrics, over metrics and data sets with their signs",
            "below",
            CORRELATED,
        ),
        estimate(models, measures.unsupervised, (0, 1), resamples),
        [*models.known(UNSUPERVISED), *models.known(METRICS)],
    )


def settings_transfer_to_colour(models: Models, resamples: int) -> Judged:
    return judged(
        models,
        "Good settings on dSprites are good on Color-dSprites.",
        "clearly correlated (5.5, figures 10 and 11)",
        Rule("rank correlation of the settings' median scores, mean over metrics", "above", CORRELATED),
        estimate(models, lambda draws: {"mean": measures.transfers(draws, True)}, CORRELATION, resamples),
        models.known(METRICS),
        data=lambda name: name.removesuffix("_official") in ("dsprites", "color_dsprites"),
    )


def settings_do_not_transfer(models: Models, resamples: int) -> Judged:
    return judged(
        models,
        "Good settings do not carry over between other data sets.",
        "no correlation between other data sets (abstract, 5.5, figures 10 and 11)",
        Rule("rank correlation of the settings' median scores, mean over metrics and pairs", "below", CORRELATED),
        estimate(models, lambda draws: {"mean": measures.transfers(draws, False)}, CORRELATION, resamples),
        models.known(METRICS),
    )


def _chance(found: Transfer) -> str:
    return f"; chance with ties counted {100 * found.chance:.1f} %" if math.isfinite(found.chance) else ""


def labels_help_on_the_same(models: Models, resamples: int) -> Judged:
    found, case = transfer(models), "same metric, same data set"
    claim = judged(
        models,
        "A setting chosen by a metric beats a random one on another seed, for the same metric and data set.",
        f"{100 * PAPER[case]:.1f} % (5.5, table 1)",
        Rule("probability of doing at least as well, over all draws", "above", BETTER),
        {case: found.exact[case]},
        models.known(METRICS),
    )
    return replace(claim, ours=claim.ours + _chance(found))


def labels_do_not_transfer(models: Models, resamples: int) -> Judged:
    found = transfer(models)
    cases = [case for case, same in CASES.items() if same != (True, True)]
    claim = judged(
        models,
        "A setting chosen by a metric is hardly better than a random one for another metric or data set.",
        "; ".join(f"{case} {100 * PAPER[case]:.1f} %" for case in cases) + " (abstract, 5.5, table 1)",
        Rule("probability of doing at least as well, over all draws, in each of the three cases", "below", BETTER),
        {case: found.exact[case] for case in cases},
        models.known(METRICS),
    )
    return replace(claim, ours=claim.ours + _chance(found))


# 5.6: downstream tasks


def _usefulness(
    metrics: Iterable[str], targets: Iterable[str], kept: Callable[[str], bool] = lambda data: True
) -> Statistic:
    return lambda draws: measures.usefulness(draws, metrics, targets, kept)


def trio_goes_with_accuracy(models: Models, resamples: int) -> Judged:
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


def isolating_scores_do_not(models: Models, resamples: int) -> Judged:
    return judged(
        models,
        "DCI disentanglement and modularity do not go with better downstream accuracy.",
        "not correlated (5.6, figure 12)",
        Rule("rank correlation with the accuracies, mean over metrics, accuracies, data sets", "below", CORRELATED),
        estimate(models, _usefulness(ISOLATING, models.downstream), CORRELATION, resamples),
        [*models.known(_named(ISOLATING)), *models.downstream],
    )


def no_better_efficiency(models: Models, resamples: int) -> Judged:
    return judged(
        models,
        "Higher disentanglement does not mean that fewer labels suffice downstream.",
        "no evidence of a higher statistical efficiency (abstract, 5.6, figures 13 and 14)",
        Rule("rank correlation with the efficiency, mean over metrics, learners, data sets", "below", CORRELATED),
        estimate(models, _usefulness(METRICS, models.efficiencies), CORRELATION, resamples),
        [*models.known(METRICS), *models.efficiencies],
    )


# 5.1: reconstructions


def reconstructs(explained: Mapping[str, Sequence[float]], seeds: int) -> Judged:
    """From the share of the explainable pixel variance that random models explain, by data set."""
    known = {data: [value for value in values if math.isfinite(value)] for data, values in explained.items()}
    medians = {data: float(np.median(values)) for data, values in known.items() if values}
    missing = [data_name(data) for data in known if data not in medians] if medians else []
    why = (
        "the pixel variance around the mean image that a random model's reconstructions explain, over the variance "
        f"that knowing the factors explains, median over models: holds where it is at least {EXPLAINED:g} on every "
        "data set, does not hold otherwise; inconclusive where it is not known of one, nor of fewer than "
        f"{DATA_SETS} data sets or {SEEDS} seeds a setting"
    )
    if missing:
        why += f". Not measured: {', '.join(missing)}"
    number_of = sum(map(len, known.values()))
    ours = "; ".join(f"{data_name(data)} {number(value)}" for data, value in medians.items()) or "not measured"
    verdict = "holds" if all(value >= EXPLAINED for value in medians.values()) else "does not hold"
    return Judged(
        "Models with reasonable reconstructions can be trained on every data set.",
        "seen by eye: reasonable, blurry on some, the shape lost on Scream-dSprites (5.1, figure 1)",
        f"{ours}; n = {number_of} models, {len(medians)} data sets",
        verdict if len(medians) >= DATA_SETS and seeds >= SEEDS and not missing else "inconclusive",
        why,
    )


Judge = Callable[[Models, int], Judged]
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


def judge(models: Models, judges: Iterable[Judge] = ALL, resamples: int = RESAMPLES) -> list[Judged]:
    return [decide(models, resamples) for decide in judges]
