from __future__ import annotations

import math

import torch
from torch.distributions import Normal, kl_divergence

from tests.examples.squares import squares
from unbraid.data.wrappers.weak_pairs import WeakPairs
from unbraid.methods import build
from unbraid.methods.ada_gvae import share


def test_latents_that_seem_unchanged_get_one_posterior() -> None:
    torch.manual_seed(0)
    mean, logvar = torch.randn(2, 10, 4)
    means, logvars, shared = share(mean, logvar)
    for pair in range(5):
        one, two = (Normal(mean[row], (logvar[row] / 2).exp()) for row in (pair, pair + 5))
        delta = kl_divergence(one, two)
        threshold = (delta.max() + delta.min()) / 2
        for latent in range(4):
            rows = (pair, pair + 5)
            assert bool(shared[pair, latent]) == bool(delta[latent] < threshold)
            if shared[pair, latent]:
                middle = (mean[rows[0], latent] + mean[rows[1], latent]) / 2
                spread = math.log((logvar[rows[0], latent].exp() + logvar[rows[1], latent].exp()) / 2)
                for row in rows:
                    assert torch.allclose(means[row, latent], middle)
                    assert torch.allclose(logvars[row, latent], torch.tensor(spread))
            else:
                for row in rows:
                    assert means[row, latent] == mean[row, latent]
                    assert logvars[row, latent] == logvar[row, latent]
    assert bool(shared.any(1).all())
    assert not bool(shared.all(1).any())


def test_the_loss_is_the_mean_over_both_images_of_a_pair() -> None:
    data = WeakPairs(squares())
    torch.manual_seed(0)
    method = build("ada_gvae", data, {"network": "small", "latents": 3, "beta": 2.0})
    batch = data.batch(8, 0)
    x = method.pixels(torch.cat([batch["images"], batch["partners"]]))
    mean, logvar, shared = share(*method._posterior(x))
    torch.manual_seed(1)
    z = mean + (logvar / 2).exp() * torch.randn_like(mean)
    chance = method.decode(z)
    reconstruction = -(x * chance.log() + (1 - x) * (1 - chance).log()).sum((1, 2, 3)).mean()
    kl = kl_divergence(Normal(mean, (logvar / 2).exp()), Normal(0.0, 1.0)).sum(1).mean()
    torch.manual_seed(1)
    terms = method.update(batch)
    assert torch.allclose(terms["reconstruction"], reconstruction, rtol=1e-4)
    assert torch.allclose(terms["loss"], reconstruction + 2 * kl, rtol=1e-4)
    assert torch.allclose(terms["shared"], shared.float().sum(1).mean())
