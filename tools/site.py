"""The documentation as a searchable site: pages, API reference, study reports and explorers, in build/site.

    make site                        # or: python tools/site.py [--out DIR] [--pages-only]

The Markdown pages are written to be read in the repository. Here they are gathered in one folder, with links between
them rewritten, and built by Zensical (`mkdocs.yml`, which MkDocs reads too). A link to a page or heading that is not
there stops the build.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import posixpath
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from importlib import import_module
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).parents[1]
GATHERED = ROOT / "build" / "pages"  # docs_dir in mkdocs.yml
STUDIES = ("assumptions", "multitask", "population", "contrastive", "intervention")
EXPLORERS = ("shapes3d-factor_vae", "dsprites-beta_tc_vae", "color_dsprites-beta_tc_vae")
API = {
    "unbraid": "Score, train, load, explore",
    "unbraid.data": "Data sets and what wraps them",
    "unbraid.methods": "Methods",
    "unbraid.metrics": "Metrics and protocols",
    "unbraid.nets": "Networks",
    "unbraid.training": "Representations, devices",
    "unbraid.jobs": "Jobs of a study",
    "unbraid.search": "Populations and rPU-VAE",
    "unbraid.report": "Reports, claims, comparisons",
}
LINK = re.compile(r"(!?\[[^\]]*\])\(([^)\s]+)\)")
FENCE = re.compile(r"^( *)(```|~~~)")


def pages() -> dict[str, str]:
    """Where each file of the repository that is a page, or shown on one, goes: by paths from the root."""
    found = {"README.md": "index.md"}
    found |= {name: name.lower() for name in ("CHANGELOG.md", "CONTRIBUTING.md") if (ROOT / name).exists()}
    for path in sorted((ROOT / "docs").rglob("*")):
        if path.suffix in {".md", ".png", ".svg", ".gif"}:
            inside = path.relative_to(ROOT / "docs")
            target = inside.with_name("index.md") if inside.name == "README.md" else inside
            found[path.relative_to(ROOT).as_posix()] = target.as_posix()
    for study in STUDIES:
        found[f"src/unbraid/studies/{study}/README.md"] = f"studies/{study}.md"
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        found[path.relative_to(ROOT).as_posix()] = f"notebooks/{path.name}"
    return found


def rewritten(text: str, source: str, known: Mapping[str, str]) -> str:
    """A page whose links lead to where the pages are gathered; what is not among them loses its link."""
    here = posixpath.dirname(known[source])

    def link(match: re.Match[str]) -> str:
        label, target = match.groups()
        path, mark, heading = target.partition("#")
        if "://" in target or not path or target.startswith("mailto:"):
            return match.group()
        file = posixpath.normpath(posixpath.join(posixpath.dirname(source), path))
        if not (ROOT / file).exists():
            raise SystemExit(f"{source}: there is no {file}, to which it links")
        if file not in known:
            return label[1:-1]
        return f"{label}({posixpath.relpath(known[file], here or '.')}{mark}{heading})"

    parts = ((code, "".join(line for _, line in part)) for code, part in groupby(lines(text), lambda line: line[0]))
    return "".join(part if code else LINK.sub(link, part) for code, part in parts)


def lines(text: str) -> Iterator[tuple[bool, str]]:
    """Whether each line of a page is code, and the line."""
    fence = ""
    for line in text.splitlines(keepends=True):
        mark = FENCE.match(line)
        yield bool(fence or mark or line.startswith("    ")), line
        if mark:
            fence = "" if fence else mark.group(2)


def reference(package: str, title: str) -> str:
    """The page of a package: its public classes and functions, from their docstrings."""
    module = import_module(package)
    page = [f"# `{package}`: {title}\n"]
    for name in sorted(module.__all__, key=str.lower):
        value = getattr(module, name)
        if inspect.isclass(value) or inspect.isfunction(value):
            page.append(f"::: {value.__module__}.{value.__qualname__}\n")
    return "\n".join(page)


def gather(reports: bool) -> None:
    """All pages in one folder."""
    shutil.rmtree(GATHERED, ignore_errors=True)
    known = pages()
    for source, target in known.items():
        path = GATHERED / target
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            path.write_text(rewritten((ROOT / source).read_text(), source, known))
        else:
            shutil.copyfile(ROOT / source, path)
    for package, title in API.items():
        path = GATHERED / "api" / f"{package}.md"
        path.parent.mkdir(exist_ok=True)
        path.write_text(reference(package, title))
    for path in sorted((ROOT / "docs" / "notebooks").glob("*.ipynb")):
        page = GATHERED / "notebooks" / f"{path.stem}.md"
        page.parent.mkdir(exist_ok=True)
        page.write_text(rewritten(notebook(path), path.relative_to(ROOT).as_posix(), known))
    (GATHERED / "results.md").write_text(results(reports))


def notebook(path: Path) -> str:
    """A notebook as a page."""
    cells = [(cell["cell_type"], "".join(cell["source"])) for cell in json.loads(path.read_text())["cells"]]
    parts = [text if kind == "markdown" else f"```python\n{text}\n```" for kind, text in cells]
    return "\n\n".join([*parts, f"[This page as a notebook]({path.name})"]) + "\n"


def results(reports: bool) -> str:
    """The page of pages: the five studies' reports and three explorers, made from what the package holds."""
    text = ["# Results to look at\n", "Each opens as a page of its own, without a network.\n", "## Reports\n"]
    for study in STUDIES:
        if not (ROOT / "src/unbraid/studies" / study / "results" / "desk").is_dir():
            text.append(f"- {study}: not run at desk scale with this version; [what is known](studies/{study}.md)")
            continue
        if reports:
            unbraid("report", study, "--results", "desk", "--out", GATHERED / "reports" / study)
            text.append(f"- [{study}](reports/{study}/report.html): the verdicts of its [desk run](studies/{study}.md)")
    text.append("\n## Models with sliders\n")
    for name in EXPLORERS:
        if reports:
            unbraid("explore", f"reference/{name}", "--out", GATHERED / "explorers" / f"{name}.html")
            text.append(f"- [{name}](explorers/{name}.html)")
    return "\n".join(text) + "\n"


def unbraid(*arguments: str | os.PathLike[str]) -> None:
    subprocess.run([sys.executable, "-m", "unbraid", *arguments], check=True, cwd=ROOT)


def dead_links(site: Path) -> list[str]:
    """Links of built pages, to pages of the site or to headings in them, that lead nowhere."""
    from html.parser import HTMLParser

    class Page(HTMLParser):
        def __init__(self) -> None:
            super().__init__()
            self.ids: set[str] = set()
            self.links: set[str] = set()

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            given = dict(attrs)
            self.ids |= {value for key in ("id", "name") if (value := given.get(key))}
            self.links |= {value for key in ("href", "src") if (value := given.get(key))}

    found = {}
    for path in site.rglob("*.html"):
        if path.relative_to(site).parts[0] not in {"reports", "explorers"}:
            found[path] = Page()
            found[path].feed(path.read_text())
    dead = []
    for path, page in found.items():
        for link in sorted(page.links):
            target, _, heading = link.partition("#")
            if ":" in target.split("/")[0] or target.startswith(("//", "data:")) or path.name == "404.html":
                continue
            file = path if not target else Path(os.path.normpath(path.parent / target.split("?")[0]))
            file = file / "index.html" if file.is_dir() else file
            if not file.exists() or (heading and file in found and heading not in found[file].ids):
                dead.append(f"{path.relative_to(site)}: {link}")
    return dead


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the documentation site.")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "site")
    parser.add_argument("--pages-only", action="store_true", help="leave out study reports and explorers")
    given = parser.parse_args()
    gather(not given.pages_only)
    zensical = Path(sys.executable).with_name("zensical")
    built = subprocess.run(
        [zensical, "build", "--clean", "--strict", "--config-file", ROOT / "mkdocs.yml"],
        cwd=ROOT, text=True, capture_output=True, check=False, env={**os.environ, "NO_COLOR": "1"},
    )  # fmt: skip
    print(built.stdout + built.stderr)
    if built.returncode:
        raise SystemExit(built.returncode)
    if given.out.resolve() != ROOT / "build" / "site":
        shutil.copytree(ROOT / "build" / "site", given.out, dirs_exist_ok=True)
    if dead := dead_links(given.out):
        raise SystemExit("links that lead nowhere:\n" + "\n".join(dead))
    print(f"{len(list(given.out.rglob('*.html')))} pages in {given.out}")


if __name__ == "__main__":
    main()
