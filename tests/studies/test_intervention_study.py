"""The jobs of the intervention study: which there are, how λ₁ and λ₂ are chosen, what an examination finds."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.examples.squares import squares
from unbraid.errors import InputError
from unbraid.jobs.engines.inline import InlineExecutor
from unbraid.jobs.folder import StudyFolder
from unbraid.jobs.job import ordered
from unbraid.jobs.schedule import run as run_study
from unbraid.jobs.training import Train
from unbraid.methods import Spec, build
from unbraid.methods.intervention import Intervention
from unbraid.report import Figure, Judged, Picture, Table, write
from unbraid.runs.folder import Folder
from unbraid.runs.run import Run
from unbraid.studies import open_study
from unbraid.studies.intervention.jobs import DIFFICULTY, TRAINED_DIFFICULTY, Examine, Tuned
from unbraid.studies.intervention.models import CANDIDATE, CORRELATED, DIFFICULT, METRICS, OURS, PLAIN, Models
from unbraid.studies.intervention.report import report, table
from unbraid.studies.intervention.study import ABLATIONS, APPENDIX_C, SCALES, jobs
from unbraid.studies.intervention.two_samples import effective_share, two_sample_accuracy

COUNTS = {"paper": 1436, "desk": 276, "smoke": 54}


@pytest.mark.parametrize("scale", SCALES)
def test_jobs_are_counted_and_all_different(scale: str) -> None:
    found = ordered(jobs(scale))
    assert len(found) == len({job.id for job in found}) == COUNTS[scale]
    assert len([job for job in found if isinstance(job, Examine)]) == len(jobs(scale))


def of(scale: str, data: str) -> Counter[tuple[str, bool]]:
    """How many models of each method a data set has, by whether its factors are correlated."""
    models = [job.model for job in jobs(scale) if isinstance(job, Examine)]
    names = [f"{'tuned ' * isinstance(model, Tuned)}{model.method}" for model in models]
    pairs = zip(names, models, strict=True)
    return Counter((name, "correlated" in one.data_settings) for name, one in pairs if one.data == data)


def test_the_desk_has_three_seeds_of_every_model_of_tables_1_to_3() -> None:
    for data in ("dsprites", "shapes3d"):
        found = of("desk", data)
        for correlated in (False, True):
            assert found["beta_tc_vae", correlated] == found["infogan_cr", correlated] == 3
            assert found["factor_vae", correlated] == 4 * 3  # two of the tables, two more of figure 3
        assert found["tuned intervention", False] == 3
        assert found["tuned intervention", True] == 3 + (3 * len(ABLATIONS) if data == "dsprites" else 0)
        assert found["intervention", True] == 4  # candidates
        assert found["ada_gvae", True] == found["factorized_support", True] == 3
        assert found["ada_gvae", False] == 0
    assert of("desk", "cmnist") == {
        ("factor_vae", False): 6, ("factor_vae", True): 6, ("intervention", True): 4,
        ("tuned intervention", False): 3, ("tuned intervention", True): 3,
    }  # fmt: skip


def test_both_training_sets_have_the_same_size_and_the_same_rows_held_out() -> None:
    for entry in SCALES["desk"].data:
        trained = [
            job.model for job in jobs("desk") if isinstance(job, Examine) and isinstance(job.model, Train)
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


# The choice of λ₁ and λ₂


def tuned(seed: int = 0, **settings: Any) -> Tuned:
    """A model that is to have the λs of the easier of two candidates."""
    own = {"network": "tiny", "latents": 2, "batch_size": 4, "lambda_3": 0.0}
    rows = {"coarse": "x=8,y=8,orientation=20", "held_out": 0.3, "draws": 40}
    base = Train("intervention", "dsprites", 1, seed, own, 16, rows, samples=20, protocol=None)
    tried = [replace(base, settings={**own, "lambda_1": one, "lambda_2": 5.0}) for one in (0.5, 2.0)]
    candidates = tuple(Examine(replace(model, seed=seed)) for model in tried for seed in (0, 1))
    return Tuned.of(replace(base, settings={**own, **settings}), candidates)


def written(folder: Path, values: list[float | None]) -> list[Path]:
    """Folders of examinations with these difficulties on training images; None for one that failed."""
    paths = []
    for place, value in enumerate(values):
        path = folder / f"candidate{place}"
        path.mkdir(parents=True)
        if value is not None:
            Folder(path).write_json("scores", {"scores": {TRAINED_DIFFICULTY: value, DIFFICULTY: -value}})
        paths.append(path)
    return paths


def test_the_easier_candidate_is_chosen_by_its_mean(tmp_path: Path) -> None:
    job, out = tuned(), tmp_path / "run"
    out.mkdir()
    job.execute(out, written(tmp_path, [1.0, 8.0, 4.0, 4.5]))  # means 4.5 and 4.25
    assert Folder(out).read_json("choice")["chosen"] == {"lambda_1": 2.0, "lambda_2": 5.0}
    settings = Run(out).config.settings
    assert (settings["lambda_1"], settings["lambda_2"]) == (2.0, 5.0)
    assert Run(out).state["state"] == "done"


def test_what_a_model_sets_itself_stays(tmp_path: Path) -> None:
    job, out = tuned(lambda_1=0.0), tmp_path / "run"
    out.mkdir()
    job.execute(out, written(tmp_path, [1.0, 1.0, 4.0, None]))  # one candidate of the second failed
    settings = Run(out).config.settings
    assert (settings["lambda_1"], settings["lambda_2"]) == (0.0, 5.0)
    assert tuned(lambda_1=0.25).id != tuned().id  # 0.25 is the default, but there it is open


def test_without_any_candidate_there_is_no_choice(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none of the 4 candidates"):
        tuned().execute(tmp_path, written(tmp_path, [None] * 4))


# The two-sample test


def images(rows: torch.Tensor) -> torch.Tensor:
    """Squares in one of six rows, the column at random."""
    columns = torch.randint(6, (len(rows),), generator=torch.Generator().manual_seed(1))
    return squares().images(torch.stack([rows, columns], 1)).float() / 255


def test_two_samples_of_known_difference() -> None:
    """Rows 0 to 2 against 0 to 5: total variation 1/2, so that nobody is right more often than 3/4."""
    rng = torch.Generator().manual_seed(0)
    upper, any_row = (torch.randint(most, (1000,), generator=rng) for most in (3, 6))
    real, fake = images(upper), images(any_row)
    told: dict[str, Any] = {"network": "tiny", "steps": 80}
    assert two_sample_accuracy(real, fake, **told) == pytest.approx(0.75, abs=0.05)
    weights = (any_row < 3).float() * 2  # p / q
    assert two_sample_accuracy(real, fake, weights, **told) == pytest.approx(0.5, abs=0.06)
    assert two_sample_accuracy(real, fake, 2 - weights, **told) == pytest.approx(1.0, abs=0.03)  # the other half


def test_weights_must_be_weights() -> None:
    some = images(torch.zeros(4, dtype=torch.int64))
    for weights in (torch.ones(3), -torch.ones(4), torch.zeros(4)):
        with pytest.raises(InputError, match="weights are of shape"):
            two_sample_accuracy(some, some, weights, network="tiny")
    with pytest.raises(InputError, match="there are 1 and 4 images"):
        two_sample_accuracy(some[:1], some, network="tiny")


def test_the_effective_share_of_weights() -> None:
    assert effective_share(torch.full((7,), 3.0)) == pytest.approx(1)
    assert effective_share(torch.tensor([1.0, 0.0, 0.0, 0.0])) == pytest.approx(0.25)


# The smoke study from its jobs to its page


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("intervention-smoke")
    StudyFolder(out).begin("intervention", "smoke", jobs("smoke"))
    assert str(run_study(jobs("smoke"), out, executor=InlineExecutor(), workers=1)) == f"{COUNTS['smoke']} done"
    return out


def test_every_model_is_examined_on_held_out_rows(smoke: Path) -> None:
    runs = table(smoke)
    assert len(runs) == len(jobs("smoke"))
    assert runs["examined"].nunique() == len(runs)
    flat = runs[runs["data"] == "dsprites"]
    assert flat[list(METRICS)].notna().all(axis=None)
    assert runs[[DIFFICULT, "scores.squared_error", "scores.sap"]].notna().all(axis=None)
    ours = runs["method"] == "intervention"
    assert (runs[PLAIN].notna() == ours).all()
    assert runs[ours]["variant"].value_counts().to_dict() == {"": 4, CANDIDATE: 3, **dict.fromkeys(ABLATIONS, 1)}
    equal = runs[runs["variant"] == "without W"].iloc[0]
    assert equal["scores.two_sample.effective_share"] == 1
    assert equal[PLAIN] == equal["scores.two_sample.weighted"] == equal["scores.two_sample.permuted"]
    assert set(runs[runs["data"] == "cmnist"]["scores.apart"]) <= {0.0, 1.0}
    assert flat["scores.apart"].isna().all()  # of features of one dimension there is DCI


def test_all_models_of_a_data_set_take_what_was_chosen(smoke: Path) -> None:
    runs = table(smoke)
    tried = runs[(runs["variant"] == CANDIDATE) & (runs["data"] == "dsprites")]
    best = tried.loc[tried[f"scores.{TRAINED_DIFFICULTY}"].idxmin(), "settings.lambda_1"]
    ours = Models.of(runs).of_kind(OURS, "dsprites")
    assert len(ours) == 2
    assert (ours["settings.lambda_1"] == best).all()


def test_the_smoke_report(smoke: Path, tmp_path: Path) -> None:
    sections = open_study("intervention").report(table(smoke), smoke)
    items = {item.name: item for section in sections for item in section.items if not isinstance(item, Judged)}
    figures = {"figure_3", "scatter", "figure_6", "scores", "importance_dsprites", "two_samples"}
    assert figures == {name for name, item in items.items() if isinstance(item, Figure)}
    assert {"traversals_dsprites", "neighbours_cmnist", "exchanges_cmnist"} == {
        name for name, item in items.items() if isinstance(item, Picture)
    }
    assert {name for name, item in items.items() if isinstance(item, Table)} == {
        "verdicts", "states", "ranks", "difficulty", "table_dsprites", "table_cmnist", "drops", "choice", "told_apart",
        "ablations", "rivals",
    }  # fmt: skip
    assert all("Could not be shown" not in section.text for section in sections)
    assert {item.verdict for section in sections for item in section.items if isinstance(item, Judged)} == {
        "inconclusive"
    }  # one seed
    page = write("intervention", sections, table(smoke), tmp_path / "report", 0)
    assert "Figure 6" in page.read_text()
    assert np.isfinite(Models.of(table(smoke)).scores(DIFFICULT, OURS, CORRELATED)).all()


def test_a_damaged_folder_is_no_end_of_the_report(smoke: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    shutil.copytree(smoke, copy)
    for path in copy.glob("jobs/examine-*/arrays.npz"):
        path.write_bytes(b"")
    for path in list(copy.glob("jobs/examine-tuned-*/scores.json"))[:3]:
        path.write_text("{")
    sections = report(table(copy), copy)
    assert any("Could not be shown" in section.text for section in sections)


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
