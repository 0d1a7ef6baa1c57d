from __future__ import annotations

import numpy as np
import pytest

from tests.metrics.examples import factors_of, noise, perfect
from unbraid.errors import InputError
from unbraid.metrics import dci_es
from unbraid.metrics.dci_es import CAPACITIES

FACTORS = factors_of(900)
SCALED = (FACTORS - FACTORS.mean(0)) / FACTORS.std(0)
CIRCLE = np.c_[np.cos(2 * SCALED), np.sin(2 * SCALED)]  # holds every factor, not linearly


@pytest.mark.parametrize("categorical", [(), (0, 1, 2)])
def test_perfect_codes(categorical: tuple[int, ...]) -> None:
    found = dci_es(perfect(FACTORS), FACTORS, categorical=categorical)
    assert found["explicitness"] == pytest.approx(1.0, abs=1e-3)
    assert found["informativeness"] == pytest.approx(1.0, abs=1e-3)
    assert found["size"] == 1.0


def test_codes_that_only_a_strong_probe_reads() -> None:
    found = dci_es(CIRCLE, FACTORS)
    assert found["explicitness"] < 0.8
    assert found["informativeness"] > 0.98
    assert found["size"] == 0.5


@pytest.mark.parametrize("family", ["fourier", "forest"])
def test_noise_is_explicit_and_not_informative(family: str) -> None:
    found = dci_es(noise(900), FACTORS, family=family, draws=1)
    assert found["explicitness"] > 0.95
    assert found["informativeness"] < 0.05


def test_explicitness_is_the_area_over_the_lowest_loss() -> None:
    """The area by another rule, on the curve the function itself reports."""
    found = dci_es(CIRCLE, FACTORS, rng=3)
    loss, capacity = found.arrays["loss"], found.arrays["capacity"]
    area = np.trapezoid(loss - loss.min(0), capacity, axis=0)
    expected = 1 - area / (0.5 * (capacity[-1] - capacity[0]))
    assert found["explicitness"] == pytest.approx(expected.mean())
    np.testing.assert_allclose(capacity, np.log(1 + 6 + np.array(CAPACITIES["fourier"])))
    assert (np.diff(loss, axis=0) <= 0).all()


def test_the_simplest_probe_is_ridge_regression() -> None:
    from sklearn.linear_model import Ridge

    train, test = CIRCLE[:600], CIRCLE[600:]
    mean, scale = train.mean(0), train.std(0)
    model = Ridge(alpha=1e-3 * 600).fit((train - mean) / scale, FACTORS[:600, 1])
    found = dci_es(train, FACTORS[:600], test=(test, FACTORS[600:]))
    assert found.arrays["loss"][0, 1] == pytest.approx(1 - model.score((test - mean) / scale, FACTORS[600:, 1]))


def test_a_linear_fall_from_knowing_nothing_scores_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    def ramp(codes: object, target: object, test: np.ndarray, *_: object) -> list[np.ndarray]:
        """The truth, ±1, moved by √loss towards the mean."""
        truth = test[:, 0] * 1.0
        return [truth - np.sqrt(loss) * truth.std() * np.sign(truth - truth.mean()) for loss in (1.0, 0.5, 0.0)]

    from unbraid.metrics import dci_es as function
    from unbraid.metrics.dci_es import FAMILIES

    monkeypatch.setitem(FAMILIES, "forest", ramp)
    label = np.arange(600) % 2
    codes = (label - 0.5)[:, None] * 2  # mean 0, deviation 1: standardising keeps it
    factors = label * 2 - 1
    found = function(codes, factors, test=(codes, factors), family="forest", capacities=(1, 2, 3))
    np.testing.assert_allclose(found.arrays["loss"][:, 0], [1, 0.5, 0], atol=1e-12)
    assert found["explicitness"] == pytest.approx(0.0)


def test_degenerate_input() -> None:
    for factors in (FACTORS, np.full((900, 3), 4)):
        found = dci_es(np.zeros((900, 2)), factors)
        assert found["explicitness"] == pytest.approx(1.0, abs=1e-3)
        assert found["informativeness"] == pytest.approx(0.0, abs=1e-3)
    assert dci_es(perfect(FACTORS)[:, :1], FACTORS[:, :1])["informativeness"] > 0.99
    wide = dci_es(noise(20, 40), FACTORS[:20])
    assert wide["size"] == 3 / 40
    assert -1 <= wide["explicitness"] <= 1


@pytest.mark.parametrize(
    ("codes", "settings", "message"),
    [
        (CIRCLE, {"family": "forests"}, "no family 'forests'; did you mean 'forest'"),
        (CIRCLE, {"capacities": (8,)}, "expected two or more, each at least 0"),
        (CIRCLE, {"family": "forest", "capacities": (0, 2)}, "expected two or more, each at least 1"),
        (CIRCLE, {"draws": 0}, "draws is 0"),
        (CIRCLE, {"categorical": (3,)}, "categorical names factor 3"),
        (CIRCLE[:5], {}, "5 rows of codes but 900"),
        (np.full((900, 2), np.nan), {}, "codes column 0 is nan"),
    ],
)
def test_errors(codes: np.ndarray, settings: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        dci_es(codes, FACTORS, **settings)  # type: ignore[arg-type]
