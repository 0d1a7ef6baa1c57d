"""The study's own jobs: choose λ₁ and λ₂ by translation difficulty, and examine a model on images it has not seen."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch

from unbraid.data import FactorData
from unbraid.errors import InputError
from unbraid.jobs.job import Job
from unbraid.jobs.results import read_results, write_results
from unbraid.jobs.training import Train
from unbraid.methods import Method
from unbraid.methods.intervention import Intervention
from unbraid.metrics import score
from unbraid.metrics.translation_difficulty import translation_difficulty
from unbraid.metrics.variation_predictability import variation_predictability
from unbraid.runs.folder import Folder
from unbraid.runs.run import Run
from unbraid.studies.intervention.two_samples import effective_share, two_sample_accuracy
from unbraid.training.loop import step_seed
from unbraid.training.representation import represent

Array = np.ndarray[Any, Any]
CHOSEN = ("lambda_1", "lambda_2")
DIFFICULTY = "translation_difficulty"
PREDICTED = "variation_predictability"
TRAINED_DIFFICULTY = f"train.{DIFFICULTY}"
SWEEP: Mapping[str, Mapping[str, Any]] = {  # "robust to hyperparameters": each of algorithm 1's halved and doubled
    "usual": {}, "steps_2": {"steps": 2}, "steps_10": {"steps": 10}, "rate_1": {"rate": 1.0}, "rate_4": {"rate": 4.0},
    "width_32": {"width": 32}, "width_128": {"width": 128},
}  # fmt: skip
SWEPT_VALUES = 3  # of a feature, in the sweep
NEIGHBOURS = 3  # figure 5
ARRAYS = (("dci", "importance"), ("dci", "accuracy"), ("sap", "predictability"))  # kept of what metrics are made of


@dataclass(frozen=True)
class Tuned(Train):
    """`intervention` with the λ₁ and λ₂ of the candidates that are easiest to translate (appendix C).

    By the difficulty on training images, which needs no factors, on average over the seeds of a candidate. λ₁ or λ₂ in
    the settings is not chosen.
    """

    candidates: tuple[Examine, ...] = ()

    @classmethod
    def of(cls, model: Train, candidates: tuple[Examine, ...]) -> Tuned:
        return cls(**{one.name: getattr(model, one.name) for one in fields(model)}, candidates=candidates)

    @property
    def label(self) -> str:
        return f"tuned-{super().label}"

    @property
    def tolerant(self) -> bool:
        return True

    @property
    def seconds(self) -> float:
        difficult = max(self.steps - int(self.full_settings["warm_up"]), 0) / self.steps
        return (1 + 0.5 * difficult) * super().seconds  # which is without the difficulty of translation

    def written(self, name: str, value: Any) -> Any:
        if name == "settings":
            return {**self.full_settings, **{one: None for one in CHOSEN if one not in self.settings}}
        return super().written(name, value)

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write `choice.json`, which has the mean difficulty of each candidate, and a run."""
        difficulties: dict[tuple[float, ...], list[float]] = defaultdict(list)
        for candidate, path in zip(self.candidates, needed, strict=True):
            settings = candidate.model.full_settings
            difficulties[tuple(float(settings[name]) for name in CHOSEN)].append(_difficulty(candidate, path))
        means = {weights: float(np.mean(values)) for weights, values in difficulties.items()}
        known = {weights: value for weights, value in means.items() if np.isfinite(value)}
        if not known:
            raise InputError(
                f"none of the {len(self.candidates)} candidates for λ₁ and λ₂ has a translation difficulty"
            )
        best = min(known, key=lambda weights: known[weights])
        chosen = dict(zip(CHOSEN, best, strict=True))
        table = [{**dict(zip(CHOSEN, weights, strict=True)), DIFFICULTY: value} for weights, value in known.items()]
        Folder(folder).write_json("choice", {"chosen": chosen, "candidates": table})
        self.record_run(folder, (), {**chosen, **self.settings})


def _difficulty(candidate: Examine, folder: Path) -> float:
    """NaN of a candidate that failed or diverged."""
    try:
        scores = read_results(folder).scores.get(candidate.model.id, {})
    except InputError:
        return math.nan
    value = scores.get(TRAINED_DIFFICULTY)
    return math.nan if value is None else value


@dataclass(frozen=True)
class Examine(Job):
    """Scores of a trained model that need its data or its decoder: on held-out rows, where factors are independent.

    Metrics of the codes of held-out rows; translation difficulty on these and on training rows, variation
    predictability, and the squared error of held-out images, where the model decodes; and of `intervention`, how well
    the training images that it reconstructs can be told from those that it intervened on, with its weights and without.
    """

    version: ClassVar[int] = 2

    model: Train
    metrics: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """With their settings. Of codes whose features have several dimensions SAP alone is known, and whether factors are
    `apart`: SAP does not see that one feature tells all of them."""
    samples: int | None = None
    """Held-out rows that are encoded, None for 50,000."""
    values: int = 11
    images: int = 64
    """Of translation difficulty."""
    pairs: int = 4_000
    pair_steps: int = 300
    """Of variation predictability: pairs of images, and steps of its classifier."""
    sweep: bool = False
    """Whether translation difficulty is also measured with other steps, rates and widths."""
    two_sample_images: int = 4_000
    two_sample_steps: int = 400
    """Of the two-sample test: images of each kind, and steps of its classifier."""

    @property
    def tolerant(self) -> bool:
        return True

    @property
    def seconds(self) -> float:
        return 15.0 if self.sweep else 10.0

    def execute(self, folder: Path, needed: Sequence[Path]) -> None:
        """Write the scores and the table `arrays`, what metrics were made of; nothing of a model that diverged."""
        run, seed = Run(needed[0]), self.model.seed
        scores: dict[str, float] = {}
        arrays: list[dict[str, Any]] = []
        if run.state["state"] == "done":
            method, data = run.method(), run.images()
            test = data if data.held_out is None else data.held_out
            if test.names and self.metrics:
                scores, arrays = self._of_codes(method, test, seed)
            if method.decodes:
                scores |= self._of_images(method, data, test, seed)
            if not test.names:
                scores["neighbour_colour"] = neighbour_colour(method, data, test, step_seed(seed, 0, "neighbours"))
            if isinstance(method, Intervention):
                drawn = step_seed(seed, 0, "two samples")
                scores |= _two_samples(method, data, self.two_sample_images, self.two_sample_steps, drawn)
        write_results(folder, {self.model.id: scores}, arrays=arrays)

    def _of_codes(self, method: Method, test: FactorData, seed: int) -> tuple[dict[str, float], list[dict[str, Any]]]:
        coded = represent(method, test, step_seed(seed, 0, "held out"), samples=self.samples)
        metrics = {name: dict(settings) for name, settings in self.metrics.items()}
        if coded.groups is not None:
            metrics = {"sap": {**metrics["sap"], "groups": coded.groups}} if "sap" in metrics else {}
        table = score(coded.codes, coded.factors, protocol=metrics, rng=seed)
        arrays = {name: table.arrays[metric][name] for metric, name in ARRAYS if metric in metrics}
        scores = dict(table)
        if coded.groups is not None and "sap" in metrics:
            best = arrays["predictability"].argmax(0)
            scores["apart"] = float(len(set(best)) == len(best))
        pair = str(self.model.data_settings.get("correlated", "")).split(",")
        if "importance" in arrays and set(pair) <= set(test.names):
            scores["overlap"] = overlap(arrays["importance"], *(test.names.index(name) for name in pair))
        about = {"model": self.model.id, "factors": list(test.names)}
        return scores, [{**about, "array": name, "values": values.tolist()} for name, values in arrays.items()]

    def _of_images(self, method: Method, data: FactorData, test: FactorData, seed: int) -> dict[str, float]:
        rows = step_seed(seed, 0, "translation")
        sizes = {"values": self.values, "images": self.images}
        on_test = translation_difficulty(method, test, rows, **sizes)
        scores = {name if name == DIFFICULTY else f"{DIFFICULTY}.{name}": value for name, value in on_test.items()}
        scores[TRAINED_DIFFICULTY] = translation_difficulty(method, data, rows, **sizes)[DIFFICULTY]
        network = "patches" if self.model.resolution % 8 == 0 else "mlp"  # which takes images of any side
        counts = {"pairs": self.pairs, "steps": self.pair_steps}
        predicted = variation_predictability(method, test, rows, network=network, **counts)
        scores |= {PREDICTED: predicted[PREDICTED], f"{PREDICTED}.overfit": predicted["overfit"]}
        for name, settings in SWEEP.items() if self.sweep else ():
            swept = translation_difficulty(method, test, rows, values=SWEPT_VALUES, images=self.images, **settings)
            scores[f"{DIFFICULTY}.{name}"] = swept[DIFFICULTY]
        images, _ = test.sample(1_000, rows)
        with torch.inference_mode():
            errors = method.decode(method.encode(images)).float().cpu() - images.float() / 255
        return {**scores, "squared_error": float(errors.square().mean())}


def overlap(importance: Array, first: int, second: int) -> float:
    """How far two factors share codes: Σ over codes of the smaller of their shares of importance (figure 4 a).

    0 where no code is important for both, 1 where all are equally important for both.

    >>> overlap(np.array([[0.8, 0.0], [0.0, 2.0], [0.2, 2.0]]), 0, 1)
    0.2
    """
    shares = importance[:, [first, second]] / np.maximum(importance[:, [first, second]].sum(0), 1e-12)
    return float(shares.min(1).sum())


@torch.inference_mode()
def neighbour_colour(method: Method, data: FactorData, test: FactorData, seed: int, count: int = 500) -> float:
    """How much nearer in mean colour the neighbours of an image by its best feature are than any images (figure 5).

    The mean distance between the mean colours of test images and of their nearest training images by a feature, over
    that to all training images; of the feature where it is least. 1 where neighbours have any colour.
    """
    queries, images = test.sample(min(count, len(test)), seed)[0], data.sample(count, seed)[0]
    codes, others = method.encode(queries).cpu(), method.encode(images).cpu()
    query_colours, image_colours = (part.float().mean((2, 3)) for part in (queries, images))
    apart = torch.cdist(query_colours, image_colours)
    groups = method.code_groups or [[column] for column in range(codes.shape[1])]
    nearest = [torch.cdist(codes[:, group], others[:, group]).topk(NEIGHBOURS, largest=False)[1] for group in groups]
    return min(float(apart.gather(1, rows).mean() / apart.mean()) for rows in nearest)


def _shuffled(weights: torch.Tensor, seed: int) -> torch.Tensor:
    return weights[torch.randperm(len(weights), generator=torch.Generator().manual_seed(seed))]


def _two_samples(method: Intervention, data: FactorData, count: int, steps: int, seed: int) -> dict[str, float]:
    """Accuracies of the two-sample test: chance is 0.5. The images are drawn as the training data is.

    Unequal weights leave fewer images to learn from, whatever they are; so the same weights, each on any other image,
    stand beside them.
    """
    images, _ = data.sample(2 * count, seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        real = method.exchange(images[:count])[0]
        _, moved, weights = method.exchange(images[count:])
    real, moved, weights = (part.detach().float().cpu() for part in (real, moved, weights))
    test: dict[str, Any] = {"network": method.config.network, "steps": steps, "rng": seed}
    return {
        "two_sample.plain": two_sample_accuracy(real, moved, **test),
        "two_sample.weighted": two_sample_accuracy(real, moved, weights, **test),
        "two_sample.permuted": two_sample_accuracy(real, moved, _shuffled(weights, seed), **test),
        "two_sample.effective_share": effective_share(weights),
    }
