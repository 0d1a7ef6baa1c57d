"""Disentanglement by contrastive learning: sub-embeddings that views agree on, kept apart by a regularizer."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unbraid import nets
from unbraid.data.wrappers.views import Views
from unbraid.errors import InputError
from unbraid.methods.base import Batch, Encoding, Method, Terms
from unbraid.methods.config import Config as BaseConfig
from unbraid.methods.config import Spec, setting
from unbraid.methods.contrastive_losses import (
    OVER,
    hessian,
    info_max,
    info_min,
    ortho,
    p_ortho,
    positives,
    sub_info_max,
)

POSITIVES = ("pairs", "joint", "disjoint")
HEADS = ("parts", "whole", "none")


@dataclass(frozen=True)
class Config(BaseConfig):
    batch_size: int = setting(256, "pairs in a batch", low=1, high=1_000_000, live=True)
    learning_rate: float = setting(1e-3, "learning rate of Adam", above=0, live=True)
    latents: int = setting(512, "dimensions of the code r", low=1, high=100_000)
    network: str = setting("resnet34", "network of the encoder", choices=nets.NETWORKS, group=nets.GROUP)
    parts: int = setting(2, "K, the number of sub-embeddings", low=1, high=100_000)
    positives: str = setting(
        "pairs",
        "which views are positives: those of a pair, all with the same labels, or for part k all with the same label k",
        choices=POSITIVES,
    )
    head: str = setting("parts", "projection networks: one for each part of r, one for all of r, none", choices=HEADS)
    projection: int = setting(8, "dimensions of a sub-embedding of z", low=1, high=100_000)
    centred: bool = setting(
        False, "batch-normalise z before it is set to length 1, so that no part of it is the same for all images"
    )
    head_norm: bool = setting(
        False, "batch-normalise after each layer of the projection networks, as SimCLR's released code does"
    )
    temperature: float = setting(0.1, "temperature τ of the similarities", above=0)
    lambda_info_min: float = setting(0.0, "weight of info_min", low=0, live=True)
    lambda_ortho: float = setting(0.0, "weight of ortho", low=0, live=True)
    lambda_p_ortho: float = setting(0.0, "weight of p_ortho", low=0, live=True)
    lambda_hessian: float = setting(0.0, "weight of hessian", low=0, live=True)
    ortho_over: str = setting(
        "pair", "the j of ortho and p_ortho: i and its positive, or all views of the batch", choices=OVER
    )
    crop: float = setting(0.5, "smallest fraction of the area that a view shows; 1 for no cropping", above=0, high=1)
    flip: float = setting(0.5, "fraction of views that are mirrored", low=0, high=1)
    colour: float = setting(0.5, "strength of the colour distortion", low=0, high=1)
    grey: float = setting(0.2, "fraction of views that become grey", low=0, high=1)


class Contrastive(Method):
    """loss = sub_info_max + Σ_R λ_R·R, with R of info_min, ortho, p_ortho and hessian

    The code is r, in K parts; the loss is one of z, which projection networks make of r. With `head` whole there is one
    of them, and info_max replaces sub_info_max. With `head` none, z is r.
    """

    config_class = Config
    config: Config
    needs = ("images", "partners", "shared")
    strength = ("lambda_info_min", "lambda_ortho", "lambda_p_ortho", "lambda_hessian")

    def __init__(self, config: Config, spec: Spec) -> None:
        super().__init__(config, spec)
        parts = config.parts
        if config.latents < parts:
            raise InputError(f"latents is {config.latents}; expected at least {parts}, one for each of the parts")
        if config.head == "none" and config.latents % parts:
            raise InputError(f"latents is {config.latents}; with head 'none' expected a multiple of {parts}, the parts")
        if config.head == "whole" and config.positives == "disjoint":
            raise InputError("head is 'whole' and positives is 'disjoint'; expected head 'parts' or 'none'")
        self.views = Views(config.crop, config.flip, config.colour, config.grey)
        self.encoder = nets.encoder(config.network, spec.image_shape, config.latents)
        self.heads = nn.ModuleList()
        if config.head == "parts":
            self.heads.extend(_head(len(group), config.projection, config.head_norm) for group in self.code_groups)
        elif config.head == "whole":
            self.heads.append(_head(config.latents, parts * config.projection, config.head_norm))
        width = sum(len(group) for group in self.projection_groups)
        self.centre = nn.BatchNorm1d(width, affine=False) if config.centred else nn.Identity()
        self.add_adam("contrastive", self.parameters())

    @property
    def code_groups(self) -> list[list[int]]:
        """The parts of r, as equal as they can be."""
        return [part.tolist() for part in torch.arange(self.config.latents).tensor_split(self.config.parts)]

    @property
    def projection_groups(self) -> list[list[int]]:
        """The parts of z."""
        width = self.config.latents if self.config.head == "none" else self.config.parts * self.config.projection
        return [part.tolist() for part in torch.arange(width).chunk(self.config.parts)]

    def update(self, batch: Batch) -> Terms:
        images = torch.cat([batch["images"], batch["partners"]])
        codes = self._encode(self.views(self.pixels(images)))
        terms = self.loss(self.sub_embeddings(codes), positives(self.labels(batch["shared"].to(self.device))))
        self.descend("contrastive", terms["loss"])
        return {name: term.detach() for name, term in terms.items()}

    def labels(self, shared: Tensor) -> Tensor:
        """The labels by which pairs are positives of each other: (n, 1), or (n, K) where each part has its own."""
        if self.config.positives == "pairs":
            return torch.arange(len(shared), device=shared.device)[:, None]
        if not shared.shape[1]:
            raise InputError(
                f"positives is '{self.config.positives}', but these pairs share no factor; expected 'pairs'"
            )
        if self.config.positives == "joint":
            combination: Tensor = torch.unique(shared, dim=0, return_inverse=True)[1]
            return combination[:, None]
        if shared.shape[1] != self.config.parts:
            raise InputError(f"parts is {self.config.parts}; expected {shared.shape[1]}, one for each shared factor")
        return shared

    def loss(self, z: Tensor, positive: Tensor) -> Terms:
        """The terms of sub-embeddings (m, K, d); `positive` is (1 or K, m, m)."""
        tau, alike = self.config.temperature, positive.all(0)
        whole = F.normalize(z.flatten(1), dim=1)
        if self.config.head == "whole":
            terms = {"info_max": info_max(whole, alike, tau)}
        else:
            terms = {"sub_info_max": sub_info_max(z, positive, tau)}
        if self.hp["lambda_info_min"]:
            terms["info_min"] = info_min(z, tau)
        if self.hp["lambda_ortho"]:
            terms["ortho"] = ortho(z, over=self.config.ortho_over)
        if self.hp["lambda_p_ortho"]:
            terms["p_ortho"] = p_ortho(z, self.config.ortho_over)
        if self.hp["lambda_hessian"]:
            terms["hessian"] = hessian(info_max(whole, alike, tau), whole, z.shape[1])
        weighted = [self.hp.get(f"lambda_{name}", 1.0) * term for name, term in terms.items()]
        return {"loss": torch.stack(weighted).sum(), **terms}

    def sub_embeddings(self, codes: Tensor) -> Tensor:
        """z of r (m, latents) as the losses see it, (m, K, d): each part of length 1, or with one head all of z."""
        parts = self.config.parts
        if self.config.head == "parts":
            pieces = codes.tensor_split(parts, 1)
            z = torch.cat([head(piece) for head, piece in zip(self.heads, pieces, strict=True)], 1)
        else:
            z = self.heads[0](codes) if self.heads else codes
        z = self.centre(z)
        if self.config.head == "whole":
            return F.normalize(z, dim=1).view(len(z), parts, -1)
        return F.normalize(z.view(len(z), parts, -1), dim=2)

    def project(self, codes: Tensor) -> Tensor:
        """z of codes r (n, latents), its parts side by side: float32 (n, d)."""
        return self.sub_embeddings(codes.to(self.device)).flatten(1)

    def encoding(self, batch: Batch) -> Encoding:
        codes = self._encode(self.pixels(batch["images"]))
        return Encoding(codes, projection=self.project(codes) if len(self.heads) else None)

    def _encode(self, x: Tensor) -> Tensor:
        with self.autocast():
            codes: Tensor = self.encoder(x.contiguous(memory_format=torch.channels_last))
        return codes.float()


def _head(inputs: int, outputs: int, normalised: bool) -> nn.Module:
    """SimCLR's projection network: one hidden layer as wide as its input.

    Normalised as in its released code: after each layer, which then has no bias, and the last time without a shift.
    """
    if not normalised:
        return nn.Sequential(nn.Linear(inputs, inputs), nn.ReLU(), nn.Linear(inputs, outputs))
    last = nn.BatchNorm1d(outputs)
    last.bias.requires_grad_(False)  # stays 0
    hidden = (nn.Linear(inputs, inputs, bias=False), nn.BatchNorm1d(inputs), nn.ReLU())
    return nn.Sequential(*hidden, nn.Linear(inputs, outputs, bias=False), last)
