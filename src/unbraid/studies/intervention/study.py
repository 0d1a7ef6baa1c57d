"""The study's settings at each scale, and its jobs: who learns from independent and who from correlated factors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from unbraid.errors import InputError, nearest
from unbraid.jobs.job import Job
from unbraid.jobs.training import Train
from unbraid.metrics import PROTOCOLS
from unbraid.studies.intervention.jobs import Examine, Tuned

Settings = Mapping[str, Any]
_NONE: Settings = MappingProxyType({})

GAMMAS = (10.0, 40.0)  # of FactorVAE, tables 1 to 3
# Beyond the paper: the loss without each of its parts.
ABLATIONS: Mapping[str, Settings] = {
    "without intervention": {"lambda_1": 0.0},
    "without adversarial": {"lambda_2": 0.0},
    "without W": {"weighting": "equal"},
    "without difficulty": {"lambda_3": 0.0},
}
# What `difficulty` moves: as written its target too. The paper's text does not decide it.
TARGETS: Mapping[str, Settings] = {"detached target": {"target": "detached"}, "excess target": {"target": "excess"}}
VARIANTS = {**ABLATIONS, **TARGETS}
RIVALS = ("ada_gvae", "factorized_support")  # beyond the paper, on correlated factors
# Appendix C: settings of the method, by data set.
APPENDIX_C: Mapping[str, Settings] = {
    "dsprites": {},
    "shapes3d": {},
    "cmnist": {"network": "intervention_cmnist", "latents": 32, "dimensions": 16, "lambda_1": 1.0},
    "flowers102": {
        "network": "intervention_flowers", "latents": 48, "dimensions": 16, "lambda_1": 1.0, "lambda_2": 100.0,
    },
}  # fmt: skip


@dataclass(frozen=True)
class Data:
    """A data set: its rows, which of its factors are correlated, how long and by whom it is learned."""

    name: str
    correlated: str
    """Two factors, as a,b; none for data that is taken as it is."""
    settings: Settings
    """Of both training sets: coarseness, rows held out and drawn."""
    steps: int
    metrics: Settings
    """Of codes of held-out rows, with their settings."""
    resolution: int = 64
    shared: Settings = field(default_factory=dict)
    """Of all autoencoders."""
    dimensions: int = 1
    """Of a feature. Where there are several, FactorVAE is the only other method."""
    lambda_1: tuple[float, ...] = (0.25, 1.0)
    lambda_2: tuple[float, ...] = (1.0, 10.0)
    """Candidates, of which translation difficulty chooses."""
    own: Mapping[str, Settings] = field(default_factory=dict)
    """Settings of single methods."""
    own_steps: Mapping[str, int] = field(default_factory=dict)
    """Of methods that take another number of steps."""
    others: tuple[str, ...] = ("beta_tc_vae", "infogan_cr")
    """Beside FactorVAE, where features have one dimension."""
    ablated: bool = False
    rivals: bool = True


@dataclass(frozen=True)
class Scale:
    """Data sets x seeds, with settings for each method."""

    data: tuple[Data, ...]
    seeds: int
    strengths: tuple[float, ...]
    """Further γ of FactorVAE, for figure 3."""
    strength_seeds: int
    choice_seeds: int = 1
    """Of each candidate."""
    target_seeds: int = 0
    """Of `intervention` with other targets of `difficulty`, on correlated factors."""
    width: float = 0.2
    """Of the band that correlated factors lie in, from 0 to 1; figure 6 is a picture without numbers."""
    methods: Mapping[str, Settings] = field(default_factory=dict)
    """Settings of each method on all data sets."""
    examined: Settings = field(default_factory=dict)
    """Sizes of what is measured."""


_FOREST = PROTOCOLS["intervention"].metrics
_DSPRITES = PROTOCOLS["intervention_dsprites"].metrics
_SHAPES = PROTOCOLS["intervention_shapes3d"].metrics
_SAP = {"sap": _FOREST["sap"]}
_FIVE_HUES = "floor_hue=2,wall_hue=2,object_hue=2,scale=2,orientation=2"
_TABLE_4: Settings = {"network": "intervention"}
_LAMBDA_1, _LAMBDA_2 = (0.25, 1.0, 4.0), (1.0, 10.0, 100.0)  # candidates; the paper says which it chose, not from which
_DESK_FACTOR_VAE: Settings = {
    "learning_rate": 1e-3, "discriminator_layers": 3, "discriminator_width": 256, "discriminator_learning_rate": 1e-3
}  # fmt: skip
_DESK_SHARED: Settings = {"network": "patches", "pixel_weight": 4.0}
_DESK_METHODS: Mapping[str, Settings] = {
    "factor_vae": _DESK_FACTOR_VAE,
    "ada_gvae": {"learning_rate": 1e-3},
    "factorized_support": {"learning_rate": 1e-3},
    "beta_tc_vae": {"learning_rate": 1e-3, "beta": 6.0, "estimator": "mws"},
    "intervention": {
        "learning_rate": 1e-3, "discriminator_learning_rate": 1e-3, "weight_learning_rate": 1e-4, "warm_up": 3_600,
        "rise": 600,
    },
}  # fmt: skip
_SMOKE_FACTOR_VAE: Settings = {"batch_size": 16, "discriminator_layers": 1, "discriminator_width": 8}


def _networks(data: str) -> Settings:
    return {name: APPENDIX_C[data][name] for name in ("network", "latents")}


SCALES = {
    # Appendices B to D. What they leave to other papers: FactorVAE's 300,000 steps, also for `intervention`; β-TCVAE's
    # batches of 2,048 at 1e-3 for fifty epochs of dSprites, with β = 6 as its authors run it; InfoGAN-CR's own.
    "paper": Scale(
        data=(
            Data(
                "dsprites", "x,scale", {"held_out": 50_000 / 737_280, "draws": 200_000},
                steps=300_000, metrics=_DSPRITES, shared=_TABLE_4, lambda_1=_LAMBDA_1, lambda_2=_LAMBDA_2,
                own={"beta_tc_vae": {"network": "mlp"}},
                own_steps={"beta_tc_vae": 18_000, "infogan_cr": 322_560}, ablated=True,
            ),
            Data(
                "shapes3d_official", "floor_hue,wall_hue", {"held_out": 50_000 / 480_000, "draws": 100_000},
                steps=300_000, metrics=_SHAPES, shared=_TABLE_4, lambda_1=_LAMBDA_1, lambda_2=_LAMBDA_2,
                own={"infogan_cr": {"latents": 6}},
                own_steps={"beta_tc_vae": 18_000, "infogan_cr": 322_560}, ablated=True,
            ),
            Data(
                "cmnist", "colour,digit", {"digits": "mnist", "draws": 60_000},
                steps=100_000, metrics=_SAP, resolution=28, shared=_networks("cmnist"), dimensions=16,
                lambda_1=_LAMBDA_1, lambda_2=_LAMBDA_2,
            ),
            Data(
                "flowers102", "", {},
                steps=100_000, metrics={}, shared=_networks("flowers102"), dimensions=16,
                lambda_1=_LAMBDA_1, lambda_2=_LAMBDA_2,
            ),
        ),
        seeds=10,
        strengths=(1.0, 3.0, 20.0, 60.0, 100.0),
        strength_seeds=10,
        choice_seeds=3,
        target_seeds=10,
        methods={
            "beta_tc_vae": {"batch_size": 2_048, "learning_rate": 1e-3, "beta": 6.0, "estimator": "mws"},
        },
    ),
    # A little over three hours on two cores: dSprites and Shapes3D at 32x32 on coarser grids, where a pixel counts four
    # times, so that weights keep their meaning; a network that learns fast on a CPU, a higher learning rate for the few
    # steps. λ₃ comes in when most of the training is over, as the paper adds L_diff after the choice of λ₁ and λ₂: from
    # then on it moves a model that draws. InfoGAN-CR, which learns nothing in so few steps, is left out.
    "desk": Scale(
        data=(
            Data(
                "dsprites", "x,scale", {"coarse": "x=2,y=2,orientation=4", "held_out": 0.25, "draws": 30_000},
                steps=6_000, metrics=_DSPRITES, resolution=32, shared=_DESK_SHARED, others=("beta_tc_vae",),
                rivals=False,
            ),
            Data(
                "shapes3d", "floor_hue,wall_hue", {"coarse": _FIVE_HUES, "held_out": 0.25, "draws": 12_000},
                steps=6_000, resolution=32, shared=_DESK_SHARED, others=("beta_tc_vae",), rivals=False,
                metrics={**_SHAPES, "dci": {**_SHAPES["dci"], "max_depth": 6}},  # the best depth takes long to find
            ),
        ),
        seeds=7,
        strengths=(1.0, 100.0),
        strength_seeds=7,
        target_seeds=7,
        methods=_DESK_METHODS,
        examined={"samples": 4_500, "values": 5, "pairs": 2_000, "two_sample_images": 2_000, "two_sample_steps": 200},
    ),
    # What the desk run leaves out: ablations and later methods on dSprites, and CMNIST with a lower rate for W
    "more": Scale(
        data=(
            Data(
                "dsprites", "x,scale", {"coarse": "x=2,y=2,orientation=4", "held_out": 0.25, "draws": 30_000},
                steps=6_000, metrics=_DSPRITES, resolution=32, shared=_DESK_SHARED, others=(), ablated=True,
            ),
            Data(
                "cmnist", "colour,digit", {"digits": "sklearn", "draws": 15_000},
                steps=1_500, metrics=_SAP, resolution=16, dimensions=16, lambda_2=(0.625, 10.0),
                shared={"network": "intervention_cmnist_tiny", "latents": 32},
                own={
                    "factor_vae": {"learning_rate": 4e-3, "discriminator_learning_rate": 4e-3},
                    "intervention": {
                        "learning_rate": 4e-3, "discriminator_learning_rate": 4e-3, "weight_learning_rate": 4e-5,
                        "warm_up": 750, "rise": 250,
                    },
                },
            ),
        ),
        seeds=3,
        strengths=(),
        strength_seeds=0,
        methods=_DESK_METHODS,
        examined={"samples": 4_500, "values": 5, "pairs": 2_000, "two_sample_images": 2_000, "two_sample_steps": 200},
    ),
    "smoke": Scale(
        data=(
            Data(
                "dsprites", "x,scale", {"coarse": "x=8,y=8,orientation=20", "held_out": 0.3, "draws": 200},
                steps=3, resolution=16, shared={"network": "tiny", "latents": 3}, lambda_2=(1.0,), ablated=True,
                metrics={"dci": {"estimator": "lasso"}, "sap": {"predictor": "tree", "classes": [0]}, "irs": {}},
            ),
            Data(
                "cmnist", "colour,digit", {"digits": "sklearn", "draws": 200},
                steps=3, metrics={"sap": {"predictor": "tree"}}, resolution=16,
                shared={"network": "tiny", "latents": 4}, dimensions=2, lambda_1=(1.0,), lambda_2=(1.0,),
            ),
        ),
        seeds=1,
        strengths=(1.0,),
        strength_seeds=1,
        target_seeds=1,
        methods={
            "factor_vae": _SMOKE_FACTOR_VAE,
            "ada_gvae": {"batch_size": 16},
            "factorized_support": {"batch_size": 16},
            "beta_tc_vae": {"batch_size": 16},
            "infogan_cr": {"batch_size": 16, "channels": 2, "latents": 3, "contrastive_from": 1, "generator_steps": 1},
            "intervention": {
                "batch_size": 16, "translation_width": 4, "translation_steps": 1, "warm_up": 1, "rise": 1
            },
        },
        examined={
            "samples": 300, "values": 2, "images": 8, "pairs": 60, "pair_steps": 3, "two_sample_images": 40,
            "two_sample_steps": 3,
        },
    ),
}  # fmt: skip


def jobs(scale: str) -> list[Job]:
    """The candidates of each data set, then the models seed by seed; last what the paper does not have."""
    if scale not in SCALES:
        raise InputError(f"there is no scale '{scale}'{nearest(scale, SCALES)}")
    chosen = SCALES[scale]
    benches = [_Bench(chosen, data) for data in chosen.data]
    return [
        *(job for bench in benches for job in bench.candidates()),
        *(job for seed in range(chosen.seeds) for bench in benches for job in bench.compared(seed)),
        *(job for seed in range(chosen.strength_seeds) for bench in benches for job in bench.strengths(seed)),
        *(job for seed in range(chosen.target_seeds) for bench in benches for job in bench.targets(seed)),
        *(job for seed in range(chosen.seeds) for bench in benches for job in bench.beyond(seed)),
    ]


@dataclass(frozen=True)
class _Bench:
    """The jobs of one data set."""

    scale: Scale
    data: Data

    @property
    def relations(self) -> tuple[bool, ...]:
        """Independent and correlated factors; data without known factors is taken as it is."""
        return (False, True) if self.data.correlated else (False,)

    def candidates(self) -> tuple[Examine, ...]:
        """Appendix C: without `difficulty`, on the harder of the two training sets."""
        return tuple(
            self._examined(
                self._train("intervention", self.relations[-1], seed, lambda_1=one, lambda_2=two, lambda_3=0.0)
            )
            for one in self.data.lambda_1
            for two in self.data.lambda_2
            for seed in range(self.scale.choice_seeds)
        )

    def compared(self, seed: int) -> list[Examine]:
        """Tables 1 to 3."""
        others = self.data.others if self.data.dimensions == 1 else ()
        models: list[Train] = []
        for relation in self.relations:
            models += [self._train("factor_vae", relation, seed, gamma=gamma) for gamma in GAMMAS]
            models += [self._train(name, relation, seed) for name in others]
            models += [self._tuned(relation, seed)]
        return [self._examined(model) for model in models]

    def strengths(self, seed: int) -> list[Examine]:
        """Figure 3, beside the FactorVAEs of tables 1 and 2."""
        gammas = self.scale.strengths if self.data.dimensions == 1 else ()
        return [
            self._examined(self._train("factor_vae", relation, seed, gamma=gamma))
            for relation in self.relations
            for gamma in gammas
        ]

    def targets(self, seed: int) -> list[Examine]:
        """What becomes of `intervention` where its difficulty does not sharpen what is drawn."""
        variants = TARGETS.values() if self.data.dimensions == 1 and self.data.correlated else ()
        return [self._examined(self._tuned(True, seed, **settings)) for settings in variants]

    def beyond(self, seed: int) -> list[Examine]:
        """Ablations, and other methods for correlated factors."""
        ablations = ABLATIONS.values() if self.data.ablated else ()
        rivals = RIVALS if self.data.dimensions == 1 and self.data.rivals else ()
        models = [self._train(name, True, seed) for name in rivals]
        models += [self._tuned(True, seed, **settings) for settings in ablations]
        return [self._examined(model) for model in models]

    def _tuned(self, correlated: bool, seed: int, **settings: Any) -> Tuned:
        return Tuned.of(self._train("intervention", correlated, seed, **settings), self.candidates())

    def _examined(self, model: Train) -> Examine:
        ranked = model.method == "factor_vae" and self.data.dimensions == 1  # those of figure 3
        return Examine(model, self.data.metrics, sweep=ranked, **self.scale.examined)

    def _train(self, method: str, correlated: bool, seed: int, **settings: Any) -> Train:
        data, grouped = self.data, self.data.dimensions > 1
        related = {"correlated": data.correlated, "correlation_width": self.scale.width} if correlated else {}
        pairs = {"pair_changes": 1} if method == "ada_gvae" else {}
        shared = {} if method == "infogan_cr" else data.shared  # whose networks are its own
        shared = {**shared, "dimensions": data.dimensions} if grouped else shared
        own = {**self.scale.methods.get(method, _NONE), **data.own.get(method, _NONE)}
        return Train(
            method=method,
            data=data.name,
            steps=data.own_steps.get(method, data.steps),
            seed=seed,
            settings={**shared, **own, **settings},
            resolution=data.resolution,
            data_settings={**data.settings, **related, **pairs},
            samples=1_000,  # of training rows; scores are of held-out ones
            protocol=None,
        )
