"""A Python file with the local modules that it imports: known by a digest, and imported from what was digested.

Modules are imported from memory into a package of their own, `unbraid_code_KEY`: the code that runs is the code of the
digest, two versions of a file live side by side, and another process that has the source imports it by the same name.
"""

from __future__ import annotations

import ast
import builtins
import hashlib
import os
import re
import site
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

from unbraid.errors import InputError
from unbraid.own.trust import remember

KEY = 12
"""Digits of the digest that a reference shows."""
_PREFIX = "unbraid_code_"
_INIT = "__init__.py"
_NEVER = sys.stdlib_module_names | {"unbraid"}  # a neighbour does not take the place of these
_NAMED = re.compile(r"([^/:@][^:@]*\.py):[A-Za-z_][\w.]*")
_Read = Callable[[str], bytes | None]
_Search = Sequence[tuple[str, str | None]]


@dataclass(frozen=True)
class Source:
    """A file and the local modules that it imports, directly or through others."""

    folder: Path
    """Where its files are: that of the file, or above the package that the file is part of."""
    main: str
    """The file, below the folder."""
    files: Mapping[str, bytes]
    """Their contents, by path below the folder."""

    @classmethod
    def read(cls, path: Path) -> Source:
        """The source of a Python file. An InputError says what is wrong with the file."""
        file = path.expanduser().resolve()
        if not file.is_file():
            raise InputError(f"there is no file {path}")
        if file.suffix != ".py":
            raise InputError(f"{path} is not a Python file; expected a name that ends in .py")
        stamps, source = _READ.get(file, ({}, None))
        if source is None or any(_stamp(source.folder / name) != stamp for name, stamp in stamps.items()):
            folder = file.parent
            while (folder / _INIT).is_file():
                folder = folder.parent
            main = file.relative_to(folder).as_posix()
            before: dict[str, Any] = {}

            def read(name: str) -> bytes | None:
                neighbour = folder / name
                before[name] = _stamp(neighbour)
                return neighbour.read_bytes() if neighbour.is_file() else None

            try:
                source = cls(folder, main, _closure(main, read, _searched(folder, main)))
            except OSError as error:
                raise InputError(f"{path} cannot be read: {error.strerror or error}") from error
            _READ[file] = {name: before[name] for name in source.files}, source
        return source

    @classmethod
    def typed(cls, name: str, text: str) -> Source:
        """The source of what was typed, as if it were a file of this name in the current folder."""
        folder = Path.cwd()

        def read(file: str) -> bytes | None:
            neighbour = folder / file
            return text.encode() if file == name else neighbour.read_bytes() if neighbour.is_file() else None

        return cls(folder, name, _closure(name, read, _searched(folder, name)))

    def part(self, file: str) -> tuple[Source, str]:
        """The source of one of its files and the file's name in it: as if that file had been read by itself.

        The whole source where the file imports what is not its neighbour.
        """
        near = PurePosixPath(file)
        while f"{near.parent}/{_INIT}" in self.files:
            near = near.parent
        root = "" if near.parent == PurePosixPath() else f"{near.parent}/"
        main = file.removeprefix(root)
        alone = _closure(main, lambda name: self.files.get(root + name), _searched(self.folder / root, main))
        if _closure(file, self.files.get, self._search).keys() == {root + name for name in alone}:
            return Source(self.folder / root, main, alone), main
        return self, file

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the files' names and contents."""
        state = hashlib.sha256(f"{self.main}\n".encode())
        for name in sorted(self.files):
            state.update(f"{name} {hashlib.sha256(self.files[name]).hexdigest()}\n".encode())
        return state.hexdigest()

    @property
    def key(self) -> str:
        return self.digest[:KEY]

    @cached_property
    def modules(self) -> dict[str, str]:
        """Its files by the names of their modules."""
        return {_dotted(name): name for name in sorted(self.files, reverse=True)}  # a package hides a file of its name

    @cached_property
    def _search(self) -> _Search:
        return _searched(self.folder, self.main)

    def local(self, top: str) -> str | None:
        """What stands before the name of a local module, such as `package.`; None for a module from elsewhere."""
        for near in _places(self._search, top):
            dotted = f"{near}{top}".replace("/", ".")
            if any(name == dotted or name.startswith(f"{dotted}.") for name in self.modules):
                return near.replace("/", ".")
        return None

    def module(self, file: str | None = None) -> ModuleType:
        """Its file, or another of its files, imported: its code then counts as the user's own."""
        register(self)
        name = f"{_PREFIX}{self.key}.{_dotted(file or self.main)}"
        path = self.folder / (file or self.main)
        if getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False):
            advice = "put what uses it under `if __name__ == '__main__':`"
            raise InputError(f"{path} is used while it is imported; {advice}")
        remember(self.digest)
        try:
            return import_module(name)
        except InputError:
            raise
        except (Exception, SystemExit) as error:
            line = self.line_of(error)
            raise InputError(f"{path} cannot be imported: {line}{type(error).__name__}: {error}") from error

    def line_of(self, error: BaseException) -> str:
        """Where in its files an error arose, where that is known."""
        known = {str(self.folder / name): name for name in self.files}
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in known]
        return f"{known[frames[-1].filename]}, line {frames[-1].lineno}: " if frames else ""


_READ: dict[Path, tuple[dict[str, Any], Source | None]] = {}
_SOURCES: dict[str, Source] = {}


def register(source: Source) -> None:
    """Make a source known in this process: references to it can be resolved, and it can be imported."""
    known = _SOURCES.get(source.key)
    if known is not None and known.folder != source.folder and not (known.folder / known.main).exists():
        _forget(known)  # its folder was moved
        known = None
    if known is None:
        _SOURCES[source.key] = source


def known(key: str) -> Source | None:
    """The source with this key, where this process knows it."""
    return _SOURCES.get(key)


def sources_of(modules: Sequence[Path | Source]) -> tuple[Source, ...]:
    """The sources of Python files, imported here: what they define can be sent to a process that knows them too."""
    sources = tuple(module if isinstance(module, Source) else Source.read(module) for module in modules)
    for source in sources:
        source.module()
    return sources


def import_file(path: Path) -> ModuleType:
    """Import a Python file with its neighbours on the path."""
    return Source.read(path).module()


def of_module(module: ModuleType) -> tuple[Source, str] | None:
    """The source of a module and its file there; None for a module that has none, such as that of a prompt."""
    loader = getattr(getattr(module, "__spec__", None), "loader", None)
    if isinstance(loader, _Loader) and loader.file is not None:
        return loader.source.part(loader.file)
    path = getattr(module, "__file__", None)
    if not path or not Path(path).is_file():
        return None
    source = Source.read(Path(path))
    return source, source.main


def imported_here(module: str) -> bool:
    """Whether a module was imported from a source."""
    return module.startswith(_PREFIX)


def _forget(source: Source) -> None:
    package = f"{_PREFIX}{source.key}"
    for name in [name for name in sys.modules if name == package or name.startswith(f"{package}.")]:
        del sys.modules[name]
    del _SOURCES[source.key]


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns


# Which modules a file imports


def _searched(folder: Path, main: str) -> _Search:
    """Where below the folder local modules are looked for, and which of them where that is not all.

    They are beside the file, and for its own package at the top, where other packages are not local.
    """
    above, slash, _ = main.rpartition("/")
    package = [("", main.partition("/")[0])] if slash else []
    return package if folder in _installed() else [(above + slash, None), *package]


def _places(search: _Search, top: str) -> list[str]:
    """Where a module may be local."""
    return [near for near, only in search if only in (None, top) and top not in _NEVER]


@cache
def _installed() -> set[Path]:
    """The folders of installed packages, where neighbours are other packages."""
    folders = [*sysconfig.get_paths().values(), *site.getsitepackages(), site.getusersitepackages()]
    return {Path(folder).resolve() for folder in folders}


def _closure(main: str, read: _Read, search: _Search) -> dict[str, bytes]:
    """The contents of a file and of the local modules that it imports, by name."""
    files: dict[str, bytes] = {}
    queue = [main]
    while queue:
        file = queue.pop()
        if file in files or (text := read(file)) is None:
            continue
        files[file] = text
        above = PurePosixPath(file).parent
        queue += [f"{folder}/{_INIT}" for folder in (above, *above.parents) if folder != PurePosixPath()]
        for level, dotted in _imports(text, file):
            if level:
                below = above.parents[level - 2] if 1 < level <= len(above.parents) + 1 else above
                queue += _candidates("" if below == PurePosixPath() else f"{below}/", dotted)
                continue
            if level is None:  # a file that it names in a reference, relative to its own folder
                queue.append(os.path.normpath(PurePosixPath(main).parent / dotted))
                continue
            for near in _places(search, dotted.partition(".")[0]):
                if local := [name for name in _candidates(near, dotted) if read(name) is not None]:
                    queue += local
                    break
    return files


def _candidates(near: str, dotted: str) -> list[str]:
    """The files that importing a module may execute."""
    parts = [part for part in dotted.split(".") if part]
    paths = [near + "/".join(parts[: count + 1]) for count in range(len(parts))]
    return [f"{path}{end}" for path in paths for end in (".py", f"/{_INIT}")]


def _imports(text: bytes, file: str) -> Iterator[tuple[int | None, str]]:
    """The modules that a file imports anywhere in it, each with the number of dots before its name.

    And the files that it names in references such as `"vae.py:Mine"`, each with None.
    """
    try:
        tree = ast.parse(text, file)
    except (SyntaxError, ValueError) as error:
        raise InputError(f"{file} cannot be imported: {type(error).__name__}: {error}") from error
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((0, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.level, f"{node.module or ''}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Constant) and (match := _NAMED.fullmatch(str(node.value))):
            yield None, match[1]


def _dotted(file: str) -> str:
    """The name of a file's module."""
    path = file.removesuffix(f"/{_INIT}").removesuffix(".py")
    return ".".join(part.replace(".", "_") for part in path.split("/"))


# Importing them


class _Finder(MetaPathFinder):
    """Finds the modules of registered sources."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        package, _, dotted = name.partition(".")
        source = _SOURCES.get(package.removeprefix(_PREFIX)) if package.startswith(_PREFIX) else None
        if source is None:
            return None
        file = source.modules.get(dotted)
        if file is None:  # a folder, or the package of the source itself
            above = not dotted or any(module.startswith(f"{dotted}.") for module in source.modules)
            return ModuleSpec(name, _Loader(source, None), is_package=True) if above else None
        inside: list[str] | None = [] if file.endswith(f"/{_INIT}") else None
        loader = _Loader(source, file)
        return spec_from_file_location(name, source.folder / file, loader=loader, submodule_search_locations=inside)


class _Loader(Loader):
    """Executes a file of a source; its imports of local modules stay within the source."""

    def __init__(self, source: Source, file: str | None) -> None:
        self.source, self.file = source, file

    def exec_module(self, module: ModuleType) -> None:
        if self.file is not None:
            vars(module)["__builtins__"] = {**vars(builtins), "__import__": self._import}
            code = compile(self.source.files[self.file], str(module.__file__), "exec", dont_inherit=True)
            exec(code, vars(module))

    def get_source(self, name: str) -> str | None:
        """For tracebacks, where the file itself is gone."""
        return None if self.file is None else self.source.files[self.file].decode(errors="replace")

    def _import(
        self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0
    ) -> ModuleType:
        top = name.partition(".")[0]
        near = self.source.local(top) if not level else None
        if near is None:
            return builtins.__import__(name, globals, locals, fromlist, level)
        package = f"{_PREFIX}{self.source.key}.{near}"
        if fromlist:
            return builtins.__import__(package + name, globals, locals, fromlist, 0)
        import_module(package + name)
        return sys.modules[package + top]


sys.meta_path.insert(0, _Finder())  # before the one that would find the files themselves, which may have changed
