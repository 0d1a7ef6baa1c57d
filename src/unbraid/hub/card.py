"""The model card of a run, in Markdown, made from its record alone: no number on it is typed by hand."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from unbraid.data import catalogue
from unbraid.methods import method_class
from unbraid.pictures.names import METRICS, PRINCIPAL, data_name, method_name
from unbraid.runs.run import Run
from unbraid.studies.bands import Band, bands_of
from unbraid.studies.published import SOURCES

PICTURE = "traversals.png"
PAPERS = {
    "ada_gvae": "Locatello et al. 2020, Weakly-Supervised Disentanglement Without Compromises",
    "annealed_vae": "Burgess et al. 2018, Understanding disentangling in β-VAE",
    "beta_tc_vae": "Chen et al. 2018, Isolating Sources of Disentanglement in Variational Autoencoders",
    "beta_vae": ("Higgins et al. 2017, β-VAE: Learning Basic Visual Concepts with a Constrained Variational Framework"),
    "contrastive": (
        "Burns et al. 2021, Unsupervised Disentanglement without Autoencoding: Pitfalls and Future Directions"
    ),
    "dip_vae_i": (
        "Kumar et al. 2018, Variational Inference of Disentangled Latent Concepts from Unlabeled Observations"
    ),
    "dip_vae_ii": (
        "Kumar et al. 2018, Variational Inference of Disentangled Latent Concepts from Unlabeled Observations"
    ),
    "factor_vae": "Kim and Mnih 2018, Disentangling by Factorising",
    "factorized_support": ("Roth et al. 2023, Disentanglement of Correlated Factors via Hausdorff Factorized Support"),
    "few_label_vae": "Locatello et al. 2020, Disentangling Factors of Variation Using Few Labels",
    "infogan_cr": (
        "Lin et al. 2020, InfoGAN-CR and ModelCentrality: Self-supervised Model Training and Selection for "
        "Disentangling GANs"
    ),
    "intervention": "Unsupervised Disentanglement Learning by Intervention",
    "multitask": "On the Relationship between Disentanglement and Multi-task Learning",
}
"""Where a method was proposed."""
_SPECIAL = re.compile(r"([\\`*_\[\]<>|~&])")


def card_of(run: Run, name: str, *, licence: str | None = None, picture: bool = True) -> str:
    """The card of a run that is published as `user/name`.

    `licence` is that of the weights, as the Hub abbreviates it (`mit`, `cc-by-4.0`); `picture` says whether
    `traversals.png` lies beside the card.
    """
    config, state, data = run.config, run.state, str(run.config.data["data"])
    title = f"{method_name(config.method)} on {data_name(data)}"
    records = run.read_json("scores") if run.path("scores").exists() else {}
    parts = [
        _head(run, name, licence),
        f"# {_text(title)}",
        f"A {_text(method_name(config.method, long=True))} trained by Unbraid for "
        f"{config.steps:,} steps on {_text(data_name(data))} at {_size(run)}, seed {config.seed}.",
        f"Objective: {_code(_objective(config.method))}",
    ]
    if picture:
        parts.append(f"![What each latent changes in one image]({PICTURE})")
    parts += [
        "## Use it",
        _fenced(
            "python",
            "import unbraid                       # pip install 'unbraid[hub]'",
            "",
            f'method = unbraid.load("hf://{name}")',
            "codes = method.encode(images)        # uint8 (n, C, H, W)",
            *(["images = method.decode(codes)"] if method_class(config.method).decodes else []),
        ),
        "As a page with sliders:",
        _fenced("", f"unbraid explore hf://{name}"),
        "## Data",
        _table(("", ""), _about_data(run)),
        "## Scores",
        *_scores(run, records),
        "## Settings",
        _table(("setting", "value"), [(_code(key), _text(value)) for key, value in config.settings.items()]),
        "## Training",
        _table(("", ""), _about_training(run, state)),
        "## Files",
        "`model.safetensors` has the weights, `config.json` all that decides the run's numbers, `codes.npz` codes of "
        f"{len(run.representation().rows):,} images with their factors, `scores.json` the scores, `train.jsonl` the "
        "terms of the loss over steps, `state.json` checksums of all of them.",
        "## Licence",
        f"The weights are under {_text(licence)}." if licence else "The author has not stated a licence.",
        "## Citation",
        _fenced(
            "bibtex",
            "@software{unbraid,",
            "  title = {Unbraid: a laboratory for disentangled representation learning},",
            "  author = {{the Unbraid authors}},",
            f"  version = {{{version('unbraid')}}},",
            "}",
        ),
    ]
    if config.method in PAPERS:
        parts.append(f"The method: {_text(PAPERS[config.method])}.")
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(run: Run, name: str, licence: str | None) -> str:
    """What the Hub reads: JSON, which is YAML too."""
    config = run.config
    data = str(config.data["data"])
    main = [(key, value) for key, value in run.scores.items() if key in PRINCIPAL and math.isfinite(value)]
    results = {
        "task": {"type": "feature-extraction", "name": "disentanglement"},
        "dataset": {"type": data, "name": data_name(data)},
        "metrics": [{"type": key, "name": METRICS[key].short, "value": round(value, 4)} for key, value in main],
    }
    fields: dict[str, Any] = {"library_name": "unbraid", "tags": ["disentanglement", config.method, data]}
    if licence:
        fields["license"] = licence
    if main:
        fields["model-index"] = [{"name": name.rpartition("/")[2], "results": [results]}]
    lines = [f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in fields.items()]
    return "\n".join(["---", *lines, "---"])


def _objective(method: str) -> str:
    return (method_class(method).__doc__ or "").strip().splitlines()[0].strip()


def _size(run: Run) -> str:
    channels, height, width = run.spec.image_shape
    return f"{height}x{width}, {'grey' if channels == 1 else 'colour' if channels == 3 else f'{channels} channels'}"


def _about_data(run: Run) -> Iterable[tuple[str, str]]:
    data, spec = str(run.config.data["data"]), run.spec
    yield "name", _code(data) + (f", {_source(data)}" if data in catalogue.CATALOGUE else "")
    yield "images", f"{spec.rows:,} of {_size(run)}"
    factors = ", ".join(f"{name} ({size})" for name, size in zip(spec.names, spec.sizes, strict=True))
    yield "factors", _text(factors) or "none"
    opened = run.read_json("config").get("opened")
    if opened is None:
        yield "where", "the author's own, not part of this repository"
    elif opened["settings"]:
        yield "settings", _text(", ".join(f"{name}={value}" for name, value in opened["settings"].items()))


def _source(data: str) -> str:
    return catalogue.declared(data).source.replace("drawn here", "drawn by Unbraid")


def _about_training(run: Run, state: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    config = run.config
    yield "steps", f"{config.steps:,}"
    yield "seed", str(config.seed)
    yield "precision", config.precision
    yield "seconds", f"{state['seconds']:,.0f}" if "seconds" in state else ""
    if state.get("turned"):
        yield "axes", "turned after training, so that its latents are independent"
    yield "id", f"`{config.id}`, a hash of all that decides its numbers"
    versions = state.get("versions", {})
    yield "versions", _text(", ".join(f"{name} {number}" for name, number in versions.items()))


def _scores(run: Run, record: Mapping[str, Any]) -> list[str]:
    scores: Mapping[str, float] = record.get("scores", {})
    if not scores:
        return ["It was not scored."]
    rows = record.get("samples", {})
    counts = ", ".join(f"{count:,} {name}" for name, count in rows.items())
    how = f"Protocol {_code(record.get('protocol'))}" + (f", rows: {counts}." if counts else ".")
    bands = bands_of(run)
    known = {band.score: band for band in bands.bands}
    names = [name for name in scores if not name.endswith((".low", ".high")) and scores[name] is not None]
    main = [name for name in PRINCIPAL if name in names]
    others = [name for name in names if name not in main]
    parts = [how, _score_table(main, scores, known)] if main else [how]
    if main and known:
        sources = {one.source for name in main if name in known for one in known[name].published}
        notes = [*bands.notes, *(f"{source}: {SOURCES[source]}" for source in sorted(sources))]
        parts.append("\n".join(f"- {_text(note)}" for note in notes))
    if others:
        table = _table(("score", "value"), [(_code(name), f"{scores[name]:.4g}") for name in others])
        parts.append(f"<details><summary>{len(others)} other scores</summary>\n\n{table}\n\n</details>")
    return parts


def _score_table(names: Sequence[str], scores: Mapping[str, float], known: Mapping[str, Band]) -> str:
    bounded = any(f"{name}.low" in scores for name in names)
    compared = any(known[name].models for name in names if name in known)
    published = any(known[name].published for name in names if name in known)
    columns = {"score": True, "obtained": True, "interval": bounded, "among models of the study": compared}
    head = [name for name, shown in {**columns, "published": published}.items() if shown]
    rows = []
    for name in names:
        low, high = scores.get(f"{name}.low"), scores.get(f"{name}.high")
        band = known.get(name)
        row = [f"{_text(METRICS[name].short)}", f"{scores[name]:.3f}"]
        row += ["" if low is None or high is None else f"{low:.3f} to {high:.3f}"] if bounded else []
        row += [_text(band.ranks) if band else ""] if compared else []
        row += [_text(band.papers) if band else ""] if published else []
        rows.append(row)
    return _table(head, rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _fenced(language: str, *lines: str) -> str:
    return "\n".join([f"```{language}", *lines, "```"])


def _text(value: Any) -> str:
    """A value as Markdown shows it: none of its characters is a command."""
    return _SPECIAL.sub(r"\\\1", " ".join(str(value).split()))


def _code(value: Any) -> str:
    """A name in a span of code, in which a backtick or the end of a cell would end it."""
    return f"`{' '.join(str(value).translate({ord('`'): None, ord('|'): None}).split())}`"
