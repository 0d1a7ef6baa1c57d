"""Every method, data set and metric has a name, and every score of a method its direction."""

from __future__ import annotations

import numpy as np
import pytest

from unbraid.data import CATALOGUE
from unbraid.methods import METHODS as LEARNERS
from unbraid.metrics import METRICS as SCORES
from unbraid.metrics import dci, infomec
from unbraid.pictures import names


def test_every_method_and_data_set_has_a_name() -> None:
    assert set(names.METHODS) == set(LEARNERS)
    assert {name.removesuffix("_official") for name in CATALOGUE} == set(names.DATA)


def test_every_metric_that_judges_codes_by_factors_has_a_direction() -> None:
    keys = {key.split(".")[0] for key in names.METRICS}
    several = {"downstream", "probes", "retrieved_factors"}  # their scores are many: by learner, factor and code
    assert set(SCORES) - several <= keys
    codes = np.random.default_rng(0).normal(size=(300, 2))
    factors = (codes > 0).astype(int)
    for metric, found in (("dci", dci(codes, factors)), ("infomec", infomec(codes, factors))):
        assert {f"{metric}.{score}" for score in found} <= set(names.METRICS)


def test_names_are_those_of_the_papers() -> None:
    assert names.method_name("beta_tc_vae") == "β-TCVAE"
    assert names.method_name("my_own") == "my_own"
    assert names.method_name("autoencoder", long=True) == "autoencoder"
    assert names.data_name("shapes3d_official") == "Shapes3D (official)"
    assert names.data_name("my_own") == "my_own"
    assert names.metric_name("scores.dci.disentanglement") == names.metric_name("dci.disentanglement") == "DCI"
    assert names.metric_name("dci.disentanglement", long=True) == "DCI disentanglement"
    assert names.metric_names("mig", "scores.sap") == {"scores.mig": "MIG", "scores.sap": "SAP"}


@pytest.mark.parametrize(
    ("metric", "way"),
    [("mig", "higher"), ("scores.kl", "neither"), ("scores.reconstruction", "lower"), ("my_own", "neither")],
)
def test_which_way_is_better(metric: str, way: str) -> None:
    assert names.better(metric) == way


def test_what_people_look_at_first_is_better_when_higher() -> None:
    assert {names.better(metric) for metric in names.PRINCIPAL} == {"higher"}


def test_data_sets_stand_in_the_papers_order() -> None:
    assert names.data_order(["zebra", "shapes3d", "dsprites", "apple", "shapes3d"]) == [
        "dsprites", "shapes3d", "apple", "zebra"
    ]  # fmt: skip


def test_no_two_share_a_short_name() -> None:
    for table in (names.METHODS, names.DATA, names.METRICS):
        short = [name.short for name in table.values()]
        assert len(short) == len(set(short))
