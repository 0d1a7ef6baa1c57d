"""The papers' studies by name. Each is a folder that reads in a few minutes:

    __init__.py   TITLE
    study.py      the settings at each scale (SCALES), `jobs(scale)`
    jobs.py       kinds of job of its own, where it has any
    models.py     from the folder to a table, from the table to arrays
    analysis.py   `table(folder)` and `report(table)`: tables, verdicts; claims.py where the claims are many
    figures.py    the drawings
    paper.py      what the paper printed
    README.md     the question and the measured answer
    results/      the table of the desk run

A user's own study is a Python file with `jobs(scale)`; TITLE, SCALES and `report(runs, folder)` are optional. A
comparison of methods is a study without a file: `unbraid compare` writes into its folder what it compares.
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from unbraid.data.reading import one_line
from unbraid.errors import InputError, nearest
from unbraid.jobs.job import Job
from unbraid.own import Source, relative_to, trusted
from unbraid.runs.folder import Folder, unlinked
from unbraid.runs.kept_code import UntrustedError, newer, read_kept

if TYPE_CHECKING:  # drawing is slow to import, and only reports need it
    from unbraid.report import Section
    from unbraid.report.run_table import RunTable

COMPARISON = "comparison"
"""The name of the study that `unbraid compare` makes; what it compares is in its folder."""
COMPARED = ("assumptions",)
"""Studies whose methods share data, steps and seeds; the others compare conditions, not methods."""
DRAWN = 12  # runs of which a report draws pictures, unless it is told how many
STUDIES = ("assumptions", "contrastive", "intervention", "multitask", "population")


@dataclass(frozen=True)
class Study:
    """What a study's files give."""

    name: str
    title: str
    scales: Callable[[], Sequence[str]]
    jobs: Callable[[str], list[Job]]
    table: Callable[[Path], RunTable]
    report: Callable[[RunTable], list[Section] | None]
    """None where it has no report of its own."""
    modules: tuple[Source, ...] = ()
    """What a worker must import to know the jobs."""
    results: Path | None = None
    """Where the tables of runs are kept, by scale."""
    baseline: str | None = None
    chosen_by: str | None = None
    """With which method others are compared, and by which score settings are chosen; None for the defaults."""

    def kept(self, scale: str) -> RunTable:
        """The table of the run that was kept at this scale, or in this folder."""
        from unbraid.report.run_table import RunTable

        scales = [path.name for path in sorted(self.results.glob("*")) if path.is_dir()] if self.results else []
        if self.results is not None and scale in scales:
            return RunTable.load(self.results / scale)
        if Path(scale).is_dir():
            return RunTable.load(Path(scale))
        listed = f"; it has {', '.join(scales)}" if scales else ""
        raise InputError(f"the study {self.name} has no results at scale '{scale}'{listed}; a folder works too")


def open_study(name: str) -> Study:
    """A study by its name, or from a Python file."""
    path = Path(name)
    if path.suffix == ".py" or path.is_file():
        return _from_source(Source.read(path))
    if name not in STUDIES:
        raise InputError(f"there is no study '{name}'{nearest(name, STUDIES)}; a path to a Python file works too")
    package = importlib.import_module(f"unbraid.studies.{name}")

    def plan() -> ModuleType:  # brings PyTorch, which a report does not need
        return importlib.import_module(f"unbraid.studies.{name}.study")

    def table(folder: Path) -> RunTable:
        runs: RunTable = importlib.import_module(f"unbraid.studies.{name}.analysis").table(folder)
        return runs

    def report(runs: RunTable) -> list[Section]:
        sections: list[Section] = importlib.import_module(f"unbraid.studies.{name}.analysis").report(runs)
        return sections

    def scales() -> tuple[str, ...]:
        return tuple(plan().SCALES)

    def jobs(scale: str) -> list[Job]:
        planned: list[Job] = plan().jobs(scale)
        return planned

    results = Path(str(package.__file__)).parent / "results"
    return Study(name, package.TITLE, scales, _jobs(jobs, scales), table, report, results=results)


def _comparison(folder: Path) -> Study:
    from unbraid.studies import comparison

    plan = comparison.read_plan(folder)
    return Study(
        COMPARISON, plan.title, lambda: ("",), lambda scale: plan.jobs(), comparison.table, lambda runs: None,
        baseline=plan.baseline or plan.methods[1], chosen_by=plan.chosen_by,
    )  # fmt: skip


def _from_source(source: Source) -> Study:
    path = source.folder / source.main
    with relative_to(path.parent):
        module = source.module()
    if not hasattr(module, "jobs"):
        raise InputError(f"{path} has no function jobs(scale)")
    scales = tuple(getattr(module, "SCALES", ("smoke", "desk", "paper")))

    def table(folder: Path) -> RunTable:
        from unbraid.report.run_table import RunTable

        return RunTable.read(folder)

    def report(runs: RunTable) -> list[Section] | None:
        own = getattr(module, "report", None)
        with _naming(source, "report(runs, folder)"):
            return None if own is None else list(own(runs.frame, runs.folder))

    def jobs(scale: str) -> Sequence[Job]:
        with relative_to(path.parent), _naming(source, f"jobs('{scale}')"):
            given = list(module.jobs(scale))
        strange = next((job for job in given if not isinstance(job, Job)), None)
        if strange is not None:
            raise InputError(f"{path}: jobs('{scale}') gives a {type(strange).__name__}; expected jobs, such as Train")
        return given

    title = str(getattr(module, "TITLE", path.stem))
    return Study(path.name, title, lambda: scales, _jobs(jobs, lambda: scales), table, report, (source,))


def study_in(folder: Path, file: Path | None = None) -> tuple[Study | None, str]:
    """The study that a folder holds, or the one of `file`; and a line for the user, which says why where it is None.

    A study's own file is run where it has been run here before, or the user trusts the folder.
    """
    about = Folder(folder).read_json("study")
    name, key = about.get("name"), about.get("code")
    if not isinstance(name, str):
        raise InputError(f"{folder / 'study.json'} is damaged: it has no name of a study")
    if file is not None:
        return open_study(str(file)), ""
    if key is None:
        if name == COMPARISON:
            try:
                return _comparison(folder), ""
            except UntrustedError as error:
                return None, f"{error}; without it, this is the general overview"
        if name in STUDIES:
            return open_study(name), ""
        return None, f"{folder} is of the study '{name}', which is not one of Unbraid's and has no copy of its file"
    source = read_kept(str(key), folder)
    if not trusted(source.digest):
        return None, f"{UntrustedError(folder, source)}; without it, this is the general overview"
    changed = newer(str(key), folder)
    note = f"{changed} changed since; this is by the copy in {folder}, and --study {changed} by the new one"
    return _from_source(source), note if changed else ""


def _jobs(function: Callable[[str], Sequence[Job]], scales: Callable[[], Sequence[str]]) -> Callable[[str], list[Job]]:
    def jobs(scale: str) -> list[Job]:
        if scale not in (known := scales()):
            raise InputError(f"there is no scale '{scale}'{nearest(scale, known)}")
        return list(function(scale))

    return jobs


@contextmanager
def _naming(source: Source, call: str) -> Iterator[None]:
    """Turn what a call of the user's own code raises into an InputError that names the line."""
    try:
        yield
    except InputError:
        raise
    except (Exception, SystemExit) as error:
        where = source.line_of(error) or f"{source.main}: "
        raise InputError(f"{source.folder}/{where}{call} raised {type(error).__name__}: {one_line(error)}") from error


def write_report(
    folder: Path,
    out: Path,
    readme: Path | None = None,
    draw: int | None = None,
    keep: Path | None = None,
    explore: int = 0,
    baseline: str | None = None,
    chosen_by: str | None = None,
    file: Path | None = None,
    say: Callable[[str], None] = lambda line: None,
    workers: int = 1,
    pdf: bool | None = None,
    add: str | None = None,
) -> Path:
    """The page of the study that a folder holds, or of whatever runs it holds; the verdicts also into a README.

    Where there are several methods, they are compared with `baseline`; `chosen_by` is the score that chooses between
    the settings of a method. `file` is the file of the study, where that is the user's own and not the copy in the
    folder. `say` gets what the user should know.

    Up to `draw` runs without pictures get them, in the report's own folder: by default 12, and none of very many runs,
    since that takes PyTorch. `keep` is where the table and the pictures
    of the page are kept, so that `report_results` can make the page without the runs. Up to `explore` runs get a page
    with sliders, in the report's own folder too. The figures of very many runs are drawn by `workers` processes,
    and as PDF files only if `pdf` asks for them; those of fewer are, unless it is False. `add` is a scale or folder
    whose kept results are added, except for jobs that this folder has finished too.
    """
    from unbraid.report import overview, write
    from unbraid.report.run_table import RunTable

    if not folder.is_dir():
        raise InputError(f"{folder} is not a folder")
    if draw is not None and draw < 0:
        raise InputError(f"draw is {draw}; expected at least 0")
    if explore < 0:
        raise InputError(f"explore is {explore}; expected at least 0")
    for inner in (*(out / name for name in ("explorers", "figures", "runs", "tables")), *(out / "runs").glob("*")):
        unlinked(inner)  # the report of a folder from elsewhere may lie in it already
    if not (folder / "study.json").exists():
        if keep is not None:
            raise InputError(f"{folder} holds no study; only a study's results can be kept")
        if readme is not None:
            raise InputError(f"{folder} holds no study; only a study's report has verdicts for a README")
        if add is not None:
            raise InputError(f"{folder} holds no study; kept results can be added only to a study's runs")
        from unbraid.report.searches import results, search_sections

        runs = RunTable.of_runs(folder)
        explorers, draw = _explorers(runs, out, explore), _to_draw(draw, runs)
        if (own := search_sections(folder)) is not None:
            return write(folder.resolve().name, own, results(runs.frame), out, draw, explorers, pdf=pdf)
        sections = overview(runs.frame, out, draw, baseline, chosen_by)
        return write(folder.resolve().name, sections, runs.frame, out, 0, explorers, workers, pdf)
    study, note = study_in(folder, file)
    if note:
        say(note)
    runs = RunTable.read(folder) if study is None else study.table(folder)
    if add is not None:
        from unbraid.report.joined import joined

        runs, agreement = joined(runs, RunTable.load(Path(add)) if study is None else study.kept(add))
        if agreement:
            say(agreement)
    own = None if study is None else study.report(runs)
    about = Folder(folder).read_json("study")
    name, scale = str(about.get("name")), str(about.get("scale") or "")
    title = (Path(name).stem if study is None else study.title) + (f" ({scale})" if scale else "")
    explorers, draw = _explorers(runs, out, explore), _to_draw(draw, runs)
    named = (study.baseline, study.chosen_by) if study else (None, None)
    choice = baseline or _scored(runs, "method", named[0]), chosen_by or _scored(runs, "score", named[1])
    if own is None and readme is not None:
        raise InputError(f"{folder} holds a study without a report of its own, and so without verdicts for a README")
    if own is None:
        return write(title, overview(runs.frame, out, draw, *choice), runs.frame, out, 0, explorers, workers, pdf)
    assert study is not None
    sections = _with_comparison(study, runs, own, *choice)
    _put_verdicts(sections, readme)
    if keep is not None:
        from unbraid.report import Picture

        items = [item for section in sections for item in section.items]
        runs.save(keep, {item.name: item.image for item in items if isinstance(item, Picture)})
    return write(title, sections, runs.frame, out, draw, explorers, workers, pdf)


def _to_draw(asked: int | None, runs: RunTable) -> int:
    """How many runs get pictures."""
    from unbraid.report.rendering import MANY_RUNS

    few = DRAWN if len(runs.frame) < MANY_RUNS else 0
    return few if asked is None else asked


def _with_comparison(
    study: Study,
    runs: RunTable,
    sections: Sequence[Section],
    baseline: str | None = None,
    chosen_by: str | None = None,
) -> list[Section]:
    """A study's own sections and the comparison of its methods, unless they have it, or do not differ by method."""
    from unbraid.report import comparison
    from unbraid.report.comparison import TITLE

    if (study.modules or study.name in COMPARED) and all(section.title != TITLE for section in sections):
        return [*sections, *comparison(runs.frame, baseline, chosen_by)]
    return list(sections)


def _scored(runs: RunTable, kind: str, name: str | None) -> str | None:
    """A method or score that a study names, where a finished model has it: a study may be reported half-way."""
    frame = runs.frame[runs.frame["state"] == "done"] if "state" in runs.frame else runs.frame
    names = set(frame.get("method", [])) if kind == "method" else {
        str(column).removeprefix("scores.") for column in frame if frame[column].notna().any()
    }  # fmt: skip
    return name if name in names else None


def _explorers(runs: RunTable, out: Path, count: int) -> dict[str, Path]:
    """Pages with sliders of up to `count` finished runs, of every method and data set, by the runs' folders."""
    if not count:
        return {}
    from unbraid.explorer import explore
    from unbraid.report.runs import choose, own_name

    pages = {}
    for row in choose(runs.frame.reset_index(drop=True), count):
        folder = str(runs.frame["run"].iloc[row])
        path = out / "explorers" / f"{own_name(Path(folder))}.html"
        try:
            pages[folder] = explore(folder, path)
        except InputError as error:
            warnings.warn(f"{folder} has no page with sliders: {error}", stacklevel=3)
    return pages


def report_results(
    name: str, scale: str, out: Path, readme: Path | None = None, workers: int = 1, pdf: bool | None = None
) -> Path:
    """The page of a study from the results that were kept, without a run."""
    from unbraid.report import write

    study = open_study(name)
    runs = study.kept(scale)
    sections = _with_comparison(study, runs, study.report(runs) or [])
    _put_verdicts(sections, readme)
    return write(f"{study.title} ({Path(scale).name})", sections, runs.frame, out, 0, workers=workers, pdf=pdf)


def _put_verdicts(sections: Sequence[Section], readme: Path | None) -> None:
    from unbraid.report import put_into, verdicts

    if readme is not None:
        put_into(readme, verdicts(sections))
