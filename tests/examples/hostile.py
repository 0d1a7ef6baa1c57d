"""Inputs that are wrong in every way we could think of: values, files and names; and a rule that all calls must obey.

All choices come from a `random.Random`, so that a case can be made again from its number.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import resource
import signal
import sys
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch

from unbraid.runs.folder import _with_digest

HUGE = 10**30
COMPUTING, WAITING = 10, 120  # seconds: a case computes for a hundredth of one; other work may make it wait
MOST_TAKEN, MOST_DATA = 2 << 30, 8 << 30  # bytes that a case may take, and that the process may have while it runs
LONG = "n" * 5000
WORDS = ["", " ", "no such thing", "²", "-", "=", "\u202e[/red]$_{", "../..", "%s%n", LONG, "nan", "[bold", "\ud800"]
INTS = ["x", "", "-1", "1.5", "nan", str(HUGE), "-9223372036854775809", "²", "0x10", "1e3"]
FLOATS = ["x", "", "nan", "inf", "-inf", "-1", "1e400", "²", str(HUGE)]
JSON: list[Any] = [
    None, True, -1, 2.5, HUGE, float("inf"), float("nan"), "", "\x1b[31m", "\ud800", "$_{", LONG, [], [[]], {}, {"": 1},
    [None] * 3, {"a": {"a": {}}}, "../../etc/passwd", "/etc/passwd", 2**63, "1" * 5000,
]  # fmt: skip


class Unwilling:
    """What says that it is an array, and raises."""

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise RuntimeError("no")


ARRAYS: list[Any] = [
    None, "text", b"bytes", 3, float("nan"), {}, [], [[]], [[1, 2], [3]], [["a"]], object(),
    np.zeros((0, 3)), np.zeros((5, 0)), np.zeros((2, 2, 2)), np.full((40, 3), np.nan), np.full((40, 3), np.inf),
    np.array([["a", "b"]] * 40), np.array([[{}]] * 40, dtype=object), np.zeros((40, 3), complex),
    np.zeros((1, 3)), np.zeros((40, 1), "datetime64[s]"), np.zeros((7, 3)), iter([1, 2]), range,
    torch.empty(40, 3, device="meta"), torch.zeros(40, 3).to_sparse(), Unwilling(), [[10**400] * 3] * 40,
]  # fmt: skip
SETTINGS: list[Any] = [
    None,
    "text",
    -1,
    2.5,
    float("nan"),
    float("inf"),
    HUGE,
    [],
    {},
    object(),
    b"x",
    LONG,
    (1, 2),
    True,
    2**63,
    np.float32(3),
    np.array(3),
    np.zeros((40, 3)),
    "\ud800",
]


# Files


def spoil(path: Path, rng: random.Random, outside: Path) -> str:
    """Change a file for the worse; gives a few words that say how."""
    ways: list[Callable[[Path, random.Random], str]] = [_cut, _flip, _swap, _empty, _foreign]
    if path.suffix == ".json":
        ways += [_wrong_value] * 6 + [_deep]
    elif path.suffix in (".npz", ".npy"):
        ways += [_wrong_array] * 5
    elif path.suffix in (".csv", ".jsonl"):
        ways += [_wrong_cell] * 3
    if path.suffix == ".npz":
        ways += [_declared]
    if rng.random() < 0.25:
        return _not_a_file(path, rng, outside)
    return rng.choice(ways)(path, rng)


def _cut(path: Path, rng: random.Random) -> str:
    content = path.read_bytes()
    length = rng.randrange(max(1, len(content)))
    path.write_bytes(content[:length])
    return f"cut to {length} bytes"


def _flip(path: Path, rng: random.Random) -> str:
    content = bytearray(path.read_bytes())
    places = [rng.randrange(len(content)) for _ in range(rng.choice((1, 3, 30)))]
    for place in places:
        content[place] ^= 1 << rng.randrange(8)
    path.write_bytes(content)
    return f"bits flipped in bytes {places[:3]}"


def _swap(path: Path, rng: random.Random) -> str:
    content = path.read_bytes()
    middle = len(content) // 2
    path.write_bytes(content[middle:] + content[:middle])
    return "halves swapped"


def _empty(path: Path, rng: random.Random) -> str:
    path.write_bytes(b"")
    return "empty"


def _foreign(path: Path, rng: random.Random) -> str:
    content = rng.choice(
        [
            b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\nshowpage",
            b"\xff\xfe\x00",
            b"null",
            b"[]",
            b"PK\x05\x06" + bytes(18),
            b"\x93NUMPY\x01\x00\xff\xff",
            b"\x89PNG\r\n\x1a\n",
            b"a,b\n1",
        ]
    )
    path.write_bytes(content)
    return f"foreign bytes {content[:10]!r}"


def _deep(path: Path, rng: random.Random) -> str:
    path.write_text('{"a":' * 5000 + "1" + "}" * 5000)
    return "nested 5,000 levels"


def _wrong_value(path: Path, rng: random.Random) -> str:
    """One value of a JSON file replaced; a state gets the right digest again."""
    record = json.loads(path.read_bytes())
    spots = list(_spots(record))
    holder, key, where = rng.choice(spots)
    value = rng.choice(JSON)
    if rng.random() < 0.2:
        del holder[key]
        value = "nothing"
    else:
        holder[key] = value
    text = json.dumps(record, indent=1)
    if path.name == "state.json":
        record.pop("digest", None)
        text = json.dumps(record, indent=1)
        path.write_bytes(_with_digest(text.removesuffix("\n}").encode() + b",\n"))
    else:
        path.write_text(text)
    return f"{where} is {str(value)[:40]!r}"


def _spots(record: Any, where: str = "") -> Iterator[tuple[Any, Any, str]]:
    items: Any = record.items() if isinstance(record, dict) else enumerate(record) if isinstance(record, list) else ()
    for key, value in items:
        yield record, key, f"{where}.{key}"
        yield from _spots(value, f"{where}.{key}")


def _wrong_array(path: Path, rng: random.Random) -> str:
    """One array of an .npz, or that of an .npy, replaced, left out or renamed."""
    with np.load(path) if path.suffix == ".npz" else contextlib.nullcontext() as file:
        arrays = {"": np.load(path)} if file is None else {name: file[name] for name in file.files}
    name = rng.choice(list(arrays))
    old = arrays[name]
    types = ["U9", object, complex, "f2", ">f4", "longdouble", "datetime64[s]", "i8", "f8", "?"]
    with contextlib.suppress(ValueError, TypeError, OverflowError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = old.astype(rng.choice([old.dtype, *types]))  # type: ignore[arg-type]
    value = rng.choice(
        [old, old[:0], old[:1], old[:-1], old.ravel(), old[None], np.asfortranarray(old), old[..., None]]
    )
    if old.dtype.kind in "if":
        with np.errstate(all="ignore"):
            large = np.full_like(value, 2**62, dtype="i8")
            value = rng.choice([value, -value, large, value * 1e308 * 1e10, value * np.nan, value + 0.5])
    elif rng.random() < 0.3:
        value = rng.choice([np.array(7), np.zeros((2, 3, 4, 5)), np.zeros((3, 3), "V4"), np.zeros(0)])
    if path.suffix == ".npy":
        np.save(path, value)
    else:
        arrays.pop(name)
        if rng.random() < 0.8:
            arrays[name] = value
        np.savez(path, **arrays)
    return f"'{name}' is {value.dtype} {value.shape}"


def _declared(path: Path, rng: random.Random) -> str:
    """An archive whose array says that it is larger than memory."""
    shape = rng.choice([(10**12, 10), (2**62, 4), (-1, 3), (10**10,)])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in ("codes", "factors", "rows", "images"):
            with archive.open(f"{name}.npy", "w") as member:
                np.lib.format.write_array_header_2_0(member, {"descr": "<f8", "fortran_order": False, "shape": shape})
                member.write(bytes(1000))
    return f"declares {shape}"


def _wrong_cell(path: Path, rng: random.Random) -> str:
    lines = path.read_text().splitlines()
    row = rng.randrange(len(lines))
    cell = rng.choice(
        ["", "nan", "inf", "1e999", "x", '"', "1,2,3", "\x00", "{}", "[1]", '{"step": "1"}', "🜁" * 3, "1e308"]
    )
    cells = lines[row].split(",")
    cells[rng.randrange(len(cells))] = cell
    lines[row] = ",".join(cells)
    path.write_text("\n".join(lines))
    return f"line {row} has {cell!r}"


def _not_a_file(path: Path, rng: random.Random, outside: Path) -> str:
    """A pipe, a folder, a device or a link where the file was."""
    kinds = ["pipe", "folder", "link", "loop", "dangling", "zero", "unreadable", "gone"]
    kind = rng.choice(kinds)
    path.unlink()
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to(outside)
    elif kind == "loop":
        path.symlink_to(path)
    elif kind == "dangling":
        path.symlink_to(outside.with_name("nowhere"))
    elif kind == "zero":
        path.symlink_to("/dev/zero")
    elif kind == "unreadable":
        path.touch(0)
    return kind


# The rule


class BrokenRuleError(AssertionError):
    """A call did what no call may do."""


class _TimeOutError(BaseException):
    pass


_PROCESSES = ("subprocess.Popen", "os.exec", "os.fork", "os.forkpty", "os.posix_spawn", "os.system", "os.startfile")
_watching: list[list[str]] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _watching and event in _PROCESSES:
        _watching[-1].append(f"{event}{arguments!r}"[:200])
        raise BrokenRuleError("a process was started")


_hooked: list[bool] = []


@contextlib.contextmanager
def rule(inputs: Path) -> Iterator[list[str]]:
    """The block ends in time and in little memory, starts no process and changes nothing below `inputs`.

    Else BrokenRuleError.
    """
    if not _hooked:
        _hooked.append(True)
        sys.addaudithook(_watch)
    before, started = listing(inputs), list[str]()

    def end(number: int, frame: FrameType | None) -> None:
        raise _TimeOutError("".join(traceback.format_stack(frame)[-4:]))

    handlers = {number: signal.signal(number, end) for number in (signal.SIGALRM, signal.SIGPROF)}
    peak, limits = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (MOST_DATA, limits[1]))  # so that a fault does not stop the machine
    signal.alarm(WAITING)
    signal.setitimer(signal.ITIMER_PROF, COMPUTING)
    _watching.append(started)
    try:
        yield started
    except _TimeOutError as error:
        raise BrokenRuleError(f"it did not end in {COMPUTING} s of computing, or waited, in\n{error}") from None
    finally:
        _watching.pop()
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        resource.setrlimit(resource.RLIMIT_DATA, limits)
    taken = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak) * 1024
    if taken > MOST_TAKEN:
        raise BrokenRuleError(f"it took {taken / 1e9:.1f} GB of memory")
    if started:
        raise BrokenRuleError(f"it started a process: {started[0]}")
    after = listing(inputs)
    if after != before:
        changed = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        raise BrokenRuleError(f"it changed {', '.join(changed[:5])}")


def listing(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Every file and folder with what changes when it is written."""
    found = {}
    for above, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(above, name)  # noqa: PTH118 (fifty thousand of them)
            status = os.lstat(path)
            found[path] = (status.st_mode, status.st_size, status.st_mtime_ns if name in files else 0)
    return found


def command(arguments: list[str], inputs: Path) -> tuple[int, str]:
    """Run the command under the rule: exit code 0 or 2, no traceback, at most three lines of error."""
    from unbraid import cli

    out, err = io.StringIO(), io.StringIO()
    argv, code = sys.argv, 0
    with rule(inputs), warnings.catch_warnings(), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        warnings.simplefilter("default")  # the command prints them
        sys.argv = ["unbraid", *arguments]
        try:
            cli.main()
        except SystemExit as stop:
            code = int(stop.code or 0)
        except BrokenRuleError:
            raise
        except Exception:
            raise BrokenRuleError(f"a traceback:\n{traceback.format_exc()[-1500:]}") from None
        finally:
            sys.argv = argv
    text = err.getvalue()
    if code not in (0, 2) and not (code == 1 and text.startswith("unbraid: diverged: ")):
        raise BrokenRuleError(f"exit code {code}: {text[-500:]}")
    if (code == 2 and text.count("\n") > 3) or "Traceback" in text or (code == 2 and not text.startswith("unbraid: ")):
        raise BrokenRuleError(f"more than three lines of error:\n{text[:800]}")
    if len(text) > 4000:
        raise BrokenRuleError(f"{len(text)} characters of error")
    return code, text
