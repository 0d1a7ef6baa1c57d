"""What the paper says in sections 3 and 5, as claims about the table of models, and what each of them measures.

A number has a 95 % interval over seeds; data sets and settings are taken as given. "No correlation" is a claim about
every pair, metric and data set, or about a stated share of them, never about their mean: numbers of opposite sign do
not cancel.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from unbraid.pictures.names import data_name, method_name
from unbraid.report.claims import Claim, Need, Rule
from unbraid.report.estimates import (
    SEEDS,
    UNKNOWN,
    Array,
    Estimate,
    difference,
    jackknife,
    mean,
    probability_beats_random,
    rank_correlation,
    share,
    trend,
)
from unbraid.report.run_table import known_mean
from unbraid.studies.assumptions import paper
from unbraid.studies.assumptions.models import MEAN, METRICS, SAMPLED, UNSUPERVISED, Models, quietly

CORRELATED = 0.3  # a rank correlation counts from here on
UNRELATED = 0.5  # "no correlation" is one whose size is below this
MOSTLY = 0.75  # the share of cases in which a claim without "all" or "every" has to be right
NEARLY = 0.9  # the same for "with minor exceptions"
BETTER = 0.6  # a probability of beating a random model that is worth having; the paper's are 0.52 to 0.55, and 0.77
EXPLAINED = 0.5  # of what the factors change in an image: what a reasonable reconstruction shows at least
IGNORED = 0.1  # of the noise in an image: what a reconstruction that ignores it shows at most
BETAS = ("beta_vae", "beta_tc_vae")
TRIO = ("beta_vae_score", "factor_vae_score", "mig")
ISOLATING = ("dci.disentanglement", "modularity")
SPRITES = ("dsprites", "color_dsprites", "noisy_dsprites", "scream_dsprites")
Numbers = dict[str, Estimate]
Measure = Callable[[Models], Numbers]


def _on(data: str, *words: str) -> str:
    """The name of a case."""
    return f"{', '.join(words)} on {data_name(data)}" if words else data_name(data)


def _plain(data: str) -> str:
    return data.removesuffix("_official")


def _without(*names: str) -> Callable[[str], bool]:
    return lambda data: _plain(data) not in names


def _need_data(*names: str) -> Callable[[Models], str | None]:
    """The gate of a claim about some data sets."""

    def gate(models: Models) -> str | None:
        missing = [name for name in names if name not in map(_plain, models.data_sets)]
        return f"no models on {', '.join(map(data_name, missing))}" if missing else None

    return gate


# 5.1: reconstructions


def reconstructed(score: str, only: str | None = None) -> Measure:
    """The mean over the models that were examined, by data set."""

    def measure(models: Models) -> Numbers:
        kept = [data for data in models.data_sets if only is None or _plain(data) == only]
        return {_on(data): mean(models.scores(score, data).ravel()) for data in kept}

    return measure


def norb_below_others(models: Models) -> Numbers:
    norb = next((data for data in models.data_sets if _plain(data) == "small_norb"), None)
    if norb is None:
        return {}
    rest = [data for data in models.data_sets if data != norb]
    ours = models.scores("explained", norb).ravel()
    return {_on(data): difference(ours, models.scores("explained", data).ravel()) for data in rest}


# 5.2: total correlation


def trends(score: str, methods: Sequence[str], kept: Callable[[str], bool] = lambda data: True) -> Measure:
    """How steadily a score rises with the strength, by method and data set."""

    def measure(models: Models) -> Numbers:
        cases = itertools.product(filter(kept, models.data_sets), methods)
        return {_on(data, method_name(m)): trend(models.scores(score, data, m)) for data, m in cases}

    return measure


def log_correlation(models: Models, score: str, data: str, method: str, strengths: slice = slice(None)) -> Array:
    """The log total correlation of a method, averaged over strengths (seeds,)."""
    return np.asarray(known_mean(np.log(np.maximum(models.scores(score, data, method), 1e-6))[strengths], 0))


def plain_vae(models: Models, score: str, data: str) -> Array:
    """The log total correlation of the plain VAE (β = 1), those of β-TCVAE included (models,)."""
    rows = [
        models.scores(score, data, method)[[strength == 1 for strength in models.strengths(method)]] for method in BETAS
    ]
    return np.log(np.maximum(np.concatenate([row.ravel() for row in rows]), 1e-6)) if rows else np.zeros(0)


def against_plain(
    score: str,
    methods: Sequence[str],
    kept: Callable[[str, str], bool] = lambda data, method: True,
    strengths: slice = slice(None),
) -> Measure:
    """The log total correlation of methods minus that of the plain VAE, by method and data set."""

    def measure(models: Models) -> Numbers:
        cases = [(d, m) for d, m in itertools.product(models.data_sets, methods) if kept(d, m)]
        return {
            _on(data, method_name(method)): difference(
                log_correlation(models, score, data, method, slice(1, None) if method in BETAS else strengths),
                plain_vae(models, score, data),
            )
            for data, method in cases
        }

    return measure


def mean_above_sampled(models: Models) -> Numbers:
    numbers = {}
    for data in models.data_sets:
        means, sampled = (models.scores(score, data).ravel() for score in (MEAN, SAMPLED))
        both = np.isfinite(means) & np.isfinite(sampled)
        numbers[_on(data)] = share((means > sampled)[both].astype(float))
    return numbers


def dip_i_below_others(models: Models) -> Numbers:
    others = [method for method in models.methods if method != "dip_vae_i"]
    return {
        _on(data, method_name(method)): difference(
            log_correlation(models, MEAN, data, "dip_vae_i"), log_correlation(models, MEAN, data, method)
        )
        for data, method in itertools.product(models.data_sets, others)
    }


def dip_ii_works_and_fails(models: Models) -> Numbers:
    """log of half the plain VAE's total correlation over DIP-VAE-II's; turned round where the paper says it fails."""
    numbers = {}
    for data in models.data_sets:
        if _plain(data) in ("shapes3d", "cars3d", "dsprites"):
            half = plain_vae(models, MEAN, data) - math.log(2)
            own = log_correlation(models, MEAN, data, "dip_vae_ii")
            numbers[_on(data)] = difference(own, half) if _plain(data) == "dsprites" else difference(half, own)
    return numbers


# 5.3, 5.5, 5.6: rank correlations over models


def correlations(
    left: Mapping[str, str], right: Mapping[str, str], kept: Callable[[str], bool] = lambda data: True
) -> Measure:
    """Of two groups of scores, over all models of a data set, pair by pair."""

    def measure(models: Models) -> Numbers:
        pairs = list(itertools.product(models.known(left), models.known(right)))
        if left == right:
            pairs = list(itertools.combinations(models.known(left), 2))
        return {
            _on(data, left[a], right[b]): rank_correlation(models.scores(a, data), models.scores(b, data))
            for data in filter(kept, models.data_sets)
            for a, b in pairs
        }

    return measure


def _named(names: Iterable[str]) -> dict[str, str]:
    return {name: METRICS[name] for name in names}


def other_pairs(models: Models) -> Numbers:
    """Of all pairs of metrics but those among BetaVAE, FactorVAE and MIG."""
    trio = {frozenset(pair) for pair in itertools.combinations((METRICS[name] for name in TRIO), 2)}
    pairs = itertools.combinations(models.known(METRICS).items(), 2)
    return {
        _on(data, a, b): rank_correlation(models.scores(one, data), models.scores(other, data))
        for (one, a), (other, b) in pairs
        if frozenset((a, b)) not in trio
        for data in models.data_sets
    }


def transfers(colour: bool) -> Measure:
    """A metric on two data sets, over settings and seeds: dSprites with Color-dSprites, or all other pairs."""

    def measure(models: Models) -> Numbers:
        pairs = [
            (one, other)
            for one, other in itertools.combinations(models.data_sets, 2)
            if ({_plain(one), _plain(other)} == {"dsprites", "color_dsprites"}) == colour
        ]
        return {
            f"{name}, {data_name(one)} and {data_name(other)}": rank_correlation(
                models.scores(metric, one), models.scores(metric, other)
            )
            for metric, name in models.known(METRICS).items()
            for one, other in pairs
        }

    return measure


def accuracies(metrics: Sequence[str], kept: Callable[[str], bool] = lambda data: True) -> Measure:
    return lambda models: correlations(_named(metrics), models.downstream, kept)(models)


def efficiencies(models: Models) -> Numbers:
    return correlations(METRICS, models.efficiencies)(models)


def annealed_efficiency(models: Models) -> Numbers:
    """AnnealedVAE's statistical efficiency with its accuracy on the most points, by learner and data set."""
    most = {name.split(" ")[0]: score for score, name in models.downstream.items()}
    numbers = {}
    for score, learner in models.efficiencies.items():
        accuracy = most.get("GBT" if "gbt" in score else "LR", "")
        for data in models.data_sets:
            pair = [models.scores(name, data, "annealed_vae") for name in (score, accuracy)]
            numbers[_on(data, learner)] = rank_correlation(*pair)
    return numbers


# 5.4: methods and their strengths


def variance_shares(scores: Array, methods: Sequence[str]) -> Array:
    """The shares of a score's variance that come from the method, the strength in it, and the seed (…, 3).

    Of scores (…, settings, seeds). Components of variance of the nested design, by the method of moments on the
    settings' means; a negative component counts 0. NaN without two methods, two strengths of one of them, two seeds.
    """
    known, groups = (
        np.isfinite(scores),
        np.array([[name == method for method in dict.fromkeys(methods)] for name in methods]),
    )
    count = known.sum(-1)  # (…, settings)
    used = count > 0
    sizes = used @ groups.astype(int)  # (…, methods): settings
    with np.errstate(divide="ignore", invalid="ignore"):
        means = np.where(known, scores, 0).sum(-1) / np.maximum(count, 1)
        squares = np.where(known, scores - means[..., None], 0) ** 2
        seed = squares.sum((-1, -2)) / np.maximum(count - 1, 0).sum(-1)
        noise = np.where(used, seed[..., None] / count, 0)  # of a setting's mean, from the seed
        centres, noises = (np.where(used, values, 0) @ groups / sizes for values in (means, noise))
        apart = np.where(used, means - np.where(sizes, centres, 0) @ groups.T, 0)
        spread = np.where(sizes > 1, apart**2 @ groups / (sizes - 1) - noises, np.nan)
        strength = np.maximum(known_mean(spread, -1), 0)
        below = known_mean((strength[..., None] + noises) / sizes, -1)
        method = np.maximum(_variance(centres) - below, 0)
        parts = np.stack([method, strength, seed], -1)
        return np.asarray(parts / parts.sum(-1, keepdims=True))


def _variance(values: Array) -> Array:
    """Of the values that are known, along the last axis; NaN of fewer than two."""
    apart = values - known_mean(values, -1)[..., None]
    return np.asarray(np.nansum(apart**2, -1) / (np.isfinite(values).sum(-1) - 1))


def strength_over_method(models: Models) -> Numbers:
    """The strength's share of the variance minus the method's, mean over metrics, by data set."""
    names, metrics = [method for method, _ in models.settings], list(models.known(METRICS))

    def statistic(scores: Array) -> Array:
        """Of scores (…, settings, seeds, metrics)."""
        shares = variance_shares(np.moveaxis(scores, -1, -3), names)
        return np.asarray(known_mean(shares[..., 1] - shares[..., 0], -1))

    numbers = {}
    for data in models.data_sets if metrics else ():
        scores = np.stack([models.scores(metric, data) for metric in metrics], 2)
        numbers[_on(data)] = jackknife(statistic, scores, stacked=True)
    return numbers


def _contests(models: Models) -> Array:
    """The scores of all metrics and data sets (contests, settings, seeds)."""
    grids = [models.by_setting(metric) for metric in models.known(METRICS)]
    return np.concatenate(grids) if grids else np.zeros((0, len(models.settings), len(models.table.seeds)))


def _winners(scores: Array) -> Array:
    """Which rivals are the best in each contest and seed: (contests, rivals, seeds); those that tie share the win.

    NaN where fewer than two rivals take part.
    """
    known = np.isfinite(scores)
    best = known & (scores == np.where(known, scores, -np.inf).max(1, keepdims=True, initial=-np.inf))
    parts = best / np.maximum(best.sum(1, keepdims=True), 1)
    return np.asarray(np.where(known.sum(1, keepdims=True) > 1, parts, np.nan))


def best_methods(models: Models) -> Numbers:
    """The share of metrics and data sets on which a method is the best, each by its best strength, by method."""
    contests, rivals = _contests(models), []
    for method in models.methods:
        own = contests[:, [name == method for name, _ in models.settings]]
        chosen = np.where(np.isfinite(own).any(2), quietly(np.nanmean, own, 2), -np.inf).argmax(1)
        rivals.append(own[np.arange(len(own)), chosen])
    if not len(contests):
        return {}
    shares = known_mean(_winners(np.stack(rivals, 1)), 0)  # (methods, seeds)
    return {method_name(method): mean(row) for method, row in zip(models.methods, shares, strict=True)}


def best_strengths(models: Models) -> Numbers:
    """The share of metrics and data sets on which a method's most frequent best strength is its best, by method."""
    contests, numbers = _contests(models), {}
    for method in models.methods if len(contests) else ():
        shares = known_mean(_winners(contests[:, [name == method for name, _ in models.settings]]), 0)
        if len(shares) > 1:
            numbers[method_name(method)] = mean(shares[int(np.nan_to_num(known_mean(shares, 1)).argmax())])
    return numbers


# 5.5: table 1

CASES = {
    # name: (same metric, same data set)
    "same metric, same data set": (True, True),
    "same metric, other data set": (True, False),
    "other metric, same data set": (False, True),
    "other metric, other data set": (False, False),
}


def cube(models: Models) -> Array:
    """(data sets, metrics, settings, seeds)"""
    grids = [models.by_setting(metric) for metric in models.known(METRICS)]
    return np.stack(grids, 1) if grids else np.zeros((0, 0, 0, 0))


def beats_random(*cases: str) -> Measure:
    def measure(models: Models) -> Numbers:
        scores, numbers = cube(models), {}
        for case in cases:
            same_metric, same_data = CASES[case]
            enough = (same_data or scores.shape[0] > 1) and (same_metric or scores.shape[1] > 1)
            numbers[case] = (
                probability_beats_random(scores, same_metric=same_metric, same_data=same_data) if enough else UNKNOWN
            )
        return numbers

    return measure


# 3: Theorem 1


def entangled(models: Models) -> Numbers:
    """A metric of entangled codes minus that of the codes they were made from, by metric and data set."""
    return {
        _on(data, name): difference(
            models.scores(f"theorem_1.entangled.{metric}", data).ravel(),
            models.scores(f"theorem_1.codes.{metric}", data).ravel(),
            paired=True,
        )
        for metric, name in theorem_metrics(models).items()
        for data in models.data_sets
    }


def theorem_metrics(models: Models) -> dict[str, str]:
    known = models.known({f"theorem_1.codes.{metric}": name for metric, name in METRICS.items()})
    return {score.removeprefix("theorem_1.codes."): name for score, name in known.items()}


# The claims

TWO_DATA_SETS = Need[Models](2, "data sets", lambda models, _: len(models.data_sets))
ENOUGH_SEEDS = Need[Models](SEEDS, "seeds of most settings", lambda models, _: models.seeds)


def _sample(models: Models) -> str:
    return f"{models.count} models, {len(models.data_sets)} data sets, {models.seeds} seeds per setting"


def claim(
    key: str, where: str, words: str, said: str, rule: Rule, measure: Measure,
    gate: Callable[[Models], str | None] | None = None, form: str = ".2f",
) -> Claim[Models]:  # fmt: skip
    return Claim(
        key=key, section=where, words=words, paper=said, rule=rule, measure=measure, gate=gate,
        needs=(TWO_DATA_SETS, ENOUGH_SEEDS), note=_sample, form=form,
    )  # fmt: skip


_TREND = "Somers' D of total correlation against strength, by method and data set"
_LOG = "log total correlation minus that of the plain VAE, by method and data set"
_RHO = "rank correlation over the models of a data set"

THEOREM = (
    claim(
        "theorem-1", "3",
        "Codes with the same marginals may be entangled, and no loss that sees images alone can tell.", "Theorem 1",
        Rule("metric of entangled codes minus that of the codes, by metric and data set", "below", 0, MOSTLY),
        entangled,
    ),
)  # fmt: skip
RECONSTRUCTION = (
    claim(
        "reconstructs", "5.1", "Models with reasonable reconstructions can be trained on every data set.",
        "seen by eye: reasonable, blurry on some, the shape lost on Scream-dSprites (5.1, figure 1)",
        Rule("share of what the factors change in an image that reconstructions show, by data set", "above", EXPLAINED),
        reconstructed("explained"),
    ),
    claim(
        "noise-ignored", "5.1", "On Noisy-dSprites the noise is ignored.", "seen by eye (5.1, figure 1)",
        Rule("share of the noise that reconstructions show", "below", IGNORED),
        reconstructed("noise_kept", "noisy_dsprites"), _need_data("noisy_dsprites"), ".3f",
    ),
    claim(
        "norb-hardest", "5.1", "SmallNORB is the most challenging data set.", "seen by eye (5.1, figure 1)",
        Rule("explained on SmallNORB minus explained on another data set", "below", 0), norb_below_others,
        _need_data("small_norb"),
    ),
)  # fmt: skip
FACTORISATION = (
    claim(
        "all-decorrelate", "5.2", "All methods decorrelate sampled codes, with minor exceptions.",
        "effective at enforcing an aggregated posterior whose dimensions are not correlated (5.2, implications)",
        Rule(f"{_LOG}, strongest regularisation", "below", 0, NEARLY),
        lambda models: against_plain(SAMPLED, models.methods, strengths=slice(-1, None))(models),
    ),
    claim(
        "sampled-falls", "5.2",
        "Stronger regularisation lowers the total correlation of the sampled codes of β-VAE and β-TCVAE.",
        "clear on all seven data sets (5.2, figure 2)", Rule(_TREND, "below", -CORRELATED), trends(SAMPLED, BETAS),
    ),
    claim(
        "plain-highest", "5.2",
        "The plain VAE (β = 1) has the highest total correlation of sampled codes, AnnealedVAE aside.",
        "on all data sets except SmallNORB (5.2, figure 2)", Rule(_LOG, "below", 0, NEARLY),
        lambda models: against_plain(
            SAMPLED, [name for name in models.methods if name != "annealed_vae"],
            lambda data, method: _without("small_norb")(data),
        )(models),
    ),
    claim(
        "dip-low", "5.2", "Both DIP-VAEs have sampled codes of low total correlation.",
        "low across the data sets, except DIP-VAE-I on SmallNORB (5.2, figure 2)", Rule(_LOG, "below", 0),
        against_plain(
            SAMPLED, ("dip_vae_i", "dip_vae_ii"),
            lambda data, method: method != "dip_vae_i" or _without("small_norb")(data),
        ),
    ),
    claim(
        "dip-falls", "5.2", "Stronger regularisation lowers the total correlation of the DIP-VAEs' sampled codes.",
        "reduced, not as pronounced as for β-VAE and β-TCVAE (5.2, figure 2)", Rule(_TREND, "below", 0),
        trends(SAMPLED, ("dip_vae_i", "dip_vae_ii")),
    ),
    claim(
        "factor-low", "5.2", "FactorVAE has sampled codes of low total correlation.",
        "on all data sets except SmallNORB (5.2, figure 2)", Rule(_LOG, "below", 0),
        against_plain(SAMPLED, ("factor_vae",), lambda data, method: _without("small_norb")(data)),
    ),
    claim(
        "factor-does-not-fall", "5.2",
        "The total correlation of FactorVAE's sampled codes does not fall with its strength.",
        "no decrease seen (5.2, figure 2)", Rule(_TREND, "above", -CORRELATED), trends(SAMPLED, ("factor_vae",)),
    ),
    claim(
        "annealed-falls", "5.2", "Stronger regularisation lowers the total correlation of AnnealedVAE's sampled codes.",
        "on all data sets except Scream-dSprites (5.2, figure 15)", Rule(_TREND, "below", -CORRELATED),
        trends(SAMPLED, ("annealed_vae",), _without("scream_dsprites")),
    ),
    claim(
        "mean-rises", "5.2",
        "Stronger regularisation raises the total correlation of the mean codes of β-VAE and β-TCVAE.",
        "substantially increased (5.2, figure 3)", Rule(_TREND, "above", CORRELATED), trends(MEAN, BETAS),
    ),
    claim(
        "factor-mean-rises", "5.2", "So it does for FactorVAE, to a lesser degree.",
        "can also be observed, less extreme (5.2, figure 3)", Rule(_TREND, "above", 0), trends(MEAN, ("factor_vae",)),
    ),
    claim(
        "dip-ii-mean", "5.2", "DIP-VAE-II's mean codes factorise on Shapes3D and Cars3D, and do not on dSprites.",
        "on some data sets, and fails on others (5.2, figure 3)",
        Rule(
            "log of half the plain VAE's total correlation of means over DIP-VAE-II's, turned round for dSprites",
            "above", 0,
        ),
        dip_ii_works_and_fails,
        lambda models: None if {"shapes3d", "cars3d", "dsprites"} & set(map(_plain, models.data_sets)) else
        "no models on Shapes3D, Cars3D or dSprites",
    ),
    claim(
        "mean-exceeds-sampled", "5.2",
        "For most models the mean codes have a higher total correlation than the sampled codes.",
        "for a large number of models, much higher (5.2, figure 4)",
        Rule("share of models with a higher total correlation of the means, by data set", "above", 0.5),
        mean_above_sampled,
    ),
    claim(
        "only-dip-i", "5.2", "Only DIP-VAE-I keeps the total correlation of the mean codes low on all data sets.",
        "the only method that does so consistently (5.2, figures 3 and 4)",
        Rule("DIP-VAE-I's log total correlation of means minus another method's, by data set", "below", 0, NEARLY),
        dip_i_below_others,
    ),
)  # fmt: skip
AGREEMENT = (
    claim(
        "trio-agrees", "5.3", "BetaVAE score, FactorVAE score and MIG agree with each other, on every data set.",
        "substantially correlated, consistently (5.3, figures 5 and 6)",
        Rule(f"{_RHO}, of each of the three pairs", "above", CORRELATED),
        lambda models: correlations(_named(TRIO), _named(TRIO))(models),
    ),
    claim(
        "others-disagree", "5.3", "The other pairs of metrics do not agree.",
        "no significant correlation (5.3, figure 6)",
        Rule(f"{_RHO}, of each other pair", "within", UNRELATED, MOSTLY), other_pairs,
    ),
)  # fmt: skip
IMPORTANCE = (
    claim(
        "strength-matters-more", "5.4",
        "The strength of the regularisation matters more for disentanglement than the choice of method.",
        "ranges of methods overlap heavily (5.4, figures 7 and 8)",
        Rule(
            "the strength's share of a score's variance minus the method's (components of variance), mean over "
            "metrics, by data set", "above", 0,
        ),
        strength_over_method,
    ),
    claim(
        "no-method-dominates", "5.4", "No method is the best everywhere.",
        "no model dominates the others (5.4 and 5.5, figures 7 and 8)",
        Rule("share of metrics and data sets on which a method is the best, by method", "below", MOSTLY), best_methods,
    ),
    claim(
        "no-strength-is-best", "5.4",
        "For no method is there one strength to take, whatever the data set and the metric.",
        "no consistent strategy (5.5, figure 8)",
        Rule(
            "share of metrics and data sets on which a method's most frequent best strength is its best, by method",
            "below", MOSTLY,
        ),
        best_strengths,
    ),
)  # fmt: skip
_FAR = [case for case, same in CASES.items() if same != (True, True)]
CHOICE = (
    claim(
        "unsupervised", "5.5",
        "No unsupervised score (reconstruction, KL, ELBO, total correlation) tells which models are disentangled.",
        "no clear pattern (abstract, 5.5, figure 9)",
        Rule(f"{_RHO}, of each score with each metric", "within", UNRELATED, MOSTLY),
        correlations(UNSUPERVISED, METRICS),
    ),
    claim(
        "transfer-colour", "5.5", "Good settings on dSprites are good on Color-dSprites.",
        "clearly correlated (5.5, figures 10 and 11)",
        Rule("rank correlation of a metric on both data sets over settings, by metric", "above", CORRELATED),
        transfers(True), _need_data("dsprites", "color_dsprites"),
    ),
    claim(
        "no-transfer", "5.5", "Good settings do not carry over between other data sets.",
        "no correlation between other data sets (abstract, 5.5, figures 10 and 11)",
        Rule("rank correlation of a metric on two data sets over settings", "within", UNRELATED, MOSTLY),
        transfers(False),
    ),
    claim(
        "labels-help", "5.5",
        "A setting chosen by a metric beats a random one on another seed, for the same metric and data set.",
        f"{100 * paper.TABLE_1['same metric, same data set']:.1f} % (5.5, table 1)",
        Rule("probability of doing at least as well as a random setting", "above", BETTER),
        beats_random("same metric, same data set"),
    ),
    claim(
        "labels-do-not-transfer", "5.5",
        "A setting chosen by a metric is hardly better than a random one for another metric or data set.",
        "; ".join(f"{case} {100 * paper.TABLE_1[case]:.1f} %" for case in _FAR) + " (abstract, 5.5, table 1)",
        Rule("probability of doing at least as well as a random setting, in each of three cases", "below", BETTER),
        beats_random(*_FAR),
    ),
)  # fmt: skip
USEFULNESS = (
    claim(
        "trio-accuracy", "5.6",
        "BetaVAE score, FactorVAE score and MIG go with better downstream accuracy on dSprites' variants and Shapes3D.",
        "correlated, on Shapes3D to some degree (5.6, figure 12)",
        Rule(f"{_RHO}, of each metric with each accuracy", "above", CORRELATED, MOSTLY),
        accuracies(TRIO, lambda data: _plain(data) in (*SPRITES, "shapes3d")),
    ),
    claim(
        "isolating", "5.6", "DCI disentanglement and modularity do not go with better downstream accuracy.",
        "not correlated (5.6, figure 12)",
        Rule(f"{_RHO}, of each metric with each accuracy", "within", UNRELATED, MOSTLY), accuracies(ISOLATING),
    ),
    claim(
        "no-efficiency", "5.6", "Higher disentanglement does not mean that fewer labels suffice downstream.",
        "no evidence of a higher statistical efficiency (abstract, 5.6, figures 13 and 14)",
        Rule(f"{_RHO}, of each metric with the efficiency of each learner", "below", UNRELATED, MOSTLY), efficiencies,
    ),
    claim(
        "annealed-efficiency", "5.6", "Where AnnealedVAE seems efficient, its accuracy is low.",
        "explained by low downstream performance (5.6)",
        Rule("rank correlation of AnnealedVAE's efficiency with its accuracy on the most points", "below", 0),
        annealed_efficiency,
        lambda models: None if "annealed_vae" in models.methods else "no models of AnnealedVAE",
    ),
)  # fmt: skip
CLAIMS = (*THEOREM, *RECONSTRUCTION, *FACTORISATION, *AGREEMENT, *IMPORTANCE, *CHOICE, *USEFULNESS)
