"""How many seeds would decide what is open: against Student's t by hand."""

from __future__ import annotations

import math

import pytest
from scipy.stats import t

from unbraid.report.claims import REACH, Claim, Rule
from unbraid.report.estimates import Estimate
from unbraid.report.more_seeds import MOST, in_words, seeds_to_decide

ABOVE = Rule("x", "above", 0.0)


def estimate(value: float, deviation: float, seeds: int) -> Estimate:
    """A mean with Student's interval."""
    half = float(t(seeds - 1).ppf(0.975)) * deviation / math.sqrt(seeds)
    return Estimate(value, value - half, value + half, 1, seeds)


def needed(rule: Rule, *entries: Estimate) -> int:
    return seeds_to_decide(entries, lambda found: rule.verdict(found) != "inconclusive")


@pytest.mark.parametrize(("value", "deviation"), [(0.3, 1.0), (-0.5, 1.0), (0.1, 0.15)])
def test_as_many_as_the_interval_of_so_many_seeds_says(value: float, deviation: float) -> None:
    by_hand = next(n for n in range(3, 1000) if not estimate(0.0, deviation, n).high > abs(value))
    found = needed(ABOVE, estimate(value, deviation, 3))
    assert by_hand <= found <= math.ceil(by_hand * 1.06) + 1


def test_the_last_case_that_is_needed_counts() -> None:
    easy, hard, hopeless = estimate(1.0, 1.0, 4), estimate(0.2, 1.0, 4), estimate(1e-4, 1.0, 4)
    assert needed(ABOVE, easy, hard) == needed(ABOVE, hard) > needed(ABOVE, easy)
    assert needed(ABOVE, easy, hopeless) == MOST + 1
    assert needed(Rule("x", "above", 0.0, 0.5), easy, hopeless) == needed(ABOVE, easy)
    against = estimate(-1.0, 1.0, 4)
    assert needed(ABOVE, hopeless, against) == needed(ABOVE, against), "one that is against decides it"


def test_nothing_is_said_where_intervals_or_seeds_are_unknown() -> None:
    assert needed(ABOVE) == 0
    assert needed(ABOVE, Estimate(1.0)) == 0
    assert needed(ABOVE, Estimate(0.1, -1, 1)) == 0


def test_an_inconclusive_claim_says_it_and_others_do_not() -> None:
    def judged(value: float) -> tuple[str, int, str]:
        claim = Claim("k", "1", "X.", "1", ABOVE, lambda _: {"": estimate(value, 1.0, 5)})
        found = claim.judge(None)
        return found.verdict, found.seeds, found.why

    verdict, seeds, why = judged(0.5)
    assert verdict == "inconclusive"
    assert f"Inconclusive; if its numbers stay where they are, {in_words(seeds)}" in why
    verdict, seeds, why = judged(0.1)
    assert (verdict, seeds > REACH) == ("not testable here", True)
    assert in_words(seeds) in why
    assert "more than 20 seeds are out of reach" in why
    assert judged(5.0)[:2] == ("holds", 0)
    assert in_words(MOST + 1) == "more than 1,000 seeds would decide it"
