"""Encoders from elsewhere: modules, functions, scikit-learn transformers, and files of code or of models.

An encoder takes images as floats in [0, 1], (n, C, H, W), and returns codes (n, d). `preprocess` stands before it, for
one that wants other sizes, channels or scales. A transformer takes each image as one row of numbers.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from unbraid.errors import InputError
from unbraid.methods.base import Encoding, Method
from unbraid.own import look_up
from unbraid.training.device import resolve_device

Encode = Callable[[Mapping[str, Tensor]], Encoding]
"""From a batch with uint8 `images` to their codes."""
TORCH = (".pt", ".pth", ".ts", ".torchscript", ".jit")
SIDES = (16, 28, 32, 48, 64, 84, 96, 112, 128, 160, 192, 224, 256, 299, 384)
"""In pixels: what encoders usually take, to suggest where one fails."""
PATIENCE = 5.0  # seconds to look for a shape that fits
MODELS = (*TORCH, ".pt2", ".onnx")


def is_reference(text: str) -> bool:
    """Whether a word names an encoder in a file: FILE.py:NAME, TorchScript or ONNX."""
    return ".py:" in text or Path(text).suffix.lower() in MODELS


def load_encoder(reference: str | Path) -> Any:
    """The encoder that a reference names: `FILE.py:NAME` (whose code is run), or a TorchScript, .pt2 or ONNX file."""
    text = str(reference)
    if ".py:" in text:
        return _from_code(str(Path(text).expanduser()))
    path = Path(text).expanduser()
    suffix = path.suffix.lower()
    if suffix not in MODELS:
        raise InputError(f"'{text}' is not an encoder; expected FILE.py:NAME or a file of {', '.join(MODELS)}")
    if not path.is_file():
        raise InputError(f"{path} does not exist; expected a file with a model")
    return OnnxEncoder(path) if suffix == ".onnx" else _from_torch(path)


def _from_code(reference: str) -> Any:
    encoder = look_up(reference, {}, "encoder", "unbraid.encoders")
    if isinstance(encoder, type):  # a class: its instance without arguments
        try:
            encoder = encoder()
        except TypeError as error:
            raise InputError(f"{reference} is a class that needs arguments ({error}); name an instance") from error
    return encoder


def _from_torch(path: Path) -> nn.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that TorchScript is deprecated
            if path.suffix.lower() == ".pt2":
                module: nn.Module = torch.export.load(path).module()
            else:
                module = torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]
    except Exception as error:  # on foreign bytes PyTorch raises whatever it stumbles over
        remedy = "weights alone are not enough: name the module with FILE.py:NAME, or save torch.jit.script(module)"
        raise InputError(f"{path} cannot be read as TorchScript; {remedy}") from error
    return module


class OnnxEncoder:
    """An ONNX model as a function of images: its first input to its first output."""

    def __init__(self, path: Path) -> None:
        try:
            import onnxruntime
        except ImportError as error:
            raise InputError("an .onnx file needs onnxruntime; pip install 'unbraid[onnx]' brings it") from error
        try:
            self._session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        except Exception as error:
            raise InputError(f"{path} cannot be read as an ONNX model: {str(error).splitlines()[0]}") from error
        first = self._session.get_inputs()[0]
        self._name, self._type = first.name, first.type
        self._batch = first.shape[0] if first.shape and isinstance(first.shape[0], int) else None

    def __call__(self, images: Tensor) -> Tensor:
        array = _as_array(images)
        if self._type == "tensor(uint8)":
            array = (array * 255).round().astype(np.uint8)
        elif self._type in ("tensor(float16)", "tensor(double)"):
            array = array.astype(np.float16 if "16" in self._type else np.float64)
        size = self._batch or len(array)
        parts = [self._part(array[start : start + size], size) for start in range(0, len(array), size)]
        return torch.from_numpy(np.concatenate(parts))

    def _part(self, images: Any, size: int) -> Any:
        """Codes of at most `size` images; a model with a fixed batch is given copies of the last one."""
        padded = np.concatenate([images, np.repeat(images[-1:], size - len(images), 0)])
        return self._session.run(None, {self._name: padded})[0][: len(images)]


def as_encode(encoder: Any, preprocess: Callable[[Tensor], Any] | None, device: str | None) -> Encode:
    """What turns a batch into codes: a method's own encoder, or one from elsewhere."""
    if isinstance(encoder, str | Path):
        encoder = load_encoder(encoder)
    if isinstance(encoder, Method):
        if preprocess is not None:
            raise InputError("preprocess is for encoders from elsewhere; a method takes the images as they are")
        return encoder.encoding
    target = None if device is None else resolve_device(device)
    if isinstance(encoder, nn.Module):
        if target is not None:
            encoder = encoder.to(target)
        parameter = next(encoder.parameters(), None)
        target = parameter.device if parameter is not None else target
        apply: Callable[[Any], Any] = encoder
    elif hasattr(encoder, "transform"):  # a transformer; some of them can also be called

        def apply(images: Any) -> Any:
            return encoder.transform(_as_array(images).reshape(len(images), -1))

    elif callable(encoder):
        apply = encoder
    else:
        raise InputError(
            f"the encoder is {type(encoder).__name__}; expected a module, a function or a transformer, or its file"
        )

    def encode(batch: Mapping[str, Tensor]) -> Encoding:
        images = batch["images"].to(target or "cpu").float() / 255
        try:
            result = apply(images if preprocess is None else preprocess(images))
        except Exception as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}".rstrip(".")
            shape = tuple(images.shape)
            remedy = _remedy(lambda tried: apply(tried if preprocess is None else preprocess(tried)), images, encoder)
            raise InputError(f"the encoder failed on images {shape}, floats in [0, 1]: {reason}{remedy}") from error
        return result if isinstance(result, Encoding) else Encoding(_as_codes(result, len(images)))

    return encode


def _remedy(apply: Callable[[Tensor], Any], images: Tensor, encoder: Any) -> str:
    """What would make the images fit, from trying other shapes on two of them; nothing if none works."""
    few, begun = images[:2], time.monotonic()
    channels, side = few.shape[1], few.shape[-1]
    for wanted, size in _shapes(channels, side, getattr(encoder, "n_features_in_", 0)):
        if time.monotonic() - begun > PATIENCE:
            break
        with suppress(Exception), torch.no_grad():
            _as_codes(apply(_shaped(few, wanted, size)), len(few))
            steps = []
            if size != side:
                steps.append(f"open the data with resolution={size} (--resolution {size})")
            if wanted != channels:
                change = (
                    "mean(1, keepdim=True)" if wanted == 1 else f"mean(1, keepdim=True).expand(-1, {wanted}, -1, -1)"
                )
                steps.append(f"let preprocess= or your function begin with images.{change}")
            return f"; images ({wanted}, {size}, {size}) fit: {', and '.join(steps)}"
    return ""


def _shapes(channels: int, side: int, features: int) -> Iterator[tuple[int, int]]:
    """Channels and sides to try: what a transformer was fitted on, other channels, other sides, both."""
    others = [count for count in (3, 1) if count != channels]
    for count in (channels, *others):
        if features and (fitted := math.isqrt(features // count)) ** 2 * count == features:
            yield count, fitted
    yield from ((count, side) for count in others)
    yield from ((count, size) for count in (channels, *others) for size in SIDES if size != side)


def _shaped(images: Tensor, channels: int, side: int) -> Tensor:
    images = images if images.shape[1] == channels else images.mean(1, keepdim=True).expand(-1, channels, -1, -1)
    return nn.functional.interpolate(images, (side, side), mode="bilinear", antialias=True)


def _as_array(images: Any) -> Any:
    return images.detach().cpu().numpy() if isinstance(images, Tensor) else np.asarray(images)


def _as_codes(result: Any, rows: int) -> Tensor:
    """Codes (n, d) as float32 on the CPU."""
    if hasattr(result, "toarray"):  # a sparse matrix
        result = result.toarray()
    if not isinstance(result, Tensor | np.ndarray):
        part = ".last_hidden_state[:, 0]" if hasattr(result, "last_hidden_state") else "[0]"  # as in Hugging Face
        remedy = f"choose the codes: lambda images: encoder(images){part}"
        raise InputError(f"the encoder returned a {type(result).__name__}; expected codes (n, d), so {remedy}")
    codes = torch.as_tensor(result).detach().to("cpu", torch.float32)
    codes = codes[:, None] if codes.ndim == 1 else codes
    if codes.ndim != 2 or len(codes) != rows:
        remedy = "; flatten or average the rest" if codes.ndim > 2 and len(codes) == rows else ""
        raise InputError(f"the encoder returned {tuple(codes.shape)} for {rows} images; expected (n, d){remedy}")
    return codes
