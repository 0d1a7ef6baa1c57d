"""Where and how a method computes: the device, the precision, and what the allocator keeps."""

from __future__ import annotations

import ctypes
import sys

import torch

from unbraid.errors import InputError, shown


def keep_freed_memory() -> None:
    """Tell glibc to keep large freed blocks for the next step.

    By default it returns them to the system, and faulting the same pages in again takes a third of a small network's
    step. No number changes. Without glibc this does nothing.
    """
    if sys.platform != "linux":
        return
    try:
        mallopt = ctypes.CDLL("libc.so.6").mallopt
    except (OSError, AttributeError):
        return
    trim_threshold, mmap_threshold = -1, -3
    mallopt(mmap_threshold, 1 << 30)
    mallopt(trim_threshold, (1 << 31) - 1)


def resolve_device(device: str | torch.device) -> torch.device:
    """`auto` is the first of CUDA, MPS and the CPU that is available."""
    if device == "auto":
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        chosen = torch.device(device)
        torch.empty(1, device=chosen)
    except (RuntimeError, AssertionError, TypeError, ValueError, NotImplementedError) as error:
        reason = (str(error).splitlines() or [""])[0]
        raise InputError(f"device {shown(device)} cannot be used: {reason}; try auto or cpu") from error
    if chosen.type == "meta":
        raise InputError("device 'meta' holds no numbers; try auto or cpu")
    return chosen


def resolve_precision(precision: str, device: torch.device) -> str:
    """`auto` is bf16 where the hardware computes in it, else fp32."""
    if precision not in ("fp32", "bf16", "auto") or not isinstance(precision, str):
        raise InputError(f"precision is {shown(precision)}; expected fp32, bf16 or auto")
    if precision != "auto":
        return precision
    if device.type == "cuda":
        return "bf16" if torch.cuda.is_bf16_supported(including_emulation=False) else "fp32"
    native = device.type == "cpu" and torch.cpu.get_capabilities().get("avx512_bf16", False)
    return "bf16" if native else "fp32"
