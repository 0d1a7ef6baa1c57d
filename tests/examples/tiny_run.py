"""A β-VAE that trains in a second or two, for tests about what a run leaves."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import unbraid
from unbraid.runs.run import Run

TINY: dict[str, Any] = {
    "resolution": 16,
    "network": "small",
    "latents": 4,
    "steps": 60,
    "every": 10,
    "samples": 500,
    "protocol": None,
}


def tiny(out: Path, **changes: Any) -> Run:
    return unbraid.train("beta_vae", "dsprites", out=out, **{**TINY, **changes})
