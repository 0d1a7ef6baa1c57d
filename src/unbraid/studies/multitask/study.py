"""The study's settings at each scale, and its jobs: who learns which tasks, and what is built on their codes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from unbraid.data import catalogue
from unbraid.errors import InputError, nearest
from unbraid.jobs.embedding import Embed
from unbraid.jobs.job import Job
from unbraid.jobs.training import Train
from unbraid.metrics import PROTOCOLS, Protocol, ProtocolLike
from unbraid.runs.identity import full_settings

Settings = Mapping[str, Any]
_NONE: Settings = MappingProxyType({})
HELD_OUT = 0.1  # of the rows, for testing


# the paper's protocol on a third of the rows
DESK = Protocol("multitask_desk", PROTOCOLS["multitask"].metrics, train=3_500, test=1_500, seconds=5.5)


@dataclass(frozen=True)
class Scale:
    """Data sets x seeds, with settings for each kind of model."""

    data: tuple[str, ...]
    seeds: int
    tasks: int
    """How many tasks the models of sections 4.1 to 4.3 learn; one single-task model for each."""
    counts: tuple[int, ...]
    """Other numbers of tasks (appendix G)."""
    epochs: float
    """Of an encoder with heads."""
    autoencoder_epochs: float
    decoder_epochs: float
    """The learning rate is halved four times, after each fifth of them."""
    head_epochs: float
    resolution: int = 64
    rows: int = 0
    """Rows of a data set that are used, 0 for all."""
    task_scale: float = 1.0
    centred: bool = False
    """Whether tasks have mean 0 over the rows: those of a small scale are mostly a constant."""
    learner: Settings = field(default_factory=dict)
    """Settings of encoders with heads, section 4.1."""
    autoencoder: Settings = field(default_factory=dict)
    """Settings of autoencoders, section 4.3."""
    discriminator: Settings = field(default_factory=dict)
    """FactorVAE's own."""
    decoder: Settings = field(default_factory=dict)
    """Settings of decoders on frozen codes, section 4.2."""
    heads: Settings = field(default_factory=dict)
    """Settings of heads on frozen codes, section 4.3."""
    samples: int | None = None
    protocol: ProtocolLike = "multitask"
    embedded: int = 2000
    """Test rows that UMAP lays out."""


SCALES = {
    # appendices A and C; batches of 256 for encoders with heads and 64 for the rest, as by default
    "paper": Scale(
        data=("dsprites", "shapes3d_official", "mpi3d_real"),
        seeds=3,
        tasks=10,
        counts=(5, 20, 30, 40, 50),
        epochs=200,
        autoencoder_epochs=100,
        decoder_epochs=500,
        head_epochs=30,
        autoencoder={"network": "multitask_tanh", "latents": 8, "learning_rate": 1e-4},
        decoder={"network": "multitask", "learning_rate": 2e-4},
        heads={"learning_rate": 1e-4},
    ),
    # an hour on two cores: 6 tasks and 28,000 images of 32x32, each pixel of which counts four times for autoencoders;
    # smoother tasks, since the paper's need hundreds of epochs, without the constant that most of them then are; a
    # network of matrix multiplications, narrower heads and a higher learning rate for the few steps there are
    "desk": Scale(
        data=("dsprites", "shapes3d", "arm3d"),
        seeds=5,
        tasks=6,
        counts=(3, 12, 24),
        epochs=4.5,
        autoencoder_epochs=10,
        decoder_epochs=3,
        head_epochs=4,
        resolution=32,
        rows=28_000,
        task_scale=0.05,
        centred=True,
        learner={"network": "patches", "batch_size": 32, "head_width": 64},
        autoencoder={"network": "patches", "latents": 8, "learning_rate": 1e-3, "pixel_weight": 4.0},
        discriminator={"discriminator_layers": 3, "discriminator_width": 256, "discriminator_learning_rate": 1e-3},
        decoder={"network": "patches", "learning_rate": 1e-3},
        heads={"learning_rate": 1e-3, "head_width": 64},
        samples=10_000,
        protocol=DESK,
        embedded=1_000,
    ),
    "smoke": Scale(
        data=("dsprites", "shapes3d", "arm3d"),
        seeds=2,
        tasks=2,
        counts=(3,),
        epochs=0.4,
        autoencoder_epochs=0.4,
        decoder_epochs=0.4,
        head_epochs=0.4,
        resolution=16,
        rows=1_000,
        task_scale=0.05,
        centred=True,
        learner={"network": "tiny", "batch_size": 16, "head_width": 8, "latents": 4},
        autoencoder={"network": "tiny", "batch_size": 16, "latents": 4, "learning_rate": 1e-3},
        discriminator={"discriminator_layers": 1, "discriminator_width": 32},
        decoder={"network": "tiny", "batch_size": 16},
        heads={"batch_size": 16, "head_width": 8},
        samples=500,
        protocol={"mig": {}, "sap": {"predictor": "r2"}, "retrieved_factors": {}},
        embedded=60,
    ),
}

AUTOENCODERS = ("autoencoder", "beta_vae", "factor_vae")


def jobs(scale: str) -> list[Job]:
    """Everything for one data set and seed, then for the next seed, then for the next data set."""
    if scale not in SCALES:
        raise InputError(f"there is no scale '{scale}'{nearest(scale, SCALES)}")
    chosen = SCALES[scale]
    return [job for data in chosen.data for seed in range(chosen.seeds) for job in _Bench(chosen, data, seed).jobs()]


@dataclass(frozen=True)
class _Bench:
    """The jobs of one data set and one seed. Tasks are the same for every seed."""

    scale: Scale
    data: str
    seed: int

    def jobs(self) -> list[Job]:
        scale, encoders = self.scale, self._encoders()
        looked_at = [encoders[name] for name in ("random_encoder", "single_task", "multitask")]  # section 4.2
        singles = [self._learner("single_task", {"task": task}) for task in range(1, scale.tasks)]
        autoencoders = [self._autoencoder(method) for method in AUTOENCODERS]
        decoders = [self._decoder(encoder, scale) for encoder in looked_at for scale in ("as_is", "standard")]
        heads = [self._heads(encoder) for encoder in (*autoencoders, None)]
        embeddings = [Embed(encoder, scale.embedded) for encoder in looked_at]
        return [*encoders.values(), *singles, *self._variants(), *autoencoders, *decoders, *heads, *embeddings]

    def _encoders(self) -> dict[str, Train]:
        """Section 4.1; of the single-task models the first."""
        return {name: self._learner(name) for name in ("random_encoder", "single_task", "multitask", "one_head")}

    def _variants(self) -> list[Train]:
        """Appendices G and H; beyond the paper, how much the amount and the kind of supervision explain."""
        names = catalogue.declared(self.data).names
        half = ",".join(names[: len(names) // 2])
        return [
            *(self._learner("multitask", tasks=count) for count in self.scale.counts),
            *(self._learner("multitask", task_factors=which) for which in ("random", "halves", half)),
            *(self._learner(method, task_networks="shared") for method in ("multitask", "one_head")),
        ]

    def _learner(self, method: str, own: Settings = _NONE, **tasks: Any) -> Train:
        scale = self.scale
        epochs = 0.0 if method == "random_encoder" else scale.epochs
        return self._train(method, epochs, {**scale.learner, **own}, self._tasks(**tasks), scale.protocol)

    def _autoencoder(self, method: str) -> Train:
        scale = self.scale
        own = {"beta_vae": {"beta": 1.0}, "factor_vae": scale.discriminator}.get(method, {})
        return self._train(method, scale.autoencoder_epochs, {**scale.autoencoder, **own}, {}, scale.protocol)

    def _decoder(self, encoder: Train, codes: str) -> Train:
        """On codes as they are; and, as a control, on codes of which each dimension has mean 0 and variance 1."""
        scale, method = self.scale, "frozen_decoder"
        fifth = max(self._steps(method, scale.decoder_epochs, scale.decoder) // 5, 1)
        settings = {**scale.decoder, "halve_every": fifth}
        data_settings = {} if codes == "as_is" else {"code_scale": codes}
        return self._train(method, scale.decoder_epochs, settings, data_settings, {}, encoder)

    def _heads(self, encoder: Train | None) -> Train:
        """On the true factors where there is no encoder."""
        codes = {} if encoder else {"codes": "factors"}
        tasks = {**codes, **self._tasks()}
        return self._train("frozen_heads", self.scale.head_epochs, self.scale.heads, tasks, {}, encoder)

    def _tasks(self, **changed: Any) -> dict[str, Any]:
        centred = {"task_targets": "centred"} if self.scale.centred else {}
        return {"tasks": self.scale.tasks, "task_scale": self.scale.task_scale, **centred, **changed}

    def _train(
        self,
        method: str,
        epochs: float,
        settings: Settings,
        data_settings: Settings,
        protocol: ProtocolLike,
        encoder: Train | None = None,
    ) -> Train:
        """`protocol` is empty for learners on frozen codes: the codes have their scores already."""
        rows = {"rows": self.scale.rows} if self.scale.rows else {}
        return Train(
            method=method,
            data=self.data,
            steps=self._steps(method, epochs, settings),
            seed=self.seed,
            settings=settings,
            resolution=self.scale.resolution,
            data_settings={**data_settings, **rows, "held_out": HELD_OUT},
            samples=self.scale.samples,
            protocol=protocol,
            encoder=encoder,
        )

    def _steps(self, method: str, epochs: float, settings: Settings) -> int:
        rows = self.scale.rows or catalogue.declared(self.data).images or 0
        batch = int(full_settings(method, settings)["batch_size"])
        return max(round(epochs * (1 - HELD_OUT) * rows / batch), 1)
