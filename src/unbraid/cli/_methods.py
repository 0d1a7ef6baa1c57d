"""A command per method, with a flag for each of its settings."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from unbraid.cli._flags import flag
from unbraid.cli._group import LazyGroup

if TYPE_CHECKING:
    from unbraid.methods import Method

SUMMARIES = {
    "beta_vae": "β-VAE: a weight on the KL divergence; 1 is the plain VAE.",
    "annealed_vae": "AnnealedVAE: the capacity of the bottleneck grows with training.",
    "factor_vae": "FactorVAE: a penalty on total correlation, estimated by an adversary.",
    "beta_tc_vae": "β-TCVAE: a penalty on total correlation, estimated from the batch.",
    "dip_vae_i": "DIP-VAE-I: pulls the covariance of the means to the identity.",
    "dip_vae_ii": "DIP-VAE-II: pulls the covariance of the codes to the identity.",
    "autoencoder": "A plain autoencoder: reconstruction, no prior.",
    "multitask": "One encoder for many tasks, each with its own head.",
    "one_head": "One encoder for many tasks, all from one head.",
    "single_task": "One task out of many: multitask with one head in use.",
    "random_encoder": "An untrained encoder, for comparison.",
    "frozen_decoder": "A decoder on given codes: how much of the image do they hold?",
    "frozen_heads": "Task heads on given codes, or on the true factors.",
    "few_label_vae": "A VAE with a supervised term on a few labelled images.",
    "intervention": "An autoencoder whose features can be exchanged one by one.",
    "infogan_cr": "InfoGAN-CR: a GAN whose codes can be recovered from its images.",
    "factorized_support": "Hausdorff factorized support: every combination of codes is possible.",
    "ada_gvae": "Ada-GVAE: a VAE on pairs of images that differ in a few factors.",
    "contrastive": "Contrastive learning of sub-embeddings, kept apart by a regularizer.",
}
"""What each method is, in a line: listing the methods does not import torch."""


class MethodGroup(LazyGroup):
    """A command per method, with a flag for each of its settings.

    `run` gets the method's name, the names of its settings and all options; `params_of` gives the other flags.
    """

    def __init__(
        self,
        *args: Any,
        run: Callable[..., None],
        params_of: Callable[[type[Method]], Iterable[click.Parameter]],
        note: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, summaries=SUMMARIES, find=self._command, **kwargs)
        self._run, self._params_of, self._note = run, params_of, note

    def _command(self, name: str) -> click.Command | None:
        from unbraid.methods import GROUP, METHODS, method_class
        from unbraid.own import is_reference, refer

        name = name if name in METHODS else refer(name, GROUP)
        if name not in METHODS and not is_reference(name):
            return None
        method = method_class(name)
        fields = dataclasses.fields(method.config_class)
        return click.Command(
            name,
            callback=partial(self._run, name, {field.name for field in fields}),
            params=[*self._params_of(method), *(flag(field) for field in fields)],
            help="\n\n".join([SUMMARIES.get(name, ""), inspect.getdoc(method) or "", self._note]).strip(),
        )
