"""Examples in docstrings as blocks of code, where mkdocstrings would take `>>>` for a quotation."""

from __future__ import annotations

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^>>>.*(?:\n.+)*", re.M)


class FencedExamples(griffe.Extension):
    """Every example, with what it prints, between fences."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = EXAMPLE.sub(lambda found: f"```pycon\n{found.group()}\n```", obj.docstring.value)
