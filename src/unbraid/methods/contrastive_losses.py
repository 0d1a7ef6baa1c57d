"""The losses of contrastive, by their names in the paper.

Its formulas are sums over anchors i ∈ I. All of these are divided by the number of anchors |I|, which leaves the
weights λ as they are in the paper.

An anchor is one of the m = 2n views of a batch of n pairs: views of the first images come before those of the second.
`z` (m, K, d) holds the K sub-embeddings of each. `positive` (m, m) marks the positives of each anchor.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from unbraid.errors import InputError, nearest

OVER = ("pair", "all")
"""What j runs over in (5) and (6)."""


def positives(labels: Tensor) -> Tensor:
    """Which views are positives of which, by labels (n, s) of the pairs: bool (s, m, m).

    Two views are positives of each other where their pairs have the same label; no view is its own.

    >>> positives(torch.tensor([[0], [1]]))[0].int()  # two pairs: views 0 and 2, 1 and 3
    tensor([[0, 0, 1, 0],
            [0, 0, 0, 1],
            [1, 0, 0, 0],
            [0, 1, 0, 0]], dtype=torch.int32)
    """
    of_views = labels.repeat(2, 1).T  # (s, m)
    same = of_views[:, :, None] == of_views[:, None, :]
    return same & ~torch.eye(same.shape[1], dtype=torch.bool, device=labels.device)


def info_max(z: Tensor, positive: Tensor, temperature: float) -> Tensor:
    """(1): the mean over anchors i of -log exp(z_i·z_j/τ) / Σ_{a≠i} exp(z_i·z_a/τ), j the positive of i.

    With several positives j, the mean over them (Khosla et al. 2020, equation 2). `z` is (m, d), of length 1.

    >>> z = F.normalize(torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [0.1, 1.0]]), dim=1)  # two pairs that agree
    >>> info_max(z, positives(torch.tensor([[0], [1]]))[0], temperature=0.1) < 0.01
    tensor(True)
    """
    return _info_nce(z[None], positive[None], temperature).sum()


def sub_info_max(z: Tensor, positive: Tensor, temperature: float) -> Tensor:
    """(2): the sum of `info_max` over sub-embeddings z (m, K, d); `positive` is (K, m, m), or (1, m, m) for all."""
    return _info_nce(z.transpose(0, 1), positive, temperature).sum()


def _info_nce(z: Tensor, positive: Tensor, temperature: float) -> Tensor:
    """`info_max` of each of K tables (K, m, d): (K,)."""
    logits = z @ z.mT / temperature
    itself = torch.eye(logits.shape[1], dtype=torch.bool, device=z.device)
    log_p = F.log_softmax(logits.masked_fill(itself, -torch.inf), 2)
    return -(torch.where(positive, log_p, 0).sum(2) / positive.sum(2)).mean(1)


def info_min(z: Tensor, temperature: float) -> Tensor:
    """(4): Σ_{k≠k'} of the mean over i of log exp(z_ik·z_ik'/τ) / Σ_{a∈A} exp(z_ik·z_ak/τ), within each view.

    A is the positive, which is z_ik' here, and the z_ak of all other samples a of the same view.
    """
    by_view = torch.stack(z.chunk(2)).transpose(1, 2)  # (2, K, n, d)
    across = torch.einsum("vkid,vlid->vkli", by_view, by_view) / temperature  # z_ik·z_il
    within = by_view @ by_view.mT / temperature  # z_ik·z_ak, (2, K, n, n)
    itself = torch.eye(within.shape[-1], dtype=torch.bool, device=z.device)
    others = within.masked_fill(itself, -torch.inf).logsumexp(3)[:, :, None]  # (2, K, 1, n); -inf where n is 1
    log_p = across - torch.logaddexp(across, others)
    return log_p.mean((0, 3))[_apart(z)].sum()


def ortho(z: Tensor, permutation: Tensor | None = None, over: str = "pair") -> Tensor:
    """(5): Σ_{k≠k'} Σ_i Σ_j |cos(z_ik, z_jk')| / |I|; with a permutation of d elements, (6): cos(P(z_ik), z_jk').

    j runs over i and its positive, the other view of the pair (`pair`), or over all views of the batch (`all`).

    >>> z = torch.tensor([[[1.0, 0.0], [0.0, 1.0]], [[2.0, 0.0], [0.0, -1.0]]])  # two views, orthogonal parts
    >>> ortho(z), ortho(z, over="all")
    (tensor(0.), tensor(0.))
    """
    if over not in OVER:
        raise InputError(f"over is '{over}'{nearest(over, OVER)}")
    unit = F.normalize(z, dim=2).transpose(0, 1)  # (K, m, d)
    permuted = unit if permutation is None else unit[:, :, permutation]
    if over == "all":
        cosines = permuted[:, None] @ unit[None].mT  # (K, K, m, m)
    else:
        views = torch.stack([unit, unit.roll(len(z) // 2, 1)])  # z_i and its positive
        cosines = torch.einsum("kid,vlid->kliv", permuted, views)  # (K, K, m, 2)
    return cosines.abs().sum((2, 3))[_apart(z)].sum() / len(z)


def p_ortho(z: Tensor, over: str = "pair") -> Tensor:
    """(6) with a new random permutation."""
    return ortho(z, torch.randperm(z.shape[2], device=z.device), over)


def hessian(loss: Tensor, z: Tensor, parts: int) -> Tensor:
    """(8): the Frobenius norm of the blocks of (7) between different parts of z (m, d), over |I|.

    `loss` is `info_max` of z. (7) is H_ij ≈ ∂L/∂z_i · ∂L/∂z_j, a product over anchors: with G (m, d) the gradient of
    the sum L = |I|·loss, H = GᵀG. The gradient keeps its graph, so that this can be descended.
    """
    (gradient,) = torch.autograd.grad(len(z) * loss, z, create_graph=True)
    norm: Tensor = torch.linalg.matrix_norm(_off_diagonal(gradient.T @ gradient, parts))
    return norm / len(z)


def _off_diagonal(matrix: Tensor, parts: int) -> Tensor:
    """The blocks (k, k') with k < k' of a symmetric matrix (d, d), and 0 elsewhere."""
    part = torch.arange(len(matrix), device=matrix.device) * parts // len(matrix)
    return torch.where(part[:, None] < part, matrix, 0)


def _apart(z: Tensor) -> Tensor:
    """Which pairs of sub-embeddings are of two different ones: bool (K, K)."""
    return ~torch.eye(z.shape[1], dtype=torch.bool, device=z.device)
