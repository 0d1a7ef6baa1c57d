"""The names that people gave to latents: names.json, which the explorer's page saves."""

from __future__ import annotations

import json
from pathlib import Path

from unbraid.data.atomic import replacing
from unbraid.data.reading import read_json
from unbraid.data.schema import WORD
from unbraid.errors import InputError


def read_names(path: Path, id: str) -> dict[str, str]:
    """The latents' names for the run `id` in a names.json that a page has written, by latent: `{"z0": "size"}`."""
    record = read_json(path)
    names = record.get(id, {}) if isinstance(record, dict) else None
    if not isinstance(names, dict) or not all(map(WORD.holds, (*names, *names.values()))):
        raise InputError(f'{path} is not a file of names; expected {{"{id}": {{"z0": "size"}}}}')
    return names


def write_names(path: Path, id: str, names: dict[str, str]) -> Path:
    """Keep the names of a run's latents beside those of other runs in the file."""
    known = read_json(path) if path.exists() else {}
    with replacing(path) as part:
        part.write_text(json.dumps({**(known if isinstance(known, dict) else {}), id: names}, indent=1) + "\n")
    return path
