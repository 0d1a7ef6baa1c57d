"""Discovery: what models agree on, which continue, and what is left when it is stopped."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from tests.examples.toy_jobs import Now
from unbraid.data import load
from unbraid.data.sets.image_folder import Pictures
from unbraid.errors import InputError
from unbraid.runs.run import Run
from unbraid.search import discovery
from unbraid.search.discovery import Discovery, Pace, Search, Setup, Stage, members_at, pixel_weight, stage_seconds
from unbraid.search.shared_factors import Factor, Member, Model


def found(factors: list[Factor], **given: Any) -> Discovery:
    facts = {"models": 8, "steps": 9_000, "improving": 0.0, "seconds": 60.0, "pictures": 3000, **given}
    return Discovery(Run(Path("nowhere")), Member(4.0, 0), factors, **facts)


def test_the_result_says_what_stands_against_it() -> None:
    good = Factor(0, 2.0, 0.9)
    assert found([good]).advice() == []
    assert "agree on no factor" in found([Factor(0, 2.0, 0.3)]).advice()[0]
    assert "more minutes" in found([good], improving=10.0).advice()[0]
    assert "only 100 steps" in found([good], steps=100).advice()[0]
    assert "confirmed only as a mixture" in found([good, Factor(1, 2.0, 0.4, 0.9)]).advice()[0]
    assert "are few" in found([good], pictures=100).advice()[0]
    assert "1 more latent is active" in found([good, Factor(1, 2.0, 0.3)]).advice()[0]
    assert "2 more latents are active" in found([good, Factor(1, 2.0, 0.3), Factor(2, 2.0, 0.3)]).advice()[0]
    assert "Fewer than three" in found([good], models=2).advice()[0]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Pictures:
    folder, rng = tmp_path_factory.mktemp("pictures"), np.random.default_rng(0)
    for number in range(24):
        pixels = np.zeros((16, 16, 3), np.uint8)
        row, column = rng.integers(0, 11, 2)
        pixels[row : row + 5, column : column + 5] = 255
        Image.fromarray(pixels).save(folder / f"{number:02}.png")
    data = load("image_folder", 16, path=str(folder), channels=1)
    assert isinstance(data, Pictures)
    return data


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stages of a fraction of a second."""
    for name, value in {"PAGE": 0.0, "SHORTEST": 0.05, "LONGEST": 0.2}.items():
        monkeypatch.setattr(discovery, name, value)
    monkeypatch.setattr(discovery, "START", 0.0)
    monkeypatch.setattr(discovery, "seconds_per_step", lambda *_: 0.002)


def search(pictures: Pictures, out: Path, strengths: tuple[float, ...] = (1.0, 2.0), **settings: Any) -> Search:
    assert pictures.opened is not None
    own = {"network": "small", "latents": 3, "batch_size": 8, "learning_rate": 1e-3, **settings}
    return Search(Setup(pictures.opened, own, strengths=strengths, trained=1), pictures, out)


@pytest.mark.usefixtures("quick")
def test_a_stopped_discovery_has_a_result_and_resumes(pictures: Pictures, tmp_path: Path) -> None:
    class Stopping(Now):
        """Stops after so many jobs, as Ctrl-C would."""

        count = 0

        def submit(self, *args: Any, **given: Any) -> Any:
            self.count += 1
            if self.count > 5:
                raise KeyboardInterrupt
            return super().submit(*args, **given)

    first = search(pictures, tmp_path)
    with pytest.raises(KeyboardInterrupt):
        first.run(10, Stopping(), 1)
    result = first.result()
    assert result is None or result.models <= 4  # models that learned nothing do not count
    assert len(first.stages) == 2
    again = search(pictures, tmp_path)
    assert again.stages == first.stages
    again.run((again.seconds + 1) / 60, Now(), 1)
    assert again.stages[: len(first.stages)] == first.stages
    states = {
        again.study.state(again.job(member, place))
        for place, stage in enumerate(again.stages)
        for member in stage.members
    }
    assert states == {"done"}
    steps = [stage.steps for stage in again.stages]
    assert steps == sorted(set(steps))


@pytest.mark.usefixtures("quick")
def test_a_model_that_has_hardly_trained_is_no_result(pictures: Pictures, tmp_path: Path) -> None:
    one = search(pictures, tmp_path, (1.0,), learning_rate=0.01)
    one.run(0.01, Now(), 1)
    assert len({job.seed for job in one._jobs(one.stages[0])}) == 2, "models of one seed would agree by that alone"
    one.setup = replace(one.setup, trained=10**6)
    assert one.latest() == []
    assert one.result() is None


@pytest.mark.usefixtures("quick")
def test_used_time_is_not_used_again(pictures: Pictures, tmp_path: Path) -> None:
    first = search(pictures, tmp_path)
    first.run(0.02, Now(), 1)
    stages = list(first.stages)
    first.run(0.02, Now(), 1)
    assert first.stages == stages


@pytest.mark.usefixtures("quick")
def test_models_that_agree_least_are_dropped(
    pictures: Pictures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = search(pictures, tmp_path, (1.0, 2.0, 4.0, 8.0))
    one.stages = [Stage(100, tuple(one.setup.members), 1e-3)]
    lost = Member(8.0, 1)
    monkeypatch.setattr(
        one.study, "state", lambda job: "diverged" if job.settings["beta"] == 8 and job.seed == 7 else "done"
    )
    models = [
        Model(
            member,
            Run(tmp_path),
            np.random.default_rng(0).normal(size=(400, 3))[
                :, : 3 if member.strength == 4 else 2 if member.strength == 1 else 1
            ],
            np.full(3 if member.strength == 4 else 2 if member.strength == 1 else 1, 2.0),
        )
        for member in one.setup.members
    ]
    monkeypatch.setattr(one, "latest", lambda: models)
    assert set(one._continuing(8)) == {*one.stages[0].members} - {lost}
    assert {member.strength for member in one._continuing(4)} == {1.0, 4.0}
    assert one._continuing(2) == (Member(4.0, 0), Member(4.0, 1))


@pytest.mark.parametrize("minutes", [2, 5, 10, 20, 30, 60, 240])
def test_the_last_two_have_more_than_half_of_the_time_and_the_budget_is_kept(minutes: int) -> None:
    budget, used, alone = 60.0 * minutes - 20, 0.0, 0.0
    first = stage_seconds(0, budget, first=True)
    assert first is not None
    assert first <= 160  # so that there is something when it is stopped early
    while (seconds := stage_seconds(used, budget)) is not None:
        alone += seconds if members_at(used / budget, 8, 2) == 2 else 0
        used += seconds
        assert seconds <= 180
    assert 0.9 * budget <= used <= budget + 1e-6
    if minutes >= 5:
        assert alone >= 0.5 * budget


def test_workers_that_would_be_idle_keep_models() -> None:
    assert [members_at(used, 8, 2) for used in (0, 0.1, 0.2, 0.3, 0.45, 0.9)] == [8, 8, 4, 4, 2, 2]
    assert members_at(0.9, 8, 4) == 4
    assert members_at(0.9, 8, 16) == 8
    assert members_at(0.9, 2, 1) == 2  # a model by itself could not be confirmed


def test_steps_fill_the_stage() -> None:
    pace = Pace(step=0.01, overhead=5, workers=2)
    assert pace.steps(65, 8) == 1500  # four rounds of 15 seconds
    assert pace.steps(1, 8) == 20


def test_a_pixel_counts_so_that_pictures_are_worth_the_same() -> None:
    rng = np.random.default_rng(0)
    strong = torch.from_numpy(rng.integers(0, 256, (300, 1, 64, 64), dtype=np.uint8))
    faint = (strong.float() / 5 + 100).byte()

    def gain(images: torch.Tensor) -> float:
        x = images.double() / 255
        mean = x.mean(0, keepdim=True).expand_as(x)
        best = torch.nn.functional.binary_cross_entropy(x, x, reduction="sum")
        return float(torch.nn.functional.binary_cross_entropy(mean, x, reduction="sum") - best) / len(x)

    assert gain(strong) * pixel_weight(strong) == pytest.approx(1000, rel=1e-3)
    assert gain(faint) * pixel_weight(faint) == pytest.approx(1000, rel=1e-3)
    assert pixel_weight(faint) > 10 * pixel_weight(strong)
    assert pixel_weight(torch.full((5, 1, 8, 8), 7, dtype=torch.uint8)) == 50  # nothing varies


def test_another_discovery_in_the_folder_is_refused_by_name(pictures: Pictures, tmp_path: Path) -> None:
    search(pictures, tmp_path)._save()
    with pytest.raises(InputError, match="holds another discovery: settings differ"):
        search(pictures, tmp_path, latents=4)
    with pytest.raises(InputError, match="strengths differ"):
        search(pictures, tmp_path, (1.0, 3.0))


def test_a_damaged_record_is_named(pictures: Pictures, tmp_path: Path) -> None:
    search(pictures, tmp_path)._save()
    path = tmp_path / "discovery.json"
    path.write_text(path.read_text().replace('"stages": []', '"stages": [{"steps": "x"}]'))
    with pytest.raises(InputError, match="cannot be read as a discovery"):
        search(pictures, tmp_path)
