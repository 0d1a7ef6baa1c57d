"""Whether the contrastive study's desk data has the paper's order of difficulty: digits easy, backgrounds hard.

    python bench/contrastive_desk.py [--steps 600] [--seeds 1] [--try digit_size=0.5] [--set head_norm=true]

Trains plain models of the desk scale on both variants, and supervised ones, on its own data and settings or with those
given, and prints what r and z tell on test images, with the seconds of a step. No regularized model is looked at: what
is chosen here must not know of any comparison. The paper's plain accuracies are about 97 % of digits and 62 % of
backgrounds, and 99 % of locations.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from unbraid.jobs.results import read_results
from unbraid.jobs.training import Train
from unbraid.studies.contrastive.jobs import Probe
from unbraid.studies.contrastive.study import SCALES, jobs

NAMES = ("plain", "supervised")


def value(text: str) -> tuple[str, Any]:
    """`name=value` as a pair."""
    name, _, word = text.partition("=")
    if word in ("true", "false"):
        return name, word == "true"
    try:
        return name, float(word) if "." in word or "e" in word else int(word)
    except ValueError:
        return name, word


def chosen(scale: str, seeds: int) -> list[Probe]:
    """The probes of plain and supervised models."""
    plain = {"lambda_info_min", "lambda_ortho", "lambda_p_ortho", "lambda_hessian"}
    return [
        job
        for job in jobs(scale)
        if isinstance(job, Probe)
        and job.model.seed < seeds
        and job.model.full_settings["head"] != "whole"
        and not any(job.model.full_settings[name] for name in plain)
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, help="of a plain model; by default those of the desk")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--try", dest="data", type=value, action="append", default=[], help="a setting of the data")
    parser.add_argument("--set", dest="settings", type=value, action="append", default=[], help="one of the method")
    parser.add_argument("--tiny", action="store_true", help="the least of everything: does it run?")
    options = parser.parse_args(arguments)
    scale = "smoke" if options.tiny else "desk"
    steps = options.steps or SCALES[scale].steps
    print(f"{'variant':8}{'model':12}{'steps':>7}{'ms':>6}   what r and z tell, in percent")
    for probe in chosen(scale, 1 if options.tiny else options.seeds)[: 1 if options.tiny else None]:
        model: Train = replace(
            probe.model,
            steps=probe.model.steps * steps // SCALES[scale].steps,
            settings={**probe.model.settings, **dict(options.settings)},
            data_settings={**probe.model.data_settings, **dict(options.data)},
        )
        with tempfile.TemporaryDirectory() as folder:
            run, results = Path(folder) / "run", Path(folder) / "results"
            results.mkdir()
            begun = time.perf_counter()
            model.execute(run, [])
            spent = (time.perf_counter() - begun) / model.steps
            replace(probe, model=model).execute(results, [run])
            (scores,) = read_results(results).scores.values()
        told = [
            f"{name.removeprefix('accuracy.')} {100 * score:.0f}"
            for name, score in scores.items()
            if name.startswith("accuracy.") and name.split(".")[1] in ("r", "z", "r0", "r1")
        ]
        kind = NAMES[model.full_settings["positives"] == "disjoint"]
        variant = str(model.data_settings["variant"])
        print(f"{variant:8}{kind:12}{model.steps:7}{1000 * spent:6.0f}   {', '.join(told)}", flush=True)


if __name__ == "__main__":
    main()
