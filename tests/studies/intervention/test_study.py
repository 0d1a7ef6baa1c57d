"""The jobs of the intervention study: which there are at each scale, and the paper's settings."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from unbraid.errors import InputError
from unbraid.jobs.job import ordered
from unbraid.methods import Spec, build
from unbraid.methods.intervention import Intervention
from unbraid.studies.intervention.jobs import Examine, Tuned
from unbraid.studies.intervention.study import ABLATIONS, APPENDIX_C, SCALES, jobs

COUNTS = {"paper": 1516, "desk": 408, "more": 124, "smoke": 58}


@pytest.mark.parametrize("scale", SCALES)
def test_jobs_are_counted_and_all_different(scale: str) -> None:
    plan = ordered(jobs(scale))
    assert len(plan) == len({job.id for job in plan}) == COUNTS[scale]
    assert len([job for job in plan if isinstance(job, Examine)]) == len(jobs(scale))


def of(scale: str, data: str) -> Counter[tuple[str, bool]]:
    """How many models of each method a data set has, by whether its factors are correlated."""
    models = [job.model for job in jobs(scale) if isinstance(job, Examine) and job.model.data == data]
    names = [f"{'tuned ' * isinstance(model, Tuned)}{model.method}" for model in models]
    return Counter((name, "correlated" in one.data_settings) for name, one in zip(names, models, strict=True))


def test_the_desk_has_seven_seeds_of_every_model_of_tables_1_and_2() -> None:
    for data in ("dsprites", "shapes3d"):
        found = of("desk", data)
        for correlated in (False, True):
            assert found["beta_tc_vae", correlated] == 7
            assert found["factor_vae", correlated] == 2 * 7 + 2 * 7  # two of the tables, two more of figure 3
        assert found["tuned intervention", False] == 7
        assert found["tuned intervention", True] == 7 + 2 * 7  # two other targets of the difficulty
        assert found["intervention", True] == 4  # candidates
        assert not any(method == "infogan_cr" for method, _ in found)
    assert sum(job.seconds for job in ordered(jobs("desk"))) < 2 * 12_600  # three and a half hours of two cores


def test_more_has_what_the_desk_leaves_out() -> None:
    assert of("more", "dsprites")["tuned intervention", True] == 3 + 3 * len(ABLATIONS)
    assert of("more", "dsprites")["ada_gvae", True] == of("more", "dsprites")["factorized_support", True] == 3
    assert of("more", "cmnist") == {
        ("factor_vae", False): 6, ("factor_vae", True): 6, ("intervention", True): 4,
        ("tuned intervention", False): 3, ("tuned intervention", True): 3,
    }  # fmt: skip


def test_both_training_sets_have_the_same_size_and_the_same_rows_held_out() -> None:
    for entry in SCALES["desk"].data:
        trained = [
            job.model for job in jobs("desk") if isinstance(job, Examine)
            and job.model.data == entry.name and job.model.method == "factor_vae"
        ]  # fmt: skip
        kept = {
            json.dumps({name: value for name, value in model.data_settings.items() if "correlat" not in name})
            for model in trained
        }
        assert len(kept) == 1
        assert "draws" in kept.pop()


def test_there_is_no_such_scale() -> None:
    with pytest.raises(InputError, match="there is no scale 'desc'; did you mean 'desk'"):
        jobs("desc")


@pytest.mark.parametrize(
    ("name", "side", "features", "dimensions", "weights"),
    [
        ("dsprites", 64, 10, 1, (0.25, 10.0)),
        ("shapes3d", 64, 10, 1, (0.25, 10.0)),
        ("cmnist", 28, 2, 16, (1.0, 10.0)),
        ("flowers102", 64, 3, 16, (1.0, 100.0)),
    ],
)
def test_appendix_c(name: str, side: int, features: int, dimensions: int, weights: tuple[float, float]) -> None:
    method = build("intervention", Spec((3, side, side), 100), APPENDIX_C[name])
    assert isinstance(method, Intervention)
    assert method.features == features
    assert method.config.dimensions == dimensions
    assert (method.hp["lambda_1"], method.hp["lambda_2"], method.hp["lambda_3"]) == (*weights, 1.0)
    rates = [method.hp[rate] for rate in ("learning_rate", "discriminator_learning_rate", "weight_learning_rate")]
    assert rates == [1e-4, 1e-4, 1e-5]
    assert method.hp["batch_size"] == 64
