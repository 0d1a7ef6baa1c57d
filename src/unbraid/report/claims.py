"""What a paper says, as data, and the one judge that turns claims and a table of runs into verdicts.

A claim comes down to numbers, one per case, and a rule: which side of which threshold their 95 % intervals have to
lie on, and in how many of the cases. Rules are stated before the numbers are known.

    claim = Claim(
        key="3-mig-dci",
        section="3.1",
        words="MIG rises with the number of seeds.",
        paper="0.2 (table 3)",
        rule=Rule("difference in MIG", "above", 0.0),
        measure=lambda runs: {"dSprites": difference(runs.many, runs.few)},
    )
    (judged,) = judge([claim], runs)
    judged.verdict, judged.ours, judged.why
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, TypeVar, get_args

import numpy as np

from unbraid.errors import InputError, nearest
from unbraid.report.estimates import SEEDS, Estimate, number
from unbraid.report.more_seeds import in_words, seeds_to_decide

HOLDS, FAILS, INCONCLUSIVE, NOT_TESTABLE = "holds", "does not hold", "inconclusive", "not testable here"
VERDICTS = (HOLDS, FAILS, INCONCLUSIVE, NOT_TESTABLE)
REACH = 20
"""Seeds that a study may be asked to run: a claim that is open and would take more is not testable here."""
OPEN_IN_WORDS = (
    "An open claim says about how many seeds would decide it if its numbers stayed where they are; above "
    f"{REACH} it is not testable here."
)
"""For a study that says in its own words how its verdicts follow."""
NEWER_THAN_THE_RUN = f"The rule on {REACH} seeds is newer than this run: before it such claims were inconclusive."
"""For the studies that had run by then."""
FEW = 6
"""Cases up to which a summary shows every number."""

Side = Literal["above", "below", "within", "outside"]
Numbers = Mapping[str, Estimate]
Table = TypeVar("Table", contravariant=True)


@dataclass(frozen=True)
class Rule:
    """Where a claim puts its numbers."""

    measured: str
    """What is measured, in a few words."""
    side: Side
    """`above` or `below` the threshold; `within` or `outside` the threshold on both sides of 0."""
    threshold: float
    share: float = 1.0
    """Of the cases, that have to be there."""

    def __post_init__(self) -> None:
        if self.side not in get_args(Side):
            raise InputError(f"'{self.side}' is not a side of a rule{nearest(self.side, get_args(Side))}")
        if not 0 < self.share <= 1:
            raise InputError(f"share is {self.share:g}; expected more than 0 and at most 1")
        if self.side in ("within", "outside") and self.threshold <= 0:
            raise InputError(f"threshold is {self.threshold:g}; expected more than 0 for '{self.side}'")

    def stand(self, entry: Estimate, printed: float = math.nan) -> str:
        """`for` or `against` the claim where the whole interval says so, else `unclear`.

        Against it is also one that includes the threshold and stays short of half of what the paper printed, where that
        is given: the effect that the paper saw is not there. A small one in its direction is for the claim.
        """
        if self.side in ("above", "below"):
            side, sign = entry.side(self.threshold), 1 if self.side == "above" else -1
            if side == "unclear" and sign * (printed - self.threshold) > 0:
                short = entry.side((self.threshold + printed) / 2)
                return "unclear" if short in ("unclear", self.side) else "against"
            return "unclear" if side == "unclear" else "for" if side == self.side else "against"
        inside = entry.low > -self.threshold and entry.high < self.threshold
        outside = entry.low > self.threshold or entry.high < -self.threshold
        if not inside and not outside:
            return "unclear"
        return "for" if inside == (self.side == "within") else "against"

    def verdict(self, estimates: Iterable[Estimate], printed: Iterable[float] = ()) -> str:
        """Of the estimates of all cases, beside what the paper printed of each; inconclusive without any."""
        given = list(estimates)
        known = [*printed] or [math.nan] * len(given)
        stands = [self.stand(entry, figure) for entry, figure in zip(given, known, strict=True)]
        needed = math.ceil(self.share * len(stands) - 1e-9)
        if stands and stands.count("for") >= needed:
            return HOLDS
        return FAILS if stands.count("against") > len(stands) - needed else INCONCLUSIVE

    def least_favourable(self, numbers: Numbers) -> str:
        """The case whose value speaks least for the claim."""
        sign = -1 if self.side in ("above", "outside") else 1
        size = (lambda value: value) if self.side in ("above", "below") else abs
        return max(numbers, key=lambda case: sign * size(numbers[case].value))

    def text(self) -> str:
        """The rule in words."""
        span = f"±{self.threshold:g}" if self.side in ("within", "outside") else f"{self.threshold:g}"
        where = f"{self.side} {span}"
        if self.share == 1:
            holds, fails = f"every 95 % interval is {where}", "one is"
        else:
            holds, fails = f"at least {self.share:.0%} of the 95 % intervals are {where}", "too many are"
        text = f"{self.measured}: holds where {holds}, does not hold where {fails} wholly on the other side, "
        return f"{text}inconclusive otherwise".replace(" -", " −")


@dataclass(frozen=True)
class Need(Generic[Table]):
    """Something of which a claim needs enough before it is judged, such as data sets."""

    least: int
    what: str
    """In the plural: `data sets`."""
    count: Callable[[Table, Numbers], int]
    """How many the table has for this claim, of which the numbers are given too."""

    def lacking(self, table: Table, numbers: Numbers) -> str:
        """What is lacking in words, empty where there is enough."""
        count = self.count(table, numbers)
        return "" if count >= self.least else f"At least {self.least} {self.what} are needed; the table has {count}"


def data_sets(least: int) -> Need[object]:
    """The need that every number is a mean over so many data sets with seeds enough."""
    return Need(least, f"data sets with {SEEDS} seeds", lambda _, numbers: min(
        (entry.data_sets for entry in numbers.values() if entry.known), default=0
    ))  # fmt: skip


def cases(least: int, what: str = "cases") -> Need[object]:
    """The need for so many cases with intervals; `what` says what a case is, such as `data sets`."""
    return Need(least, f"{what} with {SEEDS} seeds", lambda _, numbers: sum(
        entry.known and entry.has_interval for entry in numbers.values()
    ))  # fmt: skip


def seeds(least: int) -> Need[object]:
    """The need that every number rests on so many seeds of its smallest group."""
    return Need(least, "seeds", lambda _, numbers: min(
        (entry.seeds for entry in numbers.values() if entry.known), default=0
    ))  # fmt: skip


@dataclass(frozen=True)
class Edition(Generic[Table]):
    """A claim's rule as it was before it was changed: its verdict is shown too."""

    rule: Rule
    measure: Callable[[Table], Numbers] | None = None
    """Where it measured something else."""


@dataclass(frozen=True)
class Judged:
    """A claim beside what was measured, as a report shows it."""

    words: str
    """What the paper says."""
    paper: str
    """The paper's figure, and where it stands."""
    ours: str
    verdict: str
    """One of VERDICTS."""
    why: str = ""
    """How the verdict follows from the numbers."""
    key: str = ""
    section: str = ""
    numbers: Numbers = field(default_factory=dict, compare=False)
    """By case; those that are not known too."""
    earlier_verdict: str = ""
    """By the rule before it was changed, where it was."""
    earlier_rule: str = ""
    seeds: int = 0
    """About how many would decide it, where it is inconclusive for want of seeds."""
    by_direction: str = ""
    """The verdict without regard to the size that the paper printed, where that is another."""

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise InputError(f"'{self.words}' has the verdict '{self.verdict}'; expected one of {', '.join(VERDICTS)}")


@dataclass(frozen=True)
class Claim(Generic[Table]):
    """What a paper says, and how a table of runs decides it."""

    key: str
    """A short id, such as `5.3-mig-dci`."""
    section: str
    words: str
    """What the paper says, in a sentence."""
    paper: str
    """The paper's figure, and where it stands."""
    rule: Rule
    measure: Callable[[Table], Numbers]
    """From the table to a number per case. A number that is not known is NaN, not left out."""
    gate: Callable[[Table], str | None] | None = None
    """Why the claim cannot be tested on this table, if so: `the model did not learn both factors`."""
    needs: tuple[Need[Table], ...] = ()
    note: Callable[[Table], str] | None = None
    """What is shown behind the numbers: of which models they are. By default their data sets and seeds."""
    form: str = ".2f"
    """Of the numbers."""
    earlier: Edition[Table] | None = None
    printed: Mapping[str, float] | Callable[[Table], Mapping[str, float]] = field(default_factory=dict)
    """The size of an effect in the paper, by case: less than half of it is not what the paper saw. Or a function of the
    table, where it depends on the data sets that this has."""

    def judge(self, table: Table) -> Judged:
        """The claim beside what the table says."""
        printed = self.printed(table) if callable(self.printed) else self.printed
        judged = self._judge(table, printed)
        direction = self._judge(table, {}).verdict if printed else judged.verdict
        return judged if direction == judged.verdict else replace(judged, by_direction=direction)

    def _judge(self, table: Table, printed: Mapping[str, float]) -> Judged:
        numbers = dict(self.measure(table))
        verdict, remarks = self._verdict(self.rule, numbers, table, printed)
        known = {case: entry for case, entry in numbers.items() if entry.known}
        note = "" if not known else self.note(table) if self.note else _sample(known)
        ours = "; ".join(filter(None, [summary(known, self.rule, self.form, printed), note]))
        needed = self._seeds(numbers, printed) if verdict == INCONCLUSIVE and not remarks else 0
        if needed:
            remarks.append(f"Inconclusive; if its numbers stay where they are, {in_words(needed)}")
        if needed > REACH:
            verdict = NOT_TESTABLE
            remarks.append(f"Not testable here: more than {REACH} seeds are out of reach")
        size = ["One that includes the threshold and stays short of half of what the paper printed is against it too"]
        why = ". ".join([self.rule.text(), *(size if printed else []), *remarks])
        judged = Judged(self.words, self.paper, ours, verdict, why, self.key, self.section, numbers, seeds=needed)
        if self.earlier is None:
            return judged
        rule, measure = self.earlier.rule, self.earlier.measure
        before, _ = self._verdict(rule, numbers if measure is None else measure(table), table, {})
        return replace(judged, earlier_verdict=before, earlier_rule=rule.text())

    def _seeds(self, numbers: Numbers, printed: Mapping[str, float]) -> int:
        sizes = _sizes(numbers, printed)
        return seeds_to_decide(numbers.values(), lambda narrower: self.rule.verdict(narrower, sizes) != INCONCLUSIVE)

    def _verdict(
        self, rule: Rule, numbers: Numbers, table: Table, printed: Mapping[str, float]
    ) -> tuple[str, list[str]]:
        """The verdict, and what stands in the way of another."""
        closed = self.gate(table) if self.gate else None
        if closed:
            return NOT_TESTABLE, [f"Not testable here: {closed}"]
        missing = [case or "the number" for case, entry in numbers.items() if not entry.known]
        remarks = [text for need in self.needs if (text := need.lacking(table, numbers))]
        if len(missing) == len(numbers):
            return INCONCLUSIVE, remarks or ["The table does not hold what it needs"]
        if missing:
            remarks.append(f"Not measured: {', '.join(missing)}")
        verdict = INCONCLUSIVE if remarks else rule.verdict(numbers.values(), _sizes(numbers, printed))
        bare = [case or "the number" for case, entry in numbers.items() if entry.known and not entry.has_interval]
        if bare and verdict == INCONCLUSIVE and not remarks:
            remarks.append("Too few seeds for an interval" + (f": {', '.join(bare)}" if len(numbers) > 1 else ""))
        return verdict, remarks


def _sizes(numbers: Numbers, printed: Mapping[str, float]) -> list[float]:
    return [printed.get(case, math.nan) for case in numbers]


def judge(claims: Iterable[Claim[Table]], table: Table) -> list[Judged]:
    """The verdict on each claim."""
    return [claim.judge(table) for claim in claims]


def summary(numbers: Numbers, rule: Rule, form: str = ".2f", printed: Mapping[str, float] | None = None) -> str:
    """All numbers where they are few, else their range, how many speak for the claim, and the least favourable."""
    if not numbers:
        return "not measured"
    if len(numbers) <= FEW:
        return "; ".join(f"{case} {entry.text(form)}".strip() for case, entry in numbers.items())
    values = sorted(entry.value for entry in numbers.values())
    figures = printed or {}
    stands = Counter(rule.stand(entry, figures.get(case, math.nan)) for case, entry in numbers.items())
    counts = ", ".join(f"{stands[stand]} {stand}" for stand in ("for", "against", "unclear") if stands[stand])
    span = f"{number(values[0], form)} to {number(values[-1], form)} (median {number(float(np.median(values)), form)})"
    case = rule.least_favourable(numbers)
    return f"{span} in {len(numbers)} cases: {counts}; least favourable {case} {numbers[case].text(form)}"


def _sample(numbers: Numbers) -> str:
    """The data sets and seeds that numbers rest on, where that is counted."""
    counts = []
    for what, sizes in (
        ("data set", [entry.data_sets for entry in numbers.values()]),
        ("seed", [entry.seeds for entry in numbers.values()]),
    ):
        if min(sizes) > 0 and (what == "seed" or max(sizes) > 1):
            low, high = min(sizes), max(sizes)
            span = f"{low}" if low == high else f"{low} to {high}"
            counts.append(f"{span} {what}{'' if high == 1 else 's'}")
    return ", ".join(counts)
