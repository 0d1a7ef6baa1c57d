"""Weights and training states as files: safetensors with their version and a digest of their tensors."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialised
from torch import Tensor

from unbraid.data.reading import one_line, opened
from unbraid.errors import InputError
from unbraid.methods import Method

FORMAT = "unbraid 1"


def digest(tensors: Mapping[str, Tensor]) -> str:
    state = hashlib.sha256()
    for name in sorted(tensors):
        state.update(name.encode())
        state.update(tensors[name].contiguous().view(-1).view(torch.uint8).numpy().data)
    return state.hexdigest()


def save(tensors: Mapping[str, Tensor], path: Path) -> None:
    """Write a safetensors file with its version and a digest of its tensors."""
    plain = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    # one key, because the order of several differs from file to file
    contents = serialised(plain, metadata={"format": f"{FORMAT} {digest(plain)}"})
    path.write_bytes(contents)  # not `save_file`: when killed, it leaves a temporary file of its own that nobody clears


def restore(method: Method, path: Path, weights_only: bool) -> None:
    """Load a file that `save` wrote into a method; an InputError says what is wrong with it."""
    try:
        with opened(path):
            pass  # a regular file: safetensors would wait for a pipe
        with safe_open(path, framework="pt") as file:
            format, _, expected_digest = (file.metadata() or {}).get("format", "").rpartition(" ")
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, AttributeError, RuntimeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path} is damaged: {one_line(error)}") from error
    if format != FORMAT:
        raise InputError(f"{path} has format '{format}'; this version reads '{FORMAT}'")
    if expected_digest != digest(tensors):
        raise InputError(f"{path} is damaged: its checksum differs")
    expected = {name: value.shape for name, value in method.state_dict().items() if not name.startswith("training.")}
    for name, shape in expected.items():
        if name not in tensors:
            raise InputError(f"{path} has no tensor '{name}'; it belongs to another method or version")
        if tensors[name].is_complex():
            raise InputError(f"{path}: '{name}' has complex numbers; expected real ones")
        if tensors[name].shape != shape:
            raise InputError(f"{path}: '{name}' has shape {tuple(tensors[name].shape)}; expected {tuple(shape)}")
    unknown = [name for name in tensors if name not in expected and not name.startswith("training.")]
    if unknown:
        raise InputError(f"{path} has a tensor '{unknown[0]}' that {type(method).__name__} does not know")
    if weights_only:
        tensors = {name: value for name, value in tensors.items() if name in expected}
    try:
        method.load_state_dict(tensors)
    except (RuntimeError, ValueError, KeyError, TypeError, IndexError) as error:  # such as moments of another shape
        raise InputError(f"{path} does not fit {type(method).__name__}: {one_line(error)}") from error
