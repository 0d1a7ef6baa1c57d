"""Make the reference models of the package again, from the folder of a desk run of the study assumptions.

    python bench/reference_models.py STUDY [--out src/unbraid/reference] [--arm FOLDER]

Of each method on a data set it takes the model with the highest MIG (`shapes3d-beta_vae`), and of some also the one in
the middle (`shapes3d-beta_vae-ordinary`). The study has no model on Arm3D: one is trained in the folder of `--arm`,
which another call resumes. Weights are kept in half precision if no decoded pixel then differs by more than 1/255, else
as they are. Codes are a sample. Prints name, MIG, the largest difference and size.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

import unbraid
from unbraid.errors import InputError
from unbraid.metrics import ProtocolLike
from unbraid.runs.packing import pack
from unbraid.runs.remote import reference_folder
from unbraid.runs.run import Run, check_stranger
from unbraid.studies.assumptions.study import SCALES

CODES = 2_500
"""Codes that a model is kept with."""
MOST = 15_000_000
"""Bytes of all models together."""
STEP = 1 / 255
CHECKED = 256
"""Codes that are decoded with both precisions."""


@dataclass(frozen=True)
class Choice:
    """Which model of a study: of a method on a data set the best by MIG, or the one in the middle."""

    data: str
    method: str
    ordinary: bool = False

    @property
    def name(self) -> str:
        return f"{self.data}-{self.method}{'-ordinary' if self.ordinary else ''}"

    def run(self, runs: Sequence[Run]) -> Run:
        """The model among those of its data and method. Of an even number, the middle one is the lower of two."""
        alike = sorted(runs, key=lambda run: run.scores["mig"])
        if not alike:
            raise InputError(f"the study has no finished model of {self.method} on {self.data}")
        return alike[(len(alike) - 1) // 2] if self.ordinary else alike[-1]


CHOICES = (
    Choice("shapes3d", "beta_vae"),
    Choice("shapes3d", "beta_vae", ordinary=True),
    Choice("shapes3d", "factor_vae"),
    Choice("shapes3d", "factor_vae", ordinary=True),
    Choice("shapes3d", "beta_tc_vae"),
    Choice("shapes3d", "dip_vae_i"),
    Choice("shapes3d", "dip_vae_ii"),
    Choice("shapes3d", "annealed_vae"),
    Choice("dsprites", "beta_vae"),
    Choice("dsprites", "factor_vae"),
    Choice("dsprites", "factor_vae", ordinary=True),
    Choice("dsprites", "beta_tc_vae"),
    Choice("color_dsprites", "beta_tc_vae"),
)
ARM = Choice("arm3d", "beta_vae")


def finished(study: Path) -> dict[tuple[str, str], list[Run]]:
    """The models of a study that are done and scored, by data set and method."""
    found: dict[tuple[str, str], list[Run]] = {}
    for path in sorted((study / "jobs").glob("*/scores.json")):
        run = Run(path.parent)
        if (run.folder / "config.json").is_file() and run.state["state"] == "done" and "mig" in run.scores:
            found.setdefault((str(run.config.data["data"]), run.config.method), []).append(run)
    return found


def train_arm(folder: Path, **changes: object) -> Run:
    """A model on Arm3D with the settings of the desk study, except that a pixel counts ten times as much.

    The arm and its object have few pixels: with the weight of the study, four of the ten latents are not used.
    """
    desk = SCALES["desk"]
    protocol: ProtocolLike = desk.protocol
    options = {
        "steps": desk.steps, "resolution": desk.resolution, "samples": desk.samples, "protocol": protocol,
        "precision": "fp32", **desk.shared, "pixel_weight": 40.0, "beta": 1.0,
        **changes,
    }  # fmt: skip
    return unbraid.train(ARM.method, ARM.data, seed=0, out=folder, **options)  # type: ignore[arg-type]


def make(run: Run, name: str, out: Path, codes: int = CODES) -> tuple[Run, float]:
    """Write a model, and give it with the largest difference that its precision makes to a decoded pixel."""
    few = run.representation().codes[:CHECKED]
    with tempfile.TemporaryDirectory(dir=out.parent) as part, torch.inference_mode():
        for half in (True, False):
            packed = pack(run, Path(part) / str(half) / name, codes, half=half)
            difference = float((run.method().decode(few) - packed.method().decode(few)).abs().max())
            if difference <= STEP:
                break
        check_stranger(packed.folder)
        shutil.rmtree(out / name, ignore_errors=True)
        return Run(shutil.move(packed.folder, out / name)), difference


def report(run: Run, difference: float) -> int:
    """Print a line about a model; gives its size in bytes."""
    size = sum(path.stat().st_size for path in run.folder.iterdir())
    print(f"{run.folder.name:32} mig {run.scores['mig']:.3f}  off by {difference:.5f}  {size / 1000:.0f} kB")
    return size


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("study", nargs="?", type=Path)
    parser.add_argument("--out", type=Path, default=reference_folder())
    parser.add_argument("--arm", type=Path, default=Path("reference-arm3d"))
    parser.add_argument("--tiny", action="store_true", help="one model that is trained for a moment")
    options = parser.parse_args(arguments)
    if options.tiny:
        tiny = {"steps": 2, "resolution": 16, "samples": 200, "protocol": {"mig": {}}, "network": "tiny"}
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "out").mkdir()
            report(*make(train_arm(Path(folder) / "run", **tiny), ARM.name, Path(folder) / "out", 50))
        return
    if options.study is None:
        parser.error("expected the folder of a study")
    options.out.mkdir(parents=True, exist_ok=True)
    runs = finished(options.study)
    chosen = {choice.name: choice.run(runs.get((choice.data, choice.method), [])) for choice in CHOICES}
    total = sum(report(*make(run, name, options.out)) for name, run in chosen.items())
    total += report(*make(train_arm(options.arm), ARM.name, options.out))
    print(f"{len(chosen) + 1} models, {total / 1e6:.1f} MB; expected at most {MOST / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
