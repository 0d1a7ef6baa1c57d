"""The page in a notebook."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.explorer.made import trained
from unbraid.errors import InputError
from unbraid.explorer.widget import widget


def test_the_widget_holds_the_page_and_gives_codes(tmp_path: Path) -> None:
    pytest.importorskip("anywidget")
    run, _ = trained(tmp_path / "run", "beta_vae")
    view = widget(run.folder)
    assert view.page.startswith("<!DOCTYPE html>")
    view.positions = [1.0, 2.0, 3.0, 4.0]
    order = [int(slider.name[1:]) for slider in _sliders(run)]
    assert view.codes[order].tolist() == [1.0, 2.0, 3.0, 4.0]


def _sliders(run: object) -> list[object]:
    from unbraid.explorer.sliders import sliders_of

    return list(sliders_of(run.representation()).sliders)  # type: ignore[attr-defined]


def test_without_the_extra_a_line_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run, _ = trained(tmp_path / "run", "autoencoder")
    monkeypatch.setitem(__import__("sys").modules, "anywidget", None)
    with pytest.raises(InputError, match=r"unbraid\[notebook\]"):
        widget(run)
    assert torch.is_grad_enabled()
