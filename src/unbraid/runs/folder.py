"""A folder of results: its state, and whether its files are still as they were when it was finished."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import time
from collections.abc import Container, Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, ClassVar

from unbraid.data.atomic import replacing
from unbraid.data.reading import opened, parse_json, read_bytes, unreadable
from unbraid.data.schema import TERMS, WORD, Kind, check
from unbraid.errors import InputError, MissingError, UnreadableError

PLAN = "plan"
"""The file with the `ids` of the jobs that a study has now; the other folders are of jobs it had before."""
STATES = ("queued", "running", "done", "diverged", "failed")
_PICTURES = (".gif", ".html", ".pdf", ".png", ".svg")
_DIGEST = b' "digest":'  # how the last line of a state begins


def _is_stamp(value: Any) -> bool:
    """Whether a file has a size, a time of change and a digest."""
    return isinstance(value, list) and [type(one) for one in value] == [int, int, str]


_STATE = {"state": Kind(f"one of {', '.join(STATES)}", lambda value: isinstance(value, str) and value in STATES)}
_DETAILS = {
    "reason": Kind("text", lambda value: value is None or isinstance(value, str)),
    "seconds": Kind("a number of seconds", lambda value: type(value) in (int, float) and 0 <= value < 1e12),
    "started": WORD,
    "terms": TERMS,
    "files": Kind(
        "the files of this folder, each with its size, time and digest",
        lambda value: (
            isinstance(value, dict)
            and all("/" not in name and "\0" not in name and _is_stamp(stamp) for name, stamp in value.items())
        ),
    ),
}


class Folder:
    """A folder with a `state.json`. Reading never writes; what cannot be read is an InputError that names the file."""

    kind = "folder of results"
    lasting: ClassVar[tuple[str, ...]] = ()
    """Files that are final, or only grow, while the folder is still `running`."""

    def __init__(self, folder: Path | str) -> None:
        self.folder = folder if isinstance(folder, Path) else Path(folder)  # 12,000 of them: parsing takes its time

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self.folder)!r})"

    def path(self, name: str) -> Path:
        """The file that holds `state`, `scores` and so on."""
        return unlinked(self.folder / f"{name}.json")

    @property
    def state(self) -> dict[str, Any]:
        """What `state.json` says: `state`, the time it took and so on; a folder without one is queued."""
        path = f"{self.folder}/state.json"  # 12,000 of them
        if os.path.islink(path):  # noqa: PTH114 (a Path takes its time)
            unlinked(Path(path))
        try:
            raw = read_bytes(path)
        except MissingError:
            return {"state": "queued"}
        body = raw[: raw.rfind(_DIGEST)]
        if raw != _with_digest(body):
            raise InputError(f"{path} is damaged: its checksum differs")
        content: dict[str, Any] = parse_json(raw, path)
        check(path, content, _STATE)
        check(path, content, {name: kind for name, kind in _DETAILS.items() if name in content})
        content.pop("digest", None)
        return content

    def set_state(self, state: str, **details: Any) -> None:
        """Write its state, with the versions of the libraries and digests of the files that no longer change."""
        assert state in STATES
        content = {"state": state, "versions": versions(), "commit": commit(), **details}
        if state != "queued":
            settled = [path for path in self._results() if state != "running" or path.name in self.lasting]
            content["files"] = {path.name: _stamp(path) for path in settled}
        text = json.dumps(content, indent=1)
        with replacing(self.path("state")) as part:
            part.write_bytes(_with_digest(text.removesuffix("\n}").encode() + b",\n"))

    def seal(self, **details: Any) -> None:
        """Take new digests of all files, after one of them was changed on purpose; `details` join the state."""
        known = {name: value for name, value in self.state.items() if name not in ("files", "versions", "commit")}
        self.set_state(known.pop("state"), **known, **details)

    def _results(self) -> list[Path]:
        """All files except the state, those that a killed process left half written, and pictures."""
        return sorted(
            path for path in self.folder.iterdir()
            if path.is_file() and path.suffix not in _PICTURES and path.name != "state.json"
            and not path.name.startswith((".", "checkpoint"))
        )  # fmt: skip

    def faults(
        self, thorough: bool = False, names: Container[str] | None = None, state: Mapping[str, Any] | None = None
    ) -> list[str]:
        """What is wrong with the files that the state lists, or with those of them in `names`.

        A file with the same size and time of change is taken to be the same; `thorough` reads them all. `state` saves
        reading `state.json`, where the caller has its content. A file that may be sound but cannot be read is an
        UnreadableError.
        """
        try:
            state = self.state if state is None else state
        except UnreadableError:
            raise
        except InputError as error:
            return [str(error)]
        faults = []
        for name, (size, changed, digest) in state.get("files", {}).items():
            if names is not None and name not in names:
                continue
            path = f"{self.folder}/{name}"
            grows = state["state"] == "running" and name.endswith(".jsonl")
            try:
                stat = os.stat(path)  # noqa: PTH116 (twelve thousand of them)
                same = stat.st_size == size and stat.st_mtime_ns == changed and not thorough
                if not same and _file_digest(path, size if grows else None) != digest:
                    faults.append(f"{path} is damaged: its checksum differs")
            except (FileNotFoundError, NotADirectoryError):
                faults.append(f"{path} is missing")
            except UnreadableError:
                raise
            except InputError as error:
                faults.append(str(error))
            except OSError as error:
                raise unreadable(path, error) from error
        return faults

    def write_json(self, name: str, content: Mapping[str, Any]) -> None:
        with replacing(self.path(name)) as part:
            part.write_text(json.dumps(content, indent=1) + "\n")

    def read_json(self, name: str) -> dict[str, Any]:
        path = f"{self.folder}/{name}.json"
        if os.path.islink(path):  # noqa: PTH114 (a Path takes its time)
            unlinked(Path(path))
        try:
            raw = read_bytes(path)
        except MissingError as error:
            raise MissingError(f"{self.folder} is not a {self.kind}: it has no {name}.json") from error
        content = parse_json(raw, path)
        if not isinstance(content, dict):
            raise InputError(f"{path} is damaged: it is not a JSON object")
        return content


def unlinked(path: Path, folder: Path | None = None) -> Path:
    """The path of a file in a folder of results, or an InputError where it, or a folder up to `folder`, is a link.

    A folder from elsewhere could lead to any file of the reader's, whose content would then be in a report.
    """
    between = [] if folder is None else path.parents[: len(path.relative_to(folder).parts) - 1]
    for one in (path, *between):
        if one.is_symlink():
            raise InputError(f"{one} is a link; expected files of the folder itself")
    return path


def _with_digest(body: bytes) -> bytes:
    """The lines of a state, and a last one with their digest."""
    return b'%s%s "%s"\n}\n' % (body, _DIGEST, hashlib.sha256(body).hexdigest()[:16].encode())


def _stamp(path: Path) -> tuple[int, int, str]:
    stat = path.stat()
    return stat.st_size, stat.st_mtime_ns, _file_digest(path)


def _file_digest(path: Path | str, length: int | None = None) -> str:
    """Of the whole file, or of its beginning."""
    with opened(path) as file:
        if length is not None:
            return hashlib.sha256(file.read(length)).hexdigest()[:16]
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


@cache
def versions() -> dict[str, str]:
    """The libraries whose versions change numbers."""
    known = {"python": platform.python_version()}
    for name in ("unbraid", "torch", "numpy", "scipy", "scikit-learn", "lightgbm"):
        try:
            known[name] = version(name)
        except PackageNotFoundError:
            continue
    return known


@cache
def commit() -> str | None:
    """The git commit of the code, where it runs from a checkout."""
    here = Path(__file__).parent
    try:
        done = subprocess.run(["git", "rev-parse", "HEAD"], cwd=here, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None if done.returncode == 0 else None


def refuse_run(folder: Path) -> None:
    """An InputError where a folder for many jobs is that of one run."""
    if (folder / "config.json").exists():
        raise InputError(f"{folder} is a run; expected another folder for the results of many")


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def job_folders(jobs: Path, pattern: str = "*") -> list[Path]:
    """The folders of jobs, by name, without those that the study no longer has."""
    outdated = left_over(jobs)
    return [path for path in sorted(jobs.glob(pattern)) if path.name not in outdated and not path.is_symlink()]


def left_over(jobs: Path) -> set[str]:
    """The folders of jobs that the study had with other settings, or in another version; none where it has no plan."""
    try:
        ids = set(Folder(jobs.parent).read_json(PLAN)["ids"])
    except (InputError, KeyError, TypeError):
        return set()
    return {path.name for path in jobs.glob("*") if path.name.rpartition("-")[2] not in ids}
