from __future__ import annotations

import ast
import math
import re
from collections import Counter
from dataclasses import replace
from importlib import import_module
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from matplotlib.image import imread

from tests.examples.small_population import FLAGS, SETTINGS, SPACE, config, evolve_small, small_data
from tests.examples.toy_jobs import Now
from unbraid.cli import app
from unbraid.data import Correlated, FactorData, Subset, load
from unbraid.data.factors import Rows
from unbraid.errors import InputError
from unbraid.methods import METHODS, build
from unbraid.methods.gaussian import kl_per_latent
from unbraid.metrics import mig, udr
from unbraid.runs import weights
from unbraid.runs.recording import train as train_run
from unbraid.runs.run import Run
from unbraid.runs.table import find_runs, load_runs
from unbraid.search import History, hyperparameters, lineage, lineages, population, read_history, rules
from unbraid.search.fitness import Score, fitness, label_sets
from unbraid.search.hyperparameters import Hyperparameter, explore, starts
from unbraid.search.judgement import is_dead, judge
from unbraid.search.rules import PopulationConfig, converged, exploit
from unbraid.search.spaces import KNOWN, check_space, live_settings, search_space
from unbraid.training.loop import train as steps_of
from unbraid.training.representation import represent

# Laws of exploit and explore


def test_the_rules_import_nothing_of_training() -> None:
    for module in (rules, hyperparameters):
        tree = ast.parse(Path(str(module.__file__)).read_text())
        names = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        ours = {name for name in names if name.startswith("unbraid")}
        assert ours <= {"unbraid.errors", "unbraid.arguments", "unbraid.search.hyperparameters"}


scores = st.lists(st.one_of(st.floats(0, 1), st.sampled_from([0.0, 0.5, math.nan])), min_size=2, max_size=60)
fractions = st.floats(0.01, 0.5)
seeds = st.integers(0, 2**32)


@given(scores, seeds, fractions)
def test_only_the_worst_copy_and_only_from_the_best(values: list[float], seed: int, fraction: float) -> None:
    if all(map(math.isnan, values)):
        return
    parents = exploit(values, np.random.default_rng(seed), fraction)
    dead = {member for member, value in enumerate(values) if math.isnan(value)}
    order = sorted(range(len(values)), key=lambda member: (member in dead, -values[member], member))
    count = math.ceil(fraction * len(values))
    copying = {member for member, parent in enumerate(parents) if parent != member}
    copied = {parents[member] for member in copying}
    assert copied <= set(order[:count]) - dead, "the best"
    assert copying <= set(order[-max(count, len(dead)) :]), "the worst"
    assert copying, "somebody copies"
    assert dead <= copying, "whoever diverged is replaced"
    assert not copied & copying, "nobody copies a member that is itself replaced"
    if len(values) >= 2 * count and not dead:
        assert len(copying) == count


def test_exploit_by_hand() -> None:
    values = [0.5, 0.1, 0.9, 0.8, 0.2, 0.3, 0.6, 0.7, 0.4, 0.0]
    seen = {tuple(exploit(values, np.random.default_rng(seed))) for seed in range(40)}
    assert seen == {(0, a, 2, 3, 4, 5, 6, 7, 8, b) for a in (2, 3) for b in (2, 3)}, "20 % of ten are two"
    assert exploit([0.5, math.nan, math.nan, 0.2], np.random.default_rng(0)) == [0, 0, 0, 3]
    assert exploit([0.1, 0.2], np.random.default_rng(0)) == [1, 1]
    with pytest.raises(InputError, match="every member has diverged"):
        exploit([math.nan, math.nan], np.random.default_rng(0))


spaces = st.dictionaries(
    st.sampled_from(["learning_rate", "batch_size", "beta"]),
    st.builds(
        lambda low, width, whole: Hyperparameter((float(low),), float(low), float(low + width), whole),
        st.integers(1, 50), st.integers(0, 400), st.booleans(),
    ),
    min_size=1,
)  # fmt: skip


@given(spaces, seeds, st.lists(st.floats(0.1, 10), min_size=1, max_size=5))
def test_hyperparameters_stay_in_range_and_the_same_seed_decides_the_same(
    space: dict[str, Hyperparameter], seed: int, factors: list[float]
) -> None:
    hp = {name: one.start[0] for name, one in space.items()}
    first, second = np.random.default_rng(seed), np.random.default_rng(seed)
    for _ in range(5):
        changed = explore(hp, space, first, factors)
        assert changed == explore(hp, space, second, factors)
        for name, one in space.items():
            assert one.low <= changed[name] <= one.high
            plain = [min(max(hp[name] * factor, one.low), one.high) for factor in factors]
            if one.whole:
                assert changed[name] == int(changed[name])
                assert any(-1e-9 <= changed[name] - value <= 1 for value in plain), "rounded up, or to the last digit"
            else:
                assert changed[name] in plain
        hp = changed


@given(scores, seeds)
def test_the_same_seed_copies_the_same(values: list[float], seed: int) -> None:
    if not all(map(math.isnan, values)):
        assert exploit(values, np.random.default_rng(seed)) == exploit(values, np.random.default_rng(seed))


def test_factors_of_the_paper() -> None:
    rng, seen = np.random.default_rng(0), set()
    for _ in range(60):
        found = explore({"learning_rate": 0.01, "batch_size": 15, "beta": 3}, KNOWN, rng, (2, 1.2, 0.8, 0.5))
        seen.add((round(found["learning_rate"], 9), found["batch_size"], found["beta"]))
    assert {one[0] for one in seen} == {0.02, 0.012, 0.008, 0.005}
    assert {one[1] for one in seen} == {30, 18, 12, 8}
    assert {one[2] for one in seen} == {6, 4, 3, 2}, "rounded up"
    assert KNOWN["batch_size"].changed(1000, 2) == 1024
    assert KNOWN["beta"].changed(1, 0.5) == 1


def test_start_values() -> None:
    assert len(KNOWN["learning_rate"].start) == 30
    assert np.allclose(np.diff(np.log10(KNOWN["learning_rate"].start)), 5 / 29)
    assert KNOWN["batch_size"].start == tuple(2**power for power in range(3, 11))
    assert len(KNOWN["beta"].start) == 23
    drawn = starts(SPACE, 50, "random", np.random.default_rng(0))
    for name, one in SPACE.items():
        assert {hp[name] for hp in drawn} == set(one.start)
    grid = starts(SPACE, 18, "grid", np.random.default_rng(0))
    assert [tuple(hp.values()) for hp in grid] == list(product(*(one.start for one in SPACE.values())))
    with pytest.raises(InputError, match="the grid has 18 combinations and size is 8; expected as many"):
        starts(SPACE, 8, "grid", np.random.default_rng(0))


def in_reach(hp: dict[str, float]) -> bool:
    """Whether a member starts where models learn something."""
    return 1e-4 <= hp["learning_rate"] <= 1e-2 and hp["beta"] <= 10


def test_few_members_cover_the_range_of_start_values() -> None:
    covered = {
        how: np.mean(
            [any(map(in_reach, starts(KNOWN, 8, how, np.random.default_rng([seed, 0])))) for seed in range(1_000)]
        )
        for how in ("random", "stratified")
    }
    assert covered["random"] == pytest.approx(1 - (1 - 12 / 30 * 8 / 23) ** 8, abs=0.04)
    assert covered["stratified"] > 0.99


@pytest.mark.parametrize("size", [1, 2, 3, 8, 13, 56])
def test_stratified_start_values_are_one_in_each_part_and_all_as_likely(size: int) -> None:
    for seed in range(20):
        drawn = starts(KNOWN, size, "stratified", np.random.default_rng(seed))
        for name, one in KNOWN.items():
            places = sorted(one.start.index(hp[name]) / len(one.start) for hp in drawn)
            gaps = np.diff([*places, places[0] + 1])
            assert max(gaps) <= 1 / size + 1 / len(one.start) + 1e-9
    drawn = [starts(KNOWN, size, "stratified", np.random.default_rng(seed)) for seed in range(2_000)]
    counts = Counter(hp["batch_size"] for members in drawn for hp in members)
    shares = np.array([counts[value] for value in KNOWN["batch_size"].start]) / counts.total()
    np.testing.assert_allclose(shares, 1 / 8, atol=0.03)


def test_founders_are_halved_after_their_first_generation() -> None:
    config = PopulationConfig(size=3, founders=6, fraction=0.3)
    members = rules.first(SPACE, config, 1)
    assert [one.number for one in members] == [0, 1, 2, 3, 4, 5]
    scores = [0.1, 0.9, math.nan, 0.5, 0.7, 0.2]
    grown = [rules.Grown(one, ("model",), score) for one, score in zip(members, scores, strict=True)]
    after = rules.succeed(grown, 1, SPACE, config)
    assert [(one.number, one.parent) for one in after] == [(1, 1), (3, 1), (4, 4)]
    alone = rules.succeed(grown, 1, SPACE, replace(config, exploit="none"))
    assert [one.number for one in alone] == [1, 3, 4]
    with pytest.raises(InputError, match="founders is 2; expected at least 3, the size of the population"):
        PopulationConfig(size=3, founders=2)


def test_founders_train_once(tmp_path: Path) -> None:
    history = evolve_small(tmp_path, changes={"size": 2, "founders": 4, "generations": 2})
    assert history.table.groupby("generation")["member"].count().tolist() == [4, 2]


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_a_space_that_it_can_be_given(method: str) -> None:
    space = search_space(method)
    check_space(method, space, {})
    assert {"learning_rate", "batch_size"} <= space.keys()
    strengths = [name for name in METHODS[method].strength if name in live_settings(method)]
    assert set(strengths) <= space.keys()
    assert "batch_size" not in search_space(method, {"batch_size": 64})


def test_a_population_has_converged_when_its_best_stands_still() -> None:
    still = [0.1, 0.5, 0.502, 0.501, 0.5, 0.499, 0.5, 0.501]
    assert converged(still, 6, 0.005)
    assert not converged(still[:-1], 6, 0.005)
    assert not converged([*still, 0.51], 6, 0.005)
    assert not converged([0.0, 0.004, 0.008, 0.014], 3, 0.005)
    assert not converged(still, None, 0.005)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"size": 0}, "size is 0; expected at least 1"),
        ({"size": 1}, "size is 1, but a single member has no other to copy; expected at least 2, or exploit='none'"),
        ({"images": 100}, "images and steps both set the length of a generation; expected one of them"),
        ({"exploit": "tournament"}, "exploit is 'tournament'; known are none, truncation"),
        ({"start": "gird"}, "start is 'gird'; did you mean 'grid'"),
        ({"fraction": 0.7}, "fraction is 0.7; expected more than 0 and at most 0.5"),
        ({"factors": ()}, r"factors are \[\]; expected numbers above 0"),
    ],
)
def test_bad_rules_are_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        config(**changes)


# A population


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> History:
    return evolve_small(tmp_path_factory.mktemp("whole"))


def run_of(history: History, generation: int, member: int) -> Run:
    row = history.table.set_index(["generation", "member"]).loc[(generation, member)]
    return Run(history.out / row["run"])


def copies(history: History) -> pd.DataFrame:
    table = history.table[history.table["generation"] > 0]
    return table[table["parent"] != table["member"]]


def test_the_history_is_a_table(whole: History) -> None:
    table = whole.table
    assert len(table) == 12
    assert table["images"].tolist() == (12 * table["batch_size"]).tolist()
    assert table.groupby("generation")["steps"].unique().str[0].tolist() == [12, 24, 36]
    pd.testing.assert_frame_equal(read_history(whole.out), table)
    assert len(copies(whole)) == 2, "a fifth of four, rounded up, in each of two generations"
    for _, row in copies(whole).iterrows():
        before = table[table["generation"] == row["generation"] - 1].set_index("member")
        assert before.loc[row["member"], "score"] == before["score"].min()
        assert before.loc[row["parent"], "score"] == before["score"].max()
    assert whole.score == table["score"].max()
    assert not whole.converged
    with pytest.raises(InputError, match=r"is not a population: it has no population\.csv"):
        read_history(whole.out / "jobs")


def test_lineage_by_hand() -> None:
    table = pd.DataFrame(
        [(0, 0, None, 0.1), (0, 1, None, 0.2), (1, 0, 1, 0.3), (1, 1, 1, 0.1), (2, 0, 0, 0.2), (2, 1, 0, 0.4)],
        columns=["generation", "member", "parent", "score"],
    ).astype({"parent": "Int64"})
    assert lineage(table) == [(0, 1), (1, 0), (2, 1)]
    assert lineage(table[table["generation"] < 2]) == [(0, 1), (1, 0)]


def test_scores_are_those_of_the_metric(whole: History) -> None:
    """MIG of the labelled rows, the same for all members, computed here once more."""
    data = small_data()
    rows = label_sets(Score("mig", labels=300), data, None, 5)[0][0].rows
    assert len(set(rows.tolist())) == 300
    for generation, member in ((0, 1), (2, 3)):
        run = run_of(whole, generation, member)
        codes = run.method().encode(data.images_at(rows)).detach()
        score = whole.table.set_index(["generation", "member"]).loc[(generation, member), "score"]
        assert math.isclose(mig(codes, data.factors_at(rows))["mig"], score, abs_tol=1e-6)


def state(path: Path, settings: dict[str, Any], data: FactorData) -> dict[str, torch.Tensor]:
    method = build("beta_tc_vae", data, settings)
    weights.restore(method, path, weights_only=False)
    found: dict[str, torch.Tensor] = method.state_dict()
    return found


def test_a_child_starts_from_exactly_its_parents_weights_and_optimiser(whole: History) -> None:
    """Its parent's state, trained here by the plain loop with the child's hyperparameters, is the child's state."""
    data, row = small_data(), copies(whole).iloc[-1]
    child, parent = (
        run_of(whole, row["generation"], row["member"]),
        run_of(whole, row["generation"] - 1, row["parent"]),
    )
    assert child.config.start == parent.config.id
    assert child.config.settings != parent.config.settings, "it has changed its hyperparameters"
    method = build("beta_tc_vae", data, child.config.settings).prepare("cpu", "fp32")
    own = dict(method.hp)
    weights.restore(method, parent.path("checkpoint"), weights_only=False)
    assert method.steps == 24
    assert method.optimisers["vae"].state_dict()["state"], "Adam's moments came along"
    method.hp = own
    for _ in steps_of(method, data, steps=36, seed=child.config.seed):
        pass
    expected = method.state_dict()
    found = state(child.path("checkpoint"), dict(child.config.settings), data)
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(found[name], value), name


def test_a_member_that_never_copies_is_one_long_run(whole: History, tmp_path: Path) -> None:
    table = whole.table
    alone = set(range(4)) - set(copies(whole)["member"])
    member = min(alone)
    last = run_of(whole, 2, member)
    assert table[table["member"] == member]["beta"].nunique() == 1
    run = train_run(
        "beta_tc_vae", small_data(), steps=36, seed=last.config.seed, out=tmp_path, precision="fp32", samples=256,
        protocol=None, **last.config.settings,
    )  # fmt: skip
    assert run.path("model").read_bytes() == last.path("model").read_bytes()
    assert run.config.id != last.config.id, "though they are told apart: the other started from a run"


def test_the_best_is_an_ordinary_run(whole: History) -> None:
    generation, member = lineage(whole.table)[-1]
    trained = run_of(whole, generation, member)
    assert whole.best.state["state"] == "done"
    assert whole.best.config.settings == trained.config.settings
    assert whole.best.config.start == trained.config.id
    ours, theirs = whole.best.method().state_dict(), trained.method().state_dict()
    assert all(torch.equal(ours[name], theirs[name]) for name in theirs if not name.startswith("training."))
    assert len(whole.best.representation().codes) == 100
    assert len(whole.best.data()) == 2000
    table = load_runs(whole.out)
    assert (table["state"] == "done").all()
    assert len(table) == 13


def test_states_are_kept_for_as_long_as_somebody_may_go_on_from_them(whole: History) -> None:
    kept = {run.folder.name[:12] for run in find_runs(whole.out) if run.path("checkpoint").exists()}
    assert kept == {"generation01", "generation02", whole.best.folder.name[:12]}
    assert not list(whole.out.rglob("checkpoint.previous*"))


def test_more_generations_go_on_and_the_same_again_is_done(whole: History, tmp_path: Path) -> None:
    short = evolve_small(tmp_path, changes={"generations": 2})
    pd.testing.assert_frame_equal(short.table, whole.table[whole.table["generation"] < 2])
    said: list[str] = []
    longer = evolve_small(tmp_path, say=said.append)
    pd.testing.assert_frame_equal(longer.table, whole.table)
    assert len(said) == 1
    spread = r"batch_size \d+ to \d+, learning_rate \S+ to \S+, beta \d+ to \d+"
    assert re.fullmatch(rf"generation 3 of 3: best 0\.\d+, median 0\.\d+, {spread}", said[0])
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("state.json")}
    evolve_small(tmp_path, say=said.append)
    assert before == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("state.json")}
    assert len(said) == 1


def test_a_damaged_parent_is_trained_anew(whole: History, tmp_path: Path) -> None:
    short = evolve_small(tmp_path, changes={"generations": 2})
    hurt = run_of(short, 1, int(whole.table.loc[whole.table["generation"] == 2, "parent"].iloc[0]))
    hurt.path("model").write_bytes(b"nothing")
    said: list[str] = []
    longer = evolve_small(tmp_path, say=said.append)
    pd.testing.assert_frame_equal(longer.table, whole.table)
    assert any("is damaged" in line and "set aside" in line for line in said)


def test_another_population_in_the_folder_is_named(whole: History) -> None:
    with pytest.raises(InputError, match=r"holds another population: seed is 5, not 6$"):
        evolve_small(whole.out, changes={"seed": 6})
    with pytest.raises(InputError, match=r"score.labels is 300, not 200"):
        evolve_small(whole.out, score=Score("mig", labels=200))


def test_what_diverges_is_tried_again_and_then_replaced(tmp_path: Path) -> None:
    space = {"learning_rate": Hyperparameter((1e-3, 1e30), 1e-4, 1e30)}
    changes = {"space": space, "start": "grid", "size": 2, "attempts": 2, "generations": 2, "steps": 6}
    history = evolve_small(tmp_path, changes=changes, settings={**SETTINGS, "batch_size": 4})
    table = history.table.set_index(["generation", "member"])
    assert math.isnan(table.loc[(0, 1), "score"])
    assert table["tries"].tolist() == [0, 1, 0, 1], "two seeds, then no more"
    states = load_runs(tmp_path).groupby("state").size().to_dict()
    assert states == {"diverged": 2, "done": 4}
    assert table.loc[(1, 1), "parent"] == 0
    assert table.loc[(1, 1), "learning_rate"] in [1e-3 * factor for factor in (2, 1.2, 0.8, 0.5)]
    changes["space"] = {"learning_rate": Hyperparameter((1e30, 2e30), 1e30, 2e30)}
    with pytest.raises(InputError, match="every member diverged in generation 1; try smaller learning rates"):
        evolve_small(tmp_path / "all", changes=changes, settings={**SETTINGS, "batch_size": 4})


def test_a_search_without_copying_keeps_everyone_alone(tmp_path: Path) -> None:
    space = {"beta": Hyperparameter((1, 8), 1, 8), "learning_rate": Hyperparameter((1e-3, 1e30), 1e-3, 1e30)}
    changes = {"exploit": "none", "start": "grid", "space": space, "attempts": 1, "generations": 2, "images": 40}
    history = evolve_small(tmp_path, changes={**changes, "steps": None}, settings={**SETTINGS, "batch_size": 16})
    table = history.table
    assert table[table["generation"] == 0][["beta", "learning_rate"]].values.tolist() == [
        [1, 1e-3], [8, 1e-3], [1, 1e30], [8, 1e30]
    ]  # fmt: skip
    assert table["score"].isna().tolist() == [False, False, True, True, False, False]
    assert table[table["generation"] == 1][["member", "parent"]].values.tolist() == [[0, 0], [1, 1]]
    assert table["steps"].tolist() == [3, 3, 3, 3, 6, 6], "40 images are three batches of 16"


def test_it_stops_when_the_best_stands_still(tmp_path: Path) -> None:
    changes = {"generations": 6, "patience": 2, "tolerance": 1.1, "steps": 1, "size": 2}
    history = evolve_small(tmp_path, changes=changes)
    assert history.converged
    assert history.table["generation"].max() == 2


def test_no_generation_begins_that_would_not_end_in_time(tmp_path: Path) -> None:
    history = evolve_small(tmp_path, changes={"generations": 3, "steps": 1, "size": 2}, stop_at=0.0)
    assert history.table["generation"].max() == 0
    assert history.stopped == "the time was over after 1 of 3 generations"
    assert history.best.path("model").exists()
    more = evolve_small(tmp_path, changes={"generations": 2, "steps": 1, "size": 2})
    assert more.table["generation"].max() == 1
    assert not more.stopped


def test_ctrl_c_leaves_the_best_so_far_to_whoever_attends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stopping(Now):
        count = 0

        def submit(self, *args: Any, **given: Any) -> Any:
            self.count += 1
            if self.count > 5:  # two members with a score each, and the first of the next generation
                raise KeyboardInterrupt
            return super().submit(*args, **given)

    monkeypatch.setattr(population, "images_per_second", lambda *_: 1000.0)
    changes, lines = {"generations": 3, "steps": 1, "size": 2}, list[str]()
    with pytest.raises(KeyboardInterrupt):
        evolve_small(tmp_path / "job", changes=changes, executor=Stopping())
    history = evolve_small(tmp_path / "attended", changes=changes, executor=Stopping(), attended=True, say=lines.append)
    assert lines[0].startswith("at most")
    assert history.stopped == "stopped after 1 of 3 generations"
    assert history.best.path("model").exists()
    assert "It ended early: stopped after 1 of 3 generations." in judge(history) or is_dead(history.best)


# Scores


@pytest.fixture(scope="module")
def methods() -> list[Any]:
    data, found = small_data(), []
    for seed in range(3):
        torch.manual_seed(seed)
        method = build("beta_vae", data, {**SETTINGS, "batch_size": 16, "learning_rate": 3e-3, "beta": 0.01})
        for _ in steps_of(method, data, steps=40, seed=seed):
            pass
        found.append(method.eval())
    return found


def test_udr_is_that_of_the_models_among_themselves(methods: list[Any]) -> None:
    data, score = small_data(), Score("udr", points=400)
    sets = label_sets(score, data, None, 3)
    rows = sets[0][0].rows
    assert len(np.unique(rows)) == 400
    found = [represent(method, Subset(data, rows)) for method in methods]
    kl = [kl_per_latent(one.codes, one.logvar).mean(0) for one in found if one.logvar is not None]
    expected = udr([one.codes for one in found], kl, "lasso")["scores"]
    assert fitness(score, methods, data, sets, 3) == expected.tolist()
    assert max(expected) > 0
    assert len(label_sets(Score(), load("dsprites", 16), None, 0)[0][0].rows) == 1000


def test_label_sets_are_scored_where_they_have_labels(methods: list[Any]) -> None:
    """Columns on their own rows, cut into 20 bins, the mean over them, the median over sets: by a slow loop."""
    data, rng = small_data(), np.random.default_rng(0)
    factors = data.all_factors().numpy().astype(float)
    noisy = factors[:, 3:] + rng.uniform(0, 0.9, (2000, 2))
    nested = np.full((2000, 3), np.nan)
    nested[:, 0] = noisy[:, 0]
    nested[200:900, 1] = noisy[200:900, 1]
    nested[200:900, 2] = factors[200:900, 1]
    sets = [nested, noisy, factors[:, :1]]
    score = Score("mig")
    (value,) = fitness(score, methods[:1], data, label_sets(score, data, sets, 0), 0)
    codes = methods[0].encode(data.images_at(torch.arange(2000))).detach().numpy()
    expected = []
    for table in sets:
        gaps = []
        for column in table.T:
            known = ~np.isnan(column)
            gaps.append(mig(codes[known], column[known, None], factor_bins=20)["mig"])
        expected.append(np.mean(gaps))
    assert math.isclose(value, float(np.median(expected)), abs_tol=1e-9)


@pytest.mark.parametrize("metric", ["mig", "udr"])
def test_weighted_rows_are_scored_by_their_own_labels(methods: list[Any], metric: str) -> None:
    data = small_data()
    weighted = Correlated(data, [("x", "scale")], strength=0.1)
    score = Score(metric)
    found = [fitness(score, methods, each, label_sets(score, each, None, 0), 0) for each in (data, weighted)]
    assert found[0] == found[1]


def test_codes_that_are_no_numbers_have_no_score(methods: list[Any]) -> None:
    data = small_data()
    broken = build("beta_vae", data, {**SETTINGS})
    with torch.no_grad():
        next(broken.parameters()).fill_(math.nan)
    for score in (Score("udr"), Score("mig")):
        found = fitness(score, [methods[0], broken], data, label_sets(score, data, None, 0), 0)
        assert math.isfinite(found[0])
        assert math.isnan(found[1])


def test_a_member_of_several_models_scores_their_mean(tmp_path: Path) -> None:
    changes = {"models": 3, "size": 2, "generations": 2, "steps": 30}
    history = evolve_small(tmp_path, changes=changes, score=Score("udr", points=300), settings=SETTINGS)
    assert history.table["images"].tolist() == (3 * 30 * history.table["batch_size"]).tolist()
    for _, row in history.table.iterrows():
        pattern = f"generation{row['generation']:02}-member{row['member']:02}"
        runs = [Run(path) for path in sorted(tmp_path.glob(f"jobs/{pattern}-model*"))]
        assert len(runs) == 3
        assert len({run.config.seed for run in runs}) == 3
        assert len({str(run.config.settings) for run in runs}) == 1, "they share their hyperparameters"
        data = small_data()
        score = Score("udr", points=300)
        values = fitness(score, [run.method() for run in runs], data, label_sets(score, data, None, 5), 5)
        assert math.isclose(float(np.mean(values)), row["score"], abs_tol=1e-9)
        assert row["model"] == int(np.argmax(values))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda data: Score("mgi"), "there is no score 'mgi'; did you mean 'mig'?"),
        (lambda data: Score("udr", labels=10), "score udr needs no labels; leave out labels=10"),
        (lambda data: Score("mig", labels=1), "labels is 1; expected at least 3"),
        (lambda data: Score("mig", settings={"bin": 3}), "score 'mig' has no setting 'bin'; did you mean 'bins'?"),
        (lambda data: label_sets(Score("mig", labels=3000), data, None, 0), "labels is 3,000; the data has 2,000 rows"),
        (lambda data: label_sets(Score("mig"), data, [], 0), "the label sets are empty"),
        (lambda data: label_sets(Score("udr"), data, [np.zeros((2000, 1))], 0), "score udr takes no label sets"),
        (
            lambda data: label_sets(Score("mig"), data, [np.zeros((5, 1))], 0),
            r"label set 0 is float64 of shape \(5, 1\)",
        ),
        (lambda data: label_sets(Score("mig"), data, [np.full((2000, 2), np.nan)], 0), "label set 0 has 0 labels in"),
        (lambda data: evolve_small("nowhere", score=Score("dci.goodness")), "score 'dci' has no part 'goodness'"),
        (lambda data: evolve_small("nowhere", score="udr", changes={"models": 1}), "models is 1, expected at least 2"),
        (lambda data: evolve_small("nowhere", settings={"beta": 2.0}), "beta is both set to 2.0 and searched"),
        (
            lambda data: evolve_small("nowhere", changes={"space": {"latents": Hyperparameter((3,), 3, 5)}}),
            "beta_tc_vae has no live setting 'latents'",
        ),
        (
            lambda data: evolve_small("nowhere", changes={"space": {"batch_size": Hyperparameter((3,), 3, 5)}}),
            "batch_size is a whole number; expected whole start values, and whole=True",
        ),
        (
            lambda data: evolve_small("nowhere", changes={"space": {"beta": Hyperparameter((3,), -3, 5)}}),
            "beta is -3.0; expected at least 0",
        ),
        (lambda data: Hyperparameter((7,), 3, 5), "start values are 7; expected at least one, from 3 to 5"),
    ],
)
def test_bad_scores_and_spaces_are_named(
    make: Any, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=message):
        make(small_data())
    assert not list(tmp_path.iterdir()), "nothing was begun"


# Data


def test_a_subset_is_opened_again_by_its_rows(tmp_path: Path) -> None:
    outer = Subset(small_data(), torch.arange(0, 2000, 2))
    data = Subset(outer, torch.arange(100, 600))
    changes = {"generations": 1, "size": 2, "steps": 2}
    history = evolve_small(tmp_path, data=data, changes=changes)
    again = history.best.data()
    assert torch.equal(again.all_factors(), data.all_factors())
    assert torch.equal(again.images_at([3, 99]), data.images_at([3, 99]))
    with pytest.raises(InputError, match=r"holds another population: data\.selection is"):
        evolve_small(tmp_path, data=outer, changes=changes)


def test_data_that_workers_cannot_open_is_refused(tmp_path: Path) -> None:
    images, factors = small_data().sample(20, 0)
    data = Rows(images, factors, small_data().names, small_data().sizes, source="here")
    with pytest.raises(InputError, match=r"workers open the data by name; expected data from unbraid.data.load"):
        evolve_small(tmp_path, data=data, score="mig")


def test_label_sets_reach_the_members(tmp_path: Path) -> None:
    data = small_data()
    labels = data.all_factors().numpy()[:, 3:].astype(float)
    labels[::3] = np.nan
    changes = {"generations": 1, "size": 2, "steps": 2}
    history = evolve_small(tmp_path, changes=changes, score="mig", label_sets=[labels])
    score = Score("mig")
    for member in range(2):
        method = run_of(history, 0, member).method()
        (value,) = fitness(score, [method], data, label_sets(score, data, [labels], 5), 5)
        assert math.isclose(value, history.table["score"][member], abs_tol=1e-9)
    with pytest.raises(InputError, match="holds another population: labels is"):
        evolve_small(tmp_path, changes=changes, score="mig", label_sets=[labels + 1])


# Pictures and the command line


def test_the_picture_shows_score_and_hyperparameters(whole: History, tmp_path: Path) -> None:
    drawing = lineages.draw(whole.table, "mig")
    assert [axis.get_title(loc="left") for axis in drawing.axes] == ["mig", "batch size", "learning rate", "beta"]
    line = lineage(whole.table)
    marked = next(one for one in drawing.axes[0].lines if one.get_color() == lineages.WINNER)
    assert marked.get_ydata().tolist() == [
        whole.table.set_index(["generation", "member"]).loc[key, "score"] for key in line
    ]
    assert imread(lineages.save(whole.table, tmp_path / "x.png")).shape[0] > 300


def test_no_flag_of_a_method_hides_one_of_the_command() -> None:
    command = app.get_command(None, "population")  # type: ignore[arg-type]
    for method in METHODS:
        names = [option for one in command.get_command(None, method).params for option in one.opts]  # type: ignore
        assert len(names) == len(set(names)), method


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--values", "beta=one"], "--values got 'one'; expected numbers"),
        (["--values", "gamma=1"], "beta_tc_vae has no live setting 'gamma'"),
        (["--range", "beta=1:2:3"], "--range got 3 numbers; expected LOW:HIGH"),
        (["--beta", "3", "--range", "beta=1:2"], "'beta' has no start values of its own"),
        (["--search", "beta", "--values", "batch_size=8"], "'batch_size' is not searched"),
        (["--workers", "0"], "workers is 0; expected at least 1"),
    ],
)
def test_bad_flags_are_named(flags: list[str], message: str, tmp_path: Path) -> None:
    given = ["population", "beta_tc_vae", "--data", "dsprites", "--resolution", "16", "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(app, [*given, *flags])
    assert isinstance(result.exception, InputError)
    assert message in str(result.exception)
    assert not (tmp_path / "out").exists()


def test_the_command_line_asks_for_the_same_population(
    whole: History, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """On the folder of the population that Python made, it finds everything done."""
    monkeypatch.setattr(import_module("unbraid.cli._engine"), "_executor", lambda *_, **__: (Now(), 1))
    before = len(list((whole.out / "jobs").iterdir()))
    result = CliRunner().invoke(app, ["population", "beta_tc_vae", *FLAGS, "--out", str(whole.out)])
    assert result.exit_code == 0, result.exception
    lines = result.stdout.splitlines()
    assert lines[0] == f"{whole.out / 'population.csv'}  12 rows"
    assert lines[1] == str(whole.out / "population.png")
    best, score = lines[2].split("  ")
    assert score == f"mig {whole.score:.4f}"
    assert Run(best).state["state"] == "done"
    assert len(list((whole.out / "jobs").iterdir())) == before + 1, "the best, with more codes than in the fixture"


def test_the_defaults_are_the_papers() -> None:
    rules = PopulationConfig()
    assert (rules.fraction, rules.factors) == (0.2, (2, 1.2, 0.8, 0.5))
    assert (rules.attempts, rules.tolerance) == (10, 0.005)


def test_an_epoch_is_the_data_once(tmp_path: Path) -> None:
    changes = {"steps": None, "generations": 1, "size": 2, "space": {"beta": Hyperparameter((1.0,), 1, 2)}}
    settings = {**SETTINGS, "batch_size": 1000, "learning_rate": 1e-3}
    history = evolve_small(tmp_path, changes=changes, settings=settings)
    assert history.table["images"].tolist() == [10_000, 10_000], "or 10,000 images, where it has fewer"
