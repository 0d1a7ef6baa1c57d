"""Scores that papers printed, with their source, to be named beside a score of one's own.

All are of images of 64x64, and each paper has its own networks and length of training. Locatello et al. (2019) are not
among them: they printed their distributions of scores as plots, without numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from unbraid.metrics import METRICS, PROTOCOLS
from unbraid.metrics.declaration import Settings
from unbraid.studies.intervention import paper as intervention
from unbraid.studies.multitask import paper as multitask

RESOLUTION = 64
IMAGES = {
    "dsprites": "dSprites",
    "dsprites_official": "dSprites",
    "shapes3d_official": "Shapes3D",
    "cars3d": "Cars3D",
    "mpi3d_toy": "MPI3D",
    "mpi3d_realistic": "MPI3D",
    "mpi3d_real": "MPI3D",
}
"""The papers' data sets, by ours with the same images; of MPI3D, papers do not always say which part."""
LOOK_ALIKES = {"shapes3d": "Shapes3D", "arm3d": "MPI3D"}
"""The papers' data sets, by ours that look alike."""
SOURCES = {
    "EncDiff": "Diffusion Model with Cross Attention as an Inductive Bias for Disentanglement, arXiv 2402.09712",
    "multitask": "On the relationship between disentanglement and multi-task learning",
    "intervention": "Unsupervised disentanglement learning by intervention",
}
"""The papers."""

_SCORES = {
    "MIG": "mig",
    "FactorVAE": "factor_vae_score",
    "DCI": "dci.disentanglement",
    "DCI disentanglement": "dci.disentanglement",
    "DCI completeness": "dci.completeness",
    "DCI informativeness": "dci.informativeness",
    "SAP": "sap",
    "IRS": "irs",
}
_METHODS = {
    "FactorVAE": "factor_vae",
    "β-TCVAE": "beta_tc_vae",
    "InfoGAN-CR": "infogan_cr",
    "random": "random_encoder",
    "multi-head": "multitask",
    "intervention": "intervention",
}
"""Ours, by the papers' words."""

# FactorVAE score and DCI, each with its deviation, on Cars3D, Shapes3D and MPI3D
_ENC_DIFF = {
    "FactorVAE": ((0.906, 0.052), (0.161, 0.019), (0.840, 0.066), (0.611, 0.082), (0.152, 0.025), (0.240, 0.051)),
    "β-TCVAE": ((0.855, 0.082), (0.140, 0.019), (0.873, 0.074), (0.613, 0.114), (0.179, 0.017), (0.237, 0.056)),
    "InfoGAN-CR": ((0.411, 0.013), (0.020, 0.011), (0.587, 0.058), (0.478, 0.055), (0.439, 0.061), (0.241, 0.075)),
    "DisCo": ((0.855, 0.074), (0.271, 0.037), (0.877, 0.031), (0.708, 0.048), (0.371, 0.030), (0.292, 0.024)),
    "DisDiff": ((0.976, 0.018), (0.232, 0.019), (0.902, 0.043), (0.723, 0.013), (0.617, 0.070), (0.337, 0.057)),
    "EncDiff": ((0.773, 0.060), (0.279, 0.022), (0.999, 0.000), (0.969, 0.030), (0.872, 0.049), (0.685, 0.044)),
}


@dataclass(frozen=True)
class Published:
    """One score of one method on one data set, as a paper printed it."""

    data: str
    method: str
    """The paper's word for it."""
    own: str | None
    """Our name of the same method; None where we do not have it."""
    score: str
    mean: float
    deviation: float | None
    source: str
    """One of SOURCES."""
    table: int
    protocol: str | None = None
    """The protocol of ours by which the paper scored; None where it has its own."""

    def __str__(self) -> str:
        spread = "" if self.deviation is None else f" ± {self.deviation:.2f}"
        return f"{self.method} {self.mean:.2f}{spread}"


@cache
def published() -> tuple[Published, ...]:
    """All of them."""
    return (*_enc_diff(), *_multitask(), *_intervention())


def published_for(data: str, score: str, settings: Settings, method: str | None = None) -> list[Published]:
    """What papers say of a score on a data set of ours: of this method, or of all where papers do not have it.

    `settings` are those of the metric, defaults included; a paper that had others is left out.
    """
    images = IMAGES.get(data) or LOOK_ALIKES.get(data)
    known = [one for one in published() if (one.data, one.score) == (images, score) and _scored_by(one, settings)]
    return [one for one in known if method is not None and one.own == method] or known


def _scored_by(one: Published, settings: Settings) -> bool:
    """Whether a paper scored by a metric with these settings, or by one of its own."""
    metric = one.score.partition(".")[0]
    return one.protocol is None or settings == {**METRICS[metric].settings, **PROTOCOLS[one.protocol].metrics[metric]}


def _enc_diff() -> Iterator[Published]:
    for method, cells in _ENC_DIFF.items():
        columns = [(data, score) for data in ("Cars3D", "Shapes3D", "MPI3D") for score in ("FactorVAE", "DCI")]
        for (data, score), (mean, deviation) in zip(columns, cells, strict=True):
            yield Published(data, method, _METHODS.get(method), _SCORES[score], mean, deviation, "EncDiff", 1)


def _multitask() -> Iterator[Published]:
    for model in ("random", "multi-head"):
        for score, spreads in multitask.TABLE_5[model].items():
            for data, (mean, deviation) in zip(multitask.SETS, spreads, strict=True):
                yield Published(
                    data, model, _METHODS[model], _SCORES[score], mean, deviation, "multitask", 5, "multitask"
                )
    words = {"autoencoder": "autoencoder", "beta_vae": "β-VAE", "factor_vae": "FactorVAE"}
    for method, scores in multitask.TABLE_6.items():
        for score, means in scores.items():
            for data, mean in zip(multitask.SETS, means, strict=True):
                yield Published(data, words[method], method, _SCORES[score], mean, None, "multitask", 6, "multitask")


def _intervention() -> Iterator[Published]:
    """With independent factors, which those of the data sets are."""
    sets = {"dSprites": ("dSprites", "intervention_dsprites"), "3DShapes": ("Shapes3D", "intervention_shapes3d")}
    for images, (data, protocol) in sets.items():
        for method, relations in intervention.TABLES[images].items():
            own = _METHODS.get(method.partition(" ")[0])
            for score, mean in relations["independent"].items():
                table = intervention.NUMBERS[images]
                yield Published(data, method, own, _SCORES[score], mean, None, "intervention", table, protocol)
