"""How far a covariance matrix is from the identity: the two penalties of DIP-VAE."""

from __future__ import annotations

from torch import Tensor


def off_diagonal(matrix: Tensor) -> Tensor:
    """Σ_{i≠j} M_ij², both triangles."""
    return matrix.square().sum() - matrix.diagonal().square().sum()


def diagonal(matrix: Tensor) -> Tensor:
    """Σ_i (M_ii - 1)²."""
    return (matrix.diagonal() - 1).square().sum()
