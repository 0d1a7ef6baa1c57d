"""Publish a run on the Hugging Face Hub."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from unbraid.arguments import checked
from unbraid.data.atomic import replacing
from unbraid.data.reading import one_line
from unbraid.errors import InputError
from unbraid.hub.card import PICTURE, card_of
from unbraid.pictures.sheets import save
from unbraid.pictures.traversals import run_traversals
from unbraid.runs.packing import ROWS, pack
from unbraid.runs.remote import Address, endpoint, hub_library
from unbraid.runs.run import Run


@checked
def prepare(
    run: Run | Path | str, name: str, folder: Path | str, *, licence: str | None = None, codes: int = ROWS
) -> Path:
    """Write what is published of a run into an empty folder, and give its path.

    Weights, config, scores, log, `codes` of its codes, checksums, a picture of its traversals and the model card.
    """
    address, target = _address(name), Path(folder)
    if codes < 1:
        raise InputError(f"codes is {codes}; expected at least 1")
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} exists and is not an empty folder")
    packed = pack(run if isinstance(run, Run) else Run(run), target, codes)
    picture = packed.method().decodes
    if picture:
        try:
            save(run_traversals(packed), target / PICTURE)
        except InputError:
            picture = False  # its data is not here
    with replacing(target / "README.md") as part:
        part.write_text(card_of(packed, address.repository, licence=licence, picture=picture), encoding="utf-8")
    return target


@checked
def push_to_hub(
    run: Run | Path | str, name: str, *, private: bool = False, licence: str | None = None, codes: int = ROWS
) -> str:
    """Publish a run on the Hugging Face Hub as `user/name`, and give its address for `unbraid.load`.

    The repository is made if there is none; files of the same names are replaced. `licence` is that of the weights, as
    the Hub abbreviates it: `mit`, `cc-by-4.0`. `codes` is how many of the run's codes are published with it. You must
    be logged in (`hf auth login`, or the environment variable HF_TOKEN).
    """
    hub, address = hub_library(), _address(name)
    with tempfile.TemporaryDirectory() as part:
        folder = prepare(run, name, Path(part) / "run", licence=licence, codes=codes)
        try:
            _upload(hub, address.repository, folder, private)
        except Exception as error:  # of the network, of the server, of the user's rights
            raise InputError(f"{address.repository} cannot be published: {one_line(error)}") from error
    return str(address)


def _upload(hub: Any, repository: str, folder: Path, private: bool) -> None:
    api = hub.HfApi(endpoint=endpoint(), library_name="unbraid")
    api.create_repo(repository, private=private, exist_ok=True)
    api.upload_folder(repo_id=repository, folder_path=folder, commit_message="A run of Unbraid")


def _address(name: str) -> Address:
    address = Address.parse(f"hf://{name.removeprefix('hf://')}")
    if address.revision is not None:
        raise InputError(f"'{name}' has a revision; expected user/name")
    return address
