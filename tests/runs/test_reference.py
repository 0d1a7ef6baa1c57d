"""The reference models: whole, small, and usable without data."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

import unbraid
from tests.examples.benches import load_bench
from tests.examples.command import Here
from unbraid.data import catalogue
from unbraid.errors import InputError
from unbraid.runs.remote import is_remote, reference_folder, reference_names
from unbraid.runs.run import Run, check_stranger

tool = load_bench("reference_models")


def test_there_is_one_for_each_choice() -> None:
    assert set(reference_names()) == {choice.name for choice in (*tool.CHOICES, tool.ARM)}
    assert sum(path.stat().st_size for path in reference_folder().rglob("*") if path.is_file()) < tool.MOST


def test_the_page_lists_them_with_their_scores() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference.md").read_text()
    for name in reference_names():
        scores = Run(f"reference/{name}").scores
        assert re.search(rf"^\| `{name}` \|.*\| {scores['mig']:.3f} \|", page, re.M), name


@pytest.mark.parametrize("name", reference_names())
def test_it_is_sound_and_loads_without_its_data(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "load", lambda *_, **__: pytest.fail("the data was opened"))
    run = Run(f"reference/{name}")
    check_stranger(run.folder)
    method = unbraid.load(f"reference/{name}")
    assert all(value.dtype != torch.float16 for value in method.state_dict().values())
    codes = run.representation()
    with torch.inference_mode():
        images = method.decode(codes.codes[:8])
    assert images.shape == (8, *run.spec.image_shape)
    assert bool(((images >= 0) & (images <= 1)).all())
    assert len(codes.rows) == tool.CODES


def test_kept_codes_are_those_that_the_kept_weights_give() -> None:
    """Up to half precision: weights and codes belong together."""
    run = Run("reference/dsprites-beta_tc_vae")
    known, images = run.representation(), run.images()
    with torch.inference_mode():
        codes = run.method().encode(images.images_at(known.rows[:100], 0))
    assert float((codes - known.codes[:100]).abs().max()) < 0.02


def test_the_best_and_the_one_in_the_middle_are_chosen() -> None:
    runs: list[Any] = [SimpleNamespace(scores={"mig": mig}) for mig in (0.3, 0.1, 0.2, 0.4)]
    assert tool.Choice("shapes3d", "beta_vae").run(runs).scores == {"mig": 0.4}
    assert tool.Choice("shapes3d", "beta_vae", ordinary=True).run(runs).scores == {"mig": 0.2}
    with pytest.raises(InputError, match="no finished model of beta_vae on shapes3d"):
        tool.Choice("shapes3d", "beta_vae").run([])


def test_weights_that_half_precision_changes_too_much_are_kept_as_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiny = {"steps": 1, "resolution": 16, "samples": 20, "protocol": {"mig": {}}, "network": "tiny"}
    run = tool.train_arm(tmp_path / "run", **tiny)
    half, difference = tool.make(run, "half", tmp_path)
    assert 0 < difference <= tool.STEP
    assert half.path("model").stat().st_size < 0.7 * run.path("model").stat().st_size
    monkeypatch.setattr(tool, "STEP", difference / 2)
    whole, none = tool.make(run, "whole", tmp_path)
    assert none == 0
    assert whole.path("model").read_bytes() == run.path("model").read_bytes()


def test_names_of_the_user_s_own_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert is_remote("reference/dsprites-beta_vae")
    (tmp_path / "reference" / "dsprites-beta_vae").mkdir(parents=True)
    assert not is_remote("reference/dsprites-beta_vae")
    assert not is_remote("references/other")


def test_commands_take_a_reference_model(here: Here, tmp_path: Path) -> None:
    listed = here("reference")
    assert [line.split()[0] for line in listed.stdout.splitlines()[1:]] == list(reference_names())
    wrong = here("explore", "reference/dsprites-beta_ve")
    assert "there is no reference model 'dsprites-beta_ve'; did you mean 'dsprites-beta_vae'?" in wrong.stderr
    explored = here("explore", "reference/dsprites-beta_vae", "--no-open")
    assert explored.stdout.strip() == "dsprites-beta_vae/explorer.html"
    assert (tmp_path / "dsprites-beta_vae" / "explorer.html").stat().st_size < 3_000_000
    encoded = here("show", "reference/dsprites-beta_vae")
    assert "dsprites-beta_vae/traversals.png" in encoded.stdout
