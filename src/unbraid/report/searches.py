"""Reports on a population, and on rPU-VAE: their history and what they found, not the runs inside them."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pandas as pd
from matplotlib.figure import Figure as Drawing
from matplotlib.ticker import MaxNLocator
from PIL import Image

from unbraid.data.reading import picture
from unbraid.data.tables import read_table
from unbraid.errors import InputError
from unbraid.pictures import style
from unbraid.report.parts import Figure, Picture, Section, Table
from unbraid.runs.folder import unlinked
from unbraid.search import lineages, read_history

INNER = "best-"  # how the folders of the runs begin that are results, not members
BEST, MEDIAN = "#0072b2", "#5d5d5d"


def search_sections(folder: Path) -> list[Section] | None:
    """The sections of a population's folder or of rPU-VAE's; None of any other folder."""
    if (folder / "rpu.json").exists():
        return _rpu(folder)
    return _population(folder) if (folder / "population.json").exists() else None


def results(runs: pd.DataFrame) -> pd.DataFrame:
    """The runs that are results: the best of each population."""
    if "run" not in runs:
        return runs
    return runs[[Path(run).name.startswith(INNER) for run in runs["run"]]].reset_index(drop=True)


def _population(folder: Path, title: str = "History", name: str = "history", score: str = "score") -> list[Section]:
    if not (folder / "population.csv").exists():
        return [Section(title, "No generation has ended yet.")]
    history = read_history(unlinked(folder / "population.csv", folder).parent)
    generations, members = int(history["generation"].max()) + 1, history["member"].nunique()
    best = f"the best score is {history['score'].max():.3f}"
    text = f"{_count(generations, 'generation')} of {_count(members, 'member')}; {best}."
    drawing = Figure(
        name, "Scores and hyperparameters by generation", partial(lineages.draw, history, score),
        "The best member and its ancestors are blue; members that copied another are joined to it by a dashed line.",
    )  # fmt: skip
    by_generation = history.groupby("generation")["score"]
    summary = pd.DataFrame(
        {
            "generation": by_generation.max().index + 1, "best": by_generation.max().to_numpy(),
            "median": by_generation.median().to_numpy(),
            "diverged": by_generation.apply(lambda scores: int(scores.isna().sum())).to_numpy(),
        }
    )  # fmt: skip
    return [Section(title, text, [drawing, Table(f"{name}-scores", "Scores by generation", summary, folded=True)])]


def _rpu(folder: Path) -> list[Section]:
    sections = []
    if (folder / "metaepochs.csv").exists():
        epochs = read_table(unlinked(folder / "metaepochs.csv"))
        items: list[Figure | Picture | Table] = [Table("metaepochs", "MetaEpochs", epochs.fillna(""))]
        items += _picture(folder, "metaepochs.png", "What the active latents of each metaEpoch do")
        text = "Each metaEpoch is a population on the images that those before it left; its active latents are labels."
        sections.append(Section("MetaEpochs", text, items))
    if (folder / "labels.csv").exists():
        sections.append(_labels(read_table(unlinked(folder / "labels.csv"))))
    histories = _histories(folder)
    if histories:
        figure = Figure(
            "udr", "Best and median UDR by generation", partial(_curves, histories), "One panel per metaEpoch."
        )
        sections.append(Section("UDR", "Higher is better: models of the same settings agree more.", [figure]))
    for final in sorted(path for path in folder.glob("final*") if (path / "population.csv").exists()):
        unlinked(final)
        title = f"The last population, of {_count(int(final.name.removeprefix('final')), 'leaf-run')}" if (
            final.name.removeprefix("final").isdecimal()
        ) else "A last population that was set aside"  # fmt: skip
        sections += _population(final, title, final.name, "mig of surrogate labels")
    pictures = _picture(folder, "traversals.png", "Traversals of the last model")
    pictures += _picture(folder, "reconstructions.png", "Reconstructions of the last model")
    if pictures:
        sections.append(
            Section("The last model", "Each row of a traversal moves one latent of the same image.", pictures)
        )
    return sections


def _labels(labels: pd.DataFrame) -> Section:
    """How many images each label is known of."""
    columns = [name for name in labels.columns if name not in ("row", "file")]
    known = [int(labels[name].notna().sum()) for name in columns]
    table = pd.DataFrame(
        {"label": columns, "images": known, "share of all": [round(count / max(len(labels), 1), 3) for count in known]}
    )
    text = (
        f"{_count(len(columns), 'surrogate label')} of {len(labels):,} images. A label of a later metaEpoch is known "
        "only of the images that it was trained on."
    )
    return Section("Labels and coverage", text, [Table("labels", "Images with each label", table)])


def _histories(folder: Path) -> dict[str, pd.DataFrame]:
    """The histories of the metaEpochs, by their names."""
    histories = {}
    for path in sorted(folder.glob("**/metaepoch*/population/population.csv")):
        name = path.parent.parent.relative_to(folder).as_posix().replace("/", ", ")
        histories[name] = read_history(unlinked(path, folder).parent)
    return histories


def _curves(histories: dict[str, pd.DataFrame]) -> Drawing:
    drawing, axes = style.wrapped(len(histories), 3, 2.9, 1.9, head=0.4)
    for axis, (name, history) in zip(axes, histories.items(), strict=True):
        scores = history.groupby("generation")["score"]
        steps = [int(number) + 1 for number in scores.max().index]
        axis.plot(steps, scores.max(), "o-", color=BEST, ms=3.5, lw=1.4, label="best")
        axis.plot(steps, scores.median(), ":", color=MEDIAN, lw=1.2, label="median")
        axis.set_title(name, fontsize=9)
        axis.set_xlabel("generation", fontsize=8, color=style.FAINT)
        axis.set_ylim(-0.02, 1.02)
        axis.xaxis.set_major_locator(MaxNLocator(integer=True))
    drawing.legend(*axes[0].get_legend_handles_labels(), loc="outside upper left", ncols=2, fontsize=9, frameon=False)
    return drawing


def _picture(folder: Path, name: str, title: str) -> list[Picture]:
    """A picture of the folder, if it is there and whole."""
    path = folder / name
    try:
        with picture(unlinked(path), path, ("PNG",)) as image:
            copy: Image.Image = image.copy()
    except InputError:
        return []
    return [Picture(path.stem, title, copy)]


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
