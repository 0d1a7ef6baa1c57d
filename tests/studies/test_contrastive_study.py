"""The contrastive study's scales and jobs, run for real at the smallest scale; rotations with known answers."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from unbraid.errors import InputError
from unbraid.jobs.agreement import Udr
from unbraid.jobs.engines.inline import InlineExecutor
from unbraid.jobs.folder import StudyFolder
from unbraid.jobs.job import Job, ordered
from unbraid.jobs.schedule import run
from unbraid.jobs.training import Train
from unbraid.metrics import probes
from unbraid.report import Figure, Picture, Table, write
from unbraid.runs.run import Run
from unbraid.studies import open_study
from unbraid.studies.contrastive.jobs import Probe, Rotate
from unbraid.studies.contrastive.models import Models, rotations, table
from unbraid.studies.contrastive.report import report
from unbraid.studies.contrastive.rotations import ROTATIONS, Array, by_dependence, by_labels, ica, varimax_turn
from unbraid.studies.contrastive.study import SETTINGS, jobs

# Scales


@pytest.mark.parametrize(
    ("scale", "models", "rotated", "agreements"), [("paper", 34, 4, 2), ("desk", 78, 12, 22), ("smoke", 26, 4, 2)]
)
def test_jobs_of_each_scale(scale: str, models: int, rotated: int, agreements: int) -> None:
    found = jobs(scale)
    assert len({job.id for job in found}) == len(found) == len(ordered(found))
    counts = Counter(type(job) for job in found)
    assert counts == {Train: models, Probe: models, Rotate: rotated, Udr: agreements}
    assert [job.id for job in jobs(scale)] == [job.id for job in found]


def test_what_the_models_of_the_desk_are() -> None:
    models = [job for job in jobs("desk") if isinstance(job, Train)]
    by_variant = Counter(str(job.data_settings["variant"]) for job in models)
    assert by_variant == {"dc_bc": 12 * 3 + 2 * 3, "dc_dl": 12 * 3}
    assert Counter(job.full_settings["positives"] for job in models) == {"joint": 72, "disjoint": 6}
    whole = [job for job in models if job.full_settings["head"] == "whole"]
    assert len(whole) == 4 * 3 * 2 + 3  # plain, both weights of the Hessian, Hessian with P(Ortho)
    assert all(job.full_settings["head"] == "whole" for job in models if job.full_settings["lambda_hessian"])
    assert {job.seed for job in models} == set(range(6))
    assert sum(job.seconds for job in jobs("desk")) < 2 * 5400 * 1.2  # 90 minutes of two cores, or little more


def test_how_often_a_log_is_written_is_no_part_of_a_job_s_id() -> None:
    first = jobs("smoke")[0]
    assert isinstance(first, Train)
    assert replace(first, every=1).id == first.id != replace(first, steps=5).id


def test_an_unknown_scale_is_refused() -> None:
    with pytest.raises(InputError, match="there is no scale 'dusk'; did you mean 'desk'"):
        jobs("dusk")


# The smallest scale, for real


class Smoke(NamedTuple):
    out: Path
    jobs: list[Job]

    def first(self, kind: type[Job]) -> Path:
        return StudyFolder(self.out).folder(next(job for job in self.jobs if isinstance(job, kind)))


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Smoke:
    out, plan = tmp_path_factory.mktemp("study"), jobs("smoke")
    StudyFolder(out).begin("contrastive", "smoke", plan)
    assert run(plan, out, executor=InlineExecutor(), workers=1).states == {"done": len(plan)}
    return Smoke(out, plan)


def test_a_table_has_every_setting_with_its_probes(smoke: Smoke) -> None:
    runs = open_study("contrastive").table(smoke.out)
    assert len(runs) == 26
    assert Counter(runs["variant"]) == {"dc_bc": 14, "dc_dl": 12}
    assert set(runs["setting"]) == set(SETTINGS)
    models = Models.of(runs)
    assert models.settings == list(SETTINGS)
    for variant, factors in (("dc_bc", ("digit", "background", "location")), ("dc_dl", ("digit", "location"))):
        for setting in SETTINGS:
            for inputs in ("r", "r0", "r1") if setting == "supervised" else ("r", "r1", "z", "z0", "z1"):
                for factor in factors:
                    assert 0 <= models.accuracy(variant, setting, inputs, factor)[0] <= 100
            first, second = models.parts(variant, setting, "digit", "r")[:, 0]
            assert models.gap(variant, setting, "digit", "r")[0] == pytest.approx(abs(first - second))
    assert runs["scores.udr.lasso"].notna().sum() == 4  # two settings have more than one seed
    assert table(smoke.out / "jobs").empty
    with pytest.raises(InputError, match="no folder"):
        table(smoke.out / "nowhere")


def test_probes_are_of_the_factors_that_pairs_share(smoke: Smoke) -> None:
    folder = smoke.first(Probe)
    found = json.loads((folder / "probes.json").read_text())
    assert list(found["accuracy"]["r0"]) == ["digit", "background", "location"]
    assert list(found["gap"]["r"]) == ["digit", "background"]
    assert set(found["dci"]) == {"disentanglement", "completeness", "informativeness"}


def test_the_whole_report_from_the_folder_wherever_it_is(smoke: Smoke, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(smoke.out, moved)
    runs = table(moved)
    runs["run"] = "gone/" + runs["run"].map(lambda run: Path(run).name)
    sections = report(runs, moved)
    shown = {item.name: item for section in sections for item in section.items if not hasattr(item, "verdict")}
    assert {f"table_{number}" for number in range(1, 10)} < set(shown)
    assert {"pairs_dc_bc", "pairs_dc_dl", "figure_5", "gaps", "measures", "rotated", "third_factor"} < set(shown)
    assert isinstance(shown["pairs_dc_bc"], Picture)
    assert isinstance(shown["figure_5"], Figure)
    turned = shown["rotated"]
    assert isinstance(turned, Table)
    assert len(turned.frame) == 2 * (10 + 2 * 2 * 7)  # settings as trained; codes of plain ones, rotations and groups
    page = write("smoke", sections, runs.iloc[:0], tmp_path / "report", 0)
    assert "Figure 5" in page.read_text()


def test_what_cannot_be_read_is_left_out(smoke: Smoke, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(smoke.out, moved)
    for path in moved.glob("jobs/*/probes.json"):
        path.write_text("{half")
    for path in moved.glob("jobs/*/rotations.json"):
        path.write_text("[]")
    runs = table(moved)
    assert "scores.accuracy.z.digit" not in runs
    assert rotations(moved, runs).empty
    for path in moved.glob("jobs/contrastive-*/config.json"):
        path.write_text("{half")
    sections = report(table(moved), moved)
    assert all("Nothing to show" in section.text for section in sections[1:])


def test_agreement_takes_two_models(smoke: Smoke, tmp_path: Path) -> None:
    job = next(job for job in smoke.jobs if isinstance(job, Udr))
    folders = [StudyFolder(smoke.out).folder(model) for model in job.models]
    job.execute(tmp_path, folders)
    scores = json.loads((tmp_path / "udr.json").read_text())
    assert set(scores) == {folder.name for folder in folders}
    with pytest.raises(InputError, match="udr compares models with each other; 1 of 1 are done"):
        job.execute(tmp_path, folders[:1])


def test_a_log_has_both_terms_of_figure_5(smoke: Smoke) -> None:
    models = Models.of(table(smoke.out))
    (run_folder,) = models.all_of("dc_bc", "info_min 0.1")["run"]
    log = Run(run_folder).log()
    assert log["step"].tolist() == [2, 4]
    assert {"sub_info_max", "info_min"} < set(log)


# Rotations


def sources(seed: int = 0, rows: int = 4000) -> Array:
    return np.random.default_rng(seed).laplace(size=(rows, 4))


def test_ica_finds_independent_sources() -> None:
    hidden = sources()
    mixing = np.random.default_rng(1).normal(size=(4, 4))
    turn = ica(hidden @ mixing)
    fresh = sources(2)
    found = np.abs(np.corrcoef(turn(fresh @ mixing).T, fresh.T)[:4, 4:])
    assert (found.max(0) > 0.99).all()
    assert sorted(found.argmax(0)) == [0, 1, 2, 3]  # each its own


def test_directions_without_variance_are_left_out() -> None:
    codes = sources() @ np.random.default_rng(1).normal(size=(4, 7))  # of rank 4
    for name in ("ICA", "varimax"):
        turned = ROTATIONS[name](codes)(codes)
        assert turned.shape == (4000, 4)
        assert np.cov(turned.T) == pytest.approx(np.eye(4), abs=0.02)


def test_varimax_finds_the_axes_of_sparse_loadings() -> None:
    loadings = np.kron(np.eye(3), np.ones((4, 1))) * np.linspace(1, 2, 12)[:, None]
    rotation, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))
    turn = varimax_turn(loadings @ rotation)
    assert turn @ turn.T == pytest.approx(np.eye(3))
    found = np.abs(loadings @ rotation @ turn)
    assert np.sort(found, axis=1)[:, :2] == pytest.approx(np.zeros((12, 2)), abs=1e-4)


def grouped(rows: int = 6000) -> tuple[Array, Array]:
    """Two factors of ten values, each a point in a space of its own of four dimensions, with little noise."""
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 10, (rows, 2))
    points = rng.normal(size=(2, 10, 4))
    codes = np.concatenate([points[k][factors[:, k]] for k in range(2)], 1)
    return codes + 0.05 * rng.normal(size=codes.shape), factors


def test_dimensions_that_depend_on_each_other_stay_together() -> None:
    codes, factors = grouped()
    mixed = codes[:, [0, 4, 1, 5, 2, 6, 3, 7]]
    assert by_dependence(mixed) == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert by_labels(mixed, factors) == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert by_labels(mixed[:, [1, 0]], factors) == [[1], [0]]


def test_no_group_is_empty() -> None:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 4, (2000, 2))
    codes = factors[:, :1] + 0.1 * rng.normal(size=(2000, 3))  # all of the first factor
    groups = by_labels(codes, factors)
    assert sorted(map(len, groups)) == [1, 2]
    assert sorted(place for group in groups for place in group) == [0, 1, 2]
    halves = by_dependence(np.zeros((50, 4)))
    assert sorted(place for half in halves for place in half) == [0, 1, 2, 3]


def test_ica_and_groups_undo_a_rotation() -> None:
    """Codes whose halves tell both factors are set apart again, on rows that the rotation has not seen."""
    codes, factors = grouped()
    rotation, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(8, 8)))
    mixed = codes @ rotation
    before = probes(mixed[:3000], factors[:3000], test=(mixed[3000:], factors[3000:]))
    turn = ica(mixed[:3000])
    train, test = turn(mixed[:3000]), turn(mixed[3000:])
    after = probes(
        train, factors[:3000], test=(test, factors[3000:]), groups=by_labels(train, factors[:3000])
    )  # fmt: skip
    assert before["r"] == after["r"] == 1
    assert after["gap"] > before["gap"] + 0.3
    assert after["diagonal"] == 1
