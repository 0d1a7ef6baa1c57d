"""The obvious PyTorch program, which bench/train.py compares with: what one would write first.

The network and loss of assumptions, table 2, in fp32 with the default memory layout, a DataLoader over a uint8
TensorDataset, torch.optim.Adam.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils.data import DataLoader, TensorDataset

Step = Callable[[], int]
"""Takes one step, and returns the number of images in it."""


class Network(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encoder = nn.Sequential(
            nn.Conv2d(1, 32, 4, 2, 1), nn.ReLU(), nn.Conv2d(32, 32, 4, 2, 1), nn.ReLU(),
            nn.Conv2d(32, 64, 4, 2, 1), nn.ReLU(), nn.Conv2d(64, 64, 4, 2, 1), nn.ReLU(),
            nn.Flatten(), nn.Linear(1024, 256), nn.ReLU(), nn.Linear(256, 20),
        )  # fmt: skip
        self.decoder = nn.Sequential(
            nn.Linear(10, 256), nn.ReLU(), nn.Linear(256, 1024), nn.ReLU(), nn.Unflatten(1, (64, 4, 4)),
            nn.ConvTranspose2d(64, 64, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(64, 32, 4, 2, 1), nn.ReLU(),
            nn.ConvTranspose2d(32, 32, 4, 2, 1), nn.ReLU(), nn.ConvTranspose2d(32, 1, 4, 2, 1),
        )  # fmt: skip

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        mean, logvar = self.encoder(x).chunk(2, 1)
        z = mean + torch.exp(logvar / 2) * torch.randn_like(mean)
        return mean, logvar, z, self.decoder(z)


def negative_elbo(x: Tensor, mean: Tensor, logvar: Tensor, logits: Tensor, beta: float) -> Tensor:
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)
    kl = 0.5 * (mean.square() + logvar.exp() - logvar - 1).sum(1).mean()
    return reconstruction + beta * kl


def endless(images: Tensor, batch_size: int) -> Iterator[Tensor]:
    loader = DataLoader(TensorDataset(images), batch_size=batch_size, shuffle=True)
    while True:
        for (batch,) in loader:
            yield batch


def beta_vae(images: Tensor, batch_size: int) -> Step:
    model, batches = Network(), endless(images, batch_size)
    optimiser = torch.optim.Adam(model.parameters(), 1e-4)

    def step() -> int:
        x = next(batches).float() / 255
        mean, logvar, _, logits = model(x)
        optimiser.zero_grad()
        negative_elbo(x, mean, logvar, logits, 4.0).backward()
        optimiser.step()
        return batch_size

    return step


def factor_vae(images: Tensor, batch_size: int, width: int) -> Step:
    model, batches = Network(), endless(images, batch_size)
    layers: list[nn.Module] = []
    for layer in range(6):
        layers += [nn.Linear(width if layer else 10, width), nn.LeakyReLU(0.2)]
    discriminator = nn.Sequential(*layers, nn.Linear(width, 2))
    optimiser = torch.optim.Adam(model.parameters(), 1e-4)
    adversary = torch.optim.Adam(discriminator.parameters(), 1e-4, betas=(0.5, 0.9))
    zeros, ones = torch.zeros(batch_size, dtype=torch.long), torch.ones(batch_size, dtype=torch.long)

    def step() -> int:
        x = next(batches).float() / 255
        mean, logvar, z, logits = model(x)
        ratio = discriminator(z)
        loss = negative_elbo(x, mean, logvar, logits, 1.0) + 10 * (ratio[:, 0] - ratio[:, 1]).mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        z = z.detach()
        permuted = torch.stack([z[torch.randperm(len(z)), j] for j in range(z.shape[1])], 1)
        loss = 0.5 * (F.cross_entropy(discriminator(z), zeros) + F.cross_entropy(discriminator(permuted), ones))
        adversary.zero_grad()
        loss.backward()
        adversary.step()
        return batch_size

    return step
