"""The main job on embedded data: look at the data, train three methods, look at what they learned, read a report."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from unbraid.data import catalogue
from unbraid.pictures import sheets
from unbraid.pictures.traversals import show
from unbraid.runs.recording import train
from unbraid.runs.run import Run
from unbraid.studies import write_report

STEPS = 4000
# One desk setting for all: dSprites at 32x32, a small network, and a learning rate that makes few steps count.
SHARED: dict[str, Any] = {
    "resolution": 32,
    "network": "small",
    "learning_rate": 1e-3,
    "samples": 20_000,
    "protocol": "fast",
}
METHODS: dict[str, dict[str, Any]] = {
    "beta_vae": {"beta": 4.0},
    "beta_tc_vae": {"beta": 6.0},
    "factor_vae": {"gamma": 10.0, "discriminator_layers": 2, "discriminator_width": 256},
}


def demo(out: Path, steps: int = STEPS, say: Callable[[str], None] = print) -> list[Run]:
    """Draw every embedded data set into one picture, train and show each of METHODS, and write a report of them."""
    say(f"data: {draw_data(out / 'data.png')}")
    runs = []
    for name, settings in METHODS.items():
        run = train(name, "dsprites", steps=steps, out=out / f"{name}-{steps}", say=say, **SHARED, **settings)
        reconstructions, traversals, animation = show(run)
        say(f"{name}: {reconstructions}, {traversals.name}, {animation.name}")
        runs.append(run)
    say(f"report: {write_report(out, out / 'report')}")
    return runs


def draw_data(path: Path, resolution: int = 64) -> Path:
    """Every embedded data set on one page."""
    drawn = [
        sheets.contact_sheet(name, catalogue.load(name, resolution), columns=10) for name in catalogue.DRAWN
    ]
    return sheets.save(sheets.beside(drawn, columns=2), path)
