"""The study's settings at each scale."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from unbraid.errors import InputError, nearest
from unbraid.jobs.agreement import Udr
from unbraid.jobs.job import Job
from unbraid.jobs.training import Train
from unbraid.metrics import PROTOCOLS, ProtocolLike
from unbraid.studies.assumptions.jobs import Entangle, Reconstruct
from unbraid.studies.assumptions.strengths import SIX, STRENGTHS

EXAMINED = 2  # seeds of the middle strength of each method and data set whose images and codes are looked at
SEVEN = (
    "dsprites", "color_dsprites", "noisy_dsprites", "scream_dsprites", "small_norb", "cars3d", "shapes3d_official",
)  # fmt: skip

# the paper's protocol on half the rows, with at most 1,000 points downstream and without DCI of sampled codes
DESK = replace(
    PROTOCOLS["assumptions"],
    name="assumptions_desk",
    metrics={**PROTOCOLS["assumptions"].metrics, "downstream": {"sizes": (10, 100, 1000)}},
    train=5_000,
    test=2_500,
    seconds=20.0,
    sampled={name: given for name, given in PROTOCOLS["assumptions"].sampled.items() if name != "dci"},
)


@dataclass(frozen=True)
class Scale:
    """Data sets × methods × strengths × seeds, and what all models share."""

    data: tuple[str, ...]
    seeds: int
    steps: int
    strengths: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    """Which of a method's six strengths, by their position in STRENGTHS."""
    resolution: int = 64
    shared: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Settings of single methods."""
    data_settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Of single data sets."""
    own_steps: Mapping[str, int] = field(default_factory=dict)
    """Of methods that take another number of steps."""
    samples: int | None = None
    protocol: ProtocolLike = PROTOCOLS["assumptions"]
    entangled: ProtocolLike = "fast"
    """By which codes and entangled codes are compared."""


# section 4, tables 2 to 4: 7 x 6 x 6 x 50 = 12,600 models
PAPER = Scale(
    data=SEVEN,
    seeds=50,
    steps=300_000,  # of the released code; the paper does not say
    own={"factor_vae": {"discriminator_layers": 1}},
    data_settings={"scream_dsprites": {"painting": "scream"}},  # and not a stand-in where it is not fetched
)
SCALES = {
    "paper": PAPER,
    # as in the released code: its network and initial weights, a discriminator of six layers, and for FactorVAE half
    # the updates, as both of its optimisers count up the same global step, which stops at 300,000
    "dlib": replace(PAPER, shared={"network": "dlib"}, own={}, own_steps={"factor_vae": 150_000}),
    # under two hours on two cores: a quarter of the pixels, each of which counts four times, so that strengths keep
    # their meaning; a network that learns fast on a CPU; a higher learning rate for the few steps there are; a smaller
    # discriminator; a capacity that has grown when a third of the training is over, as at paper scale, and a γ at which
    # the reconstruction still counts beside it (set by whether a plain model learns, before any comparison)
    "desk": Scale(
        data=("dsprites", "color_dsprites", "shapes3d"),
        seeds=5,
        steps=3_000,
        strengths=(0, 2, 4),
        resolution=32,
        shared={"network": "patches", "learning_rate": 1e-3, "pixel_weight": 4.0},
        own={
            "factor_vae": {"discriminator_layers": 3, "discriminator_width": 256, "discriminator_learning_rate": 1e-3},
            "annealed_vae": {"threshold": 1_000, "gamma": 30.0},
        },
        samples=20_000,
        protocol=DESK,
    ),
    "smoke": Scale(
        data=("dsprites", "color_dsprites"),
        seeds=2,
        steps=20,
        strengths=(2,),
        resolution=16,
        shared={"network": "small", "learning_rate": 1e-3, "latents": 4, "batch_size": 16},
        own={"factor_vae": {"discriminator_layers": 1, "discriminator_width": 32}, "annealed_vae": {"threshold": 10}},
        samples=600,
        protocol={"mig": {}, "sap": {"predictor": "r2"}, "modularity": {}},
        entangled={"mig": {}, "modularity": {}},
    ),
}


def jobs(scale: str) -> list[Job]:
    """Models in the order data set, method, strength, seed; UDR over the seeds of every setting; examinations."""
    if scale not in SCALES:
        raise InputError(f"there is no scale '{scale}'{nearest(scale, SCALES)}")
    chosen = SCALES[scale]
    settings = list(itertools.product(chosen.data, SIX, chosen.strengths))
    models = {setting: [_model(chosen, *setting, seed) for seed in range(chosen.seeds)] for setting in settings}
    middle = chosen.strengths[len(chosen.strengths) // 2]
    examined = [model for (*_, strength), group in models.items() if strength == middle for model in group[:EXAMINED]]
    return [
        *itertools.chain.from_iterable(models.values()),
        *(Udr(tuple(group)) for group in models.values()),
        *(Reconstruct(model) for model in examined),
        *(Entangle(model, chosen.entangled) for model in examined),
    ]


def _model(scale: Scale, data: str, method: str, position: int, seed: int) -> Train:
    strength, values = STRENGTHS[method]
    return Train(
        method=method,
        data=data,
        steps=scale.own_steps.get(method, scale.steps),
        seed=seed,
        settings={**scale.shared, **scale.own.get(method, {}), strength: values[position]},
        resolution=scale.resolution,
        data_settings=scale.data_settings.get(data, {}),
        samples=scale.samples,
        protocol=scale.protocol,
    )
