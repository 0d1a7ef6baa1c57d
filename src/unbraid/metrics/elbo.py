"""Scores without factors: the evidence lower bound of a trained VAE, and errors on held-out rows."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import torch
from torch import Generator, Tensor

from unbraid.data import FactorData
from unbraid.data.factors import Rng, generator
from unbraid.methods.base import Method
from unbraid.methods.gaussian import kl_per_latent
from unbraid.metrics import total_correlation
from unbraid.progress import progress
from unbraid.training.representation import Representation

ACTIVE = 0.01  # nats of mean KL above which a latent is active
ROWS = 10_000  # assumptions, section 5.2: images from which total correlations are estimated


def evidence(
    method: Method, data: FactorData, representation: Representation, rng: Rng = 0, *, epsilon: float = 0.0
) -> dict[str, float]:
    """The unsupervised scores of assumptions, section 5.5, by name; none if the encoder is not Gaussian.

    `kl` in nats per image, `active_latents` (mean KL above 0.01), and the Gaussian total correlation of the means and
    of samples from q(z|x): `total_correlation_mean`, `total_correlation_sampled`. Where the method has a likelihood of
    images also `reconstruction` (-log p(x|z) with a sampled z) and `elbo` = -reconstruction - kl. All use at most
    10,000 images of the representation. `epsilon` is the setting of `total_correlation`: 0 in the reference code, 1e-5
    in the paper.
    """
    if representation.logvar is None:
        return {}
    rng = generator(rng)
    chosen = torch.randperm(len(representation.rows), generator=rng)[:ROWS]
    mean, logvar, rows = representation.codes[chosen], representation.logvar[chosen], representation.rows[chosen]
    noise = torch.randn(mean.shape, generator=rng)
    divergences = kl_per_latent(mean, logvar).mean(0)
    scores = {"kl": float(divergences.sum())}
    if method.reconstructs:
        reconstruction = _reconstruction(method, data, rows, noise, rng)
        scores = {"reconstruction": reconstruction, **scores, "elbo": -reconstruction - scores["kl"]}
    sampled = _sampled(mean, logvar, noise)
    return {
        **scores,
        "active_latents": float((divergences > ACTIVE).sum()),
        "total_correlation_mean": total_correlation(mean, epsilon=epsilon)["total_correlation"],
        "total_correlation_sampled": total_correlation(sampled, epsilon=epsilon)["total_correlation"],
    }


def _reconstruction(method: Method, data: FactorData, rows: Tensor, noise: Tensor, rng: Generator) -> float:
    """-log p(x|z) in nats per image. Images are encoded again: where they are stochastic, a row's is another now."""
    total = 0.0
    method.eval()
    with torch.inference_mode(), progress("reconstructing", len(rows)) as advance:
        for part, part_noise in zip(torch.split(rows, 256), torch.split(noise, 256), strict=True):
            images = data.images_at(part, rng)
            encoding = method.encoding({"images": images})
            assert encoding.logvar is not None
            codes = _sampled(encoding.codes.cpu(), encoding.logvar.cpu(), part_noise)
            total += len(part) * float(method.reconstruction(images, codes))
            advance(len(part))
    return total / len(rows)


def _sampled(mean: Tensor, logvar: Tensor, noise: Tensor) -> Tensor:
    return mean + torch.exp(logvar / 2) * noise


def held_out_errors(method: Method, data: FactorData, rng: Rng = 0, rows: int = ROWS) -> dict[str, float]:
    """The method's own measures on held-out rows, as `test.NAME`; none if the data holds out no rows.

    At most `rows` rows are used, drawn at random. `test.rmse` is the square root of `test.squared_error`. Tasks whose
    target is a number also have `test.r2_0`, …, 1 - error / variance of the target on these rows, and `test.r2`, their
    mean: 0 for the best constant, 1 for no error.
    """
    test = data.held_out
    if test is None or not method.measures:
        return {}
    rng = generator(rng)
    chosen = torch.arange(len(test)) if len(test) <= rows else torch.randperm(len(test), generator=rng)[:rows]
    totals: dict[str, float] = {}
    targets: list[Tensor] = []
    method.eval()
    with torch.inference_mode(), progress("testing", len(chosen)) as advance:
        for part in torch.split(chosen, 256):
            batch = test.batch_at(part, rng)
            for name, value in method.measure(batch).items():
                totals[name] = totals.get(name, 0.0) + len(part) * float(value)
            targets += [batch["targets"]] if "targets" in method.needs else []
            advance(len(part))
    means = {f"test.{name}": total / len(chosen) for name, total in totals.items()}
    if "test.squared_error" in means:
        means["test.rmse"] = math.sqrt(means["test.squared_error"])
    return means | _explained(means, torch.cat(targets), test.tasks) if targets else means


def _explained(means: Mapping[str, float], targets: Tensor, tasks: Sequence[int]) -> dict[str, float]:
    """R² of each task whose target (n, tasks) is a number that varies, and their mean."""
    variances = targets.double().var(0, unbiased=False).tolist()
    shares = {
        f"test.r2_{task}": 1 - means[f"test.error_{task}"] / variance
        for task, (classes, variance) in enumerate(zip(tasks, variances, strict=True))
        if classes == 1 and variance > 0 and f"test.error_{task}" in means
    }
    return {"test.r2": sum(shares.values()) / len(shares), **shares} if shares else {}
