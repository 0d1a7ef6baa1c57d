"""A trained model for use elsewhere: encoder and decoder as ONNX files (extra `[onnx]`)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import parametrize

from unbraid.data.atomic import replacing
from unbraid.errors import InputError
from unbraid.methods.base import Method
from unbraid.runs.run import Run

TOLERANCE = 1e-3  # of what ONNX Runtime and PyTorch may differ, on numbers around 1


class _Function(nn.Module):
    """A method's `encode` or `decode` as a module of its own."""

    def __init__(self, method: Method, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.method, self.function = method, function

    def forward(self, x: Tensor) -> Tensor:
        return self.function(x)


def export_onnx(run: Run, out: Path | None = None) -> list[Path]:
    """Write `encoder.onnx` (images, uint8 (n, C, H, W) -> codes) and `decoder.onnx` (codes -> images in [0, 1]).

    Into `out`, the run's folder by default; each is checked against PyTorch on random inputs before it is kept.
    """
    try:
        import onnx  # noqa: F401
        import onnxruntime
    except ImportError as error:
        raise InputError("ONNX needs onnx and onnxruntime; pip install 'unbraid[onnx]' brings them") from error
    method = run.method().prepare("cpu", "fp32").eval()
    for module in method.modules():
        if parametrize.is_parametrized(module):  # a spectral norm becomes the weights that it has come to
            for name in list(cast(nn.ModuleDict, module.parametrizations)):
                parametrize.remove_parametrizations(module, name)
    generator = torch.Generator().manual_seed(0)
    images = torch.randint(0, 256, (4, *run.spec.image_shape), dtype=torch.uint8, generator=generator)
    codes = run.representation().codes[:4].nan_to_num()
    parts: list[tuple[str, Callable[[Tensor], Tensor], Tensor, str, str]] = []
    if "codes" not in method.needs:
        parts.append(("encoder", method.encode, images, "images", "codes"))
    if method.decodes:
        parts.append(("decoder", method.decode, codes, "codes", "images"))
    written = []
    for name, function, example, given, result in parts:
        path = (out or run.outputs) / f"{name}.onnx"
        with replacing(path) as part:
            _write(_Function(method, function).eval(), example, part, given, result)
            session = onnxruntime.InferenceSession(str(part), providers=["CPUExecutionProvider"])
            _check(session, function, example, given, path)
        written.append(path)
    return written


def _write(module: nn.Module, example: Tensor, path: Path, given: str, result: str) -> None:
    axes = {given: {0: "n"}, result: {0: "n"}}
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")  # the exporter's own
        names: dict[str, Any] = {"input_names": [given], "output_names": [result], "dynamic_axes": axes}
        try:
            torch.onnx.export(module, (example,), str(path), dynamo=False, **names)
        except torch.onnx.errors.OnnxExporterError as error:
            raise InputError(f"cannot export to ONNX: {str(error).splitlines()[0]}") from error


def _check(session: Any, function: Callable[[Tensor], Tensor], example: Tensor, given: str, path: Path) -> None:
    """Raise where ONNX Runtime gives other numbers than PyTorch, also on another number of rows."""
    for rows in (example, example[:1]):
        with torch.inference_mode():
            expected = function(rows).numpy()
        difference = float(np.abs(session.run(None, {given: rows.numpy()})[0] - expected).max(initial=0))
        if not difference <= TOLERANCE * max(1.0, float(np.abs(expected).max(initial=0))):
            raise InputError(f"{path.name} differs from PyTorch by {difference:.2g}; this model cannot be exported")
