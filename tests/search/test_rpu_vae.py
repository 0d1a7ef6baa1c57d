"""Algorithm 1: on populations that know the factors, on real ones at toy size, killed, and on a folder of pictures."""

from __future__ import annotations

import shutil
import subprocess
import sys
import textwrap
from dataclasses import dataclass, replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pytest
import torch
from PIL import Image
from torch import Tensor

from tests.examples.toy_jobs import Now
from tests.examples.toy_rpu import CONFIG, SETTINGS, TOY, toy, toy_data
from unbraid import cli
from unbraid.data import FactorData, Rows, Subset, load
from unbraid.data.sets.image_folder import read_picture
from unbraid.errors import InputError
from unbraid.runs import latents
from unbraid.runs.run import Run
from unbraid.search import RPU, PopulationConfig, RPUConfig, rpu
from unbraid.search import rpu_vae as module
from unbraid.search.metaepochs import MetaEpoch, best_factors, entropy_shares, label_sets, labels_frame
from unbraid.search.reduction import ReductionConfig
from unbraid.training.representation import Representation

Array = np.ndarray[Any, Any]

# Populations that know the factors


def counted(*sizes: int) -> Rows:
    """A blank image for each combination of factors."""
    factors = torch.cartesian_prod(*map(torch.arange, sizes)).view(-1, len(sizes))
    images = torch.zeros(len(factors), 1, 4, 4, dtype=torch.uint8)
    return Rows(images, factors, [f"f{place}" for place in range(len(sizes))], sizes, source="test")


@dataclass(frozen=True)
class KnowingRun:
    """Its codes are the last two factors that vary in its data."""

    data: FactorData

    @property
    def folder(self) -> Path:
        return Path("nowhere")

    def representation(self) -> Representation:
        factors = self.data.all_factors()
        learned = [place for place, column in enumerate(factors.T) if len(column.unique()) > 1][:-3:-1]
        codes, logvar = torch.zeros(len(factors), 4), torch.zeros(len(factors), 4)
        for latent, place in enumerate(learned):
            column = factors[:, place].float()
            codes[:, latent], logvar[:, latent] = (column - column.mean()) / column.std(), -6.0 - latent
        return Representation(
            codes, factors, torch.arange(len(factors)), self.data.names, self.data.sizes, None, logvar, True
        )

    def method(self) -> Any:
        return SimpleNamespace(decode=lambda codes: torch.zeros(len(codes), 1, 4, 4))


class Call(NamedTuple):
    data: FactorData
    config: PopulationConfig
    out: str
    more: dict[str, Any]


class Knowing:
    """An `evolve` that knows the factors, and keeps what it was called with."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def __call__(self, method: str, data: FactorData, config: PopulationConfig, out: Path, **more: Any) -> Any:
        self.calls.append(Call(data, config, str(out), more))
        table = pd.DataFrame(
            {"generation": [0, 1], "member": 0, "parent": [None, 0], "score": [0.5, 0.9], "steps": 1, "images": 64}
        )
        return SimpleNamespace(out=out, table=table, best=KnowingRun(data), score=0.9, stopped="")


@pytest.fixture
def knowing(monkeypatch: pytest.MonkeyPatch) -> Knowing:
    found = Knowing()
    monkeypatch.setattr(module, "evolve", found)
    monkeypatch.setattr(module, "show", lambda *_: [])
    return found


class Known(NamedTuple):
    data: FactorData
    found: RPU
    calls: list[Call]

    def leaf(self, leaf: int, number: int) -> Subset:
        """The data of a metaEpoch."""
        (part,) = [call.data for call in self.calls if f"leaf{leaf}/metaepoch{number}/" in call.out]
        assert isinstance(part, Subset)
        return part


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> Known:
    """Two leaf-runs of three metaEpochs each, the first of which they share."""
    data, knowing = counted(5, 5, 3, 4, 6, 6), Knowing()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "evolve", knowing)
        patch.setattr(module, "show", lambda *_: [])
        found = rpu(data, RPUConfig(leaf_runs=2), tmp_path_factory.mktemp("known"), executor=Now())
    return Known(data, found, knowing.calls)


def test_each_meta_epoch_learns_what_those_before_it_left(known: Known) -> None:
    none = "the labels climb without steps: 25 images remain, and windows leave 1,000 (the setting keep)"
    leaf = [(2, 300, "f2 1.00, f3 1.00", ""), (3, 25, "f0 1.00, f1 1.00", ""), (4, 0, "", none)]
    first = (0, 1, len(known.data), "f4 1.00, f5 1.00", "")
    expected = [first, *((1, *row) for row in leaf), *((2, *row) for row in leaf)]
    columns = ["leaf", "metaepoch", "images", "factors", "stop"]
    assert known.found.table[columns].values.tolist() == [list(row) for row in expected]
    factors = known.data.all_factors()
    for leaf_run in (1, 2):
        for number, fixed in ((2, [4, 5]), (3, [2, 3, 4, 5])):
            part = known.leaf(leaf_run, number)
            values = part.all_factors()[0, fixed]
            assert torch.equal(whole_rows(part), (factors[:, fixed] == values).all(1).nonzero().flatten())
    assert not set(known.leaf(1, 2).rows.tolist()) & set(known.leaf(2, 2).rows.tolist())


def whole_rows(part: Subset) -> Tensor:
    """Rows of the whole data."""
    assert not isinstance(part.data, Subset)
    return part.rows


def test_the_last_population_gets_a_label_set_for_each_leaf_run(known: Known) -> None:
    last = known.calls[-1]
    assert last.data is known.data
    assert last.out == str(known.found.out / "final2")
    assert last.more["score"] == "mig"
    assert last.config.generations == 15
    factors = known.data.all_factors().numpy()
    assert len(last.more["label_sets"]) == 2
    for leaf, labels in enumerate(last.more["label_sets"], 1):
        assert labels.shape == (len(factors), 6)
        rows = [np.arange(len(factors)), known.leaf(leaf, 2).rows.numpy(), known.leaf(leaf, 3).rows.numpy()]
        for column, factor, epoch in ((0, 4, 0), (1, 5, 0), (2, 2, 1), (3, 3, 1), (4, 0, 2), (5, 1, 2)):
            assert np.array_equal(np.flatnonzero(~np.isnan(labels[:, column])), rows[epoch])
            assert np.corrcoef(labels[rows[epoch], column], factors[rows[epoch], factor])[0, 1] == pytest.approx(1)


def test_pictures_and_labels_are_there_for_each_stage(known: Known) -> None:
    out = known.found.out
    for name in ("metaepochs.png", "metaepoch1/traversals.png", "leaf1/metaepoch2/reduction.png"):
        assert np.asarray(Image.open(out / name)).std() > 0
    for leaf in (1, 2):
        for number, labels in ((2, 2), (3, 2)):
            with np.load(out / f"leaf{leaf}" / f"metaepoch{number}" / "labels.npz") as kept:
                assert np.array_equal(kept["rows"], known.leaf(leaf, number).rows)
                assert kept["labels"].shape == (len(kept["rows"]), labels)
        assert (out / f"leaf{leaf}" / "metaepoch4" / "reduction.png").exists()


def test_without_leaf_runs_the_first_labels_are_the_only_set(known: Known, knowing: Knowing, tmp_path: Path) -> None:
    found = rpu(known.data, RPUConfig(leaf_runs=0), tmp_path, executor=Now())
    assert [call.out for call in knowing.calls] == [
        str(tmp_path / "metaepoch1" / "population"), str(tmp_path / "final0"),
    ]  # fmt: skip
    (labels,) = knowing.calls[-1].more["label_sets"]
    assert labels.shape == (len(known.data), 2)
    assert list(found.labels.columns) == ["row", "metaepoch1_latent1", "metaepoch1_latent0"]
    # the same seed as with leaf-runs, and another for each population
    assert [call.config.seed for call in knowing.calls] == [known.calls[0].config.seed, known.calls[-1].config.seed]
    assert len({call.config.seed for call in known.calls}) == len(known.calls) == 6
    rpu(known.data, RPUConfig(leaf_runs=0, seed=1), tmp_path / "other", executor=Now())
    assert len({call.config.seed for call in knowing.calls}) == 4


def test_leaf_runs_end_for_a_reason_and_say_it(knowing: Knowing, tmp_path: Path) -> None:
    data = counted(2, 3, 8, 9)
    found = rpu(data, RPUConfig(leaf_runs=1), tmp_path / "few", executor=Now())
    assert found.table["stop"].tolist() == ["", "6 images remain; the least is 10"]
    assert found.final is not None
    assert len(knowing.calls[-1].more["label_sets"]) == 1
    found = rpu(data, RPUConfig(threshold=0.95), tmp_path / "strict", executor=Now())
    assert found.final is None
    assert found.stop == "the best UDR is 0.900, below 0.95"
    assert found.labels.shape == (2 * 3 * 8 * 9, 1)
    asleep = RPUConfig(reduction=ReductionConfig(active=50.0))
    found = rpu(data, asleep, tmp_path / "asleep", executor=Now())
    assert found.final is None
    assert found.stop.startswith("no latent is active: their largest KL is ")
    assert pd.read_csv(tmp_path / "asleep" / "metaepochs.csv")["stop"].tolist() == [found.stop]


# Labels


def epoch(leaf: int, number: int, rows: list[int], latents: tuple[int, ...], labels: Array) -> MetaEpoch:
    return MetaEpoch(leaf, number, np.array(rows), None, np.ones(9), latents, labels.astype(np.float32))


def test_label_sets_have_no_number_where_there_is_no_label() -> None:
    first = epoch(0, 1, [0, 1, 2, 3], (4,), np.arange(4)[:, None])
    second = epoch(1, 2, [1, 3], (0, 2), np.array([[10, 11], [30, 31]]))
    third = epoch(3, 2, [2], (7,), np.array([[20]]))
    nan = np.nan
    one, two = label_sets(4, first, [[second], [], [third]])
    assert np.array_equal(one, [[0, nan, nan], [1, 10, 11], [2, nan, nan], [3, 30, 31]], equal_nan=True)
    assert np.array_equal(two, [[0, nan], [1, nan], [2, 20], [3, nan]], equal_nan=True)
    (only,) = label_sets(4, first, [[], []])
    assert np.array_equal(only, first.labels)
    frame = labels_frame(counted(4), [first, second, third])
    assert list(frame.columns) == [
        "row", "metaepoch1_latent4", "leaf1_metaepoch2_latent0", "leaf1_metaepoch2_latent2", "leaf3_metaepoch2_latent7",
    ]  # fmt: skip
    assert frame["leaf1_metaepoch2_latent2"].tolist() == pytest.approx([nan, 11, nan, 31], nan_ok=True)


def test_latents_are_told_by_the_factor_they_know_most_of() -> None:
    factors = counted(4, 5, 6).all_factors()
    noise = torch.rand(120, 1, generator=torch.Generator().manual_seed(0))
    codes = torch.cat([-factors[:, 1:2].float(), noise, factors[:, :1].float(), 0 * noise], 1)
    found = Representation(codes, factors, torch.arange(120), ("a", "b", "c"), (4, 5, 6))
    assert best_factors(found, [0, 2, 3]) == ("b 1.00", "a 1.00", "nothing")
    assert best_factors(replace(found, names=(), sizes=(), factors=factors[:, :0]), [0]) == ()
    shares = entropy_shares(codes.numpy(), factors.numpy(), np.random.default_rng(0))
    assert np.abs(shares[1]).max() < 0.1, "20 bins of noise seem to know much of 120 rows"
    assert entropy_shares(codes.numpy()[:, :1], 0 * factors.numpy(), np.random.default_rng(0)).tolist() == [[0, 0, 0]]


def pictures(folder: Path, places: int = 5) -> Path:
    """A light square at each of places × places, by three sizes; and a file that is no picture among them."""
    folder.mkdir()
    for y in range(places):
        for x in range(places):
            for side in (3, 5, 7):
                image = np.zeros((16, 16), np.uint8)
                image[2 * y : 2 * y + side, 2 * x : 2 * x + side] = 255
                Image.fromarray(image).save(folder / f"{side}-{x}-{y}.png")
    (folder / "4-broken.png").write_text("no picture")
    return folder


def test_file_names_follow_the_rows(tmp_path: Path) -> None:
    folder = pictures(tmp_path / "pictures", 2)
    with pytest.warns(UserWarning, match="1 of 13 pictures could not be read"):
        data = load("image_folder", 16, path=str(folder), channels=1)
    names = sorted(path.name for path in folder.iterdir() if path.name != "4-broken.png")
    assert data.files == tuple(names)
    assert Subset(Subset(data, [5, 1, 7]), [2, 0]).files == (names[7], names[5])
    assert counted(3).files == ()


# Real populations at toy size


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> RPU:
    return toy(tmp_path_factory.mktemp("rpu") / "toy")


def tables(out: Path) -> dict[str, str]:
    """All tables, by their path."""
    return {str(path.relative_to(out)): path.read_text() for path in sorted(out.rglob("*.csv"))}


def test_end_to_end(done: RPU) -> None:
    table = done.table
    assert table.loc[0, ["leaf", "metaepoch", "images", "generations"]].tolist() == [0, 1, 384, 2]
    assert table.loc[0, "trained"] == 2 * 2 * 2 * 320
    assert set(table["leaf"]) == {0, 1}
    later = table[table["leaf"] > 0]
    assert (later["images"] < 384).all()
    assert (later[later["udr"].notna()]["images"] >= 10).all()
    assert (later["udr"].notna().groupby(table["leaf"]).sum() > 0).all(), "no leaf-run has trained anything"
    assert (later.groupby("leaf")["stop"].last() != "").all()
    assert pd.read_csv(done.out / "metaepochs.csv")["images"].tolist() == table["images"].tolist()
    assert done.final is not None
    assert "mig" in done.final.best.read_json("scores")["scores"]
    assert 0 <= done.final.score <= 1
    labels = pd.read_csv(done.out / "labels.csv")
    assert len(labels) == 384
    assert labels.filter(like="metaepoch1_latent").notna().all(axis=None)
    for name in ("metaepochs.png", "traversals.png", "reconstructions.png", "traversals.gif"):
        assert (done.out / name).exists(), name


def test_labels_are_the_codes_of_the_best_model(done: RPU) -> None:
    first = done.out / "metaepoch1" / "population"
    (folder,) = (first / "jobs").glob("best-*")
    method, data = Run(folder).method(), toy_data()
    with torch.inference_mode():
        codes = method.encode(data.images_at(range(len(data)))).numpy()
    for column in done.labels.filter(like="metaepoch1_latent").columns:
        assert np.allclose(done.labels[column], codes[:, int(column.removeprefix("metaepoch1_latent"))], atol=1e-5)


def test_a_finished_one_is_left_alone_and_gives_the_same(done: RPU) -> None:
    class Idle(Now):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Any:
            raise AssertionError("nothing is missing")

    before = tables(done.out)
    again = toy(done.out, executor=Idle())
    assert tables(done.out) == before
    assert again.table.equals(done.table)
    assert again.labels.equals(done.labels)


def test_with_another_number_of_leaf_runs_the_meta_epochs_stay(done: RPU) -> None:
    before = tables(done.out)
    fewer = toy(done.out, replace(CONFIG, leaf_runs=0))
    assert fewer.table["images"].tolist() == [384]
    assert (done.out / "final0" / "population.csv").exists()
    after = tables(done.out)
    changed = {name for name, text in before.items() if after[name] != text}
    assert changed == {"labels.csv", "metaepochs.csv"}
    toy(done.out)
    assert {name: text for name, text in tables(done.out).items() if name in before} == before


def test_a_folder_of_another_one_is_refused(done: RPU) -> None:
    with pytest.raises(InputError, match=r"holds another rPU-VAE: population.size is 2, not 3; seed is 0, not 1"):
        toy(done.out, replace(CONFIG, seed=1, population=replace(CONFIG.population, size=3)))


def test_fewer_generations_are_a_stop_and_more_a_continuation(done: RPU, tmp_path: Path) -> None:
    shutil.copytree(done.out, tmp_path / "rpu")
    lines: list[str] = []
    fewer = toy(
        tmp_path / "rpu", replace(CONFIG, population=replace(CONFIG.population, generations=1)), say=lines.append
    )
    assert fewer.table.loc[0, "generations"] == 1
    if not fewer.labels.equals(done.labels):  # what was trained on the labels before is kept beside
        assert any("set aside as population-1" in line or "set aside as final1-1" in line for line in lines)
    again = toy(tmp_path / "rpu", say=lines.append)
    assert again.table["generations"].tolist() == done.table["generations"].tolist()
    assert again.labels.equals(done.labels)


def test_a_result_says_what_stands_against_it(done: RPU) -> None:
    labels = pd.DataFrame({"row": range(100), "all": 1.0, "few": [1.0] * 4 + [np.nan] * 96})
    found = replace(done, labels=labels)
    assert found.coverage() == {"all": 1.0, "few": 0.04}
    assert any(
        "1 of 2 labels are known of fewer than 10% of the images, one of 4 of 100" in line for line in found.advice()
    )
    stopped = replace(done, final=None, stop="Stopped before the last population, which learns all labels.")
    assert stopped.advice()[0].startswith("Stopped before")
    assert done.final is not None
    assert replace(stopped, first=None).best is None


def test_a_dead_model_is_not_a_result(done: RPU, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(latents, "ACTIVE", 1e9)
    assert done.best is None
    assert "The best model has no active latent: it is not a result." in done.advice()


KILLED = """
    import os, signal, sys, threading
    import torch
    import matplotlib.figure, sklearn.linear_model, torch._dynamo  # used by all children, imported once
    torch.set_num_threads(1)
    from pathlib import Path
    from tests.examples.toy_jobs import Now
    from tests.examples.toy_rpu import toy, toy_data

    class Mortal(Now):
        def __init__(self, jobs):
            self.left = jobs
        def submit(self, fn, /, *args, **kwargs):
            self.left -= 1
            if self.left == 0:
                threading.Timer(0.02, os.kill, (os.getpid(), signal.SIGKILL)).start()
            return super().submit(fn, *args, **kwargs)

    toy_data()
    kills = 0
    for jobs in (4, 9, 20, 10_000):
        child = os.fork()
        if child == 0:
            toy(Path(sys.argv[1]), executor=Mortal(jobs))
            os._exit(0)
        _, status = os.waitpid(child, 0)
        kills += os.WIFSIGNALED(status)
    print(kills, status)
"""


def test_killed_and_run_again_it_gives_the_same_tables(done: RPU, tmp_path: Path) -> None:
    script = [sys.executable, "-c", textwrap.dedent(KILLED), str(tmp_path / "killed")]
    ended = subprocess.run(script, capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=600)
    assert ended.stdout == "3 0\n", ended.stderr
    ours = {name: text for name, text in tables(done.out).items() if not name.startswith("final0")}
    assert tables(tmp_path / "killed") == ours


# Bad input


def test_bad_input_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the data has 9 images; expected at least 10"):
        rpu(counted(9), RPUConfig(), tmp_path / "few")
    with pytest.raises(InputError, match="autoencoder has no KL to find active latents with; expected a VAE"):
        rpu(counted(20), RPUConfig(), tmp_path / "ae", method="autoencoder")
    with pytest.raises(InputError, match=r"rows of different weights \(correlated\); expected rows that all count the"):
        rpu(load("dsprites", 16, correlated="x,scale"), RPUConfig(), tmp_path / "weighted")
    with pytest.raises(InputError, match="leaf_runs is -1; expected at least 0"):
        RPUConfig(leaf_runs=-1)
    assert list(tmp_path.iterdir()) == []


def test_ten_images_are_enough_to_stop_with_a_reason(tmp_path: Path) -> None:
    config = replace(CONFIG, population=replace(TOY, images=64, generations=1), leaf_runs=1)
    config = replace(config, final=replace(config.final, images=64, generations=1))
    data = Subset(load("dsprites", 16), range(0, 10_000, 1_000))
    found = rpu(data, config, tmp_path, settings=SETTINGS, protocol=None, executor=Now(), workers=1)
    assert found.table["images"].tolist() == [10, 0]
    assert found.table["stop"].tolist()[1]
    assert found.final is not None


# The command


def command(monkeypatch: pytest.MonkeyPatch, folder: Path, *arguments: str) -> int:
    monkeypatch.chdir(folder)
    monkeypatch.setattr("sys.argv", ["unbraid", "rpu", *arguments])
    with pytest.raises(SystemExit) as stop:
        cli.main()
    return int(stop.value.code or 0)


QUICK = [
    "--network", "tiny", "--latents", "2", "--batch-size", "32", "--size", "2", "--models", "2", "--images", "320",
    "--generations", "1", "--final-generations", "1", "--leaf-runs", "1", "--threshold", "0", "--workers", "1",
    "--values", "learning_rate=2e-3,4e-3", "--values", "beta=1,2", "--resolution", "16",
]  # fmt: skip


@pytest.mark.filterwarnings("ignore:1 of 76 pictures could not be read")
def test_a_folder_of_pictures_ends_with_labels_by_file_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(latents, "ACTIVE", 0.0)  # ten steps teach little
    folder = pictures(tmp_path / "pictures")
    loose = ["--reduce", "active=0", "--reduce", "height=1", "--reduce", "distance=0.3", "--reduce", "smallest=6"]
    code = command(
        monkeypatch, tmp_path, "--data", "image_folder", "--path", str(folder), "--out", "found", "--minutes", "60",
        *QUICK, *loose,
    )  # fmt: skip
    printed = capsys.readouterr()
    assert code == 0, printed.err
    out = tmp_path / "found"
    labels = pd.read_csv(out / "labels.csv")
    names = sorted(path.name for path in folder.iterdir() if path.name != "4-broken.png")
    assert labels["file"].tolist() == names
    assert "labels of 75 images" in printed.out
    (run,) = (out / "metaepoch1" / "population" / "jobs").glob("best-*")
    method = Run(run).method()
    images = [torch.from_numpy(read_picture(folder / name, 16, 1, name).copy()).permute(2, 0, 1) for name in names]
    with torch.inference_mode():
        codes = method.encode(torch.stack(images)).numpy()
    columns = labels.filter(like="metaepoch1_latent")
    assert len(columns.columns) == 2
    for column in columns:
        assert np.allclose(labels[column], codes[:, int(column.removeprefix("metaepoch1_latent"))], atol=1e-5)
    (model,) = (out / "final1" / "jobs").glob("best-*")
    assert isinstance(Run(model).method().encode(torch.stack(images)), Tensor)
    for name in ("traversals.png", "metaepochs.png"):
        assert np.asarray(Image.open(out / name)).std() > 5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "dsprits"], "there is no data set 'dsprits'; did you mean 'dsprites'?"),
        (["--data", "dsprites", "--path", "x"], "data set 'dsprites' has no setting 'path'"),
        (["--data", "image_folder", "--path", "nowhere"], "nowhere does not exist; expected a folder of pictures"),
        (["--data", "dsprites", "--reduce", "hight=3"], "--reduce has no 'hight'; did you mean 'height'?"),
        (["--data", "dsprites", "--reduce", "smallest=few"], "smallest is 'few'; expected a whole number"),
        (["--data", "dsprites", "--method", "beta_va"], "there is no method 'beta_va'; did you mean"),
        (["--data", "dsprites", "--setting", "gama=3"], "beta_tc_vae has no setting 'gama'"),
        (["--data", "dsprites", "--leaf-runs", "-1"], "leaf_runs is -1; expected at least 0"),
        (["--data", "dsprites", "--method", "multitask"], "multitask has no KL to find active latents with"),
    ],
)
def test_bad_arguments_are_one_line_and_exit_code_2(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert command(monkeypatch, tmp_path, "--resolution", "16", "--workers", "1", *arguments) == 2
    found = capsys.readouterr()
    assert message in found.err
    assert found.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_the_forecast_says_how_long_and_offers_a_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("unbraid.cli.rpu.images_per_second", lambda *_: 100.0)
    given = ["--data", "dsprites", "--resolution", "16", "--set", "rows=3000", "--workers", "2", "--forecast"]
    assert command(monkeypatch, tmp_path, *given) == 0
    text = capsys.readouterr().err
    # 8 members, 5 models, 7 to 100 generations of 10,000 images at 200 a second
    assert "the first metaEpoch takes 3.9 hours to 2.3 days" in text
    assert "the last population 1.7 hours, at 200 images a second" in text
    assert "--minutes 60 chooses sizes for an hour" in text
    assert command(monkeypatch, tmp_path, *given, "--minutes", "30") == 0
    text = capsys.readouterr().err
    # 800 images per generation: 6 members, 3 models, 6 generations
    assert "about 30 minutes at most: the first metaEpoch takes 7 minutes" in text
    assert command(monkeypatch, tmp_path, *given, "--minutes", "-1") == 2
    assert "--minutes is -1; expected a number above 0" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []
