"""The import graph of the package: which package imports which, as text and as a picture.

A package may import only from its left. Edges to the right, and modules that lie loose at the top level, are named, and
red and orange in the picture, a matrix with one row per importing package and one column per imported one.
Imports inside functions and for type checking count like all others. A tree with other packages than these is put into
the order in which the fewest edges seem to point right.

    python bench/imports.py [PACKAGE] [--out imports.svg]
"""

from __future__ import annotations

import argparse
import ast
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "unbraid"
BASE = ["errors", "arguments", "progress"]
"""The modules that may lie at the top level: all packages may import them."""
ORDER = [
    *BASE, "own", "data", "nets", "methods", "training", "metrics", "runs", "pictures", "jobs", "search", "report",
    "explorer", "studies", "hub", "cli",
]  # fmt: skip


def modules(package: Path) -> list[Path]:
    """All modules of a package but its own `__init__.py` and `__main__.py`, which stand for the whole."""
    whole = {package / "__init__.py", package / "__main__.py"}
    return sorted(path for path in package.rglob("*.py") if path not in whole)


def part_of(path: Path, package: Path) -> str:
    """The top-level package or module that a file belongs to."""
    return path.relative_to(package).parts[0].removesuffix(".py")


def imports(path: Path, package: str = "unbraid") -> list[str]:
    """The top-level packages and modules that a file imports from, once for each import."""
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == package:
            parts = node.module.split(".")
            names += [parts[1]] if len(parts) > 1 else [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            names += [alias.name.split(".")[1] for alias in node.names if alias.name.startswith(f"{package}.")]
    return names


@dataclass(frozen=True)
class Graph:
    order: list[str]
    """From left to right."""
    files: Counter[str]
    lines: Counter[str]
    edges: Counter[tuple[str, str]]
    """(importing, imported) and the number of imports."""
    loose: set[str]
    """Modules at the top level, other than those of BASE."""

    @property
    def to_the_right(self) -> list[tuple[str, str]]:
        return [(a, b) for a, b in self.edges if self.order.index(b) > self.order.index(a)]


def read(package: Path) -> Graph:
    """The graph of a package's top-level packages and modules."""
    files: Counter[str] = Counter()
    lines: Counter[str] = Counter()
    found: Counter[tuple[str, str]] = Counter()
    for path in modules(package):
        part = part_of(path, package)
        files[part] += 1
        lines[part] += len(path.read_text().splitlines())
        found.update((part, other) for other in imports(path, package.name) if other != part)
    edges = Counter({edge: count for edge, count in found.items() if edge[1] in files})  # not names of __init__.py
    loose = {part for part in files if not (package / part).is_dir()} - set(BASE)
    order = [part for part in ORDER if part in files] if set(files) <= set(ORDER) else by_imports(files, edges)
    return Graph(order, files, lines, edges, loose)


def by_imports(parts: Counter[str], edges: Counter[tuple[str, str]]) -> list[str]:
    """An order from left to right: always next the one with the fewest imports from those still to come."""
    order: list[str] = []
    while remaining := sorted(set(parts) - set(order)):
        order.append(min(remaining, key=lambda part: sum(edges[part, other] for other in remaining)))
    return order


def draw(graph: Graph, path: Path) -> None:
    """One row per importing package, one column per imported one: edges to the left lie below the diagonal."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    count = len(graph.order)
    figure = Figure(figsize=(0.36 * count + 2.2, 0.36 * count + 2), layout="constrained")
    axes = figure.subplots()
    axes.plot([-0.5, count - 0.5], [-0.5, count - 0.5], color="0.8", linewidth=1)
    for (importing, imported), number in graph.edges.items():
        row, column = graph.order.index(importing), graph.order.index(imported)
        strength = 0.15 + 0.6 * min(math.log(number) / math.log(50), 1)
        colour = "tab:red" if column > row else "tab:blue"
        axes.add_patch(Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=colour, alpha=strength, edgecolor="none"))
        axes.text(column, row, str(number), ha="center", va="center", fontsize=7)
    axes.set(xlim=(-0.5, count - 0.5), ylim=(count - 0.5, -0.5), title=summary(graph))
    axes.set_xticks(range(count), graph.order, rotation=60, ha="right", rotation_mode="anchor")
    axes.set_yticks(range(count), graph.order)
    axes.set(xlabel="imported", ylabel="importing")
    for label in (*axes.get_xticklabels(), *axes.get_yticklabels()):
        label.set_color("tab:orange" if label.get_text() in graph.loose else "black")
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    figure.savefig(path, dpi=110)


def summary(graph: Graph) -> str:
    packages = len(graph.files) - len(graph.loose) - sum(part in graph.files for part in BASE)
    right = f"{len(graph.to_the_right)} to the right"
    return f"{packages} packages, {len(graph.loose)} loose modules, {len(graph.edges)} edges, {right}"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=Path, nargs="?", default=PACKAGE, help="the folder of a package")
    parser.add_argument("--out", type=Path, default=Path("imports.svg"), help="the picture to write")
    parser.add_argument("--tiny", action="store_true", help="accepted for symmetry: this takes a second")
    options = parser.parse_args(arguments)
    graph = read(options.package)
    print(summary(graph))
    print(f"{'':14}{'files':>6}{'lines':>8}   imports")
    for part in graph.order:
        others = [f"{other} {graph.edges[part, other]}" for other in graph.order if graph.edges[part, other]]
        print(f"{part:14}{graph.files[part]:6}{graph.lines[part]:8,}   {', '.join(others) or '-'}")
    print(f"to the right: {', '.join(f'{a} -> {b}' for a, b in graph.to_the_right) or 'none'}")
    print(f"loose: {', '.join(sorted(graph.loose)) or 'none'}")
    draw(graph, options.out)
    print(options.out)


if __name__ == "__main__":
    main()
