"""The explorer: one HTML file with sliders for one run, or a gallery of several. It needs no server and no network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import warnings
from collections.abc import Mapping, Sequence
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from unbraid.arguments import checked
from unbraid.data import FactorData
from unbraid.data.atomic import replacing
from unbraid.errors import InputError
from unbraid.explorer.content import Content, content_of, thumbnail
from unbraid.runs.folder import unlinked
from unbraid.runs.names import read_names
from unbraid.runs.remote import is_remote
from unbraid.runs.run import Run
from unbraid.runs.table import find_runs

LARGE = 20_000_000  # bytes of a page that is hard to mail
HIGHLIGHTS = ("mig", "dci.disentanglement", "factor_vae_score", "sap", "elbo", "reconstruction")


@checked
def explore(
    runs: Run | Path | str | Sequence[Run | Path | str],
    out: Path | str | None = None,
    *,
    data: FactorData | None = None,
    names: Path | str | None = None,
) -> Path:
    """Write the page about a run, or about several, and give its path: `explorer.html` in the run's folder by default.

    A folder that is not a run stands for all runs below it that have a model. `data` is for runs on data made in
    Python. `names` is a names.json that a page has written; a run's own, in its folder, is read without asking.
    """
    chosen = runs_of(runs)
    contents = contents_of(chosen, data, names)
    path = Path(out) if out is not None else _default(runs, chosen)
    text = page_of(contents, labels=[run.folder.name for run in chosen])
    try:
        with replacing(path) as part:
            part.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error
    if large := large_parts(contents):
        warnings.warn(f"{path.name} has {large}", stacklevel=2)
    return path


def runs_of(runs: Run | Path | str | Sequence[Run | Path | str]) -> list[Run]:
    """The runs that are meant: those given, and for a folder of runs those below it that have a model."""
    given = [runs] if isinstance(runs, Run | Path | str) else list(runs)
    chosen: list[Run] = []
    for item in given:
        run = item if isinstance(item, Run) else Run(item)
        if run.path("config").exists():
            chosen.append(run)
            continue
        below = [other for other in find_runs(run.folder) if other.path("model").exists()]
        if not below:
            raise InputError(f"{run.folder} is not a run and holds none with a model")
        chosen += below
    if not chosen:
        raise InputError("there is no run to explore")
    return chosen


def contents_of(
    runs: Sequence[Run], data: FactorData | None = None, names: Path | str | None = None, *, served: bool = False
) -> list[Content]:
    """What the page holds of each run, with the names of its latents."""
    contents = []
    for run in runs:
        path = Path(names) if names is not None else unlinked(run.folder / "names.json")
        chosen = read_names(path, run.config.id) if names is not None or path.exists() else None
        contents.append(content_of(run, data, chosen, served=served))
    return contents


def _default(runs: Any, chosen: Sequence[Run]) -> Path:
    if len(chosen) == 1:
        return chosen[0].outputs / "explorer.html"
    folder = isinstance(runs, Path | str) and not is_remote(runs)
    return (Path(runs) if folder else Path()) / "explorer.html"


def large_parts(contents: Sequence[Content]) -> str:
    """The size of a page that is hard to mail, and what made it so: `91 MB: decoder 47.1 MB, …`; else nothing."""
    totals: dict[str, int] = {}
    for content in contents:
        for name, size in content.sizes().items():
            totals[name] = totals.get(name, 0) + size
    if (whole := sum(totals.values())) <= LARGE:
        return ""
    words = {"sheet": "pictures", "points": "codes"}
    largest = sorted(totals.items(), key=lambda item: -item[1])[:3]
    parts = ", ".join(f"{words.get(name, name)} {size / 1e6:.1f} MB" for name, size in largest)
    return f"{whole / 1e6:.0f} MB: {parts}{f', of {len(contents)} runs' if len(contents) > 1 else ''}"


def page_of(
    contents: Sequence[Content], *, labels: Sequence[str], title: str = "Gallery of runs", served: bool = False
) -> str:
    """The page as text. `labels` tell runs apart in a gallery, whose title is `title`."""
    several = len(contents) > 1
    title = title if several else contents[0].title
    listed = [
        {
            "label": label if several else content.title,
            "thumbnail": thumbnail(content) if several else None,
            "scores": {row[0]: row[1] for row in (content.values["scores"] or {"rows": []})["rows"]},
        }
        for content, label in zip(contents, labels, strict=True)
    ]
    wasm = base64.b64encode(files("unbraid.explorer").joinpath("matmul.wasm").read_bytes()).decode()
    content = {"title": title, "runs": listed, "highlights": HIGHLIGHTS, "wasm": wasm}
    scripts = [_json_script(f"run-{index}", content.values) for index, content in enumerate(contents)]
    script = _file("page.js")
    return Template(_file("page.html")).substitute(
        title=html.escape(title),
        policy=_policy(script, served),
        style=_file("page.css"),
        content=_json(content),
        runs="\n".join(scripts),
        worker=_file("network.js") + _file("worker.js"),
        script=script,
        version=html.escape(version("unbraid")),
        large=f" · This page has {large}" if (large := large_parts(contents)) else "",
    )


def _policy(script: str, served: bool) -> str:
    """The page may run this script and its worker, and reach nothing; a served page may reach its own server."""
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    rules = [
        "default-src 'none'",
        "img-src data: blob:",
        "style-src 'unsafe-inline'",
        f"script-src 'sha256-{digest}' 'wasm-unsafe-eval'",
        "worker-src blob:",
        "connect-src 'self'" if served else "connect-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
    ]
    return "; ".join(rules)


def _json_script(id: str, value: Mapping[str, Any]) -> str:
    return f'<script type="application/json" id="{id}">{_json(value)}</script>'


def _json(value: Any) -> str:
    """JSON that cannot end the script element it stands in."""
    return json.dumps(value, allow_nan=False, separators=(",", ":")).replace("<", "\\u003c")


def _file(name: str) -> str:
    return files("unbraid.explorer").joinpath(name).read_text(encoding="utf-8")
