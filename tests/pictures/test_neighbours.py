from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from PIL import Image

import unbraid
from tests.examples.squares import squares
from unbraid import cli
from unbraid.errors import InputError
from unbraid.pictures.neighbours import (
    Feature,
    Query,
    Retrieval,
    _others,
    features_of,
    find_neighbours,
    neighbours,
    retrieve,
)
from unbraid.runs.latents import Latent
from unbraid.runs.run import Run
from unbraid.training.representation import Representation


def test_neighbours_are_the_nearest_in_each_group() -> None:
    torch.manual_seed(0)
    codes, query = torch.randn(40, 5), torch.randn(5)
    groups = [[0, 1], [4], [2, 3]]
    found = neighbours(codes, query, groups, 7)
    assert found.shape == (3, 7)
    for group, rows in zip(groups, found.tolist(), strict=True):
        distances = [sum((float(code[column]) - float(query[column])) ** 2 for column in group) for code in codes]
        assert rows == sorted(range(40), key=lambda row: distances[row])[:7]


def test_equally_near_ones_come_in_order() -> None:
    assert neighbours(torch.ones(5, 2), torch.zeros(2), [[0]], 3).tolist() == [[0, 1, 2]]


class ReadsRowAndColumn(torch.nn.Module):
    """Codes that are the factors of `squares`, as an encoder."""

    code_groups = [[0], [1]]

    def encode(self, images: torch.Tensor) -> torch.Tensor:
        bright = images[:, 0] > 128
        return torch.stack([bright.any(axis).float().argmax(1) / 2 for axis in (2, 1)], 1)


def test_the_sheet_shows_images_that_share_the_feature() -> None:
    data, method = squares(), ReadsRowAndColumn()
    rows = torch.arange(36)
    known = Representation(method.encode(data.images_at(rows)), data.all_factors(), rows, data.names, data.sizes)
    query = Query.of("14", data)  # row 2, column 2
    found = neighbours(known.codes[rows != 14], known.codes[14], method.code_groups, 5)
    others = data.all_factors()[rows != 14]
    assert (others[found[0], 0] == 2).all()
    assert (others[found[1], 1] == 2).all()
    features = [Feature("row", (0,)), Feature("column", (1,))]
    nearest = find_neighbours(method, data, known.codes, rows, features, query, 5)  # type: ignore[arg-type]
    assert [len(one.rows) for one in nearest] == [5, 5]
    assert (data.all_factors()[nearest[0].rows, 0] == 2).all()
    assert nearest[0].distances == [0] * 5
    sheet = Retrieval("title", data, nearest).sheet()
    assert sheet.width > 7 * 75
    assert sheet.height > 2 * 75


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("run")
    data = unbraid.data.load("dsprites", 16, rows=60)
    settings = {"network": "small", "latents": 4, "dimensions": 2, "translation_width": 4}
    return unbraid.train("intervention", data, steps=2, out=folder, protocol=None, precision="fp32", **settings)


def test_the_command_writes_a_picture(run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    picture = tmp_path / "query.png"
    Image.new("RGB", (40, 30), "white").save(picture)
    monkeypatch.setattr("sys.argv", ["unbraid", "retrieve", str(run.folder), "--query", "3", "--query", str(picture)])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    assert stop.value.code == 0
    with Image.open(run.folder / "neighbours.png") as written:
        assert written.height > 4 * 75  # two queries, two features
    table = pd.read_csv(run.folder / "neighbours.csv")
    assert table.columns.tolist() == ["query", "feature", "rank", "row", "distance"]
    assert len(table) == 2 * 2 * 6
    assert (run.folder / "neighbours.html").read_text().count("<h2>") == 2


def test_a_row_is_no_neighbour_of_itself(run: Run) -> None:
    known = run.representation()
    others = known.rows != 3
    assert int(others.sum()) == 59
    nearest = neighbours(known.codes, known.codes[known.rows == 3][0], [[0, 1]], 1)
    assert known.rows[nearest].tolist() == [[3]]  # unless it is left out
    assert all(3 not in one.rows and len(one.rows) == 2 for one in retrieve(run, ["3"], count=2).neighbours)


def test_a_picture_of_the_data_is_no_neighbour_of_itself(run: Run, tmp_path: Path) -> None:
    data, known, method = run.images(), run.representation(), run.method()
    Image.fromarray(data.images_at([3])[0, 0].numpy()).save(tmp_path / "three.png")
    query = Query.of(str(tmp_path / "three.png"), data)
    assert query.row is None
    code = method.encode(query.image[None])[0].detach()
    kept = known.rows[_others(query, code, data, known.codes, known.rows)]
    same = [row for row in known.rows.tolist() if torch.equal(data.images_at([row])[0], query.image)]
    assert 3 in same
    assert sorted([*kept.tolist(), *same]) == sorted(known.rows.tolist())


def test_mistakes_are_named(run: Run) -> None:
    for queries, count, message in [
        (["nowhere.png"], 3, "query is 'nowhere.png'; expected a file, or a row of the data from 0 to 59"),
        (["60"], 3, "row 60 does not exist"),
        ([], 3, "there is no query"),
        (["1"], 0, "count is 0; expected at least 1"),
        ([str(run.path("config"))], 3, "cannot be read as a picture"),
    ]:
        with pytest.raises(InputError, match=message):
            retrieve(run, queries, count=count)


def test_only_latents_that_say_something_are_compared(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "unbraid.pictures.neighbours.latents_of",
        lambda run: [Latent(2, "size", 3.0, True), Latent(0, "z0", 1.0, True), Latent(1, "z1", 0.0, False)],
    )
    method = run.method()
    monkeypatch.setattr(type(method), "code_groups", None, raising=False)
    assert features_of(run, method) == [Feature("size", (2,)), Feature("z0", (0,)), Feature("all together", (2, 0))]
    assert [feature.name for feature in features_of(run, method, everything=True)][2] == "z1"
    monkeypatch.setattr("unbraid.pictures.neighbours.latents_of", lambda run: [Latent(1, "z1", 0.0, False)])
    with pytest.raises(InputError, match=r"has no active latent to compare images by"):
        features_of(run, method)


def test_a_query_is_a_picture_of_the_folder_by_its_name(tmp_path: Path) -> None:
    for name in ("a/1.png", "b/1.png", "b/2.png"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        Image.new("L", (8, 8), len(name) + ord(name[0])).save(path)
    data = unbraid.data.load("image_folder", 8, path=str(tmp_path))
    assert Query.of("b/1.png", data).row == 1
    assert Query.of("2.png", data).row == 2
    assert Query.of("0", data).name == "a/1.png"
    with pytest.raises(InputError, match=r"'1.png', the name of 2 pictures, such as a/1.png and b/1.png"):
        Query.of("1.png", data)
