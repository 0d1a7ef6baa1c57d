"""A finished run as others get it: without its optimisers and the paths of its machine, and with fewer codes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import torch

from unbraid.data import catalogue
from unbraid.data.atomic import replacing
from unbraid.errors import InputError
from unbraid.own.references import references_in
from unbraid.runs import weights
from unbraid.runs.run import Run

ROWS = 5_000
"""Codes that are kept, drawn at random."""
_COPIED = ("scores.json", "train.jsonl", "names.json", "circles.json")


def pack(run: Run, folder: Path, rows: int = ROWS, half: bool = False) -> Run:
    """Write a finished run into an empty folder; `half` keeps its weights in half precision.

    What it was trained on stays in its config, except for files and folders of the user's. A run of the user's own code
    is an InputError: whoever loads it would have to run that code.
    """
    config, record, state = run.config, run.read_json("config"), run.state
    if state["state"] != "done":
        raise InputError(f"{run.folder} is {state['state']}; expected a run that is done")
    if faults := run.faults(thorough=True, state=state):
        raise InputError(faults[0])
    if named := references_in([config.method, dict(config.settings), record.get("opened")]):
        raise InputError(
            f"{run.folder} needs code of your own, {named[0]}; only runs of built-in parts can be published"
        )
    if record.get("opened") and catalogue.user_paths(run.opened_data(record)):
        record["opened"] = None
    packed = Run(folder)
    packed.folder.mkdir(parents=True, exist_ok=True)
    packed.write_json("config", record)
    for name in _COPIED:
        if (run.folder / name).is_file():
            shutil.copyfile(run.folder / name, packed.folder / name)
    if half:
        tensors = {name: value for name, value in run.method().state_dict().items() if not name.startswith("training.")}
        with replacing(packed.path("model")) as part:
            weights.save({name: one.half() if one.is_floating_point() else one for name, one in tensors.items()}, part)
    else:
        shutil.copyfile(run.path("model"), packed.path("model"))
    codes = run.representation()
    if len(codes.rows) > rows:
        chosen = torch.randperm(len(codes.rows), generator=torch.Generator().manual_seed(0))[:rows].sort().values
        logvar = None if codes.logvar is None else codes.logvar[chosen]
        codes = replace(
            codes, codes=codes.codes[chosen], factors=codes.factors[chosen], rows=codes.rows[chosen], logvar=logvar,
            whole=False,
        )  # fmt: skip
    packed.save_codes(codes, compressed=True)
    packed.set_state(**{name: value for name, value in state.items() if name != "files"})
    return packed
