"""The operations and losses of intervention, section 4, one function per equation; `translation` has algorithm 1."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor


def intervened(codes: Tensor, others: Tensor, features: Tensor, dimensions: int) -> Tensor:
    """do(Z_k = z_k^r): codes (n, K·D) whose feature k, each row's own, is that of the same row of `others`.

    `features` (n,) has k for each row; a feature is `dimensions` columns side by side.

    >>> codes, others = torch.zeros(2, 4), torch.ones(2, 4)
    >>> intervened(codes, others, torch.tensor([0, 1]), dimensions=2)
    tensor([[1., 1., 0., 0.],
            [0., 0., 1., 1.]])
    """
    columns = features[:, None, None].expand(-1, 1, dimensions)
    apart, replaced = codes.view(len(codes), -1, dimensions), others.view(len(codes), -1, dimensions)
    return apart.scatter(1, columns, replaced.gather(1, columns)).flatten(1)


def normalised(logits: Tensor) -> Tensor:
    """W(x̂) / N of a batch, (n,): W = exp(logit) and N its mean, so that weights are positive with a mean of 1."""
    return len(logits) * logits.softmax(0)


def adversarial(real: Tensor, fake: Tensor, weights: Tensor) -> Tensor:
    """L_adv = E[log Disc(x̂) + W(x̂')/N · log(1 - Disc(x̂'))], Disc = sigmoid(logit).

    `real` (n,) are logits of reconstructions x̂, `fake` (m,) of images after an intervention x̂', `weights` (m,) theirs.
    The discriminator ascends it; encoder, decoder and weight network descend it. For the best discriminator it is
    2·JS(p, w∘ṗ) - log 4, least where the weights bring ṗ to p (proposition 2).
    """
    return F.logsigmoid(real).mean() + (weights * F.logsigmoid(-fake)).mean()
