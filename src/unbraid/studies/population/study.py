"""The study's settings at each scale, and its jobs: populations, rPU-VAEs, and what they are compared with."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from unbraid.errors import InputError, nearest
from unbraid.jobs.job import Job
from unbraid.jobs.training import Train
from unbraid.metrics import ProtocolLike
from unbraid.search import RPUConfig
from unbraid.search.fitness import Score
from unbraid.search.hyperparameters import Hyperparameter
from unbraid.search.reduction import ReductionConfig
from unbraid.search.rules import PopulationConfig
from unbraid.search.spaces import search_space
from unbraid.studies.assumptions.strengths import STRENGTHS
from unbraid.studies.population.jobs import Base, Evolve, Match, Recursive

Settings = Mapping[str, Any]
SIX = ("beta_tc_vae", "beta_vae", "factor_vae", "dip_vae_i", "dip_vae_ii", "annealed_vae")  # in figure 4's order
FEW = "few_label_vae"
MEASURED: ProtocolLike = {"mig": {}, "dci": {}}  # section 2.4, as disentanglement_lib computes them


@dataclass(frozen=True)
class Scale:
    """Data sets x seeds, the sizes of populations, and the models that they are compared with."""

    data: Mapping[str, Settings]
    """Data sets with their settings: figures 4 to 6 on all of them, figures 1 and 2 on the first."""
    seeds: Mapping[str, int]
    """Of rPU-VAEs and of PBT-S-VAE (MIG), by data set."""
    matches: int
    """rPU-VAEs on the first data set that a search of the same budget is compared with."""
    supervised: PopulationConfig
    """Section 3."""
    recursive: RPUConfig
    """Sections 4 and 5."""
    images: int
    """That a model of a search, a few-label model and one of the six methods are each trained on."""
    strengths: tuple[int, ...]
    """Of the six methods, by their index in assumptions' table 3."""
    strength_seeds: int
    labels: int = 1_000
    space: Mapping[str, Hyperparameter] | None = None
    """What populations and searches may change; None for the start values of the paper's code."""
    resolution: int = 64
    shared: Settings = field(default_factory=dict)
    searched: Settings = field(default_factory=dict)
    """Of models in populations and searches, where they differ from the others."""
    drawn: bool = True
    """Whether models that are not searched draw learning rate and batch from the start values of those that are."""
    own: Mapping[str, Settings] = field(default_factory=dict)
    """Settings of single methods."""
    few: tuple[Settings, ...] = ({},)
    """Settings of few-label models."""
    label_weights: tuple[float, ...] = (16.0, 64.0, 256.0)
    """Of labels, in a search among few-label models."""
    points: int | None = None
    """Rows on which a fitness by DCI is measured; None for 15,000."""


SCALES = {
    # section 5 and the start values, sizes, lengths and network of the paper's code, in which populations that have
    # labels start with 56 members and keep 28. What is compared is that of the assumptions study: its network, six
    # strengths, 50 seeds, 300,000 steps of 64 at one learning rate.
    "paper": Scale(
        data={"dsprites": {}, "shapes3d_official": {}},
        seeds={"dsprites": 5, "shapes3d_official": 5},
        matches=5,
        supervised=PopulationConfig(size=28, founders=56, generations=26, start="random"),
        recursive=RPUConfig(
            population=PopulationConfig(size=56, generations=100, patience=6, start="random"),
            final=PopulationConfig(size=28, founders=56, generations=15, start="random"),
            leaf_runs=3,
        ),
        images=19_200_000,
        strengths=(0, 1, 2, 3, 4, 5),
        strength_seeds=50,
        searched={"network": "population"},
        drawn=False,
        few=tuple({"beta": beta} for beta in (1.0, 2.0, 4.0, 6.0, 8.0, 16.0)),
    ),
    # an hour and a half on two cores: images of 32x32 whose pixels count four times, so that strengths and nats are
    # those of 64x64; 11,520 sprites and 10,000 rooms on coarser grids, a network of matrix multiplications, small
    # populations of few generations that begin where such models learn, each once through the data, as in the paper's
    # code
    "desk": Scale(
        data={
            "dsprites": {"coarse": "x=4,y=4,orientation=4"},
            "shapes3d": {"coarse": "floor_hue=2,wall_hue=2,object_hue=2,scale=2,orientation=3"},
        },
        seeds={"dsprites": 7, "shapes3d": 6},
        matches=3,
        supervised=PopulationConfig(size=4, generations=5, images=11_500),
        recursive=RPUConfig(
            population=PopulationConfig(size=4, generations=5, images=11_500, patience=2, tolerance=0.01),
            final=PopulationConfig(size=4, generations=5, images=11_500),
            leaf=PopulationConfig(size=3, generations=4, images=6_000, patience=2, tolerance=0.01),
            leaf_runs=2,
        ),
        images=57_500,
        strengths=(1, 3, 5),
        strength_seeds=2,
        labels=100,
        space={
            "learning_rate": Hyperparameter((1e-3, 2e-3, 4e-3), 1e-4, 1e-2),
            "batch_size": Hyperparameter((32, 64), 16, 256, whole=True),
            "beta": Hyperparameter((4, 10, 22, 47), 1, 437, whole=True),
        },
        resolution=32,
        shared={"network": "patches", "pixel_weight": 4.0},
        own={"factor_vae": {"discriminator_layers": 3, "discriminator_width": 256}},
        few=tuple({"beta": beta} for beta in (1.0, 4.0, 16.0)),
        points=2_000,
    ),
    # a minute: shows only that it runs, on images whose colours are learned at once
    "smoke": Scale(
        data={"shapes3d": {"coarse": "floor_hue=2,wall_hue=2,object_hue=5,scale=7,shape=3,orientation=14"}},
        seeds={"shapes3d": 1},
        matches=1,
        supervised=PopulationConfig(size=2, generations=2, images=160),
        recursive=RPUConfig(
            population=PopulationConfig(size=2, generations=2, models=2, images=800),
            final=PopulationConfig(size=2, generations=1, images=160),
            leaf_runs=1,
            threshold=0.0,
            reduction=ReductionConfig(active=0.001, height=2.0, chance=1.0),
        ),
        images=320,
        strengths=(1,),
        strength_seeds=1,
        labels=100,
        space={
            "learning_rate": Hyperparameter((1e-3, 3e-3), 1e-4, 1e-2),
            "beta": Hyperparameter((1, 2), 1, 16, whole=True),
        },
        resolution=16,
        shared={"network": "tiny", "latents": 6, "batch_size": 16},
        own={"factor_vae": {"discriminator_layers": 1, "discriminator_width": 16}},
        points=200,
    ),
}


def jobs(scale: str) -> list[Job]:
    """The longest first: rPU-VAEs, searches of equal budget, populations with labels, the models to compare with."""
    if scale not in SCALES:
        raise InputError(f"there is no scale '{scale}'{nearest(scale, SCALES)}")
    chosen = SCALES[scale]
    first = next(iter(chosen.data))
    recursions = [_recursive(chosen, data, seed) for data in chosen.data for seed in range(chosen.seeds[data])]
    rest = [(data, seed) for data in chosen.data if data != first for seed in range(chosen.seeds[data])]
    return [
        *recursions,
        *(_match(chosen, job) for job in recursions if job.base.data == first and job.config.seed < chosen.matches),
        *(job for seed in range(chosen.seeds[first]) for job in _supervised(chosen, first, seed)),
        *(_upper(chosen, data, seed) for data, seed in rest),
        *(_few_label(chosen, first, own, seed) for own in chosen.few for seed in range(chosen.strength_seeds)),
        *(
            _baseline(chosen, data, method, index, seed)
            for data in chosen.data
            for method in SIX
            for index in chosen.strengths
            for seed in range(chosen.strength_seeds)
        ),
    ]


def _base(scale: Scale, data: str, method: str = "beta_tc_vae", label_settings: Settings | None = None) -> Base:
    settings = {**scale.data[data], **(label_settings or {})}
    return Base(data, method, {**scale.shared, **scale.searched}, scale.resolution, settings, protocol=MEASURED)


def _recursive(scale: Scale, data: str, seed: int) -> Recursive:
    config = scale.recursive
    population, final = (replace(one, space=scale.space) for one in (config.population, config.final))
    leaf = None if config.leaf is None else replace(config.leaf, space=scale.space)
    return Recursive(_base(scale, data), replace(config, population=population, final=final, leaf=leaf, seed=seed))


def _upper(scale: Scale, data: str, seed: int) -> Evolve:
    """PBT-S-VAE (MIG) on all labels, the paper's upper limit."""
    return Evolve(_base(scale, data), replace(scale.supervised, space=scale.space, seed=seed), Score("mig"))


def _supervised(scale: Scale, data: str, seed: int) -> list[Evolve]:
    """Figure 1: populations by MIG and DCI, by MIG on few labels, and searches of the same budget on few labels."""
    base = _base(scale, data)
    few = Score("mig", labels=scale.labels)
    by_mig = _upper(scale, data, seed)
    population = by_mig.population
    size = _models_for(population, scale.images)
    search = replace(population, exploit="none", generations=1, images=scale.images, size=size, founders=None)
    labelled = _base(scale, data, FEW, {"labels": scale.labels, "label_seed": seed})
    return [
        by_mig,
        Evolve(base, population, Score("dci", points=scale.points)),
        Evolve(base, population, few),
        Evolve(base, search, few),
        Evolve(labelled, replace(search, space=_few_space(scale)), few),
    ]


def _models_for(population: PopulationConfig, images: int) -> int:
    """How many models a search may train on so many images each, at a population's budget."""
    return max(
        2, round(population.member_generations * (population.images or images // population.generations) / images)
    )


def _few_space(scale: Scale) -> dict[str, Hyperparameter]:
    """What a search among few-label models changes: the weight of the labels too."""
    weight = Hyperparameter(scale.label_weights, 0.1, 1_000)
    space = search_space(FEW) if scale.space is None else dict(scale.space)
    return {**space, "gamma_sup": weight}


def _few_label(scale: Scale, data: str, own: Settings, seed: int) -> Train:
    draw = np.random.default_rng([seed, scale.few.index(own), len(SIX)])
    return _model(scale, data, FEW, own, {"labels": scale.labels, "label_seed": seed}, seed, draw)


def _baseline(scale: Scale, data: str, method: str, index: int, seed: int) -> Train:
    strength, values = STRENGTHS[method]
    draw = np.random.default_rng([seed, index, SIX.index(method)])
    return _model(scale, data, method, {**scale.own.get(method, {}), strength: values[index]}, {}, seed, draw)


def _model(
    scale: Scale, data: str, method: str, own: Settings, data_settings: Settings, seed: int, draw: np.random.Generator
) -> Train:
    settings = {**scale.shared, **own}
    if scale.drawn:
        settings |= drawn_settings(search_space(method) if scale.space is None else scale.space, draw)
    steps = math.ceil(scale.images / int(settings.get("batch_size", 64)))
    if scale.drawn and method == "annealed_vae":
        settings["threshold"] = max(1, steps // 3)  # as at paper scale, the capacity has grown in a third of the time
    if scale.drawn and method == "factor_vae":
        settings["discriminator_learning_rate"] = settings["learning_rate"]
    return Train(
        method=method,
        data=data,
        steps=steps,
        seed=seed,
        settings=settings,
        resolution=scale.resolution,
        data_settings={**scale.data[data], **data_settings},
        protocol=MEASURED,
    )


def drawn_settings(space: Mapping[str, Hyperparameter], draw: np.random.Generator) -> dict[str, Any]:
    """A learning rate and a batch size from the start values of a space, where they are searched."""
    types = {"learning_rate": float, "batch_size": int}
    return {name: convert(draw.choice(space[name].start)) for name, convert in types.items() if name in space}


def _match(scale: Scale, rival: Recursive) -> Match:
    """A search by UDR: each setting trained as long as any model of the study, and chosen when all are."""
    search = replace(rival.config.population, exploit="none", generations=1, patience=None, images=scale.images)
    return Match(rival, replace(search, seed=rival.config.seed))
