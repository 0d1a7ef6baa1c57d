"""From numbers with their intervals to a claim with its verdict."""

from __future__ import annotations

from collections.abc import Mapping

from unbraid.report.estimates import Estimate, Rule
from unbraid.report.parts import Claim


def judged(
    words: str, said: str, rule: Rule, numbers: Mapping[str, Estimate], runs: str = "", form: str = ".3f"
) -> Claim:
    """The claim with its verdict, which cannot be said where a number is missing. `runs` says what was counted."""
    known = {name: entry for name, entry in numbers.items() if entry.known}
    missing = [name or "the number" for name in numbers if name not in known]
    verdict = "cannot be said" if missing or not known else rule.verdict(known.values())
    shown = "; ".join(f"{name} {entry.text(form)}".strip() for name, entry in known.items()) or "not measured"
    why = rule.text() + (f". Not measured: {', '.join(missing)}" if missing and known else "")
    return Claim(words, said, f"{shown}; {runs}" if runs and known else shown, verdict, why)
