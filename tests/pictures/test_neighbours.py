from __future__ import annotations

from pathlib import Path

import pytest
import torch
from PIL import Image

import unbraid
from tests.examples.squares import squares
from unbraid import cli
from unbraid.errors import InputError
from unbraid.pictures.neighbours import Query, _without, neighbour_sheet, neighbours, retrieve
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
    sheet = neighbour_sheet(method, data, known, [query], 5, "title")  # type: ignore[arg-type]
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


def test_a_row_is_no_neighbour_of_itself(run: Run, tmp_path: Path) -> None:
    known = run.representation()
    others = known.rows != 3
    assert int(others.sum()) == 59
    nearest = neighbours(known.codes, known.codes[known.rows == 3][0], [[0, 1]], 1)
    assert known.rows[nearest].tolist() == [[3]]  # unless it is left out
    assert retrieve(run, ["3"], tmp_path / "out.png", count=2) == tmp_path / "out.png"


def test_a_picture_of_the_data_is_no_neighbour_of_itself(run: Run, tmp_path: Path) -> None:
    data, known, method = run.images(), run.representation(), run.method()
    Image.fromarray(data.images_at([3])[0, 0].numpy()).save(tmp_path / "three.png")
    query = Query.of(str(tmp_path / "three.png"), data)
    assert query.row is None
    code = method.encode(query.image[None])[0].detach()
    kept = known.rows[_without(query, code, data, known)]
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
