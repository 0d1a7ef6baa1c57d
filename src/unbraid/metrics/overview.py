"""All metrics in one table, from their declarations: for `unbraid metrics` and docs/metrics/README.md."""

from __future__ import annotations

from unbraid.metrics.declaration import Size
from unbraid.metrics.protocols import METRICS

COLUMNS = (
    "metric", "what it asks", "range", "better", "noise", "perfect", "unchanged by", "seconds", "trust it", "report it",
)  # fmt: skip
USUAL = Size(rows=10_000, codes=10, factors=5, values=113)
"""Ten codes and the factors of dSprites."""


def rows() -> list[tuple[str, ...]]:
    """One row of cells per metric, in the order of COLUMNS."""
    return [
        (
            metric.name, metric.asks, metric.range, metric.better, metric.noise, metric.perfect, metric.invariant,
            _seconds(metric.seconds(USUAL, {})), metric.trust, metric.report,
        )
        for metric in METRICS.values()
    ]  # fmt: skip


def markdown() -> str:
    """The table as Markdown, each metric linked to its page."""
    lines = ["| " + " | ".join(COLUMNS) + " |", "|---" * len(COLUMNS) + "|"]
    for name, *cells in rows():
        lines.append("| " + " | ".join([f"[`{name}`]({name}.md)", *cells]) + " |")
    return "\n".join(lines) + "\n"


def _seconds(seconds: float) -> str:
    return "below 1" if seconds < 1 else f"{seconds:.0f}"
