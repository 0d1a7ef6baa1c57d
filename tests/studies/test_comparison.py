"""The study behind `unbraid compare`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from unbraid.errors import InputError
from unbraid.jobs.choice import Chosen
from unbraid.jobs.training import Train
from unbraid.methods import METHODS, method_class
from unbraid.studies.assumptions.strengths import STRENGTHS
from unbraid.studies.comparison import STARTED, Comparison, Forecast, Speed, read_plan, sweep, typed, write_plan

PLAN = Comparison(("beta_tc_vae", "factor_vae", "autoencoder"), ("dsprites", "shapes3d"), steps=300)


def test_the_sweeps_of_methods_are_the_papers() -> None:
    for name, (setting, values) in STRENGTHS.items():
        assert METHODS[name].strength[0] == setting
        assert METHODS[name].sweep == values


def test_a_sweep_is_thinned_out_evenly() -> None:
    assert sweep(METHODS["beta_vae"], 3) == ("beta", (1.0, 4.0, 16.0))
    assert sweep(METHODS["beta_vae"], 99) == ("beta", (1.0, 2.0, 4.0, 6.0, 8.0, 16.0))
    assert sweep(METHODS["beta_vae"], 1) == ("beta", (6.0,))


def test_a_method_without_a_sweep_has_a_quarter_and_four_times_its_default() -> None:
    assert METHODS["factorized_support"].sweep == ()
    assert sweep(METHODS["factorized_support"], 3) == ("gamma", (2.5, 10.0, 40.0))
    assert sweep(METHODS["autoencoder"], 3) == (None, ())


def test_all_methods_are_trained_alike() -> None:
    jobs = [job for job in PLAN.jobs() if isinstance(job, Train)]
    assert len(jobs) == len(PLAN.jobs()) == 2 * (2 * (3 * 2 + 5) + 5)
    shared = ("network", "learning_rate", "batch_size", "latents", "pixel_weight")
    assert len({(job.steps, job.resolution, *(job.full_settings[name] for name in shared)) for job in jobs}) == 1
    assert jobs[0].full_settings["pixel_weight"] == 4.0
    chosen = [job for job in jobs if isinstance(job, Chosen)]
    assert {job.seed for job in chosen} == {2, 3, 4, 5, 6}
    assert {candidate.seed for job in chosen for candidate in job.candidates} == {0, 1}, "no seed chooses and compares"
    assert {job.seed for job in jobs if job.method == "autoencoder"} == {2, 3, 4, 5, 6}


def test_a_setting_that_a_method_lacks_is_named() -> None:
    assert PLAN.lacking() == {}
    random = replace(PLAN, methods=("beta_vae", "random_encoder"), settings={"likelihood": "gaussian"})
    assert "likelihood" in random.lacking()["random_encoder"]


def test_the_steps_are_those_that_fit() -> None:
    speeds = {(method, data): Speed(0.01, 2.0) for method in PLAN.methods for data in PLAN.data}
    forecast = Forecast(speeds, workers=2)
    jobs = PLAN.jobs()
    assert forecast.seconds(jobs) == pytest.approx(len(jobs) * (300 * 0.01 + 2) / 2 + 30)
    steps = forecast.steps(PLAN, 30)
    assert steps == 5600  # (0.9 · 1800 - 30 - 54 · 2 / 2) / (54 · 0.01 / 2) = 5689, to two digits
    assert forecast.seconds(replace(PLAN, steps=steps).jobs()) <= 0.9 * 30 * 60
    with pytest.raises(InputError, match="1 minutes are too few for 54 models; 1,000 steps of each take about 7"):
        forecast.steps(PLAN, 1)


def test_measuring_takes_longer_with_more_to_measure_and_to_score() -> None:
    alone = Forecast.duration(PLAN, 1)
    assert alone == pytest.approx(2 * Forecast.duration(PLAN, 2) - STARTED)
    assert Forecast.duration(replace(PLAN, data=PLAN.data[:1]), 1) < alone
    assert Forecast.duration(replace(PLAN, protocol={"mig": {}}), 1) < alone


def test_a_plan_is_kept_in_its_folder(tmp_path: Path) -> None:
    plan = replace(PLAN, settings={"batch_size": 8}, protocol={"mig": {}})
    write_plan(tmp_path / "new", plan)
    assert read_plan(tmp_path / "new") == plan


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"methods": ("beta_vae",)}, "expected at least one other"),
        ({"methods": ("beta_vae", "beta_vae")}, "the method 'beta_vae' is given twice"),
        ({"data": ()}, "there is no data set"),
        ({"seeds": 0}, "seeds is 0; expected at least 1"),
        ({"baseline": "vae"}, "the baseline 'vae' is not compared"),
        ({"protocol": "dlibb"}, "there is no protocol 'dlibb'"),
    ],
)
def test_what_cannot_be_compared_is_refused(changes: dict[str, object], words: str) -> None:
    with pytest.raises(InputError, match=words):
        replace(PLAN, **changes)  # type: ignore[arg-type]


def test_settings_have_the_type_that_a_method_says() -> None:
    methods = ("beta_vae", "factor_vae")
    given = {"batch_size": "8", "learning_rate": "1e-3", "network": "tiny", "discriminator_layers": "2"}
    assert typed(methods, given) == {
        "batch_size": 8, "learning_rate": 1e-3, "network": "tiny", "discriminator_layers": 2,
    }  # fmt: skip
    with pytest.raises(InputError, match="none of the methods has a setting 'gama'"):
        typed(methods, {"gama": "1"})
    with pytest.raises(InputError, match="batch_size is 'many'; expected a whole number"):
        typed(methods, {"batch_size": "many"})


def test_every_declared_sweep_is_allowed() -> None:
    for name in METHODS:
        method = method_class(name)
        if method.sweep:
            assert len(sweep(method, 99)[1]) == len(method.sweep), name


MINE = """
from dataclasses import dataclass

from unbraid.methods import setting
from unbraid.methods.vae import VAE, AutoencoderConfig


@dataclass(frozen=True)
class Config(AutoencoderConfig):
    alpha: float = setting(0.1, "weight of the means' size", low=0, high=0.2, live=True)


class L1VAE(VAE):
    config_class = Config
    strength = ("alpha",)

    def loss(self, q, reconstruction):
        kl = q.kl()
        return {"loss": reconstruction + kl + self.hp["alpha"] * q.mean.abs().sum(1).mean(), "kl": kl}
"""


def test_ones_own_method_goes_where_a_name_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    monkeypatch.chdir(tmp_path)
    plan = replace(PLAN, methods=("mine.py:L1VAE", "beta_vae"), baseline="L1VAE")
    assert plan.title == "L1VAE against β-VAE"
    assert plan.methods[0].startswith("mine.py:L1VAE@"), "with a digest of the file"
    assert plan.baseline == plan.methods[0]
    assert len(plan.code) == 1
    assert plan.lacking() == {}
    assert {job.method for job in plan.jobs() if isinstance(job, Train)} == set(plan.methods)
    assert sweep(method_class(plan.methods[0]), 3) == ("alpha", (0.025, 0.1)), "four times the default is not allowed"
    write_plan(tmp_path / "out", plan)
    assert read_plan(tmp_path / "out") == plan
    (tmp_path / "mine.py").write_text(MINE.replace("reconstruction + kl", "reconstruction + 2 * kl"))
    changed = replace(PLAN, methods=("mine.py:L1VAE", "beta_vae"))
    assert changed.code != plan.code
    assert {job.id for job in changed.jobs()} & {job.id for job in plan.jobs()} == {
        job.id for job in plan.jobs() if isinstance(job, Train) and job.method == "beta_vae"
    }, "the other method is not trained again"
