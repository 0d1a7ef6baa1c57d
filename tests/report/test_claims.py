"""Verdicts by hand: rules, gates, needs, and the words that go with them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from unbraid.errors import InputError
from unbraid.report.claims import VERDICTS, Claim, Edition, Judged, Need, Rule, cases, data_sets, judge, seeds, summary
from unbraid.report.estimates import Estimate, difference, mean, rank_correlation
from unbraid.report.markdown import verdicts
from unbraid.report.parts import Section

UP, DOWN, UNSURE = Estimate(1, 0.5, 1.5), Estimate(-1, -1.5, -0.5), Estimate(0.1, -1, 1)
UNKNOWN, BARE = Estimate(math.nan), Estimate(5)
ABOVE = Rule("x", "above", 0.0)


def claim(numbers: Mapping[str, Estimate], rule: Rule = ABOVE, **options: Any) -> Claim[None]:
    return Claim("5.3-x", "5.3", "X is large.", "0.7 (table 1)", rule, lambda _: numbers, **options)


# Rules


@pytest.mark.parametrize(
    ("rule", "estimates", "verdict"),
    [
        (ABOVE, [UP, UP], "holds"),
        (ABOVE, [UP, UNSURE], "inconclusive"),
        (ABOVE, [UNSURE, DOWN], "does not hold"),
        (Rule("", "below", 0), [DOWN], "holds"),
        (Rule("", "below", 0), [UP], "does not hold"),
        (ABOVE, [BARE], "inconclusive"),
        (ABOVE, [], "inconclusive"),
        (Rule("", "within", 2), [UP, DOWN, UNSURE], "holds"),
        (Rule("", "within", 0.4), [UNSURE, DOWN], "does not hold"),
        (Rule("", "within", 1.2), [UP], "inconclusive"),
        (Rule("", "outside", 0.4), [UP, DOWN], "holds"),
        (Rule("", "outside", 2), [UP], "does not hold"),
        (Rule("", "outside", 0.4), [UNSURE], "inconclusive"),
        (Rule("", "above", 0, 2 / 3), [UP, DOWN, UP], "holds"),
        (Rule("", "above", 0, 2 / 3), [UP, DOWN, UNSURE], "inconclusive"),
        (Rule("", "above", 0, 2 / 3), [UP, DOWN, DOWN], "does not hold"),
    ],
)
def test_verdicts_of_rules(rule: Rule, estimates: list[Estimate], verdict: str) -> None:
    assert rule.verdict(estimates) == verdict
    assert verdict in VERDICTS


@pytest.mark.parametrize(
    ("side", "threshold", "interval", "printed", "stand"),
    [
        ("above", 0.0, (-1.0, 4.0), 10.0, "against"),  # direction unclear, but short of half of 10
        ("above", 0.0, (-1.0, 6.0), 10.0, "unclear"),
        ("above", 0.0, (1.0, 4.0), 10.0, "for"),  # small, but the claim is about its direction
        ("above", 0.0, (-2.0, -1.0), 10.0, "against"),
        ("above", 0.0, (-1.0, 4.0), -10.0, "unclear"),  # the paper's own number contradicts it
        ("above", 0.0, (-1.0, 4.0), math.nan, "unclear"),
        ("below", 0.0, (-4.0, 1.0), -10.0, "against"),
        ("below", 0.0, (-6.0, 1.0), -10.0, "unclear"),
        ("above", 1.0, (0.9, 1.7), 2.6, "against"),  # a ratio: half-way is 1.8
        ("above", 1.0, (0.9, 1.9), 2.6, "unclear"),
        ("within", 2.0, (-1.0, 3.0), 10.0, "unclear"),
    ],
)
def test_an_effect_short_of_half_of_the_papers_speaks_against_it(
    side: Any, threshold: float, interval: tuple[float, float], printed: float, stand: str
) -> None:
    entry = Estimate(sum(interval) / 2, *interval)
    assert Rule("", side, threshold).stand(entry, printed) == stand


def test_the_verdict_by_direction_alone_stands_beside() -> None:
    numbers = {"a": Estimate(1.5, -1.0, 4.0, seeds=5)}
    (judged,) = judge([claim(numbers, printed={"a": 10.0})], None)
    assert (judged.verdict, judged.by_direction) == ("does not hold", "inconclusive")
    assert "short of half of what the paper printed" in judged.why
    assert "(by its direction alone: inconclusive)" in verdicts([Section("1", "", [judged])])
    (judged,) = judge([claim(numbers, printed={"a": 3.0})], None)
    assert (judged.verdict, judged.by_direction) == ("inconclusive", "")


def test_rules_in_words() -> None:
    assert "every 95 % interval is within ±0.5" in Rule("x", "within", 0.5).text()
    assert "at least 67% of the 95 % intervals are above −0.5" in Rule("x", "above", -0.5, 2 / 3).text()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"side": "over", "threshold": 0.0}, "'over' is not a side"),
        ({"side": "above", "threshold": 0.0, "share": 0.0}, "share is 0"),
        ({"side": "within", "threshold": -0.3}, "threshold is -0.3"),
    ],
)
def test_rules_that_make_no_sense(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Rule("x", **options)


# The judge


def test_a_claim_is_judged_by_its_numbers() -> None:
    (judged,) = judge([claim({"dSprites": UP, "Shapes3D": UP})], None)
    assert (judged.verdict, judged.key, judged.section) == ("holds", "5.3-x", "5.3")
    assert judged.ours == "dSprites 1.00 [0.50, 1.50]; Shapes3D 1.00 [0.50, 1.50]"
    assert judged.why == ABOVE.text()
    assert judged.numbers["dSprites"] is UP


def test_a_missing_number_leaves_a_claim_open_and_is_named() -> None:
    judged = claim({"dSprites": DOWN, "Shapes3D": UNKNOWN}).judge(None)
    assert judged.verdict == "inconclusive"
    assert judged.why.endswith("Not measured: Shapes3D")
    assert "Shapes3D" not in judged.ours
    for nothing in ({}, {"a": UNKNOWN}):
        judged = claim(nothing).judge(None)
        assert (judged.verdict, judged.ours) == ("inconclusive", "not measured")
        assert judged.why.endswith("The table does not hold what it needs")


def test_too_few_seeds_leave_a_claim_open_and_are_named() -> None:
    judged = claim({"dSprites": BARE, "Shapes3D": UP}).judge(None)
    assert judged.verdict == "inconclusive"
    assert judged.why.endswith("Too few seeds for an interval: dSprites")
    assert claim({"": BARE}).judge(None).why.endswith("Too few seeds for an interval")
    assert claim({"dSprites": BARE, "Shapes3D": DOWN}).judge(None).verdict == "does not hold", "whatever dSprites is"


def test_a_gate_that_is_closed_leaves_nothing_to_test() -> None:
    def gate(table: None) -> str | None:
        return "the model did not learn both factors"

    judged = claim({"": UP}, gate=gate).judge(None)
    assert judged.verdict == "not testable here"
    assert judged.why.endswith("Not testable here: the model did not learn both factors")
    assert claim({"": UP}, gate=lambda _: None).judge(None).verdict == "holds"


def test_what_a_claim_needs_is_declared() -> None:
    numbers = {"": mean(1 + np.random.default_rng(0).random((1, 4)))}
    assert claim(numbers, needs=(data_sets(1), seeds(4), cases(1))).judge(None).verdict == "holds"
    judged = claim(numbers, needs=(data_sets(2),)).judge(None)
    assert judged.verdict == "inconclusive"
    assert judged.why.endswith("At least 2 data sets with 3 seeds are needed; the table has 1")
    assert claim(numbers, needs=(seeds(5),)).judge(None).why.endswith("At least 5 seeds are needed; the table has 4")
    judged = claim({"dSprites": UP, "Shapes3D": BARE}, needs=(cases(2, "data sets"),)).judge(None)
    assert judged.why.endswith("At least 2 data sets with 3 seeds are needed; the table has 1")
    own = Need[None](3, "pairs", lambda table, numbers: len(numbers))
    assert claim(numbers, needs=(own,)).judge(None).verdict == "inconclusive"


def test_a_rule_that_was_changed_shows_both_verdicts() -> None:
    first = Edition[None](Rule("mean of x", "above", 2.0))
    judged = claim({"": UP}, earlier=first).judge(None)
    assert (judged.verdict, judged.earlier_verdict) == ("holds", "does not hold")
    assert judged.earlier_rule.startswith("mean of x")
    other = Edition[None](ABOVE, lambda _: {"": DOWN})
    assert claim({"": UP}, earlier=other).judge(None).earlier_verdict == "does not hold"
    assert claim({"": UP}).judge(None).earlier_verdict == ""


def test_what_was_counted_stands_behind_the_numbers() -> None:
    rng = np.random.default_rng(0)
    numbers = {"a": mean(rng.random((2, 3))), "b": mean(rng.random((2, 5)))}
    assert claim(numbers).judge(None).ours.endswith("; 2 data sets, 3 to 5 seeds")
    one = {"a": difference(rng.random(3), rng.random(3))}
    assert claim(one).judge(None).ours.endswith("; 3 seeds")
    assert claim({"": UP}, note=lambda _: "n = 12 models").judge(None).ours == "1.00 [0.50, 1.50]; n = 12 models"


def test_many_numbers_are_summed_up() -> None:
    numbers = {**{f"case {place}": UP for place in range(6)}, "worst": DOWN, "unsure": UNSURE}
    text = summary(numbers, ABOVE)
    assert text.startswith("−1.00 to 1.00 (median 1.00) in 8 cases: 6 for, 1 against, 1 unclear;")
    assert text.endswith("least favourable worst −1.00 [−1.50, −0.50]")
    assert "least favourable unsure" in summary(numbers, Rule("x", "outside", 0.3))
    assert "least favourable case 0" in summary(numbers, Rule("x", "below", 0.0))


def test_a_verdict_is_one_of_four() -> None:
    assert VERDICTS == ("holds", "does not hold", "inconclusive", "not testable here")
    with pytest.raises(InputError, match="has the verdict 'perhaps'"):
        Judged("x", "1", "2", "perhaps")


# No correlation


def pairs(scores: Mapping[str, np.ndarray[Any, Any]]) -> dict[str, Estimate]:
    """The rank correlation of every two metrics, of scores (settings, seeds)."""
    return {f"{a} and {b}": rank_correlation(scores[a], scores[b]) for a, b in itertools.combinations(scores, 2)}


def no_agreement(share: float) -> Claim[Mapping[str, np.ndarray[Any, Any]]]:
    rule = Rule("rank correlation of every two metrics", "within", 0.3, share)
    return Claim("5.3-others", "5.3", "The other pairs of metrics do not agree.", "none (figure 6)", rule, pairs)


@pytest.mark.parametrize("share", [1.0, 0.75])
def test_metrics_that_agree_but_for_one_that_is_opposed_do_not_disagree(share: float) -> None:
    """Of four metrics the three pairs that agree and the three that do not have a mean of 0, which says nothing."""
    rng = np.random.default_rng(0)
    quality = rng.normal(size=(18, 5))
    signs = {"MIG": 1, "DCI": 1, "SAP": 1, "Modularity": -1}
    alike = {name: sign * quality + 0.05 * rng.normal(size=quality.shape) for name, sign in signs.items()}
    judged = no_agreement(share).judge(alike)
    assert judged.verdict == "does not hold"
    assert abs(np.mean([entry.value for entry in judged.numbers.values()])) < 0.01


def test_metrics_that_agree_but_for_one_that_is_noise_do_not_disagree() -> None:
    rng = np.random.default_rng(0)
    quality = rng.normal(size=(18, 5))
    alike = {name: quality + 0.05 * rng.normal(size=quality.shape) for name in ("MIG", "DCI", "SAP", "BetaVAE")}
    alike["Modularity"] = rng.normal(size=quality.shape)
    assert no_agreement(0.75).judge(alike).verdict == "does not hold"


def test_metrics_that_are_unrelated_disagree() -> None:
    rng = np.random.default_rng(0)
    unrelated = {name: rng.normal(size=(36, 20)) for name in ("MIG", "DCI", "SAP", "BetaVAE")}
    assert no_agreement(1.0).judge(unrelated).verdict == "holds"
