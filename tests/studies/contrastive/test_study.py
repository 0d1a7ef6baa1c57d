"""The contrastive study's scales and jobs, run for real at the smallest scale; rotations with known answers."""

from __future__ import annotations

import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pytest

from unbraid.errors import InputError
from unbraid.jobs.agreement import Udr
from unbraid.jobs.engines.inline import InlineExecutor
from unbraid.jobs.job import Job, ordered
from unbraid.jobs.results import read_results
from unbraid.jobs.schedule import run
from unbraid.jobs.study_folder import StudyFolder
from unbraid.jobs.training import Train
from unbraid.report import Figure, Picture, Table, write
from unbraid.studies import open_study
from unbraid.studies.contrastive.analysis import report, table
from unbraid.studies.contrastive.jobs import Probe, Rotate
from unbraid.studies.contrastive.models import Models
from unbraid.studies.contrastive.study import ONLY_MAIN, SETTINGS, jobs

# Scales


@pytest.mark.parametrize(
    ("scale", "models", "rotated", "agreements"), [("paper", 78, 9, 22), ("desk", 174, 24, 22), ("smoke", 26, 3, 2)]
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
    assert by_variant == {"dc_bc": 14 * 6 + 5 * 6, "dc_dl": 10 * 6}
    assert Counter(job.full_settings["positives"] for job in models) == {"joint": 162, "disjoint": 12}
    whole = [job for job in models if job.full_settings["head"] == "whole"]
    assert len(whole) == 4 * 6 + 6 + 2 * 6  # plain, both weights of the Hessian, Hessian with P(Ortho); on dc_dl two
    assert all(job.full_settings["head"] == "whole" for job in models if job.full_settings["lambda_hessian"])
    assert {job.seed for job in models} == set(range(12))
    assert Counter(job.full_settings["ortho_over"] for job in models) == {"pair": 162, "all": 12}
    assert {job.steps for job in models if job.full_settings["positives"] == "disjoint"} == {3600}
    joint = [job for job in models if job.full_settings["positives"] == "joint"]
    assert {(job.data_settings["variant"], job.steps, job.settings["learning_rate"]) for job in joint} == {
        ("dc_bc", 1200, 1e-3), ("dc_dl", 700, 3e-3),
    }  # fmt: skip
    assert sum(job.seconds for job in jobs("desk")) < 2 * 8000  # 130 minutes of two cores by the registry


def test_the_paper_s_models_see_what_its_generator_makes() -> None:
    models = [job for job in jobs("paper") if isinstance(job, Train)]
    assert {job.data_settings["recipe"] for job in models} == {"released"}
    for job in models:
        moved = job.data_settings["variant"] == "dc_bc"  # where location is told, no crop or mirror moves it
        assert (job.full_settings["crop"] < 1, job.full_settings["flip"] > 0) == (moved, moved)
        assert job.full_settings["centred"] == (job.full_settings["positives"] == "disjoint")
    assert (
        min(Counter((job.data_settings["variant"], str(sorted(job.settings.items()))) for job in models).values()) == 3
    )


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
    runs = open_study("contrastive").table(smoke.out).frame
    assert len(runs) == 26
    assert Counter(runs["variant"]) == {"dc_bc": 16, "dc_dl": 10}
    assert set(runs["setting"]) == set(SETTINGS)
    models = Models(table(smoke.out))
    assert models.settings == list(SETTINGS)
    for variant, factors in (("dc_bc", ("digit", "background", "location")), ("dc_dl", ("digit", "location"))):
        for setting in SETTINGS if variant == "dc_bc" else [name for name in SETTINGS if name not in ONLY_MAIN]:
            for inputs in ("r", "r0", "r1") if setting == "supervised" else ("r", "r1", "z", "z0", "z1"):
                for factor in factors:
                    assert 0 <= models.accuracy(variant, setting, inputs, factor)[0] <= 100
            first, second = models.parts(variant, setting, "digit", "r")[:, 0]
            assert models.gap(variant, setting, "digit", "r")[0] == pytest.approx(abs(first - second))
    assert runs["scores.udr.lasso"].notna().sum() == 4  # two settings have more than one seed
    assert table(smoke.out / "jobs").frame.empty
    with pytest.raises(InputError, match="not a folder"):
        table(smoke.out / "nowhere")


def test_probes_are_of_the_factors_that_pairs_share(smoke: Smoke) -> None:
    folder = smoke.first(Probe)
    (scores,) = read_results(folder).scores.values()
    names = [name.rpartition(".")[2] for name in scores if name.startswith("accuracy.r0.")]
    assert names == ["digit", "background", "location"]
    assert [name for name in scores if name.startswith("gap.r.")] == ["gap.r.digit", "gap.r.background"]
    assert {"dci.disentanglement", "dci.completeness", "dci.informativeness"} < set(scores)


def test_the_whole_report_from_the_folder_wherever_it_is(smoke: Smoke, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(smoke.out, moved)
    runs = table(moved)
    sections = report(runs)
    shown = {item.name: item for section in sections for item in section.items if not hasattr(item, "verdict")}
    assert {f"table_{number}" for number in range(1, 10)} < set(shown)
    assert {
        "locations",
        "pairs_dc_bc",
        "pairs_dc_dl",
        "pairs_bc_dl",
        "figure_5",
        "gaps",
        "measures",
        "rotated",
        "third_factor",
    } < set(shown)
    assert isinstance(shown["pairs_dc_bc"], Picture)
    assert isinstance(shown["figure_5"], Figure)
    turned = shown["rotated"]
    assert isinstance(turned, Table)
    # settings as trained; codes of plain ones, rotations and groups: two plain settings on dc_bc, one on dc_dl
    assert len(turned.frame) == 14 - 2 + 10 - 1 + 3 * 2 * 7
    page = write("smoke", sections, runs.frame.iloc[:0], tmp_path / "report", 0)
    assert "Figure 5" in page.read_text()


def test_what_cannot_be_read_is_left_out(smoke: Smoke, tmp_path: Path) -> None:
    moved = tmp_path / "moved"
    shutil.copytree(smoke.out, moved)
    for path in moved.glob("jobs/*/results.json"):
        path.write_text("{half")
    runs = table(moved)
    assert "scores.accuracy.z.digit" not in runs.frame
    assert not runs.tables
    assert len(runs.faults) > 26
    for path in moved.glob("jobs/contrastive-*/config.json"):
        path.write_text("{half")
    sections = report(table(moved))
    assert all("Nothing to show" in section.text for section in sections[1:])


def test_agreement_takes_two_models(smoke: Smoke, tmp_path: Path) -> None:
    job = next(job for job in smoke.jobs if isinstance(job, Udr))
    folders = [StudyFolder(smoke.out).folder(model) for model in job.models]
    job.execute(tmp_path, folders)
    assert set(read_results(tmp_path).scores) == {model.id for model in job.models}
    with pytest.raises(InputError, match="udr compares models with each other; 1 of 1 are done"):
        replace(job, models=job.models[:1]).execute(tmp_path, folders[:1])


def test_a_log_has_both_terms_of_figure_5(smoke: Smoke) -> None:
    logs = table(smoke.out).tables["logs"]
    log = logs[(logs["variant"] == "dc_bc") & (logs["setting"] == "info_min 0.1")]
    assert log["step"].tolist() == [2, 4]
    assert {"sub_info_max", "info_min"} < set(log)
