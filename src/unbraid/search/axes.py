"""Axes along which the latents of a model are independent: found by ICA, and put into the model's own weights.

A VAE is free to turn its latents within a plane: the diagonals of a square can suit its prior better than its sides,
for every seed alike. Factors that are independent and not Gaussian have one set of axes along which they are so.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from unbraid.methods import Method
from unbraid.methods.vae import VAE

Array = np.ndarray[Any, Any]
FEWEST = 50  # pictures from which axes are estimated, and as many for each five latents
FLAT = 1e-6  # deviation of a latent that does not vary
EXACT = 1e-4  # of the largest value, to which a turned model has to give the same pictures and the turned codes


@dataclass(frozen=True, eq=False)
class Axes:
    """Codes as seen along other axes: `matrix` (codes - `origin`), of as many latents."""

    matrix: Array
    """(d, d)"""
    origin: Array
    """(d,)"""
    width: Array
    """(d,): what is added to log variances so that on average they are those of the turned Gaussian."""

    def codes(self, codes: Array) -> Array:
        return np.asarray((codes - self.origin) @ self.matrix.T)

    def logvar(self, logvar: Array) -> Array:
        """Of each latent a weighted mean, which is linear: a layer of an encoder can give it."""
        return np.asarray(logvar @ self.shares.T + self.width)

    @property
    def shares(self) -> Array:
        """(d, d): how much each old latent has of each new one."""
        return np.asarray(self.matrix**2 / (self.matrix**2).sum(1, keepdims=True))


def independent_axes(codes: Array, logvar: Array, active: Array) -> Axes | None:
    """The axes along which the active latents are as independent as they can be; None for one latent or few pictures.

    None also where codes are not finite, or one does not vary. `codes` and `logvar` are (n, d). Each new axis has the
    number and the sign of the latent that is most like it, and codes with their noise have a variance of 1, as the
    prior has; latents that are not active stay as they are.
    """
    from sklearn.decomposition import FastICA
    from sklearn.exceptions import ConvergenceWarning

    count, latents = codes.shape
    known = codes[:, active].astype(float)
    if len(active) < 2 or count < FEWEST * max(1.0, len(active) / 5):
        return None
    if not (np.isfinite(known).all() and np.isfinite(logvar).all() and known.std(0).min() > FLAT):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # then as far as it came
        fitted = FastICA(whiten="unit-variance", random_state=0, max_iter=500).fit(known)
    turned = _like(fitted.components_, fitted.transform(known), known)
    matrix, origin = np.eye(latents), np.zeros(latents)
    matrix[np.ix_(active, active)], origin[active] = turned, fitted.mean_
    variances = np.exp(logvar.astype(float))
    scale = np.ones(latents)
    scale[active] = 1 / np.sqrt(1 + (variances @ (matrix**2).T).mean(0)[active])
    matrix = scale[:, None] * matrix
    plain = Axes(matrix, origin, np.zeros(latents))
    width = (np.log(variances @ (matrix**2).T) - plain.logvar(logvar)).mean(0)
    axes = Axes(matrix, origin, width)
    return axes if all(np.isfinite(part).all() for part in (matrix, origin, width)) else None


def _like(rows: Array, sources: Array, latents: Array) -> Array:
    """The rows of an unmixing matrix, in the order and with the signs of the latents that are most like them."""
    from scipy.optimize import linear_sum_assignment

    correlations = np.corrcoef(latents.T, sources.T)[: len(rows), len(rows) :]
    order = linear_sum_assignment(-np.abs(correlations))[1]
    return np.asarray(rows[order] * np.sign(correlations[range(len(rows)), order])[:, None])


def turned(method: Method, axes: Axes) -> VAE | None:
    """The same model with these axes as its latents: the same pictures from the turned codes.

    None where the network does not end and begin in linear layers that can take them.
    """
    if not isinstance(method, VAE):
        return None
    result = copy.deepcopy(method)
    outward = [part for part in result.encoder.modules() if isinstance(part, nn.Linear)]
    inward = [part for part in result.decoder.modules() if next(part.parameters(recurse=False), None) is not None]
    latents = len(axes.origin)
    if not outward or outward[-1].weight.shape[0] != 2 * latents or outward[-1].bias is None or not inward:
        return None
    weight = _linear(inward[0], latents)
    if weight is None or np.linalg.cond(axes.matrix) > 1 / FLAT:
        return None
    matrix, origin, shares, width = (
        torch.from_numpy(part).to(weight.device) for part in (axes.matrix, axes.origin, axes.shares, axes.width)
    )
    with torch.no_grad():
        last = outward[-1]
        means, widths = last.weight.double().chunk(2)
        centres, logs = last.bias.double().chunk(2)
        last.weight.copy_(torch.cat([matrix @ means, shares @ widths]))
        last.bias.copy_(torch.cat([matrix @ (centres - origin), shares @ logs + width]))
        bias = inward[0].bias
        assert isinstance(bias, Tensor)
        bias.add_(weight.double() @ origin)
        weight.copy_(weight.double() @ torch.linalg.inv(matrix))
    return result if _same(method, result, axes) else None


def _linear(layer: nn.Module, inputs: int) -> Tensor | None:
    """The weight (outputs, inputs) of a layer that treats codes linearly and has a bias, else None."""
    if not isinstance(layer, nn.Linear | nn.Conv2d | nn.ConvTranspose2d) or layer.bias is None:
        return None
    weight: Tensor = layer.weight
    if not isinstance(layer, nn.Linear):
        if weight.shape[2:] != (1, 1):
            return None
        weight = weight[..., 0, 0]
        weight = weight.T if isinstance(layer, nn.ConvTranspose2d) else weight
    return weight if weight.shape[1] == inputs else None


@torch.inference_mode()
def _same(method: VAE, other: VAE, axes: Axes) -> bool:
    """Whether the second gives what the first gives, along the axes: layers may stand in an order of their own."""
    rng = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (8, *method.spec.image_shape), dtype=torch.uint8, generator=rng)
    codes = torch.randn(8, len(axes.origin), generator=rng)
    along = torch.from_numpy(axes.codes(codes.numpy())).float()
    expected = torch.from_numpy(axes.codes(method.encode(images).cpu().numpy()))
    return _close(other.encode(images).cpu(), expected) and _close(other.decode(along), method.decode(codes))


def _close(values: Tensor, expected: Tensor) -> bool:
    return bool((values - expected).abs().max() <= EXACT * expected.abs().max())
