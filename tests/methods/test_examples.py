"""The examples in the docstrings of losses that can be used alone."""

from __future__ import annotations

import doctest
from types import ModuleType

import pytest
import torch

from unbraid.methods import (
    ada_gvae,
    contrastive_losses,
    factorized_support,
    gaussian,
    intervention_losses,
    translation,
    vae,
)

MODULES = [ada_gvae, contrastive_losses, factorized_support, gaussian, intervention_losses, translation, vae]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples_run(module: ModuleType) -> None:
    torch.manual_seed(0)
    results = doctest.testmod(module, extraglobs={"torch": torch})
    assert results.attempted > 0
    assert results.failed == 0
