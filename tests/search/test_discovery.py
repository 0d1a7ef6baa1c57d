"""Discovery: what models agree on, which continue, and what is left when it is stopped."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from tests.examples.toy_jobs import Now
from unbraid.data import load
from unbraid.data.sets.image_folder import Pictures
from unbraid.errors import InputError
from unbraid.runs.run import Run
from unbraid.search import discovery
from unbraid.search.discovery import Discovery, Factor, Member, Model, Search, Setup, Stage, agreement, trust

RNG = np.random.default_rng(0)
SHARED = RNG.normal(size=(400, 3))


def model(codes: np.ndarray, kl: list[float], seed: int = 0) -> Model:
    return Model(Member(4.0, seed), Run(Path("nowhere")), codes, np.array(kl))


def test_models_with_the_same_latents_share_all_of_them() -> None:
    models = [model(SHARED, [2, 2, 2]), model(-(SHARED[:, [2, 0, 1]] ** 3), [2, 2, 2], 1), model(SHARED, [2, 2, 2], 2)]
    assert agreement(models) == pytest.approx([3, 3, 3], abs=0.5)  # chance correlations take a little


def test_a_model_that_found_one_factor_does_not_outrank_one_that_found_three() -> None:
    one = model(np.column_stack([SHARED[:, 0], np.zeros((400, 2))]), [2, 0, 0])
    three = [model(SHARED, [2, 2, 2], seed) for seed in (1, 2, 3)]
    scores = agreement([one, *three])
    assert scores[0] == pytest.approx(1, abs=0.2)
    assert min(scores[1:]) > 2


def test_a_rotated_model_shares_less() -> None:
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
    models = [model(SHARED, [2, 2, 2]), model(SHARED, [2, 2, 2], 1), model(SHARED @ turn, [2, 2, 2], 2)]
    assert agreement(models)[2] < agreement(models)[0] - 0.3


def test_trust_is_the_median_rank_correlation_with_the_most_similar_latent() -> None:
    other = np.column_stack([np.exp(SHARED[:, 1]), np.random.default_rng(2).normal(size=400), SHARED[:, 0]])
    found = trust(model(SHARED, [3, 2, 1]), [model(other, [1, 1, 1], 1)])
    by_latent = {factor.latent: factor for factor in found}
    assert [by_latent[0].trust, by_latent[1].trust] == pytest.approx([1, 1])  # rank correlation: exp changes nothing
    assert by_latent[2].trust < 0.2
    assert [factor.latent for factor in found][-1] == 2
    assert [factor.trusted for factor in found] == [True, True, False]


def test_a_latent_that_says_nothing_is_no_factor() -> None:
    found = trust(model(SHARED, [3, 0.05, 2]), [model(SHARED, [3, 3, 3], 1)])
    assert {factor.latent for factor in found} == {0, 2}


def found(factors: list[Factor], **given: Any) -> Discovery:
    facts = {"models": 8, "steps": 100, "improving": 0.0, "seconds": 60.0, "pictures": 3000, **given}
    return Discovery(Run(Path("nowhere")), Member(4.0, 0), factors, **facts)


def test_the_result_says_what_stands_against_it() -> None:
    good = Factor(0, 2.0, 0.9)
    assert found([good]).advice() == []
    assert "No factor" in found([Factor(0, 2.0, 0.3)]).advice()[0]
    assert "more minutes" in found([good], improving=0.1).advice()[0]
    assert "are few" in found([good], pictures=100).advice()[0]
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
    monkeypatch.setattr(discovery, "measure_speed", lambda *_: 0.002)


def search(pictures: Pictures, out: Path, strengths: tuple[float, ...] = (1.0, 2.0), **settings: Any) -> Search:
    assert pictures.opened is not None
    own = {"network": "small", "latents": 3, "batch_size": 8, "learning_rate": 1e-3, **settings}
    return Search(Setup(pictures.opened, own, strengths=strengths), pictures, out)


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
def test_used_time_is_not_used_again(pictures: Pictures, tmp_path: Path) -> None:
    first = search(pictures, tmp_path)
    first.run(0.02, Now(), 1)
    stages = list(first.stages)
    first.run(0.02, Now(), 1)
    assert first.stages == stages


@pytest.mark.usefixtures("quick")
def test_strengths_whose_models_agree_least_are_dropped(
    pictures: Pictures, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one = search(pictures, tmp_path, (1.0, 2.0, 4.0, 8.0))
    one.stages = [Stage(100, tuple(one.setup.members))]
    models = [
        Model(
            member,
            Run(tmp_path),
            SHARED[:, : 3 if member.strength == 4 else 2 if member.strength == 1 else 1],
            np.full(3 if member.strength == 4 else 2 if member.strength == 1 else 1, 2.0),
        )
        for member in one.setup.members
    ]
    monkeypatch.setattr(one, "latest", lambda: models)
    assert one._continuing(0.1) == one.stages[0].members
    assert {member.strength for member in one._continuing(0.4)} == {1.0, 4.0}
    assert {member.strength for member in one._continuing(0.7)} == {4.0}


def test_another_discovery_in_the_folder_is_refused_by_name(pictures: Pictures, tmp_path: Path) -> None:
    search(pictures, tmp_path)
    with pytest.raises(InputError, match="holds another discovery: settings differ"):
        search(pictures, tmp_path, latents=4)
    with pytest.raises(InputError, match="strengths differ"):
        search(pictures, tmp_path, (1.0, 3.0))


def test_a_damaged_record_is_named(pictures: Pictures, tmp_path: Path) -> None:
    search(pictures, tmp_path)
    path = tmp_path / "discovery.json"
    path.write_text(path.read_text().replace('"stages": []', '"stages": [{"steps": "x"}]'))
    with pytest.raises(InputError, match="cannot be read as a discovery"):
        search(pictures, tmp_path)
