"""Code of the user's own: references to it, the files it is made of, and whether it may be run.

A *reference* goes wherever a built-in name goes: `path/to/file.py:Name` as a word, the class, function or declaration
itself in Python, or the name of an entry point of an installed package. Inside it is always `file.py:Name@DIGEST`, with
a digest of the file and of the local modules that it imports, and no path: it can be part of an id.
"""

from unbraid.own.references import code_digest, is_reference, keys_in, label, look_up, refer, refer_all, relative_to
from unbraid.own.sources import Source, known, register
from unbraid.own.trust import remember, trusted, trusting

__all__ = [
    "Source", "code_digest", "is_reference", "keys_in", "known", "label", "look_up", "refer", "refer_all", "register",
    "relative_to", "remember", "trusted", "trusting",
]  # fmt: skip
