"""Official files: downloaded once, resumed after an interruption, verified, and only whole under their own name."""

from __future__ import annotations

import errno
import gzip
import hashlib
import http.client
import json
import os
import re
import shutil
import ssl
import sys
import time
import urllib.error
import urllib.request
import warnings
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from unbraid.data.cache import cache_folder
from unbraid.errors import InputError
from unbraid.progress import progress

if sys.platform != "win32":
    import fcntl

TIMEOUT = 30.0  # seconds without a byte before a connection counts as broken
TRIES = 4  # attempts at one mirror without progress
PAUSE = 1.0  # seconds before the second attempt; doubled for each one after it
_BLOCK = 1 << 20
_SPARE = 1 << 30  # bytes of the disk that a file of unknown size leaves free
_AGENT = "unbraid (a laboratory for disentangled representation learning)"  # some servers refuse urllib's own
_LASTING = {400, 401, 403, 404, 405, 410, 451}  # answers that another attempt will not change


@dataclass(frozen=True)
class RemoteFile:
    """A published file: its addresses, and how to verify it."""

    name: str
    """Its path below the cache's `files` folder: `mnist/train-images-idx3-ubyte.gz`."""
    urls: tuple[str, ...]
    """Mirrors, in the order they are tried; http and https only."""
    sha256: str | None = None
    md5: str | None = None
    """For files whose publishers give nothing better."""
    size: int | None = None
    contents: str | None = None
    """SHA-256 of what a .gz file holds: a copy that was packed again is accepted."""

    @property
    def base(self) -> str:
        return Path(self.name).name

    @property
    def verifiable(self) -> bool:
        return bool(self.sha256 or self.md5)


def stored(file: RemoteFile) -> Path | None:
    """Where the file is on this machine, or None. Its bytes are checked when they are read, by `checked`."""
    path = _path(file)
    return path if path.is_file() else None


def get(file: RemoteFile) -> Path:
    """The file's path on this machine, downloaded now unless it exists undamaged."""
    path = _path(file)
    if path.is_file() and _fault(file, path) is None:
        return path
    for url in file.urls:
        if urlsplit(url).scheme not in ("http", "https"):
            raise InputError(f"cannot download {file.base} from {url}: only http and https addresses are fetched")
    part = _part(path)
    with _writing(file, path), _alone(file, part):
        if file.size is not None:
            room_for(file.size - _length(part), path)
        reasons = []
        for url in file.urls:
            try:
                _download(file, url, part)
            except _MirrorError as error:
                reasons.append(f"{urlsplit(url).netloc} {error}")
            else:
                return _finish(file, part, path)
    raise InputError(
        f"cannot download {file.base}: {'; '.join(reasons) or 'it has no address'}; "
        "check the connection and run the command again, or give a local copy with --from PATH"
    )


def take(file: RemoteFile, path: str | Path) -> Path:
    """Store a local copy of the file: `path` is the file, or a folder that holds it (directly or one level down)."""
    source, target = Path(path).expanduser(), _path(file)
    if source.is_dir():
        candidates = [source / file.base, *sorted(source.glob(f"*/{file.base}"))]
        copies = [path for path in candidates if path.is_file()]
        if not copies:
            raise InputError(f"{source} does not hold {file.base}")
        source = copies[0]
    if not source.is_file():
        raise InputError(f"{source} does not exist; expected the file {file.base} or a folder that holds it")
    try:
        reader = source.open("rb")
    except OSError as error:
        raise InputError(f"cannot read {source}: {error.strerror}") from error
    part = _part(target)
    with reader, _writing(file, target), _alone(file, part):
        if target.exists() and source.samefile(target):
            if fault := _fault(file, target):
                raise InputError(f"{target} is damaged: {fault}")
            return target
        size = source.stat().st_size
        room_for(size, target)
        try:
            with part.open("wb") as writer, progress(f"copying {file.base}", size, unit="bytes") as advance:
                while block := reader.read(_BLOCK):
                    writer.write(block)
                    advance(len(block))
            if fault := _fault(file, part, noted=False):
                raise InputError(f"{source} is not the published {file.base}: {fault}")
            return _finish(file, part, target)
        finally:
            _forget(part)


def checked(data: str, file: RemoteFile) -> Path:
    """The path of a file whose bytes have been verified, or an InputError that says how to get data set `data`."""
    path = needed(data, (file,))[0]
    state = path.stat()
    seen = (path, state.st_size, state.st_mtime_ns)
    if seen not in _sound:
        fault = _fault(file, path)
        if fault:
            raise InputError(f"{path} is damaged: {fault}; run 'unbraid data get {data}' to fetch it again")
        _sound.add(seen)
    return path


_sound: set[tuple[Path, int, int]] = set()  # what this process has verified


def needed(data: str, files: Iterable[RemoteFile]) -> list[Path]:
    """The paths of files that must exist, not yet read, or an InputError that says how to get them."""
    paths = [stored(file) for file in files]
    if None in paths:
        raise InputError(
            f"{data} is not on this machine; run 'unbraid data get {data}' or 'unbraid data get {data} --from PATH'"
        )
    return [path for path in paths if path is not None]


def room_for(need: int, path: Path) -> None:
    """An InputError where the disk of `path` (which need not exist yet) has no room for `need` bytes."""
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    free = shutil.disk_usage(folder).free
    if need > free:
        sizes = f"{_mb(need)} needed, {_mb(free)} free"
        raise InputError(f"no room for {path.name} in {path.parent}: {sizes}; {_MAKE_ROOM}")


_MAKE_ROOM = "make room, or point UNBRAID_CACHE at another folder"


class _MirrorError(Exception):
    """This mirror does not give the file; the message follows its name."""


class _BrokenOffError(Exception):
    """This attempt failed; another may resume it."""


def _path(file: RemoteFile) -> Path:
    return cache_folder() / "files" / file.name


def _part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def _mb(size: float) -> str:
    return f"{size / 1e6:,.1f} MB"


def _length(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


@contextmanager
def _writing(file: RemoteFile, path: Path) -> Iterator[None]:
    """Turn what the disk refuses into an InputError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise InputError(f"no room for {file.base} in {path.parent}; {_MAKE_ROOM}") from error
        raise InputError(f"cannot store {file.base} in {path.parent}: {error.strerror or error}") from error


@contextmanager
def _alone(file: RemoteFile, part: Path) -> Iterator[None]:
    """Lock the unfinished file for one process: two writers would mix their bytes."""
    if sys.platform == "win32":
        yield
        return
    with part.open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(f"another process is fetching {file.base}; wait for it to finish") from None
        except OSError:
            pass  # a file system without locks
        try:
            yield
        finally:
            if part.exists() and not _length(part):
                _forget(part)


def _download(file: RemoteFile, url: str, part: Path) -> None:
    """Bring `part` to its full length, verified. Attempts that get further than all before them are not counted."""
    furthest, failures = 0, 0
    while True:
        try:
            resumed = _length(part) > 0
            _attempt(file, url, part)
            fault = _fault(file, part, noted=False)
            if fault is None:
                return
            _restart(part)
            failure = _BrokenOffError if resumed else _MirrorError  # parts of two different files, perhaps
            raise failure(f"sent other bytes: {fault}")
        except _BrokenOffError as error:
            reached = _length(part)
            failures = 0 if reached > furthest else failures + 1
            furthest = max(furthest, reached)
            if failures >= TRIES:
                raise _MirrorError(str(error)) from error
            time.sleep(PAUSE * 2 ** max(0, failures - 1))


def _attempt(file: RemoteFile, url: str, part: Path) -> None:
    """One request, which resumes `part` where that is certainly the beginning of the same file."""
    note = _read_note(part)
    same_source = note.get("url") == url
    start = _length(part) if file.verifiable or (same_source and note.get("tag")) else 0
    request = urllib.request.Request(url, headers={"User-Agent": _AGENT})
    if start:
        request.add_header("Range", f"bytes={start}-")
        if same_source and note.get("tag"):
            request.add_header("If-Range", note["tag"])
    try:
        with _opener().open(request, timeout=TIMEOUT) as answer:
            _receive(file, url, part, start, note if same_source else {}, answer)
    except urllib.error.HTTPError as error:
        if error.code == 416 and start:  # nothing beyond `start`: complete, or not the same file
            if _total(error.headers.get("Content-Range", "")) == start:
                return
            _restart(part)
            raise _BrokenOffError("holds a shorter file than before") from error
        failure = _MirrorError if error.code in _LASTING else _BrokenOffError
        raise failure(f"answered {error.code} {error.reason}") from error
    except urllib.error.URLError as error:
        raise _BrokenOffError(f"cannot be reached ({error.reason})") from error
    except TimeoutError as error:
        raise _BrokenOffError(f"was silent for {TIMEOUT:g} seconds") from error
    except (ConnectionError, ssl.SSLError, http.client.HTTPException) as error:
        raise _BrokenOffError(f"broke off ({error or type(error).__name__})") from error


def _receive(
    file: RemoteFile, url: str, part: Path, start: int, note: dict[str, str], answer: http.client.HTTPResponse
) -> None:
    """Write the answer's body after the first `start` bytes of `part`, or over them where the server sends all."""
    if answer.headers.get_content_type() == "text/html" and not file.name.endswith(".html"):
        raise _MirrorError("answered with a web page instead of the file")
    tag = answer.headers.get("ETag") or answer.headers.get("Last-Modified") or ""
    if tag.startswith("W/"):
        tag = ""  # a weak tag does not promise the same bytes
    length = answer.headers.get("Content-Length")
    total = int(length) if length and length.isdecimal() else None
    if answer.status == 206:
        span = answer.headers.get("Content-Range", "")
        total = _total(span)
        begins = re.match(r"bytes (\d+)-", span)
        moved = begins is None or int(begins[1]) != start
        tag = tag or note.get("tag", "")
        changed = bool(note) and (note.get("tag") != tag or note.get("total") != str(total))
        if moved or changed:
            _restart(part)
            raise _BrokenOffError(f"holds {'another file than before' if changed else 'no such part of the file'}")
    else:
        start = 0
    if file.size is not None and total is not None and total != file.size:
        raise _MirrorError(f"offers {total:,} bytes; expected {file.size:,}")
    if total is not None:
        room_for(total - start, part.with_suffix(""))
    _note_path(part).write_text(json.dumps({"url": url, "tag": tag, "total": str(total)}))
    received = start
    bar = progress(f"downloading {file.base}", total, unit="bytes")
    with part.open("r+b" if start else "wb") as writer, bar as advance:
        writer.seek(start)
        advance(start)
        most = total if total is not None else file.size
        while block := answer.read1(_BLOCK):
            received += len(block)
            if most is not None and received > most:
                raise _MirrorError(f"sends more than {most:,} bytes")
            if most is None:  # the server does not say how much there is: it may never end
                room_for(len(block) + _SPARE, part.with_suffix(""))
            writer.write(block)
            advance(len(block))
    if total is not None and received != total:
        raise _BrokenOffError(f"broke off after {received:,} of {total:,} bytes")


def _opener() -> urllib.request.OpenerDirector:
    """http and https and nothing else, also behind a redirect."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.UnknownHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def _total(span: str) -> int | None:
    """The whole length in a Content-Range header: `bytes 5-9/10`, `bytes */10`."""
    total = re.search(r"/(\d+)$", span)
    return int(total[1]) if total else None


def _note_path(part: Path) -> Path:
    return part.with_name(f"{part.name}.json")


def _read_note(part: Path) -> dict[str, str]:
    """Where an unfinished file came from; nothing where that is unknown."""
    try:
        note = json.loads(_note_path(part).read_text())
    except (OSError, ValueError):
        return {}
    return {str(key): str(value) for key, value in note.items()} if isinstance(note, dict) else {}


def _restart(part: Path) -> None:
    part.write_bytes(b"")  # emptied, not removed: the lock is on it
    _note_path(part).unlink(missing_ok=True)


def _forget(part: Path) -> None:
    part.unlink(missing_ok=True)
    _note_path(part).unlink(missing_ok=True)


def _sidecar(path: Path) -> Path:
    return path.with_name(f"{path.name}.sha256")


def _finish(file: RemoteFile, part: Path, path: Path) -> Path:
    """Give the verified file its name. Where no checksum is published, its own is noted to detect later damage."""
    if not file.verifiable:
        digest = _digest("sha256", part)
        _sidecar(path).write_text(f"{digest}  {path.name}\n")
        warnings.warn(
            f"no checksum of {file.base} is published: accepted unverified; its SHA-256 {digest} is stored beside it",
            stacklevel=3,
        )
    with part.open("r+b") as written:
        os.fsync(written.fileno())
    part.replace(path)
    _forget(part)
    return path


def _fault(file: RemoteFile, path: Path, noted: bool = True) -> str | None:
    """What is wrong with the bytes at `path`, or None. `noted` also compares with the checksum noted beside it."""
    size = path.stat().st_size
    algorithm, expected = ("sha256", file.sha256) if file.sha256 else ("md5", file.md5)
    if expected is None and noted and _sidecar(path).is_file():
        algorithm, expected = "sha256", _sidecar(path).read_text()[:64]
    if file.size is not None and size != file.size:
        fault = f"expected {file.size:,} bytes, found {size:,}"
    elif expected is not None and (actual := _digest(algorithm, path)) != expected:
        fault = f"{_ALGORITHMS[algorithm]} expected {expected}, found {actual}"
    else:
        return None
    return None if file.contents and _digest_of_contents(path) == file.contents else fault


_ALGORITHMS = {"sha256": "SHA-256", "md5": "MD5"}


def _digest(algorithm: str, path: Path) -> str:
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with path.open("rb") as reader, progress(f"checking {path.name}", path.stat().st_size, unit="bytes") as advance:
        while block := reader.read(_BLOCK):
            digest.update(block)
            advance(len(block))
    return digest.hexdigest()


def _digest_of_contents(path: Path) -> str | None:
    """SHA-256 of the unpacked bytes, or None where they do not unpack."""
    digest = hashlib.sha256()
    try:
        with gzip.open(path) as reader:
            while block := reader.read(_BLOCK):
                digest.update(block)
    except (OSError, EOFError, zlib.error):
        return None
    return digest.hexdigest()
