"""What equation 6 of contrastive asks for: free embeddings under it, with j over the pair and over all views.

    python bench/collapse.py [--pairs 128] [--steps 600] [--weight 0.1]

Embeddings of pairs that no network constrains descend loss = sub_info_max + λ·p_ortho. Prints how far each half is
spread (0 where all views lie on one axis, 1 where no axis stands out) and how many views each half finds the partner
of, and draws the spread over steps.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import Tensor

from unbraid.methods.contrastive_losses import OVER, p_ortho, positives, sub_info_max
from unbraid.pictures import style

PICTURE = Path(__file__).parents[1] / "docs" / "pictures" / "collapse.png"
WIDTH, TEMPERATURE = 8, 0.1
COLOURS = ("#0072B2", "#E69F00")


@dataclass(frozen=True)
class Embeddings:
    """Free embeddings after their descent."""

    z: Tensor
    """(views, 2, d), of length 1."""
    spreads: list[tuple[float, float]]
    """Of both halves, step by step."""

    @property
    def spread(self) -> tuple[float, float]:
        return self.spreads[-1]

    @property
    def retrieved(self) -> list[float]:
        """The share of views whose partner is the nearest other view, by each half."""
        views = len(self.z)
        near = self.z.transpose(0, 1) @ self.z.transpose(0, 1).mT - 3 * torch.eye(views)
        partner = torch.arange(views).roll(views // 2)
        return (near.argmax(2) == partner).float().mean(1).tolist()


def spread(z: Tensor) -> tuple[float, float]:
    """Of each half: what its strongest axis leaves to the others, over what it leaves where all are alike."""
    moments = torch.einsum("mki,mkj->kij", z, z) / len(z)
    left = (1 - torch.linalg.eigvalsh(moments)[:, -1]) / (1 - 1 / z.shape[2])
    first, second = left.tolist()
    return first, second


def trained(over: str, pairs: int = 128, steps: int = 600, weight: float = 0.1, seed: int = 0) -> Embeddings:
    """Two free embeddings of each pair's views, near each other at first as an encoder's would be."""
    rng = torch.Generator().manual_seed(seed)
    thing = torch.randn(pairs, 2, WIDTH, generator=rng)
    noise = 0.3 * torch.randn(2 * pairs, 2, WIDTH, generator=rng)
    free = (thing.repeat(2, 1, 1) + noise).requires_grad_()
    positive, optimiser = positives(torch.arange(pairs)[:, None]), torch.optim.Adam([free], 0.03)
    spreads = []
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for _ in range(steps):
            z = F.normalize(free, dim=2)
            spreads.append(spread(z.detach()))
            loss = sub_info_max(z, positive, TEMPERATURE) + weight * p_ortho(z, over)
            optimiser.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            optimiser.step()
    z = F.normalize(free.detach(), dim=2)
    return Embeddings(z, [*spreads, spread(z)])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=128)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--weight", type=float, default=0.1)
    parser.add_argument("--out", type=Path, help=f"the picture to write, by default docs/pictures/{PICTURE.name}")
    parser.add_argument("--tiny", action="store_true", help="the least of everything: does it run?")
    options = parser.parse_args(arguments)
    if options.tiny:
        options.pairs, options.steps = 4, 2
    drawing, axes = style.panels(1, len(OVER), 3.4, 2.2, 0.2, sharey=True)
    for axis, over in zip(axes[0], OVER, strict=True):
        embeddings = trained(over, options.pairs, options.steps, options.weight)
        for half, (ends, found) in enumerate(zip(embeddings.spread, embeddings.retrieved, strict=True)):
            print(f"j over {over:4}  half {half}: spread {ends:.3f}, finds the partner of {found:.0%} of the views")
            axis.plot([one[half] for one in embeddings.spreads], color=COLOURS[half], label=f"half {half}")
        axis.set_title(f"j over {'all views' if over == 'all' else 'the pair'}", fontsize=8)
        axis.set_xlabel("step", fontsize=7)
        axis.set_ylim(-0.03, 1.03)
    axes[0][0].set_ylabel("spread of a half", fontsize=7)
    axes[0][0].legend(frameon=False, fontsize=7)
    drawing.savefig(options.out or (PICTURE.name if options.tiny else PICTURE), dpi=130)


if __name__ == "__main__":
    main()
