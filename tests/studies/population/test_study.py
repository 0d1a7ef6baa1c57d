from __future__ import annotations

import dataclasses
import json

import pytest

from unbraid.errors import InputError
from unbraid.jobs.job import ordered
from unbraid.jobs.training import Train
from unbraid.search.spaces import check_space
from unbraid.studies import open_study
from unbraid.studies.population.jobs import Evolve, Recursive
from unbraid.studies.population.models import BY_DCI, BY_FEW, BY_MIG, CHOSEN_FEW, SEARCH_FEW
from unbraid.studies.population.study import SCALES, SIX, jobs


@pytest.mark.parametrize("scale", SCALES)
def test_jobs_are_different_from_each_other_and_the_same_every_time(scale: str) -> None:
    plan = jobs(scale)
    assert len(ordered(plan)) == len(plan) == len({job.id for job in plan})
    assert [job.id for job in jobs(scale)] == [job.id for job in plan]


def test_an_unknown_scale_is_named() -> None:
    with pytest.raises(InputError, match=r"there is no scale 'dek'.*desk"):
        jobs("dek")


def test_the_papers_scale_is_the_papers() -> None:
    plan = jobs("paper")
    recursions = [job for job in plan if isinstance(job, Recursive)]
    assert {(job.base.data, job.config.seed) for job in recursions} == {
        (data, seed) for data in ("dsprites", "shapes3d_official") for seed in range(5)
    }
    assert {(job.config.population.size, job.config.final.size, job.config.leaf_runs) for job in recursions} == {
        (56, 28, 3)
    }
    assert {job.config.final.founders for job in recursions} == {56}, "the released code keeps half of 56"
    assert {job.base.settings["network"] for job in recursions} == {"population"}
    assert sum(isinstance(job, Train) and job.method in SIX for job in plan) == 2 * 6 * 6 * 50
    by_mig = [job for job in plan if isinstance(job, Evolve) and job.approach == BY_MIG]
    assert {(job.population.founders, job.population.size, job.population.generations) for job in by_mig} == {
        (56, 28, 26)
    }
    single = next(job for job in plan if isinstance(job, Train))
    assert (single.full_settings["learning_rate"], single.full_settings["batch_size"]) == (1e-4, 64)
    few = [job.score.labels for job in plan if isinstance(job, Evolve) and job.approach == BY_FEW]
    assert few == [1000] * 5


@pytest.mark.parametrize("scale", ["desk", "smoke"])
def test_what_is_compared_at_the_same_budget_has_it(scale: str) -> None:
    chosen = SCALES[scale]
    populations = [job for job in jobs(scale) if isinstance(job, Evolve)]
    spent = {job.approach: job.population.member_generations * (job.population.images or 0) for job in populations}
    assert set(spent) == {BY_MIG, BY_DCI, BY_FEW, CHOSEN_FEW, SEARCH_FEW}
    assert len(set(spent.values())) == 1
    for job in jobs(scale):
        if isinstance(job, Train):  # the unequal comparison: as many images as one member
            assert job.steps * job.full_settings["batch_size"] == pytest.approx(chosen.images, rel=0.01)


def test_populations_of_one_seed_begin_alike() -> None:
    by_seed: dict[int, set[str]] = {}
    for job in jobs("desk"):
        if isinstance(job, Evolve) and job.approach != SEARCH_FEW:
            told = (job.population.size, job.population.seed, sorted(job.population.space or {}))
            by_seed.setdefault(job.population.seed, set()).add(str(told))
    assert {len(kinds) for kinds in by_seed.values()} == {1}


def test_settings_of_the_desk_are_ones_the_methods_take() -> None:
    for job in jobs("desk"):
        if isinstance(job, Evolve):
            check_space(job.base.method, job.population.space or {}, job.base.settings)
        elif isinstance(job, Recursive):
            for config in (job.config.population, job.config.final):
                check_space(job.base.method, config.space or {}, job.base.settings)
        elif isinstance(job, Train):
            assert (job.full_settings["latents"], job.full_settings["pixel_weight"]) == (10, 4.0)


def test_baselines_draw_from_the_start_values_of_the_populations() -> None:
    space = SCALES["desk"].space or {}
    single = [job for job in jobs("desk") if isinstance(job, Train)]
    for name in ("learning_rate", "batch_size"):
        assert {job.settings[name] for job in single} == set(space[name].start)
    for job in single:
        if job.method == "annealed_vae":
            assert job.settings["threshold"] == job.steps // 3
        if job.method == "factor_vae":
            assert job.settings["discriminator_learning_rate"] == job.settings["learning_rate"]


def test_the_desk_run_fits_three_hours_on_two_cores() -> None:
    seconds = [job.seconds for job in ordered(jobs("desk"))]
    assert max(seconds) < sum(seconds) / 2, "so that two cores share it"
    assert sum(seconds) / 2 < 3 * 3_600


def test_where_a_population_lives_is_no_part_of_what_it_is() -> None:
    first = next(job for job in jobs("smoke") if isinstance(job, Evolve))
    other = dataclasses.replace(first, population=dataclasses.replace(first.population, seed=7))
    assert first.id != other.id
    assert "/" not in json.dumps(first.content()["base"]["data_settings"])


def test_it_is_a_study_of_the_command_line() -> None:
    study = open_study("population")
    assert set(study.scales()) == {"smoke", "desk", "paper"}
    assert "rPU-VAE" in study.title
