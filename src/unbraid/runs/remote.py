"""Runs by name: `hf://user/name` is one on the Hugging Face Hub, `reference/NAME` one that comes with the package.

A run from the Hub is a stranger's. Only files with the names of a run's files are fetched, up to a size, into a
folder of their own in the cache. They must have the checksums that the Hub and the run's own record state, name
built-in methods and data only, and point to no file of this machine; otherwise nothing is kept. Nothing of them is
executed.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from unbraid.data.cache import cache_folder
from unbraid.data.reading import one_line
from unbraid.errors import InputError, nearest, printable
from unbraid.progress import progress

REFERENCE = "reference"
LIMITS = {
    "config.json": 1 << 20,
    "state.json": 1 << 20,
    "model.safetensors": 4_000_000_000,
    "scores.json": 16 << 20,
    "codes.npz": 1_000_000_000,
    "names.json": 1 << 20,
    "circles.json": 1 << 20,
    "train.jsonl": 64 << 20,
}
"""The files of a run that are fetched, and their largest sizes in bytes."""
NEEDED = ("config.json", "state.json", "model.safetensors")
_HUB = re.compile(r"hf:/{1,2}([A-Za-z0-9][\w.-]{0,95})/([A-Za-z0-9][\w.-]{0,95})(?:@([\w][\w./-]{0,200}))?", re.ASCII)
_PICKLES = (".bin", ".ckpt", ".joblib", ".pickle", ".pkl", ".pt", ".pth")

Check = Callable[[Path], None]


@dataclass(frozen=True)
class Address:
    """A repository on the Hub."""

    user: str
    name: str
    revision: str | None = None

    @classmethod
    def parse(cls, text: str) -> Address:
        match = _HUB.fullmatch(text)
        if match is None or ".." in text or text.endswith((".git", ".ipynb")):
            raise InputError(f"'{printable(text[:200])}' is not a model on the Hub; expected hf://user/name")
        return cls(*match.groups())

    @property
    def repository(self) -> str:
        return f"{self.user}/{self.name}"

    def __str__(self) -> str:
        return f"hf://{self.repository}{f'@{self.revision}' if self.revision else ''}"


def is_remote(source: Path | str) -> bool:
    """Whether a run is meant by its name on the Hub, or in this package where there is no such folder here."""
    text = str(source)
    if text.startswith("hf:/"):
        return True
    return text.partition("/")[0] == REFERENCE and not os.path.lexists(text)


def located(source: Path | str, check: Check) -> Path:
    """The folder of a run that is meant by its name, fetched where it must be; `check` is called with new folders."""
    text = str(source)
    if text.startswith("hf:/"):
        return _fetched(Address.parse(text), check)
    name = text.partition("/")[2].rstrip("/")
    if not name:
        return reference_folder()
    if name not in reference_names():
        raise InputError(f"there is no reference model '{printable(name[:100])}'{nearest(name, reference_names())}")
    return reference_folder() / name


# Those of the package


def reference_folder() -> Path:
    """Where the reference models are."""
    return Path(str(files("unbraid"))) / REFERENCE


@cache
def reference_names() -> tuple[str, ...]:
    """The names of the reference models."""
    return tuple(sorted(path.parent.name for path in reference_folder().glob("*/config.json")))


# Those on the Hub


def hub_library() -> Any:
    """The library `huggingface_hub`, an extra."""
    try:
        import huggingface_hub
    except ImportError as error:
        raise InputError("the Hub needs huggingface_hub: pip install 'unbraid[hub]'") from error
    return huggingface_hub


def endpoint() -> str | None:
    """The server, where it is not huggingface.co: the environment variable HF_ENDPOINT."""
    return os.environ.get("HF_ENDPOINT") or None


def _fetched(address: Address, check: Check) -> Path:
    """The folder of the run in the cache; without a connection, the revision that was fetched last."""
    hub = hub_library()
    root = cache_folder() / "hub" / f"{address.user}--{address.name}"
    last = root / f"revision-{hashlib.sha256(str(address.revision).encode()).hexdigest()[:16]}"
    try:
        listing = hub.HfApi(endpoint=endpoint()).model_info(
            address.repository, revision=address.revision, files_metadata=True
        )
    except hub.errors.RepositoryNotFoundError as error:
        raise InputError(f"there is no model {address}, or it is private and you are not logged in") from error
    except hub.errors.RevisionNotFoundError as error:
        raise InputError(f"{address.repository} has no revision '{address.revision}'") from error
    except Exception as error:  # of the network, of the server, of what the server sends
        with suppress(OSError):
            folder = root / last.read_text()
            if (folder / "config.json").is_file():
                return folder
        raise InputError(f"the Hub does not answer for {address}: {one_line(error)}") from error
    commit = str(listing.sha)
    if not re.fullmatch(r"[0-9a-f]{40}", commit):
        raise InputError(f"{address} has the revision '{printable(commit[:50])}'; expected the digits of a commit")
    folder = root / commit
    if not folder.is_dir():
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=root) as part:
            chosen = _chosen(address, listing.siblings or [])
            fetched = Path(part) / commit
            fetched.mkdir()
            _download(hub, address, commit, chosen, fetched)
            try:
                check(fetched)
            except InputError as error:
                raise InputError(f"{address} is refused: {str(error).replace(f'{fetched}/', '')}") from error
            with suppress(OSError):  # another process was faster
                fetched.rename(folder)
    last.write_text(commit)
    return folder


def _chosen(address: Address, siblings: list[Any]) -> list[Any]:
    """The files of a repository that are a run's."""
    chosen = [one for one in siblings if one.rfilename in LIMITS]
    names = [one.rfilename for one in chosen]
    for name in NEEDED:
        if name not in names:
            pickles = [str(one.rfilename) for one in siblings if str(one.rfilename).endswith(_PICKLES)]
            why = f"; {printable(pickles[0])} is a pickle, which can run any code" if pickles else ""
            raise InputError(f"{address} is not a run of Unbraid: it has no {name}{why}")
    for one in chosen:
        if names.count(one.rfilename) > 1 or type(one.size) is not int or one.size < 0:
            raise InputError(f"{address} is refused: the Hub does not say how large {one.rfilename} is")
        if one.size > LIMITS[one.rfilename]:
            most = f"expected at most {LIMITS[one.rfilename]:,}"
            raise InputError(f"{address} is refused: {one.rfilename} has {one.size:,} bytes; {most}")
    return chosen


def _download(hub: Any, address: Address, commit: str, chosen: list[Any], folder: Path) -> None:
    """Fetch files, and see that they are what the Hub lists."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as part, progress("fetching", len(chosen)) as advance:
        for one in chosen:
            try:
                with _quiet(hub):
                    options = {"revision": commit, "local_dir": part, "endpoint": endpoint()}
                    path = Path(hub.hf_hub_download(address.repository, one.rfilename, **options))
            except Exception as error:  # of the network, of the server, of what the server sends
                raise InputError(f"{one.rfilename} of {address} cannot be fetched: {one_line(error)}") from error
            if path.is_symlink() or path.stat().st_size != one.size or not _is_listed(path, one):
                raise InputError(f"{address} is refused: {one.rfilename} is not the file that the Hub lists")
            shutil.move(path, folder / one.rfilename)
            advance(note=one.rfilename)


@contextmanager
def _quiet(hub: Any) -> Iterator[None]:
    """Without the bars of the library."""
    shown = not hub.utils.are_progress_bars_disabled()
    hub.utils.disable_progress_bars()
    try:
        yield
    finally:
        if shown:
            hub.utils.enable_progress_bars()


def _is_listed(path: Path, listed: Any) -> bool:
    """Whether a file has the checksum that is listed: SHA-256 of large files, that of Git for others."""
    if listed.lfs is not None:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest() == str(listed.lfs.sha256)
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest() == str(listed.blob_id)
