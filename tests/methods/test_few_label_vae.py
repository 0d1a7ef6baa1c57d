"""The supervised term by formula, what rows without labels do, and where labels come from."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from tests.examples.squares import squares
from unbraid.data import Rows, load
from unbraid.data.wrappers.labelled import LabelledData, factor_labels, with_labels
from unbraid.errors import InputError
from unbraid.methods import build
from unbraid.methods.few_label_vae import REGULARIZERS, FewLabelVAE
from unbraid.metrics import mig
from unbraid.training.loop import train
from unbraid.training.representation import represent

NAN = float("nan")
SMALL = {"network": "small", "latents": 4, "batch_size": 8, "learning_rate": 2e-3}


def make(**settings: Any) -> FewLabelVAE:
    torch.manual_seed(0)
    method = build("few_label_vae", squares(), {**SMALL, **settings})
    assert isinstance(method, FewLabelVAE)
    return method


def some(n: int = 7, d: int = 4, k: int = 3) -> tuple[Tensor, Tensor]:
    rng = torch.Generator().manual_seed(3)
    return 2 * torch.randn(n, d, generator=rng), torch.rand(n, k, generator=rng)


def sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x))


def cross_entropy(mu: float, y: float) -> float:
    return -(y * math.log(sigmoid(mu)) + (1 - y) * math.log(1 - sigmoid(mu)))


def by_loops(regularizer: str, means: Tensor, labels: Tensor, scale: float) -> float:
    """The formulas of the page, label by label."""
    mu, y = means.tolist(), labels.tolist()
    n, d, k = len(mu), len(mu[0]), len(y[0])
    if regularizer == "covariance":
        rows = [i for i in range(n) if not any(math.isnan(v) for v in y[i])]
        total = 0.0
        for a in range(d):
            for b in range(k):
                if a != b:
                    mean_a, mean_b = (sum(t[i][c] for i in rows) / len(rows) for t, c in ((mu, a), (y, b)))
                    total += (sum((mu[i][a] - mean_a) * (y[i][b] - mean_b) for i in rows) / len(rows)) ** 2
        return total
    error = {
        "cross_entropy": cross_entropy,
        "l2": lambda m, v: (sigmoid(m) - v) ** 2,
        "l2_scaled": lambda m, v: (scale * m - v) ** 2,
    }[regularizer]
    total = 0.0
    for j in range(k):
        found = [error(mu[i][j], y[i][j]) for i in range(n) if not math.isnan(y[i][j])]
        total += sum(found) / len(found) if found else 0.0
    return total


@pytest.mark.parametrize("missing", [False, True], ids=["all labels", "some missing"])
@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_the_supervised_term_is_its_formula(regularizer: str, missing: bool) -> None:
    method, (means, labels) = make(regularizer=regularizer), some()
    if regularizer == "l2_scaled":
        method.scale.data.fill_(0.7)
    if missing:
        labels[0], labels[2, 1], labels[5, 0] = NAN, NAN, NAN
    with torch.no_grad():
        found = float(method.supervised(means, labels))
    assert found == pytest.approx(by_loops(regularizer, means, labels, 0.7), rel=1e-5)


@pytest.mark.parametrize("base", ["beta_vae", "beta_tc_vae"])
def test_the_loss_is_that_of_its_base_and_the_term(base: str) -> None:
    data, method = squares(), make(base=base, beta=3.0, gamma_sup=5.0)
    labels = factor_labels(data, 8)
    batch = {"images": data.images_at(range(8)), "labelled_images": data.images_at(range(8, 16))}
    batch["labels"] = labels[8:16]
    with torch.no_grad():
        means = method.encode(batch["labelled_images"])
        torch.manual_seed(1)
        plain = build(base, data, {**SMALL, "beta": 3.0})
        plain.load_state_dict(method.state_dict() | {"training.hp": plain.state_dict()["training.hp"]})
    torch.manual_seed(2)
    expected = plain.update(batch)
    torch.manual_seed(2)
    terms = method.update(batch)
    supervised = by_loops("cross_entropy", means, labels[8:16], 1.0)
    assert float(terms["supervised"]) == pytest.approx(supervised, rel=1e-4)
    assert float(terms["loss"]) == pytest.approx(float(expected["loss"]) + 5 * supervised, rel=1e-5)
    for name in expected.keys() - {"loss"}:
        assert float(terms[name]) == pytest.approx(float(expected[name]), rel=1e-5)


@pytest.mark.parametrize("regularizer", REGULARIZERS)
def test_rows_without_labels_give_no_supervised_gradient(regularizer: str) -> None:
    method, (means, labels) = make(regularizer=regularizer), some()
    labels[[1, 4]] = NAN
    means.requires_grad_()
    method.supervised(means, labels).backward()  # type: ignore[no-untyped-call]
    assert means.grad is not None
    gradient = means.grad.abs().sum(1)
    assert bool((gradient[[1, 4]] == 0).all())
    assert bool((gradient[[0, 2, 3, 5, 6]] > 0).all())
    nothing = method.supervised(means, torch.full_like(labels, NAN))
    assert float(nothing) == 0


def test_a_step_without_labels_is_a_step_of_the_beta_vae() -> None:
    data = squares()
    method = make(gamma_sup=100.0)
    plain = build("beta_vae", data, {**SMALL, "beta": 4.0})
    plain.load_state_dict(method.state_dict() | {"training.hp": plain.state_dict()["training.hp"]})
    images = data.images_at(range(8))
    for learner in (method, plain):
        torch.manual_seed(0)
        learner.update({"images": images, "labelled_images": images, "labels": torch.full((8, 2), NAN)})
    for (name, ours), theirs in zip(method.named_parameters(), plain.parameters(), strict=True):
        assert torch.equal(ours, theirs), name


def test_only_the_scaled_regularizer_learns_a_scale() -> None:
    data = with_labels(squares(), 20)
    method = make(regularizer="l2_scaled")
    list(train(method, data, steps=5, seed=0))
    assert float(method.scale) != 1
    assert not hasattr(make(), "scale")


def test_labels_tie_each_factor_to_its_latent() -> None:
    data = with_labels(squares(), 30)
    method = make(beta=1.0)
    list(train(method, data, steps=400, seed=0))
    found = represent(method, data)
    assert mig(found.codes, found.factors, bins=6)["mig"] > 0.5
    for factor in range(2):
        ranks = torch.stack([found.codes[:, factor], found.factors[:, factor].float()])
        assert float(torch.corrcoef(ranks)[0, 1]) > 0.9


def test_fewer_latents_than_labels_are_refused() -> None:
    with pytest.raises(InputError, match="latents is 1; expected at least 2, one for each label"):
        list(train(make(latents=1), with_labels(squares(), 5), steps=1, seed=0))


# Where labels come from


def test_a_batch_holds_labelled_rows_apart_from_its_own() -> None:
    plain = squares()
    data = with_labels(plain, labels=5, label_seed=1)
    assert len(data.labelled) == 5
    batch = data.batch(400, 0)
    assert torch.equal(batch["images"], plain.batch(400, 0)["images"])
    rows = {tuple((6 * row).round().int().tolist()) for row in batch["labels"]}
    assert rows == {tuple(row) for row in plain.factors_at(data.labelled).tolist()}
    truth = plain.images((6 * batch["labels"]).round().long())
    assert torch.equal(batch["labelled_images"], truth)
    assert set(batch["labels"].unique().tolist()) <= {np.float32(value / 6) for value in range(6)}


def test_the_seed_chooses_the_rows_and_the_run() -> None:
    first, again, other = (with_labels(squares(), 5, seed) for seed in (0, 0, 1))
    assert torch.equal(first.labelled, again.labelled)
    assert not torch.equal(first.labelled, other.labelled)
    assert first.describe() == again.describe() != other.describe()
    assert first.describe() != squares().describe()


def test_labelled_rows_are_not_among_those_held_out() -> None:
    data = load("dsprites", 16, rows=200, held_out=0.5, labels=100)
    assert isinstance(data, LabelledData)
    assert data.held_out is not None
    assert len(data) == len(data.held_out) == 100
    seen = {tuple(row) for row in data.factors_at(data.labelled).tolist()}
    assert not seen & {tuple(row) for row in data.held_out.all_factors().tolist()}


def test_labels_of_the_users_own(tmp_path: Path) -> None:
    pictures = Rows(squares().images_at(range(36)), torch.zeros(36, 0, dtype=torch.int64), [], [], source="test")
    labels = np.full((36, 2), np.nan)
    labels[3], labels[7], labels[9, 1] = (10, 5), (30, 5), 9
    np.save(tmp_path / "labels.npy", labels)
    data = with_labels(pictures, label_file=str(tmp_path / "labels.npy"))
    assert data.labelled.tolist() == [3, 7, 9]
    assert torch.equal(data.extras(torch.tensor([3, 7]))["labels"], torch.tensor([[0.0, 0.0], [1.0, 0.0]]))
    assert data.extras(torch.tensor([9]))["labels"].isnan().tolist() == [[True, False]]
    assert float(data.extras(torch.tensor([9]))["labels"][0, 1]) == 1
    list(train(make(), data, steps=2, seed=0))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "labels is 0; expected 1 to 36, the rows of the data"),
        ({"labels": 37}, "labels is 37; expected 1 to 36, the rows of the data"),
        ({"labels": 3, "label_file": "x.npy"}, "labels takes factors as labels and label_file your own"),
        ({"label_file": "nowhere.npy"}, "nowhere.npy does not exist; expected an .npy file of labels"),
    ],
)
def test_bad_settings_of_the_labels_are_named(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError) as error:
        with_labels(squares(), **settings)
    assert str(error.value).startswith(message)


def test_bad_labels_are_named(tmp_path: Path) -> None:
    pictures = Rows(squares().images_at(range(36)), torch.zeros(36, 0, dtype=torch.int64), [], [], source="test")
    with pytest.raises(InputError, match="this data has no factors to use as labels; expected label_file"):
        with_labels(pictures, 5)
    with pytest.raises(InputError, match="no row has a label"):
        LabelledData(squares(), np.full((36, 2), np.nan))
    with pytest.raises(InputError, match=r"labels have 35 rows and the data has 36"):
        LabelledData(squares(), np.zeros((35, 2)))
    with pytest.raises(InputError, match=r"labels column 1 is 3 at row 0; expected 0 to 1, or NaN"):
        LabelledData(squares(), np.tile([0, 3], (36, 1)))
    np.save(tmp_path / "words.npy", np.array(["a"] * 36))
    with pytest.raises(InputError, match=r"words.npy holds text; expected labels as numbers"):
        with_labels(squares(), label_file=str(tmp_path / "words.npy"))
