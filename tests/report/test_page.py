from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure as Drawing
from PIL import Image

from tests.examples.tiny_run import tiny
from unbraid.errors import InputError
from unbraid.pictures import style
from unbraid.pictures.names import better
from unbraid.report import Figure, Judged, Picture, Section, Table, drawings, overview, page, write
from unbraid.report.dots import Dots
from unbraid.report.drawings import laid_out, svg
from unbraid.report.numbers import digits, plain, written
from unbraid.report.runs import choose, columns, main_scores, own_name
from unbraid.runs.table import load_runs
from unbraid.studies import write_report

HOSTILE = '</script><b id="evil">&amp;"\'<!-- $title'
NAN, INF = float("nan"), float("inf")


def some_runs(folder: Path, count: int) -> pd.DataFrame:
    """A table as `load_runs` gives it, of two methods, some of them failed."""
    rows: list[dict[str, Any]] = []
    for number in range(count):
        tc = number % 2
        row: dict[str, Any] = {
            "run": str(folder / f"run-{number}"), "id": f"{number:012x}", "state": "done",
            "method": ("beta_vae", "beta_tc_vae")[tc], "data": "dsprites", "steps": 300_000, "seed": number,
            "reason": None, "seconds": 12.5, "settings.beta": (4.0, 6.0, 8.0)[number % 3], "settings.latents": 10,
            "settings.network": "small", "scores.mig": (number * 7 % count) / count, "scores.code_information": 1.5,
            "terms.loss": 100.0 - number, "terms.total_correlation": 0.5 if tc else NAN,
        }  # fmt: skip
        if number % 10 == 3:
            row |= {"state": "failed", "reason": f"{row['run']}/codes.npz is short", "scores.mig": NAN}
        rows.append(row)
    return pd.DataFrame(rows)


def draw(label: str = "x") -> Drawing:
    """A drawing with clip paths, markers, an image and words."""
    drawing = Drawing(figsize=(4, 3))
    axis = drawing.add_subplot()
    axis.plot([0, 1], [1, 0], "o-")
    axis.imshow([[0.0, 1.0]], extent=(0, 1, 0, 1))
    axis.set_title(label, parse_math=False)
    return drawing


class Page(HTMLParser):
    """What a browser would find in a page: its elements, and the text of those that are scripts or cells."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.words: list[str] = []
        self._in_script = False
        self.data: dict[str, Any] = {}
        self.feed(path.read_text(encoding="utf-8"))
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        tag, found = self.elements[-1] if self.elements else ("", {})
        if tag == "script" and found.get("id") == "data" and not self.data:
            self.data = json.loads(data)
        elif tag not in ("script", "style"):
            self.words.append(data)

    def all(self, name: str) -> list[str]:
        """Every value of an attribute."""
        return [found[name] for _, found in self.elements if name in found]

    def column(self, name: str) -> list[Any]:
        """The cells of a column of the runs."""
        (column,) = [column for column in self.data["columns"] if column["name"] == name]
        cells = column["values"] if "values" in column else [column["same"]] * self.data["rows"]
        words = column.get("words")
        return [words[cell] if words and cell is not None else cell for cell in cells]


# The page as text


def test_a_report_holds_its_parts_and_leaves_files_beside_it(tmp_path: Path) -> None:
    claims = [
        Judged("Seeds matter", "37 %", "40 %", "holds", "more than *half*"),
        Judged("So does luck", "1", "2", "inconclusive"),
    ]
    items: list[Any] = [
        *claims,
        Figure("one", "A figure", draw(), "with a caption"),
        Table("two", "A table", pd.DataFrame({"a": [1, 2], "b": [0.5, NAN]})),
        Picture("three", "A picture", Image.new("RGB", (8, 8))),
    ]
    path = write(
        "A title", [Section("First", "Some **text**.", items), Section("Second")], some_runs(tmp_path, 3), tmp_path
    )
    assert path == tmp_path / "report.html"
    found = Page(path)
    text = " ".join(found.words)
    for words in ("A title", "2 claims:", "1 holds", "1 inconclusive", "3 runs: 3 done.", "A figure", "with a caption"):
        assert words in text
    anchors = [href[1:] for href in found.all("href") if href.startswith("#")]
    assert [anchor for anchor in anchors if anchor in ("1-first", "2-second", "3-runs")] == [
        "1-first",
        "2-second",
        "3-runs",
    ]
    assert set(anchors) <= set(found.all("id"))
    assert (tmp_path / "figures" / "one.pdf").read_bytes().startswith(b"%PDF")
    assert (tmp_path / "tables" / "two.csv").read_text() == "a,b\n1,0.5\n2,\n"
    assert len(pd.read_csv(tmp_path / "runs.csv")) == 3
    for file in (href for href in found.all("href") if href.endswith((".pdf", ".csv"))):
        assert (tmp_path / file).is_file()
    assert not list(tmp_path.rglob("*.part"))


def test_nothing_is_loaded_from_elsewhere(tmp_path: Path) -> None:
    text = (
        "See [a page](https://example.org) and ![a picture](https://example.org/x.png) <img src='https://example.org'>"
    )
    path = write("t", [Section("s", text, [Figure("f", "f", draw())])], some_runs(tmp_path, 2), tmp_path)
    found = Page(path)
    loaded = [found for tag, found in found.elements if tag != "a"]
    for attributes in loaded:
        for name in ("src", "href", "srcset", "xlink:href", "data", "action"):
            assert not re.match(r"\w*:?//", attributes.get(name, "")), attributes
    assert [href for href in found.all("href") if "//" in href] == ["https://example.org", "https://example.org/x.png"]
    assert not re.search(r"@import|url\((?!#)", path.read_text())
    (policy,) = [content for content in found.all("content") if "default-src" in content]
    assert policy.startswith("default-src 'none'; img-src data: 'self' file:;")


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    runs = some_runs(tmp_path, 4)
    runs.loc[0, "run"] = f"{tmp_path}/{HOSTILE.replace('/', '')}"
    runs.loc[1, "reason"] = HOSTILE
    runs["settings.<b id='evil'>"] = [HOSTILE] * 4
    items: list[Any] = [
        Judged(HOSTILE, HOSTILE, HOSTILE, "holds", HOSTILE),
        Figure("f", HOSTILE, draw(HOSTILE), HOSTILE),
        Table("t", HOSTILE, pd.DataFrame({HOSTILE: [HOSTILE]}, index=pd.Index([HOSTILE], name=HOSTILE)), HOSTILE),
        Picture("p", HOSTILE, Image.new("L", (2, 2)), HOSTILE),
    ]
    found = Page(write(HOSTILE, [Section(HOSTILE, HOSTILE, items)], runs, tmp_path / "out"))
    assert "evil" not in found.all("id")
    assert len([tag for tag, _ in found.elements if tag == "script"]) == 2
    assert found.column("reason")[1] == HOSTILE
    assert found.column("run")[0] == HOSTILE.replace("/", "")
    assert found.column("settings.<b id='evil'>") == [HOSTILE] * 4


def test_ids_are_unique_and_every_reference_finds_its_id(tmp_path: Path) -> None:
    figures = [Figure(name, name, draw()) for name in ("data", "runs", "filter")]
    path = write("t", [Section("Runs", "", figures), Section("Runs")], some_runs(tmp_path, 1), tmp_path)
    found = Page(path)
    ids = found.all("id")
    assert len(ids) == len(set(ids))
    used = {href[1:] for href in found.all("href") if href.startswith("#")}
    used |= set(re.findall(r"url\(#([^)]+)\)", path.read_text()))
    assert any(name.startswith("svg3-") for name in used)
    assert used <= set(ids)


def test_the_same_report_has_the_same_bytes(tmp_path: Path) -> None:
    def bytes_of(out: Path) -> dict[str, bytes]:
        frame = pd.DataFrame({"a": [1.0]})
        sections = [
            Section("s", "", [Figure("f", "f", draw()), Table("t", "t", frame)]),
            *overview(some_runs(tmp_path, 5)),
        ]
        write("t", sections, some_runs(tmp_path, 5), out)
        return {
            path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()
        }

    first, second = bytes_of(tmp_path / "a"), bytes_of(tmp_path / "b")
    figures = ["differences", "f", "means", "scores", "strengths-1"]
    tables = ["cost", "differences-table", "means-table", "t", "terms", "unfinished", "wins"]
    assert list(first) == [
        *(f"figures/{name}.pdf" for name in figures), "report.html", "runs.csv",
        *(f"tables/{name}.csv" for name in tables),
    ]  # fmt: skip
    assert first == second


def test_a_drawing_may_be_made_when_it_is_written_and_is_left_as_it_was(tmp_path: Path) -> None:
    made: list[str] = []

    def make() -> Drawing:
        drawing = draw()
        drawing.set_layout_engine("constrained")
        return drawing

    def later() -> Drawing:
        made.append("now")
        return make()

    given = make()
    engine = given.get_layout_engine()

    pages = []
    for name, drawing in (("given", given), ("again", given), ("later", later)):
        figure = Figure("f", "f", drawing)
        assert not made
        pages.append(write("t", [Section("s", "", [figure])], pd.DataFrame(), tmp_path / name).read_text())
    assert made == ["now"]
    assert pages[0] == pages[1] == pages[2]
    assert given.get_layout_engine() is engine


def test_no_path_of_this_machine_is_on_the_page(tmp_path: Path) -> None:
    runs = some_runs(tmp_path / "jobs", 5)
    path = write("t", overview(runs), runs, tmp_path)
    for file in tmp_path.rglob("*.*"):
        if file.suffix in (".html", ".csv"):
            assert str(tmp_path) not in file.read_text(), file
    assert Page(path).column("reason")[3] == "codes.npz is short"
    assert Page(path).data["folders"][0] == "jobs/run-0"


@pytest.mark.parametrize("runs", [pd.DataFrame(), pd.DataFrame({"run": [], "state": []})])
def test_no_runs(tmp_path: Path, runs: pd.DataFrame) -> None:
    assert overview(runs) == []
    found = Page(write("t", overview(runs), runs, tmp_path))
    assert "There are no runs yet." in found.words
    assert "filter" not in found.all("id")
    assert "0 runs." in " ".join(found.words)


def test_one_run(tmp_path: Path) -> None:
    runs = some_runs(tmp_path, 1)
    found = Page(write("t", overview(runs), runs, tmp_path))
    assert "1 run: 1 done." in found.words
    assert found.column("run") == ["run-0"]


def test_runs_that_are_all_damaged(tmp_path: Path) -> None:
    runs = pd.DataFrame([{"run": str(tmp_path / name), "state": "damaged", "reason": "no id"} for name in "ab"])
    (section,) = overview(runs)
    assert section.title == "Runs that did not finish"
    (table,) = section.items
    assert isinstance(table, Table)
    assert table.frame.to_dict("records") == [{"state": "damaged", "reason": "no id", "runs": 2, "such as": "a"}]
    found = Page(write("t", [section], runs, tmp_path))
    assert found.column("state") == ["damaged", "damaged"]
    assert found.data["pictures"] == {}


def test_a_damaged_run_among_sound_ones(tmp_path: Path) -> None:
    damaged = pd.DataFrame([{"run": str(tmp_path / "bad"), "state": "damaged", "reason": "no id"}])
    runs = pd.concat([some_runs(tmp_path, 60), damaged], ignore_index=True)
    sections = overview(runs)
    assert [section.title for section in sections] == [
        "Comparison of methods", "Strength", "Cost", "Scores", "Terms", "Runs that did not finish"
    ]  # fmt: skip
    terms = sections[4].items[0]
    assert isinstance(terms, Table)
    assert terms.frame.index.tolist() == ["beta_tc_vae", "beta_vae"]
    assert terms.frame["runs"].tolist() == [30, 30]
    found = Page(write("t", sections, runs, tmp_path))
    assert found.column("method")[-1] is None
    assert found.column("seed")[-3:] == [58, 59, None]


def test_numbers_that_are_none(tmp_path: Path) -> None:
    runs = some_runs(tmp_path, 3)
    runs["scores.mig"] = [NAN, 0.123456789, INF]
    runs["scores.sap"] = NAN
    found = Page(write("t", [Section("s", "", [Table("x", "x", runs[["scores.mig"]])])], runs, tmp_path))
    assert found.column("scores.mig") == [None, 0.123457, "Infinity"]
    assert "scores.sap" not in [column["name"] for column in found.data["columns"]]
    for cell in ("–", "0.123", "∞"):
        assert cell in found.words


@pytest.mark.parametrize(
    ("values", "shown"),
    [
        ([1.0, 300_000.0, NAN], ["1", "300,000", "–"]),
        ([0.1, 0.25], ["0.100", "0.250"]),
        ([1e-4, 0.5], ["0.0001", "0.5"]),
        ([12.345, 1.0], ["12.35", "1.00"]),
        ([-1234.5, INF], ["-1,234", "∞"]),
        ([True, None, "x"], ["yes", "–", "x"]),
        ([[1, 2], pd.NA], ["[1, 2]", "–"]),
        ([], []),
    ],
)
def test_how_numbers_are_written(values: list[Any], shown: list[str]) -> None:
    cells = [plain(value) for value in values]
    assert [written(cell, digits(cells)) for cell in cells] == shown


def test_a_table_shows_its_index_where_it_says_something(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {("a", "mean"): [1.0], ("a", "std"): [2.0]}, index=pd.MultiIndex.from_tuples([("x", 3)], names=["k", None])
    )
    write("t", [Section("s", "", [Table("x", "x", frame)])], pd.DataFrame(), tmp_path)
    assert (tmp_path / "tables" / "x.csv").read_text() == "k,,a mean,a std\nx,3,1.0,2.0\n"


def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    table = Table("same", "x", pd.DataFrame({"a": [1]}))
    with pytest.raises(InputError, match="two parts of the report are called 'same'"):
        write("t", [Section("s", "", [table, table])], pd.DataFrame(), tmp_path)
    with pytest.raises(InputError, match=r"'\.\./x' is not a name for a file"):
        write("t", [Section("s", "", [Table("../x", "x", pd.DataFrame())])], pd.DataFrame(), tmp_path)
    with pytest.raises(
        InputError, match="'seeds matter' has the verdict 'perhaps'; expected one of holds, does not hold"
    ):
        Judged("seeds matter", "1", "2", "perhaps")
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot write"):
        write("t", [], pd.DataFrame(), tmp_path / "file")


def test_a_report_that_fails_leaves_the_one_before(tmp_path: Path) -> None:
    before = write("t", [], pd.DataFrame(), tmp_path).read_bytes()
    with pytest.raises(InputError):
        write("u", [Section("s", "", [Table("", "x", pd.DataFrame())])], pd.DataFrame(), tmp_path)
    assert (tmp_path / "report.html").read_bytes() == before


def test_claims_without_a_verdict_come_after_the_pictures(tmp_path: Path) -> None:
    claims = [Judged(f"Claim {number}", "1", "2", "inconclusive") for number in range(4)]
    items: list[Any] = [*claims, Judged("Decided", "1", "2", "does not hold"), Figure("f", "The figure", draw())]
    path = write("t", [Section("s", "", items), Section("Few", "", [*claims[:2]])], pd.DataFrame(), tmp_path)
    text = path.read_text()
    assert text.index("Decided") < text.index("The figure") < text.index("<summary>Claims without a verdict")
    assert text.index("<summary>Claims without a verdict: 4 inconclusive") < text.index("Claim 0")
    found = Page(path)
    rows = [attributes["class"] for tag, attributes in found.elements if tag == "tr" and "class" in attributes]
    assert rows == ["claim v1", *["claim v2"] * 6]
    shares = [attributes["style"] for tag, attributes in found.elements if tag == "i"]
    assert shares[:2] == ["flex-grow:1", "flex-grow:6"]  # on top: of all sections
    assert len([tag for tag, _ in found.elements if tag == "details"]) == 1  # two are few enough to show


def test_a_part_may_be_folded_below_the_one_before(tmp_path: Path) -> None:
    items = [Figure("a", "First", draw()), Figure("b", "Second", draw(), folded=True), Figure("c", "Third", draw())]
    text = write("t", [Section("s", "", items)], pd.DataFrame(), tmp_path).read_text()
    order = [text.index(part) for part in ("<b>First", "<summary>More like this: Second", "<b>Second", "</details>")]
    assert order == sorted(order)
    assert text.index("</details>") < text.index("<b>Third")


def test_a_drawing_says_what_its_marks_are() -> None:
    drawing, axes = style.wrapped(2)
    style.dots(axes[0], np.array([0.1, NAN, 0.3]), np.array([1.0, 2.0, 3.0]), "beta_vae", runs=["a", "b", "c"])
    axes[0].plot([5, 6], [7, 8], "o-", color=style.method_colour("factor_vae"))
    axes[0].plot([5, 6], [7, 8], color="#888888")
    axes[0].set_xlabel("difficulty")
    style.correlations(axes[1], np.eye(2), ["a", "b"], ["c", "d"])
    style.legend(drawing, ["beta_vae", "factor_vae"])
    asked: list[Any] = []

    def rows(*given: Any) -> list[int | None]:
        asked.append(given)
        return [4, None]

    with laid_out(drawing) as ready:
        text = svg(ready, "x-", "t", rows)
    root = ElementTree.fromstring(text)
    groups = [group.attrib for group in root.iter("g") if group.get("class") == "series"]
    assert [group["data-series"] for group in groups] == ["β-VAE", "FactorVAE"]  # the second by its colour
    assert groups[0] == {
        "class": "series", "data-series": "β-VAE", "data-x": "0.1 0.3", "data-y": "1 3", "data-runs": "4,",
        "data-xname": "difficulty",
    }  # fmt: skip
    assert asked[0] == (["a", "c"], [0.1, 0.3], [1.0, 3.0])
    keys = [group.get("data-series") for group in root.iter("g") if group.get("class") == "key"]
    assert keys == ["β-VAE", "β-VAE", "FactorVAE", "FactorVAE"]  # the mark and the word of each
    assert "#888888" not in text
    assert "var(--ink) 47%" in text
    words = [group for group in root.iter("g") if group.get("class") == "fixed"]
    assert [word[0].text for word in words] == ["100", "0", "0", "100"]
    assert "fill: #ffffff" in str(words[0][0].get("style"))  # white on the dark cell, whatever the page
    assert axes[0].collections[0].get_gid() == '{"series": "\\u03b2-VAE", "runs": ["a", "c"]}'


def test_a_cloud_of_very_many_dots_is_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    def drawn() -> str:
        drawing, axes = style.wrapped(1)
        style.dots(axes[0], np.arange(9.0), np.arange(9.0), "beta_vae")
        with laid_out(drawing) as ready:
            return svg(ready, "x-", "t")

    assert "data-series" in drawn()
    assert "<image" not in drawn()
    monkeypatch.setattr(drawings, "MANY", 8)
    assert "<image" in drawn()


def test_a_dot_is_of_the_run_it_is_labelled_with_or_the_only_one_with_its_score() -> None:
    scores = {"scores.a": [0.1234567, 0.7654321, 0.5], "scores.b": [0.1111111, 0.1111111, 0.2222222]}
    dots = Dots.of(pd.DataFrame({"run": ["x", "y", "z"], **scores}))
    assert dots.rows(["z", "no run"], [0, 0], [0, 0]) == [2, None]
    assert dots.rows([], [1.03, 3.0, 0.7654321], [0.1234567, 0.2222222, 0.1111111]) == [0, 2, 1]
    assert dots.rows([], [1.0], [0.1111111]) == [None]  # of two runs
    assert dots.rows([], [1.0], [0.5]) == [None]  # too short to tell
    assert dots.rows([], [0.1234567], [0.2222222]) == [None]  # of different runs


@pytest.mark.parametrize(
    ("score", "side"),
    [
        ("scores.mig", "higher"), ("dlib.dci.disentanglement", "higher"), ("downstream.gbt.100", "higher"),
        ("reconstruction", "lower"), ("test.squared_error", "lower"), ("test.accuracy", "higher"), ("kl", "neither"),
        ("elbo", "higher"), ("something", "neither"), ("theorem_1.entangled.total_correlation_mean", "lower"),
    ],
)  # fmt: skip
def test_which_way_a_score_is_better(score: str, side: str) -> None:
    assert better(score) == side


def test_each_score_has_a_panel_with_its_direction(tmp_path: Path) -> None:
    runs = some_runs(tmp_path, 12)[["run", "state", "method", "seed"]]
    runs = runs.assign(**{"scores.reconstruction": 40.0 + runs["seed"], "scores.elbo": -50.0, "scores.kl": 9.0})
    (section,) = [section for section in overview(runs) if section.title == "Scores"]
    (figure,) = section.items
    assert isinstance(figure, Figure)
    panels = {axis.get_title(): axis.get_xlabel() for axis in figure.drawn().axes}
    assert panels == {
        "reconstruction": "lower is better", "elbo": "higher is better", "kl": "neither way is better"
    }  # fmt: skip
    assert "better" not in section.text
    (section,) = [section for section in overview(some_runs(tmp_path, 12)) if section.title == "Scores"]
    assert section.text.endswith("Higher is better in each of them.")


def test_a_run_links_to_its_explorer_and_tells_the_names_of_its_latents(tmp_path: Path) -> None:
    tiny(tmp_path / "jobs" / "one", steps=3)
    tiny(tmp_path / "jobs" / "two", steps=3, seed=1)
    tiny(tmp_path / "jobs" / "three", steps=3, seed=2)
    runs = load_runs(tmp_path).sort_values("seed", ignore_index=True)
    (tmp_path / "jobs" / "one" / "explorer.html").write_text("")
    (tmp_path / "page two.html").write_text("")
    ids = runs["id"].tolist()
    (tmp_path / "jobs" / "one" / "names.json").write_text(json.dumps({ids[0]: {"z0": "size"}}))
    (tmp_path / "jobs" / "two" / "names.json").write_text("[]")
    pages = {str(runs["run"][1]): tmp_path / "page two.html"}
    data = Page(write("t", [], runs, tmp_path / "report", draw=0, explorers=pages)).data
    assert data["explorers"] == {"0": "../jobs/one/explorer.html", "1": "../page%20two.html"}
    assert data["latents"] == {"0": {"z0": "size"}}
    assert data["faults"]["1"].startswith("names.json is not a file of names")


def test_a_report_may_write_explorers_of_its_own(tmp_path: Path) -> None:
    for seed in range(2):
        tiny(tmp_path / "runs" / f"run-{seed}", steps=3, seed=seed)
    out = tmp_path / "report"
    (tmp_path / "runs" / "run-0" / "model.safetensors").write_bytes(b"x" * 9)
    with pytest.warns(UserWarning, match="run-0 has no page with sliders"):
        data = Page(write_report(tmp_path / "runs", out, draw=0, explore=2)).data
    pages = [unquote(page) for page in data["explorers"].values()]
    assert pages == [f"explorers/{own_name(tmp_path / 'runs' / 'run-1')}.html"]
    assert 'id="run-0"' in (out / pages[0]).read_text()  # the content of its one run


# Columns and pictures of the runs


def test_columns_that_show_at_first(tmp_path: Path) -> None:
    runs = some_runs(tmp_path, 12)
    found = columns(runs)
    assert [column.name for column in found if column.main] == [
        "run", "state", "method", "data", "seed", "settings.beta", "scores.mig", "reason",
    ]  # fmt: skip
    assert {"settings.latents", "terms.loss", "steps", "id"} < {column.name for column in found if not column.main}
    assert main_scores(runs[["scores.code_information"]]) == ["scores.code_information"]


def test_a_column_is_kept_small(tmp_path: Path) -> None:
    contents = {column.name: column.content() for column in columns(some_runs(tmp_path, 12))}
    assert contents["settings.latents"]["same"] == 10
    assert contents["method"]["words"] == ["beta_vae", "beta_tc_vae"]
    assert contents["method"]["values"][:3] == [0, 1, 0]
    assert contents["scores.mig"]["values"][1] == 0.583333


def test_runs_to_draw_are_spread_over_methods(tmp_path: Path) -> None:
    runs = some_runs(tmp_path, 12).sort_values("method", ignore_index=True)
    assert runs["method"][choose(runs, 4)].tolist() == ["beta_tc_vae", "beta_vae"] * 2
    assert len(choose(runs, 100)) == 11  # one has failed
    assert choose(pd.DataFrame(), 3) == []


def test_pictures_are_drawn_held_or_linked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = some_runs(tmp_path / "jobs", 4)
    drawn: list[str] = []

    def show(run: Any, out: Path) -> None:
        drawn.append(run.folder.name)
        if run.folder.name == "run-1":
            raise InputError("there is no decoder")
        out.mkdir(parents=True)
        for kind in ("traversals", "reconstructions"):
            Image.new("L", (4, 4)).save(out / f"{kind}.png")

    monkeypatch.setattr("unbraid.pictures.traversals.show", show)
    found = Page(write("t", [], runs, tmp_path, draw=2))
    assert drawn == ["run-0", "run-1"]
    assert found.data["notes"] == {"1": "there is no decoder"}
    assert {kind: source[:22] for kind, source in found.data["pictures"]["0"].items()} == {
        "traversals": "data:image/png;base64,", "reconstructions": "data:image/png;base64,",
    }  # fmt: skip
    monkeypatch.setattr(page, "EMBEDDED", 0)
    found = Page(write("t", [], runs, tmp_path, draw=0))
    own = f"runs/{own_name(tmp_path / 'jobs' / 'run-0')}"
    assert found.data["pictures"] == {
        "0": {"traversals": f"{own}/traversals.png", "reconstructions": f"{own}/reconstructions.png"}
    }
    assert len(drawn) == 2


def test_a_run_of_our_own(tmp_path: Path) -> None:
    tiny(tmp_path / "jobs" / "one", steps=3)
    runs = load_runs(tmp_path)
    sections = overview(runs, tmp_path)
    (pictures,) = [section for section in sections if section.title == "Traversals and reconstructions"]
    assert [item.title for item in pictures.items if isinstance(item, Picture)] == [
        "Traversals of one", "Reconstructions of one",
    ]  # fmt: skip
    found = Page(write("t", sections, runs, tmp_path))
    assert found.data["pictures"]["0"]["traversals"].startswith("data:image/png;base64,")
    assert load_runs(tmp_path)["state"].tolist() == ["done"]


# The page in a browser


@pytest.fixture(scope="module")
def written_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """250 runs, of which the first two have pictures, one held by the page and one beside it; and one of each part."""
    out = tmp_path_factory.mktemp("report")
    runs = some_runs(out / "jobs", 250)
    runs.loc[5, "reason"] = HOSTILE
    runs.loc[7, "run"] = str(out / "jobs" / ("a-very-long-name" * 12))
    for number, size in ((0, 40), (1, 400)):
        (out / "jobs" / f"run-{number}").mkdir(parents=True)
        Image.effect_noise((size, size), 50).save(out / "jobs" / f"run-{number}" / "traversals.png")
    frame = pd.DataFrame({f"column {number}": [number / 7] for number in range(40)})
    items: list[Any] = [
        Judged("Seeds matter " * 9, "37 %", "x" * 200, "does not hold", HOSTILE),
        Figure("figure", "A figure", draw(HOSTILE)),
        Table("wide", "A wide table", frame),
        Picture("picture", "A wide picture", Image.new("L", (3000, 20))),
    ]
    text = f"{'z' * 300}\n\n    {'code ' * 90}\n\n| {'a | ' * 60}\n| {'- | ' * 60}\n| {'1 | ' * 60}"
    embedded, page.EMBEDDED = page.EMBEDDED, 100_000
    try:
        return write("y" * 100, [Section("One", text, items), *overview(runs, draw=0)], runs, out, draw=0)
    finally:
        page.EMBEDDED = embedded


@pytest.fixture
def opened(browser: Any, written_report: Path) -> Iterator[Any]:
    """The report, freshly opened; no test may leave an error in the console."""
    resize(browser, 1280)
    browser.get(written_report.as_uri())
    yield browser
    assert browser.get_log("browser") == []


def resize(browser: Any, width: int) -> None:
    metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)


def one(browser: Any, selector: str) -> Any:
    return browser.find_element("css selector", selector)


def column(browser: Any, name: str) -> list[str]:
    """The words in a column of the runs as drawn."""
    script = """
        const heads = [...document.querySelectorAll("#runs thead button")];
        const place = heads.findIndex(head => head.title === arguments[0]);
        return [...document.querySelectorAll("#runs tbody tr")].map(row => row.children[place].textContent);
    """
    found: list[str] = browser.execute_script(script, name)
    return found


def press(browser: Any, name: str) -> None:
    one(browser, f'#runs thead button[title="{name}"]').click()


def test_the_table_sorts(opened: Any) -> None:
    assert column(opened, "run")[:3] == ["run-0", "run-1", "run-2"]
    press(opened, "scores.mig")
    up = column(opened, "scores.mig")
    assert up[0] == "0.000"
    assert up == sorted(up, key=float)
    assert one(opened, "#runs th[aria-sort]").get_attribute("aria-sort") == "ascending"
    press(opened, "scores.mig")
    down = column(opened, "scores.mig")
    assert down[0] == "0.996"
    assert down == sorted(down, key=float, reverse=True)
    press(opened, "seed")
    assert column(opened, "seed")[:11] == [str(seed) for seed in range(11)]  # as numbers: 2 before 10
    press(opened, "seed")
    assert column(opened, "seed")[0] == "249"
    press(opened, "state")
    press(opened, "state")
    assert column(opened, "state")[0] == "failed"


def test_what_is_missing_comes_last_either_way(opened: Any) -> None:
    one(opened, "#filter").send_keys("seed<10")
    press(opened, "scores.mig")
    assert column(opened, "scores.mig")[-1] == "–"
    press(opened, "scores.mig")
    assert column(opened, "scores.mig")[-1] == "–"


def test_a_filter_narrows_it(opened: Any) -> None:
    counts = {
        "beta_tc": "125 of 250 runs",
        "BETA_TC failed": "25 of 250 runs",
        "state=failed method!=beta_vae": "25 of 250 runs",
        "seed>=240": "10 of 250 runs",
        "scores.mig<0.01": "2 of 250 runs",
        "beta=8 seed<3": "1 of 250 runs",
        "seed=": "250 runs",  # still being typed
        "</script>": "1 of 250 runs",
        "no such thing": "0 of 250 runs",
    }
    assert one(opened, "#count").text == "250 runs"
    for words, count in counts.items():
        one(opened, "#filter").clear()
        one(opened, "#filter").send_keys(words)
        assert one(opened, "#count").text == count, words
        assert len(opened.find_elements("css selector", "#runs tbody th")) == min(100, int(count.split()[0])), words


def test_only_a_page_of_rows_is_drawn(opened: Any) -> None:
    assert len(column(opened, "run")) == 100
    assert one(opened, "#range").text == "1–100 of 250"
    one(opened, "#on").click()
    one(opened, "#on").click()
    assert len(column(opened, "run")) == 50
    assert not one(opened, "#on").is_enabled()
    one(opened, "#filter").send_keys("seed<5")
    assert column(opened, "seed") == ["0", "1", "2", "3", "4"]
    assert not one(opened, "#pages").is_displayed()


def test_all_columns(opened: Any) -> None:
    heads = len(opened.find_elements("css selector", "#runs thead th"))
    one(opened, "#all").click()
    assert len(opened.find_elements("css selector", "#runs thead th")) == heads + 8
    assert column(opened, "steps")[0] == "300,000"


def test_a_run_opens_its_traversals(opened: Any) -> None:
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait

    def width_of_picture() -> int:
        script = (
            "const image = document.querySelector('#run img'); return image && image.complete && image.naturalWidth"
        )
        return int(WebDriverWait(opened, 5).until(lambda _: opened.execute_script(script)))

    first = one(opened, "#runs tbody button")
    first.send_keys(Keys.ENTER)
    assert one(opened, "#run").is_displayed()
    assert one(opened, "#run-name").text == "run-0"
    assert width_of_picture() == 40  # held by the page
    one(opened, "#run").send_keys(Keys.ARROW_RIGHT)
    assert one(opened, "#run-name").text == "run-1"
    assert width_of_picture() == 400  # beside the page
    assert "beta_tc_vae" in one(opened, "#run-body").text
    one(opened, "#run-on").click()
    assert "unbraid show jobs/run-2" in one(opened, "#run-body").text
    one(opened, "#run-on").click()
    assert "codes.npz is short" in one(opened, "#run-body").text
    one(opened, "#run").send_keys(Keys.ESCAPE)
    assert not one(opened, "#run").is_displayed()
    assert opened.switch_to.active_element == first


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_is_as_wide_as_the_window(opened: Any, width: int) -> None:
    resize(opened, width)

    def overflow() -> int:
        script = (
            "const page = document.documentElement; return [page.scrollWidth - page.clientWidth, window.innerWidth]"
        )
        beyond, window = opened.execute_script(script)
        assert window == width
        return int(beyond)

    assert overflow() == 0
    one(opened, "#all").click()
    assert overflow() == 0
    opened.execute_script("document.querySelector('#runs tbody button').click()")
    left, right = opened.execute_script(
        "const box = document.getElementById('run').getBoundingClientRect(); return [box.left, box.right]"
    )
    assert left >= 0
    assert right <= width
    assert overflow() == 0


def test_nothing_comes_over_a_network(opened: Any) -> None:
    script = "return performance.getEntriesByType('resource').map(entry => entry.name)"
    assert [name for name in opened.execute_script(script) if not name.startswith(("data:", "file:"))] == []
    assert opened.execute_script("return document.getElementById('evil')") is None


def test_a_report_without_runs_opens(browser: Any, tmp_path: Path) -> None:
    browser.get(write("t", [], pd.DataFrame(), tmp_path).as_uri())
    assert "There are no runs yet." in one(browser, "main").text
    assert browser.get_log("browser") == []


# Figures that answer, in a browser


@pytest.fixture(scope="module")
def answering_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """12 runs with pictures of two of them, and figures whose dots are runs."""
    out = tmp_path_factory.mktemp("answers")
    runs = some_runs(out / "jobs", 12)
    for number in range(2):
        (out / "jobs" / f"run-{number}").mkdir(parents=True)
        Image.effect_noise((60, 40), 50).save(out / "jobs" / f"run-{number}" / "traversals.png")
    (out / "jobs" / "run-0" / "explorer.html").write_text("<title>sliders</title>")

    def cloud() -> Drawing:
        drawing, (axis,) = style.wrapped(1, 1, 5, 3)
        for method, own in runs.groupby("method"):
            style.dots(
                axis, own["terms.loss"].to_numpy(), own["seed"].to_numpy(float), str(method), 30, list(own["run"])
            )
        style.legend(drawing, ["beta_vae", "beta_tc_vae"])
        return drawing

    items: list[Any] = [
        Judged("Seeds matter", "1", "2", "holds"),
        *[Judged(f"Claim {number}", "1", "2", "inconclusive") for number in range(5)],
        Figure("cloud", "A cloud", cloud),
        Picture("picture", "A picture", Image.effect_noise((80, 40), 50)),
    ]
    return write("t", [Section("One", "", items), *overview(runs, draw=0)], runs, out, draw=0)


@pytest.fixture
def answers(browser: Any, answering_report: Path) -> Iterator[Any]:
    resize(browser, 1280)
    scheme(browser, "light")
    browser.get(answering_report.as_uri())
    yield browser
    assert browser.get_log("browser") == []


def scheme(browser: Any, name: str) -> None:
    features = [{"name": "prefers-color-scheme", "value": name}]
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})


def dot(browser: Any, figure: str, row: int) -> tuple[float, float]:
    """Where the dot of a run is in the window, once it is scrolled to."""
    script = """
        const [figure, row, done] = arguments;
        const drawing = document.querySelector(`#part-${figure} svg`);
        for (const group of drawing.querySelectorAll("g.series[data-runs]")) {
            const place = group.dataset.runs.split(",").indexOf(String(row));
            if (place < 0) continue;
            const use = group.querySelectorAll("use")[place];
            use.scrollIntoView({ block: "center", inline: "center", behavior: "instant" });
            requestAnimationFrame(() => requestAnimationFrame(() => { // scrolling hides what a dot tells
                const box = use.getBoundingClientRect();
                done([box.x + box.width / 2, box.y + box.height / 2]);
            }));
        }
    """
    x, y = browser.execute_async_script(script, figure, row)
    return x, y


def mouse(browser: Any, x: float, y: float, kind: str = "mouseMoved") -> None:
    pressed = {} if kind == "mouseMoved" else {"button": "left", "clickCount": 1}
    browser.execute_cdp_cmd("Input.dispatchMouseEvent", {"type": kind, "x": x, "y": y, **pressed})


def tap(browser: Any, x: float, y: float) -> None:
    for kind, points in (("touchStart", [{"x": x, "y": y}]), ("touchEnd", [])):
        browser.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})


def test_a_dot_tells_its_run_and_opens_it(answers: Any) -> None:
    x, y = dot(answers, "scores", 4)
    mouse(answers, x, y)
    tip = one(answers, "#tip")
    assert tip.is_displayed()
    assert tip.text.split("\n") == ["β-VAE", "mig", "0.3333", "run-4"]
    assert len(answers.find_elements("css selector", "#part-cloud circle.ring")) == 1  # the same run elsewhere
    mouse(answers, 5, 5)
    assert not tip.is_displayed()
    assert not answers.find_elements("css selector", "circle.ring")
    x, y = dot(answers, "cloud", 7)
    for kind in ("mouseMoved", "mousePressed", "mouseReleased"):
        mouse(answers, x, y, kind)
    assert one(answers, "#run-name").text == "run-7"
    assert not tip.is_displayed()


def test_a_touch_tells_first_and_then_opens(answers: Any) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    resize(answers, 390)
    answers.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        x, y = dot(answers, "cloud", 0)
        tap(answers, x + 8, y)  # a finger is not exact
        press = WebDriverWait(answers, 5).until(lambda _: one(answers, "#tip button"))
        assert "run-0" in one(answers, "#tip").text
        assert not one(answers, "#run").is_displayed()
        box = press.rect
        top = answers.execute_script("return scrollY")
        tap(answers, box["x"] + box["width"] / 2, box["y"] + box["height"] / 2 - top)
        WebDriverWait(answers, 5).until(lambda _: one(answers, "#run").is_displayed())
        assert one(answers, "#run-name").text == "run-0"
    finally:
        answers.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_a_legend_hides_a_method_everywhere(answers: Any) -> None:
    from selenium.webdriver.common.keys import Keys

    def shown(figure: str) -> list[str]:
        script = """
            return [...document.querySelectorAll(`#part-${arguments[0]} g.series[data-y]`)]
                .filter(group => getComputedStyle(group).display !== "none").map(group => group.dataset.series)
        """
        return list(answers.execute_script(script, figure))

    assert shown("cloud") == ["β-TCVAE", "β-VAE"]
    words = answers.find_elements("css selector", "#part-cloud g.key[role=button]")
    next(key for key in words if key.text == "β-VAE").find_element("css selector", "text").click()
    assert shown("cloud") == shown("scores") == ["β-TCVAE"]
    assert one(answers, "#count").text == "6 of 12 runs"
    assert set(column(answers, "method")) == {"beta_tc_vae"}
    assert one(answers, "#hidden").is_displayed()
    pressed = {key.get_attribute("aria-pressed") for key in answers.find_elements("css selector", "g.key.off[role]")}
    assert pressed == {"false"}
    key = next(key for key in words if key.text == "β-TCVAE")
    answers.execute_script("arguments[0].focus()", key)
    answers.switch_to.active_element.send_keys(Keys.ENTER)
    assert shown("cloud") == shown("scores") == []
    one(answers, "#hidden-none").click()
    assert shown("cloud") == ["β-TCVAE", "β-VAE"]
    assert one(answers, "#count").text == "12 runs"
    assert not one(answers, "#hidden").is_displayed()


def test_figures_follow_light_and_dark(answers: Any) -> None:
    script = """
        const drawing = document.querySelector("#part-scores svg");
        const label = getComputedStyle(drawing.querySelector("text")).fill;
        const card = getComputedStyle(drawing.parentElement).backgroundColor;
        const dot = getComputedStyle(drawing.querySelector("g.series use")).fill;
        return [label, getComputedStyle(document.body).color, card, dot];
    """
    label, ink, card, colour = answers.execute_script(script)
    assert label == ink == "rgb(31, 32, 35)"
    assert card == "rgba(0, 0, 0, 0)"
    scheme(answers, "dark")
    label, ink, card, in_the_dark = answers.execute_script(script)
    assert label == ink == "rgb(227, 227, 223)"
    assert card == "rgba(0, 0, 0, 0)"
    assert in_the_dark != colour  # lighter


def test_words_of_figures_are_readable_on_a_phone(answers: Any) -> None:
    resize(answers, 390)
    script = """
        const words = [...document.querySelectorAll(".card svg text")];
        const size = text => parseFloat(getComputedStyle(text).fontSize) * text.ownerSVGElement.getScreenCTM().a;
        return [words.length, Math.min(...words.map(size))];
    """
    count, smallest = answers.execute_script(script)
    assert count > 10
    assert smallest >= 10.5
    assert answers.execute_script("return document.documentElement.scrollWidth") == 390  # a figure scrolls by itself


def test_a_picture_zooms(answers: Any) -> None:
    from selenium.webdriver.common.keys import Keys
    from selenium.webdriver.support.wait import WebDriverWait

    one(answers, "#part-picture .zoom").click()
    WebDriverWait(answers, 5).until(lambda _: one(answers, "#zoom-image").size["width"] == 320)  # four times
    assert one(answers, "#zoom-name").text == "A picture"
    one(answers, "#zoom-image").click()
    assert one(answers, "#zoom-image").size["width"] == 640
    one(answers, "#zoom").send_keys(Keys.ESCAPE)
    assert not one(answers, "#zoom").is_displayed()
    answers.execute_script("document.querySelector('#runs tbody button').click()")
    one(answers, "#run .zoom").click()
    assert one(answers, "#zoom").is_displayed()
    assert one(answers, "#zoom-name").text == "Traversals of run-0"


def test_two_runs_side_by_side(answers: Any) -> None:
    boxes = answers.find_elements("css selector", "#runs tbody input")
    assert not one(answers, "#pair-open").is_enabled()
    boxes[2].click()
    boxes[0].click()
    boxes[1].click()  # takes the place of the first
    assert one(answers, "#pair-names").text == "run-0 and run-1"
    one(answers, "#pair-open").click()
    assert [image.get_attribute("alt") for image in answers.find_elements("css selector", "#pair img")] == [
        "Traversals of run-0", "Traversals of run-1",
    ]  # fmt: skip

    def lines() -> dict[str, list[str]]:
        rows = [
            row for row in answers.find_elements("css selector", "#pair tbody tr:not(.group)") if row.is_displayed()
        ]
        cells = [[cell.text for cell in row.find_elements("css selector", "th, td")] for row in rows]
        return {name: rest for name, *rest in cells}

    shown = lines()
    assert shown["method"] == ["beta_vae", "beta_tc_vae"]
    assert shown["beta"] == ["4", "6"]
    assert shown["mig"] == ["0.000", "0.583"]
    assert "latents" not in shown  # both have ten
    assert one(answers, "#pair td.better").text == "0.583"
    one(answers, "#pair-all").click()
    assert lines()["latents"] == ["10", "10"]
    assert "differs" not in one(answers, "#pair tbody tr:not(.differs, .group)").get_attribute("class")


def test_a_run_has_its_explorer(answers: Any) -> None:
    links = answers.find_elements("css selector", "#runs a.explore")
    assert [link.get_attribute("href").rsplit("/", 3)[1:] for link in links] == [["jobs", "run-0", "explorer.html"]]
    one(answers, "#runs tbody button").click()
    assert one(answers, "#run a.explore").text == "Explore it with sliders"


def test_a_count_of_verdicts_goes_to_its_claims(answers: Any) -> None:
    assert not one(answers, "details").get_attribute("open")
    one(answers, ".summary .tally.v2").click()
    assert one(answers, "details").get_attribute("open")
    assert answers.switch_to.active_element.text.startswith("Claim 0")
    one(answers, ".summary .tally.v2").click()
    assert answers.switch_to.active_element.text.startswith("Claim 1")
