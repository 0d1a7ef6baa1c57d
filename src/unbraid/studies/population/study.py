"""The study's settings at each scale, and its jobs: populations, rPU-VAEs, and what they are compared with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from unbraid.errors import InputError, nearest
from unbraid.jobs.job import Job
from unbraid.jobs.training import Train
from unbraid.metrics import ProtocolLike
from unbraid.search import RPUConfig
from unbraid.search.fitness import Score
from unbraid.search.generations import PopulationConfig
from unbraid.search.hyperparameters import Hyperparameter
from unbraid.search.reduction import ReductionConfig
from unbraid.search.spaces import search_space
from unbraid.studies.assumptions.study import STRENGTHS
from unbraid.studies.population.jobs import Base, Evolve, Match, Recursive

Settings = Mapping[str, Any]
TITLE = "Robust disentanglement of a few factors at a time using rPU-VAE"
SIX = ("beta_tc_vae", "beta_vae", "factor_vae", "dip_vae_i", "dip_vae_ii", "annealed_vae")  # in figure 4's order
FEW = "few_label_vae"
MEASURED: ProtocolLike = {"mig": {}, "dci": {}}  # section 2.4, as disentanglement_lib computes them


@dataclass(frozen=True)
class Scale:
    """Data sets x seeds, the sizes of populations, and the models that they are compared with."""

    data: Mapping[str, Settings]
    """Data sets with their settings: figures 4 to 6 on all of them, figures 1 and 2 on the first."""
    seeds: int
    """Of rPU-VAEs."""
    populations: int
    """Seeds of populations and searches with labels."""
    matches: int
    """rPU-VAEs that a search of the same budget is compared with."""
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
    rate: float = 1e-4
    """Learning rate of models that are not searched."""
    own: Mapping[str, Settings] = field(default_factory=dict)
    """Settings of single methods."""
    few: tuple[Settings, ...] = ({},)
    """Settings of few-label models."""
    points: int | None = None
    """Rows on which a fitness by DCI is measured; None for 15,000."""


SCALES = {
    # section 5 and the start values, sizes and lengths of the paper's code. What is compared is that of the assumptions
    # study: six strengths, 50 seeds, 300,000 steps of 64.
    "paper": Scale(
        data={"dsprites": {}, "shapes3d_official": {}},
        seeds=5,
        populations=5,
        matches=5,
        supervised=PopulationConfig(size=56, generations=26),
        recursive=RPUConfig(
            population=PopulationConfig(size=56, generations=100, patience=6),
            final=PopulationConfig(size=56, generations=15),
            leaf_runs=3,
        ),
        images=19_200_000,
        strengths=(0, 1, 2, 3, 4, 5),
        strength_seeds=50,
        few=tuple({"beta": beta} for beta in (1.0, 2.0, 4.0, 6.0, 8.0, 16.0)),
    ),
    # about 90 minutes on two cores: sprites of 16x16 on a coarser grid (11,520 images), a tiny network, small
    # populations of few generations that begin where such models learn. Since a sixteenth of the pixels weighs a
    # sixteenth in the reconstruction, strengths come from the lowest part of each sweep, AnnealedVAE's γ is a
    # sixteenth, and half a nat makes a latent active
    "desk": Scale(
        data={"dsprites": {"coarse": "x=4,y=4,orientation=4"}},
        seeds=3,
        populations=5,
        matches=3,
        supervised=PopulationConfig(size=6, generations=5, images=10_000),
        recursive=RPUConfig(
            population=PopulationConfig(size=4, generations=5, images=10_000),
            final=PopulationConfig(size=6, generations=5, images=10_000),
            leaf_runs=2,
            reduction=ReductionConfig(active=0.5),
        ),
        images=50_000,
        strengths=(0, 1, 2),
        strength_seeds=2,
        space={
            "learning_rate": Hyperparameter((1e-3, 2e-3, 4e-3), 1e-4, 1e-2),
            "batch_size": Hyperparameter((32, 64), 16, 256, whole=True),
            "beta": Hyperparameter((1, 2, 3, 4), 1, 16, whole=True),
        },
        resolution=16,
        shared={"network": "tiny", "latents": 6},
        rate=1e-3,
        own={
            "factor_vae": {"discriminator_layers": 3, "discriminator_width": 256, "discriminator_learning_rate": 1e-3},
            "annealed_vae": {"gamma": 62.5, "threshold": 260},
        },
        few=tuple({"beta": beta, "gamma_sup": 16.0} for beta in (1.0, 2.0, 4.0)),
        points=3_000,
    ),
    # a minute: shows only that it runs, on images whose colours are learned at once
    "smoke": Scale(
        data={"shapes3d": {"coarse": "floor_hue=2,wall_hue=2,object_hue=5,scale=7,shape=3,orientation=14"}},
        seeds=1,
        populations=1,
        matches=1,
        supervised=PopulationConfig(size=2, generations=2, images=160),
        recursive=RPUConfig(
            population=PopulationConfig(size=2, generations=2, models=2, images=800),
            final=PopulationConfig(size=2, generations=1, images=160),
            leaf_runs=1,
            threshold=0.0,
            reduction=ReductionConfig(active=0.001, height=2.0),
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
        rate=1e-3,
        own={"factor_vae": {"discriminator_layers": 1, "discriminator_width": 16}, "annealed_vae": {"threshold": 10}},
        points=200,
    ),
}


def jobs(scale: str) -> list[Job]:
    """The longest first: rPU-VAEs, populations with labels, the models to compare with, searches of equal budget."""
    if scale not in SCALES:
        raise InputError(f"there is no scale '{scale}'{nearest(scale, SCALES)}")
    chosen = SCALES[scale]
    first = next(iter(chosen.data))
    recursions = [_recursive(chosen, data, seed) for data in chosen.data for seed in range(chosen.seeds)]
    return [
        *recursions,
        *(job for seed in range(chosen.populations) for job in _supervised(chosen, first, seed)),
        *(_upper(chosen, data, seed) for data in chosen.data if data != first for seed in range(chosen.populations)),
        *(_few_label(chosen, first, more, seed) for more in chosen.few for seed in range(chosen.strength_seeds)),
        *(
            _baseline(chosen, data, method, index, seed)
            for data in chosen.data
            for method in SIX
            for index in chosen.strengths
            for seed in range(chosen.strength_seeds)
        ),
        *(_match(chosen, job) for job in recursions if job.config.seed < chosen.matches),
    ]


def _base(scale: Scale, data: str, method: str = "beta_tc_vae", more: Settings | None = None) -> Base:
    settings = {**scale.data[data], **(more or {})}
    return Base(data, method, scale.shared, scale.resolution, settings, protocol=MEASURED)


def _recursive(scale: Scale, data: str, seed: int) -> Recursive:
    config = scale.recursive
    population, final = (replace(one, space=scale.space) for one in (config.population, config.final))
    return Recursive(_base(scale, data), replace(config, population=population, final=final, seed=seed))


def _upper(scale: Scale, data: str, seed: int) -> Evolve:
    """PBT-S-VAE (MIG) on all labels, the paper's upper limit."""
    return Evolve(_base(scale, data), replace(scale.supervised, space=scale.space, seed=seed), Score("mig"))


def _supervised(scale: Scale, data: str, seed: int) -> list[Evolve]:
    """Figure 1: populations by MIG and DCI, by MIG on few labels, and searches of the same budget on few labels."""
    base = _base(scale, data)
    few = Score("mig", labels=scale.labels)
    by_mig = _upper(scale, data, seed)
    population = by_mig.population
    search = replace(population, exploit="none", generations=1, images=scale.images)
    labelled = _base(scale, data, FEW, {"labels": scale.labels, "label_seed": seed})
    return [
        by_mig,
        Evolve(base, population, Score("dci", points=scale.points)),
        Evolve(base, population, few),
        Evolve(base, search, few),
        Evolve(labelled, replace(search, space=_few_space(scale)), few),
    ]


def _few_space(scale: Scale) -> dict[str, Hyperparameter]:
    """What a search among few-label models changes: the weight of the labels too."""
    weight = Hyperparameter((4.0, 16.0, 64.0), 0.1, 1_000)
    space = search_space(FEW) if scale.space is None else dict(scale.space)
    return {**space, "gamma_sup": weight}


def _few_label(scale: Scale, data: str, more: Settings, seed: int) -> Train:
    return _model(scale, data, FEW, more, {"labels": scale.labels, "label_seed": seed}, seed)


def _baseline(scale: Scale, data: str, method: str, index: int, seed: int) -> Train:
    strength, values = STRENGTHS[method]
    return _model(scale, data, method, {**scale.own.get(method, {}), strength: values[index]}, {}, seed)


def _model(scale: Scale, data: str, method: str, more: Settings, data_settings: Settings, seed: int) -> Train:
    settings = {"learning_rate": scale.rate, **scale.shared, **more}
    return Train(
        method=method,
        data=data,
        steps=scale.images // int(settings.get("batch_size", 64)),
        seed=seed,
        settings=settings,
        resolution=scale.resolution,
        data_settings={**scale.data[data], **data_settings},
        protocol=MEASURED,
    )


def _match(scale: Scale, rival: Recursive) -> Match:
    """A search by UDR: each setting trained as long as any model of the study, and chosen when all are."""
    search = replace(rival.config.population, exploit="none", generations=1, patience=None, images=scale.images)
    return Match(rival, replace(search, seed=rival.config.seed))
