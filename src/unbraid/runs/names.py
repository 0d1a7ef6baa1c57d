"""The names that people gave to latents: names.json, which the explorer's page saves."""

from __future__ import annotations

import json
from pathlib import Path

from unbraid.errors import InputError


def read_names(path: Path, id: str) -> dict[str, str]:
    """The latents' names for the run `id` in a names.json that a page has written, by latent: `{"z0": "size"}`."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read as names of latents: {error}") from error
    names = found.get(id, {}) if isinstance(found, dict) else None
    if not isinstance(names, dict) or not all(isinstance(name, str) for name in names.values()):
        raise InputError(f'{path} is not a file of names; expected {{"{id}": {{"z0": "size"}}}}')
    return names
