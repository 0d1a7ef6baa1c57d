"""The names that people gave to latents: names.json, which the explorer's page saves."""

from __future__ import annotations

from pathlib import Path

from unbraid.data.reading import read_json
from unbraid.data.schema import WORD
from unbraid.errors import InputError


def read_names(path: Path, id: str) -> dict[str, str]:
    """The latents' names for the run `id` in a names.json that a page has written, by latent: `{"z0": "size"}`."""
    found = read_json(path)
    names = found.get(id, {}) if isinstance(found, dict) else None
    if not isinstance(names, dict) or not all(map(WORD.holds, (*names, *names.values()))):
        raise InputError(f'{path} is not a file of names; expected {{"{id}": {{"z0": "size"}}}}')
    return names
