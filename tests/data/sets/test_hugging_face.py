from __future__ import annotations

import io
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from PIL import Image

from unbraid.data import load
from unbraid.data.sets.hugging_face import from_dataset
from unbraid.errors import InputError

PIXELS = np.random.default_rng(0).integers(0, 256, (6, 8, 8, 3), dtype=np.uint8)
COLUMNS: dict[str, list[Any]] = {
    "img": [Image.fromarray(image) for image in PIXELS],
    "kind": [0, 1, 2, -1, 1, 0],
    "age": [0.5, None, 1.5, 2.5, 3.5, 4.5],
    "caption": ["a", "b", "c", "d", "e", "f"],
}


class Table:
    """The parts of a `datasets.Dataset` that are read."""

    def __init__(self) -> None:
        label = SimpleNamespace(names=["cat", "dog", "owl"], dtype="int64")
        number, text = SimpleNamespace(dtype="float64"), SimpleNamespace(dtype="string")
        self.features = {"img": SimpleNamespace(), "kind": label, "age": number, "caption": text}

    def __len__(self) -> int:
        return 6

    def __getitem__(self, name: str) -> list[Any]:
        return COLUMNS[name]


def test_images_and_labels() -> None:
    data = from_dataset(Table(), "img", resolution=8)
    assert data.names == ("kind", "age")
    assert data.labels is not None
    assert data.labels.types == ("classes", "continuous")
    assert data.labels.levels[0] == ("cat", "dog", "owl")
    assert data.missing == 2
    assert np.array_equal(data.images_at([2])[0].permute(1, 2, 0).numpy(), PIXELS[2])
    assert from_dataset(Table(), "img", ["caption"], channels=1).image_shape == (1, 64, 64)


def test_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="the data set has no column 'image'"):
        from_dataset(Table())
    with pytest.raises(InputError, match="the data set has no column 'knd'; did you mean 'kind'"):
        from_dataset(Table(), "img", ["knd"])
    monkeypatch.setitem(COLUMNS, "img", [3] * 6)
    with pytest.raises(InputError, match="image 0 is a int; expected a picture"):
        from_dataset(Table(), "img")
    with pytest.raises(InputError, match="hugging_face needs one of the settings hub"):
        load("hugging_face")
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(InputError, match=r"hugging_face needs datasets; pip install 'unbraid\[datasets\]' brings it"):
        load("hugging_face", hub="mnist")


def test_a_data_set_on_disk(tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    arrow = pytest.importorskip("pyarrow")
    from datasets.table import InMemoryTable

    features = datasets.Features({"image": datasets.Image(), "kind": datasets.ClassLabel(names=["cat", "dog", "owl"])})
    images = [{"bytes": _png(image), "path": None} for image in PIXELS]
    rows = arrow.table({"image": images, "kind": COLUMNS["kind"]}).cast(features.arrow_schema)
    table = datasets.Dataset(InMemoryTable(rows), info=datasets.DatasetInfo(features=features), fingerprint="a")
    table.save_to_disk(tmp_path / "one")
    data = load("hugging_face", 8, path=tmp_path / "one")
    assert (data.names, data.sizes, data.missing) == (("kind",), (3,), 1)
    assert np.array_equal(data.images_at([2])[0].permute(1, 2, 0).numpy(), PIXELS[2])
    datasets.DatasetDict({"test": table}).save_to_disk(tmp_path / "two")
    assert len(load("hugging_face", 8, path=tmp_path / "two", split="test")) == 6
    with pytest.raises(InputError, match="has no split 'train'"):
        load("hugging_face", 8, path=tmp_path / "two")


def _png(image: Any) -> bytes:
    file = io.BytesIO()
    Image.fromarray(image).save(file, "PNG")
    return file.getvalue()
