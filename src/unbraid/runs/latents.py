"""The latents of a run: which are active, and what people call them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from unbraid.errors import InputError, nearest
from unbraid.methods.gaussian import kl_per_latent
from unbraid.runs.folder import unlinked
from unbraid.runs.names import read_names
from unbraid.runs.run import Run

ACTIVE = 0.1  # nats of mean KL from which a latent is active
FAINT = 0.05  # of the largest deviation: the same for codes without a KL


@dataclass(frozen=True)
class Latent:
    """A column of a run's codes."""

    index: int
    name: str
    """As people named it, else z0, z1, …"""
    kl: float | None
    """Mean KL in nats; None where the encoder is not Gaussian."""
    active: bool


def latents_of(run: Run) -> list[Latent]:
    """All latents of a run, those that say most first."""
    known = run.representation()
    path = unlinked(run.folder / "names.json")
    names = read_names(path, run.config.id) if path.exists() else {}
    divergences = None if known.logvar is None else kl_per_latent(known.codes, known.logvar).mean(0).numpy()
    weight = known.codes.std(0).numpy() if divergences is None else divergences
    least = FAINT * float(weight.max()) if divergences is None else ACTIVE
    return [
        Latent(
            int(index), names.get(f"z{index}", f"z{index}"),
            None if divergences is None else float(divergences[index]), bool(weight[index] > least),
        )
        for index in np.argsort(-weight, kind="stable")
    ]  # fmt: skip


def find_latent(latents: list[Latent], word: str, others: Iterable[str] = ()) -> Latent:
    """A latent by its name or its number: `size`, `z3`, `factor 1`, `factor_1`. `others` would be known too."""
    known = {latent.name: latent for latent in latents} | {f"z{latent.index}": latent for latent in latents}
    spoken = {name.replace("_", " ").casefold(): latent for name, latent in known.items()}
    if (latent := spoken.get(word.replace("_", " ").casefold())) is None:
        raise InputError(f"there is no latent '{word}'{nearest(word, [*known, *others])}")
    return latent


def columns(codes: Tensor, chosen: list[Latent]) -> dict[str, np.ndarray]:
    """The chosen latents of codes (n, d) by name."""
    for name, count in Counter(latent.name for latent in chosen).items():
        if count > 1:
            raise InputError(f"{count} latents are called '{name}'; give them different names with `unbraid label`")
    return {latent.name: codes[:, latent.index].numpy() for latent in chosen}
