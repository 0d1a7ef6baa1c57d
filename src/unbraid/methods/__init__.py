"""Learners by name, and the contract they share.

One of your own is a file anywhere; docs/adding.md walks through it. Losses that can be used alone are in
`gaussian`, `contrastive_losses`, `intervention_losses`, `translation` and beside the learners.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from unbraid.data import FactorData
from unbraid.errors import InputError, shown
from unbraid.methods.ada_gvae import AdaGVAE
from unbraid.methods.annealed_vae import AnnealedVAE
from unbraid.methods.autoencoder import Autoencoder
from unbraid.methods.base import Batch, Encoding, Method, Terms
from unbraid.methods.beta_tc_vae import BetaTCVAE
from unbraid.methods.beta_vae import BetaVAE
from unbraid.methods.config import Config, Spec, setting
from unbraid.methods.contrastive import Contrastive
from unbraid.methods.dip_vae_i import DIPVAEI
from unbraid.methods.dip_vae_ii import DIPVAEII
from unbraid.methods.factor_vae import FactorVAE
from unbraid.methods.factorized_support import FactorizedSupport
from unbraid.methods.few_label_vae import FewLabelVAE
from unbraid.methods.frozen_decoder import FrozenDecoder
from unbraid.methods.frozen_heads import FrozenHeads
from unbraid.methods.infogan_cr import InfoGANCR
from unbraid.methods.intervention import Intervention
from unbraid.methods.multitask import Multitask
from unbraid.methods.one_head import OneHead
from unbraid.methods.random_encoder import RandomEncoder
from unbraid.methods.single_task import SingleTask
from unbraid.own import look_up

METHODS: dict[str, type[Method]] = {
    "beta_vae": BetaVAE,
    "annealed_vae": AnnealedVAE,
    "factor_vae": FactorVAE,
    "beta_tc_vae": BetaTCVAE,
    "dip_vae_i": DIPVAEI,
    "dip_vae_ii": DIPVAEII,
    "autoencoder": Autoencoder,
    "multitask": Multitask,
    "one_head": OneHead,
    "single_task": SingleTask,
    "random_encoder": RandomEncoder,
    "frozen_decoder": FrozenDecoder,
    "frozen_heads": FrozenHeads,
    "few_label_vae": FewLabelVAE,
    "intervention": Intervention,
    "infogan_cr": InfoGANCR,
    "factorized_support": FactorizedSupport,
    "ada_gvae": AdaGVAE,
    "contrastive": Contrastive,
}

GROUP = "unbraid.methods"  # of entry points
__all__ = ["METHODS", "Batch", "Config", "Encoding", "Method", "Spec", "Terms", "build", "method_class", "setting"]


def method_class(name: str | type[Method]) -> type[Method]:
    """The class of a learner by its name or a reference, or an InputError that suggests the nearest name."""
    method = look_up(name, METHODS, "method", GROUP)
    if not (isinstance(method, type) and issubclass(method, Method)):
        raise InputError(f"{name} is {method!r}; expected a subclass of unbraid.methods.Method")
    for field in fields(method.config_class):
        if "help" not in field.metadata:
            culprit = f"{field.name} of {method.config_class.__name__}"
            raise InputError(f"{culprit} is not declared with `setting`; expected `= setting(default, help)`")
    return method


def build(name: str | type[Method], data: FactorData | Spec, settings: Mapping[str, Any] | None = None) -> Method:
    """A learner by name, for this data, with these settings; its weights come from torch's default generator."""
    method = method_class(name)
    spec = data if isinstance(data, Spec) else Spec.of(data)
    config = method.config_class.make(settings or {})
    try:
        return method(config, spec)
    except (MemoryError, RuntimeError) as error:
        if isinstance(error, RuntimeError) and "allocate" not in str(error) and "Storage size" not in str(error):
            raise
        raise InputError(f"{shown(name)} with these settings needs more memory than there is") from error
