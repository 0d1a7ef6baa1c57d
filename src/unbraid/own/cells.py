"""Code of a notebook or a prompt: the statements of its cells that define a name, as the text of a file.

What is defined there is in no file that another process could import. Where the cells are kept (IPython and Jupyter
keep them, and so does Python's own prompt since 3.13), the statements that define a name, and those that define what
these use, are a file of their own. Their order follows from what uses what, so that running a cell again changes
nothing.
"""

from __future__ import annotations

import ast
import builtins
import dis
import linecache
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from inspect import CO_OPTIMIZED
from types import CodeType, ModuleType

_PROMPT = "<python-input-"  # where Python's own prompt keeps what was typed


def cells(module: ModuleType) -> list[str]:
    """What was run in a notebook or at a prompt, in order; nothing where that is not kept."""
    history = vars(module).get("In")  # IPython's, with magics already translated
    if isinstance(history, list):
        return [cell for cell in history if isinstance(cell, str)]
    typed = [entry for name, entry in linecache.cache.items() if name.startswith(_PROMPT)]
    return ["".join(entry[2]) for entry in typed if len(entry) == 4]


def defining(name: str, texts: Sequence[str]) -> str | None:
    """The text of a file that defines a name as these cells do; None where none of them does."""
    statements = [statement for text in texts for statement in _statements(text)]
    last = _last(statements, name)
    if last is None:
        return None
    future = sorted({one.text for one in statements if one.is_future})
    needed = _Needed(statements)
    needed.add(last)
    return "\n\n".join(dict.fromkeys([*future, *(statements[index].text for index in needed.order)])) + "\n"


def assigned(texts: Sequence[str]) -> set[str]:
    """The names that cells define."""
    return {name for text in texts for statement in _statements(text) for name in statement.defines}


@dataclass(frozen=True)
class _Statement:
    """A statement at the top level of a cell."""

    node: ast.stmt
    text: str

    @property
    def is_future(self) -> bool:
        return isinstance(self.node, ast.ImportFrom) and self.node.module == "__future__"

    @cached_property
    def _code(self) -> CodeType:
        tree = ast.Module([self.node], [])
        code: CodeType = compile(tree, "<cell>", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        return code

    @cached_property
    def defines(self) -> set[str]:
        return {str(one.argval) for one in dis.get_instructions(self._code) if one.opname == "STORE_NAME"}

    @cached_property
    def uses(self) -> tuple[list[str], list[str]]:
        """The names that it needs when it runs, and those that its functions need when they are called."""
        at_once, later = set[str](), set[str]()
        for code, called in _codes(self._code, called=False):
            loads = {str(one.argval) for one in dis.get_instructions(code) if one.opname in _LOADS}
            (later if called else at_once).update(loads)
        return sorted(at_once), sorted(later)

    @cached_property
    def changes(self) -> set[str]:
        """The names of objects that it assigns to a part of, such as `Mine.sweep = …`."""
        targets = (
            self.node.targets if isinstance(self.node, ast.Assign)
            else [self.node.target] if isinstance(self.node, ast.AugAssign | ast.AnnAssign) else []
        )  # fmt: skip
        changed = set()
        for target in targets:
            inner: ast.expr = target
            while isinstance(inner, ast.Attribute | ast.Subscript):
                inner = inner.value
            if inner is not target and isinstance(inner, ast.Name):
                changed.add(inner.id)
        return changed


_LOADS = ("LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS")


def _codes(code: CodeType, called: bool) -> Iterator[tuple[CodeType, bool]]:
    """A code object and those within it, each with whether it is a function's: the body of a class runs at once."""
    yield code, called
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner, called or bool(inner.co_flags & CO_OPTIMIZED))


def _statements(text: str) -> list[_Statement]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return []  # a cell that did not run
    return [_Statement(node, _text(node, tree.body, text)) for node in tree.body]


def _text(node: ast.stmt, beside: Sequence[ast.stmt], text: str) -> str:
    """A statement as it was written, with its decorators; written again where it shares a line with another."""
    decorators = getattr(node, "decorator_list", [])
    first, last = min([node.lineno, *(one.lineno for one in decorators)]), node.end_lineno or node.lineno
    alone = all(one is node or (one.end_lineno or one.lineno) < first or one.lineno > last for one in beside)
    return "\n".join(text.splitlines()[first - 1 : last]).rstrip() if alone else ast.unparse(node)


def _last(statements: Sequence[_Statement], name: str, before: int | None = None) -> int | None:
    """The last statement that defines a name, or the last before another one."""
    for index in reversed(range(len(statements) if before is None else before)):
        if name in statements[index].defines:
            return index
    return None


class _Needed:
    """The statements that some need, in an order in which they run."""

    def __init__(self, statements: Sequence[_Statement]) -> None:
        self.statements = statements
        self.order: list[int] = []
        self._seen: set[int] = set()

    def add(self, index: int) -> None:
        """Add a statement: after what it needs at once, before what its functions need when they are called."""
        if index in self._seen:
            return
        self._seen.add(index)
        statement = self.statements[index]
        at_once, later = statement.uses
        self._add_names(at_once, index)
        self.order.append(index)
        self._add_names(later, None)
        for number, other in enumerate(self.statements):
            if number > index and other.changes & statement.defines:
                self.add(number)

    def _add_names(self, names: Sequence[str], before: int | None) -> None:
        for name in names:
            definition = _last(self.statements, name, before)
            if definition is not None:
                self.add(definition)
            elif not hasattr(builtins, name):  # it may be among the names of `from module import *`
                for number, other in enumerate(self.statements):
                    if isinstance(other.node, ast.ImportFrom) and other.node.names[0].name == "*":
                        self.add(number)
