"""A function of tensors as a short list of steps that a web page can run, with its weights in half precision.

The function is run once on an example, and every operation that depends on its input is noted down. What depends on
weights alone (a spectral norm, a kernel that is cut into quarters) is a constant by then. Operations that only move
numbers around (reshape, slice, pixel shuffle, nearest upsampling) become one table of indices.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.modules.module import register_module_forward_hook, register_module_forward_pre_hook
from torch.utils._python_dispatch import TorchDispatchMode

from unbraid.errors import InputError

Array = np.ndarray[Any, Any]
HALF_LIMIT = 6e4  # a weight beyond what half precision can hold keeps its tensor in single precision
SHORT = 4096  # arrays up to this length (biases, factors) stay in single precision


@dataclass(frozen=True)
class Step:
    """One operation on a picture or a code; batches run item by item."""

    op: str
    inputs: tuple[int, ...]
    """Which values it reads: 0 is the input, i + 1 the result of step i."""
    shape: tuple[int, ...]
    """Shape of its result, without the batch."""
    settings: Mapping[str, Any] = field(default_factory=dict)
    arrays: Mapping[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Network:
    """Steps from an input to an output."""

    input_shape: tuple[int, ...]
    steps: tuple[Step, ...]
    output: int

    def packed(self) -> dict[str, Any]:
        """The steps as JSON holds them, all arrays in one base64 string: `[kind, offset in bytes, length]` each."""
        data, steps = bytearray(), []
        for step in self.steps:
            arrays = {}
            for name, array in step.arrays.items():
                stored = _stored(array)
                data.extend(bytes(-len(data) % 4))
                arrays[name] = [stored.dtype.str[1:], len(data), stored.size]
                data.extend(stored.tobytes())
            steps.append([step.op, list(step.inputs), list(step.shape), dict(step.settings), arrays])
        text = base64.b64encode(bytes(data)).decode()
        return {"input": list(self.input_shape), "steps": steps, "output": self.output, "data": text}

    @property
    def weights(self) -> int:
        """How many numbers it holds."""
        return sum(array.size for step in self.steps for array in step.arrays.values())


def _stored(array: Array) -> Array:
    if array.dtype.kind in "iu":
        return array.astype("<u2" if array.size == 0 or array.max() < 2**16 else "<u4")
    small = np.isfinite(array).all() and np.abs(array).max(initial=0) < HALF_LIMIT
    return array.astype("<f2" if small and array.size > SHORT else "<f4")


def trace(function: Callable[[Tensor], Tensor], example: Tensor, name: str) -> Network:
    """The steps of `function` at `example` (1, …); `name` says in errors what it is.

    An operation that the page does not know is an InputError, as is a function that is random or that chooses its
    steps by its input.
    """
    network, again = _traced(function, example, name), _traced(function, torch.zeros_like(example), name)
    if network.packed() != again.packed():
        raise _changing(name)
    return network


def _changing(name: str) -> InputError:
    return InputError(f"the {name} is random or its steps depend on its input, which the page cannot do")


def _traced(function: Callable[[Tensor], Tensor], example: Tensor, name: str) -> Network:
    # In inference mode composite operations would arrive whole, instead of as the steps they are made of.
    with torch.inference_mode(False), torch.no_grad(), _Tracer(example, name) as tracer:
        result = function(example)
    return Network(tuple(example.shape[1:]), *tracer.finish(result))


@dataclass(frozen=True)
class _Value:
    """A traced tensor: elements of the value `base`, chosen by an index of the tensor's shape. -1 is a zero."""

    base: int
    index: Tensor


class _Tracer(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Runs operations as usual, and notes those whose inputs depend on the example."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Whether PyTorch shields it from its compiler, which takes seconds to import and is not used here."""
        return False

    def __init__(self, example: Tensor, name: str) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.name = name
        self.steps: list[Step] = []
        self.shapes: list[tuple[int, ...]] = [tuple(example.shape[1:])]
        self.values: dict[int, _Value] = {id(example): _Value(0, _identity(example.shape))}
        self.alive: list[Any] = [example]  # an id is a tensor's only while it lives
        self.modules: list[str] = []
        self.hooks: list[Any] = []

    def __enter__(self) -> _Tracer:
        def enter(module: nn.Module, *_: Any) -> None:
            self.modules.append(type(module).__name__)

        def leave(*_: Any) -> None:
            self.modules.pop()

        self.hooks = [register_module_forward_pre_hook(enter), register_module_forward_hook(leave)]
        super().__enter__()  # type: ignore[no-untyped-call]
        return self

    def __exit__(self, *error: Any) -> None:
        super().__exit__(*error)  # type: ignore[no-untyped-call]
        for hook in self.hooks:
            hook.remove()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        result = func(*args, **kwargs)
        if any(id(tensor) in self.values for tensor in _tensors([args, kwargs])):
            self._note(func, args, kwargs, result)
        return result

    def _note(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        name = func._schema.name.removeprefix("aten::").rstrip("_")
        first = result[0] if isinstance(result, tuple) else result
        if name == "_local_scalar_dense":  # a number for Python, which may choose by it
            raise _changing(self.name)
        if name in _SAME:
            value = self.values[id(args[0])]
        elif name in _MOVES:
            value = self._move(func, args, kwargs)
        elif name == "index_select" and id(args[2]) not in self.values:
            source = self.values[id(args[0])]
            value = _Value(source.base, func(source.index, *args[1:]))
        elif name in _SPLITS:
            indices = func(self.values[id(args[0])].index, *args[1:], **kwargs)
            for part, index in zip(result, indices, strict=True):
                self._keep(part, _Value(self.values[id(args[0])].base, index))
            return
        elif name in _STEPS:
            bound = {argument.name: argument.default_value for argument in func._schema.arguments}
            bound |= dict(zip(bound, args, strict=False)) | kwargs
            value = _STEPS[name](self, bound, first)
        else:
            raise self.unknown(f"aten.{name}")
        self._keep(first, value)

    def unknown(self, operation: str) -> InputError:
        layer = f"layer {self.modules[-1]} ({operation})" if self.modules else operation
        return InputError(f"the page cannot run {layer} of the {self.name}")

    def _keep(self, tensor: Tensor, value: _Value) -> None:
        if value.index.shape != tensor.shape:
            value = _Value(value.base, value.index.reshape(tensor.shape))
        self.values[id(tensor)] = value
        self.alive.append(tensor)

    def _move(self, func: Any, args: Any, kwargs: Any) -> _Value:
        """The same movement of the indices; of several values first one that holds them all."""
        traced = [tensor for tensor in _tensors([args, kwargs]) if id(tensor) in self.values]
        if len(traced) < len(_tensors([args, kwargs])):
            raise self.unknown(f"{func._schema.name} with a constant")
        bases = {self.values[id(tensor)].base for tensor in traced}
        if len(bases) == 1:
            base, indices = bases.pop(), {id(tensor): self.values[id(tensor)].index.contiguous() for tensor in traced}
        else:
            sources = tuple(self.read(tensor) for tensor in traced)
            base = self.step("join", sources, (sum(tensor.numel() for tensor in traced),))
            starts = np.cumsum([0, *(tensor.numel() for tensor in traced)])
            indices = {id(t): _identity(t.shape) + int(start) for t, start in zip(traced, starts, strict=False)}
        if func._schema.name == "aten::constant_pad_nd":
            if len(args) > 2 and args[2] != 0:
                raise self.unknown("aten.constant_pad_nd with a value other than 0")
            return _Value(base, func(indices[id(args[0])], args[1], -1.0))
        return _Value(base, func(*_replaced(args, indices), **kwargs))

    def read(self, tensor: Tensor) -> int:
        """The value that holds a tensor's elements in order, gathered now where they are not."""
        value = self.values[id(tensor)]
        if torch.equal(value.index.flatten(), _identity(torch.Size([math.prod(self.shapes[value.base])]))):
            return value.base
        index = value.index.flatten().long()
        settings = {"zeros": True} if bool((index < 0).any()) else {}
        index = torch.where(index < 0, math.prod(self.shapes[value.base]), index)
        shape = tensor.shape[1:] if tensor.shape[0] == 1 else tensor.shape  # rows of a matrix, not a batch
        return self.step("gather", (value.base,), tuple(shape), settings, {"index": index.numpy()})

    def step(
        self,
        op: str,
        inputs: tuple[int, ...],
        shape: Sequence[int],
        settings: Mapping[str, Any] | None = None,
        arrays: Mapping[str, Tensor | Array | None] | None = None,
    ) -> int:
        """Add a step; the value it gives."""
        present = {name: array for name, array in (arrays or {}).items() if array is not None}
        plain = {
            name: array.detach().float().contiguous().numpy().ravel() if isinstance(array, Tensor) else array
            for name, array in present.items()
        }
        self.steps.append(Step(op, inputs, tuple(shape), settings or {}, plain))
        self.shapes.append(tuple(shape))
        return len(self.steps)

    def result(self, op: str, source: Tensor, out: Tensor, settings: Any = None, arrays: Any = None) -> _Value:
        """A step with one input, as the value of `out`."""
        return _Value(self.step(op, (self.read(source),), out.shape[1:], settings, arrays), _identity(out.shape))

    def constant(self, value: Any) -> Tensor:
        """A tensor that does not depend on the input."""
        if isinstance(value, Tensor) and id(value) in self.values:
            raise self.unknown("a product of two results")
        return torch.as_tensor(value, dtype=torch.float32)

    def finish(self, result: Tensor) -> tuple[tuple[Step, ...], int]:
        if id(result) not in self.values:
            raise InputError(f"the {self.name} does not depend on its input")
        return _used(self.steps, self.read(result))


def _used(steps: Sequence[Step], output: int) -> tuple[tuple[Step, ...], int]:
    """The steps that an output depends on, and its new number: an encoder may compute more than its codes."""
    needed = {output}
    for number in range(len(steps), 0, -1):
        if number in needed:
            needed.update(steps[number - 1].inputs)
    kept = [number for number in range(1, len(steps) + 1) if number in needed]
    numbers = {0: 0} | {number: new for new, number in enumerate(kept, 1)}
    renumbered = (
        replace(step, inputs=tuple(numbers[i] for i in step.inputs)) for step in (steps[number - 1] for number in kept)
    )
    return tuple(renumbered), numbers[output]


def _identity(shape: Sequence[int]) -> Tensor:
    return torch.arange(math.prod(shape), dtype=torch.float64).reshape(tuple(shape))


def _tensors(tree: Any) -> list[Tensor]:
    if isinstance(tree, Tensor):
        return [tree]
    if isinstance(tree, Mapping):
        tree = list(tree.values())
    return [tensor for item in tree for tensor in _tensors(item)] if isinstance(tree, list | tuple) else []


def _replaced(tree: Any, indices: Mapping[int, Tensor]) -> Any:
    if isinstance(tree, Tensor):
        return indices[id(tree)]
    return type(tree)(_replaced(item, indices) for item in tree) if isinstance(tree, list | tuple) else tree


_SAME = {"_to_copy", "clone", "detach", "alias", "lift_fresh", "contiguous", "_conj", "native_dropout", "dropout"}
_MOVES = {
    "view", "_unsafe_view", "reshape", "_reshape_alias", "slice", "select", "permute", "transpose", "t", "unsqueeze",
    "squeeze", "expand", "cat", "stack", "pixel_shuffle", "pixel_unshuffle", "constant_pad_nd", "flip",
    "upsample_nearest2d", "repeat", "channel_shuffle", "roll", "reflection_pad2d", "replication_pad2d",
}  # fmt: skip
_SPLITS = {"split", "split_with_sizes", "chunk", "unbind"}


def _dense(tracer: _Tracer, given: Mapping[str, Any], out: Tensor) -> _Value:
    """bias + x·W, x (rows, inputs) and W (inputs, outputs)."""
    source, weight = (given["mat1"], given["mat2"]) if "mat1" in given else (given["self"], given["mat2"])
    if given.get("beta", 1) != 1 or given.get("alpha", 1) != 1 or id(source) not in tracer.values:
        raise tracer.unknown("a matrix product by a result")
    bias = tracer.constant(given["self"]).expand(out.shape[1]) if "mat1" in given else None
    rows, shape = source.shape[0], out.shape[1:] if source.shape[0] == 1 else out.shape
    arrays = {"weight": tracer.constant(weight).T, "bias": bias}
    value = tracer.step("dense", (tracer.read(source),), shape, {"rows": rows}, arrays)
    return _Value(value, _identity(out.shape))


def _convolution(tracer: _Tracer, given: Mapping[str, Any], out: Tensor) -> _Value:
    settings: dict[str, Any] = {name: list(given[name]) for name in ("stride", "padding", "dilation")}
    settings |= {"kernel": list(given["weight"].shape[2:]), "groups": given["groups"]}
    settings["source"] = list(given["input"].shape[1:])
    if out.ndim != 4:
        raise tracer.unknown("a convolution that is not of pictures")
    bias = None if given["bias"] is None else tracer.constant(given["bias"])
    op = "upconv" if given["transposed"] else "conv"
    return tracer.result(op, given["input"], out, settings, {"weight": tracer.constant(given["weight"]), "bias": bias})


def _batch_norm(tracer: _Tracer, given: Mapping[str, Any], out: Tensor) -> _Value:
    """What it does to each channel once it is trained: one factor and one summand."""
    if given.get("training"):
        raise tracer.unknown("batch norm in training mode")
    mean, variance = tracer.constant(given["running_mean"]), tracer.constant(given["running_var"])
    scale = (variance + given["eps"]).rsqrt()
    if given["weight"] is not None:
        scale = scale * tracer.constant(given["weight"])
    shift = -mean * scale
    if given["bias"] is not None:
        shift = shift + tracer.constant(given["bias"])
    return tracer.result("affine", given["input"], out, {}, {"scale": scale, "shift": shift})


def _normalise(tracer: _Tracer, given: Mapping[str, Any], out: Tensor, groups: int, eps: float) -> _Value:
    """Each of `groups` runs of elements to mean 0 and variance 1, then a factor and summand per channel or element."""
    value = tracer.result("normalise", given["input"], out, {"groups": groups, "eps": eps})
    if given["weight"] is None:
        return value
    arrays = {"scale": tracer.constant(given["weight"]), "shift": tracer.constant(given["bias"])}
    if "normalized_shape" in given:  # one for each element of the last dimensions
        arrays = {name: array.expand(out.shape[1:]) for name, array in arrays.items()}
    return _Value(tracer.step("affine", (value.base,), out.shape[1:], {}, arrays), value.index)


def _layer_norm(tracer: _Tracer, given: Mapping[str, Any], out: Tensor) -> _Value:
    return _normalise(tracer, given, out, out.numel() // math.prod(given["normalized_shape"]), given["eps"])


def _group_norm(tracer: _Tracer, given: Mapping[str, Any], out: Tensor) -> _Value:
    return _normalise(tracer, given, out, given["group"], given["eps"])


def _arithmetic(op: str) -> Callable[[_Tracer, Mapping[str, Any], Tensor], _Value]:
    """x + c, x - c, c - x, x·c, x / c with a constant, or two results of the same shape so combined."""

    def step(tracer: _Tracer, given: Mapping[str, Any], out: Tensor) -> _Value:
        left, right, alpha = given["self"], given["other"], float(given.get("alpha", 1) or 1)
        traced = [isinstance(side, Tensor) and id(side) in tracer.values for side in (left, right)]
        if all(traced):
            if left.shape != right.shape or alpha != 1:
                raise tracer.unknown(f"aten.{op} of results of different shapes")
            sources = (tracer.read(left), tracer.read(right))
            return _Value(tracer.step(op, sources, out.shape[1:]), _identity(out.shape))
        source, other = (left, tracer.constant(right)) if traced[0] else (right, tracer.constant(left))
        if source.shape != out.shape or (op == "div" and not traced[0]):
            raise tracer.unknown(f"aten.{op} of different shapes")
        one = torch.ones(())
        scale, shift = {
            "add": (one, other * alpha) if traced[0] else (one * alpha, other),
            "sub": (one, -other * alpha) if traced[0] else (-one * alpha, other),
            "mul": (other, 0 * other),
            "div": (1 / other, 0 * other),
        }[op]
        arrays = {"scale": _broadcast(scale, out), "shift": _broadcast(shift, out)}
        size = max(array.numel() for array in arrays.values())
        arrays = {name: array.expand(size) if array.numel() == 1 else array for name, array in arrays.items()}
        if len({array.numel() for array in arrays.values()}) > 1:
            raise tracer.unknown(f"aten.{op} of different shapes")
        return tracer.result("affine", source, out, {}, arrays)

    return step


def _broadcast(constant: Tensor, out: Tensor) -> Tensor:
    """A constant as one number, one per channel, or one per element."""
    shape = (1,) * (out.ndim - constant.ndim) + tuple(constant.shape)
    if constant.numel() == 1:
        return constant.reshape(1)
    per_channel = shape[1] == constant.numel() and out.shape[1] == constant.numel()
    return constant.reshape(-1) if per_channel else constant.reshape(shape)[0].expand(out.shape[1:]).reshape(-1)


def _reverse_sub(tracer: _Tracer, given: Mapping[str, Any], out: Tensor) -> _Value:
    arrays = {"scale": torch.full((1,), -float(given["alpha"])), "shift": tracer.constant(given["other"]).reshape(1)}
    return tracer.result("affine", given["self"], out, {}, arrays)


def _reduce(op: str) -> Callable[[_Tracer, Mapping[str, Any], Tensor], _Value]:
    """The mean, sum or Euclidean norm over the last dimensions."""

    def step(tracer: _Tracer, given: Mapping[str, Any], out: Tensor) -> _Value:
        source = given["self"]
        dims = sorted(dim % source.ndim for dim in given.get("dim") or range(source.ndim))
        if dims != list(range(dims[0], source.ndim)) or (dims[0] == 0 and source.shape[0] > 1):
            raise tracer.unknown(f"aten.{op} over other than the last dimensions")
        count = math.prod(source.shape[dim] for dim in dims)
        if op == "norm":
            if given["ord"] != 2:
                raise tracer.unknown(f"a norm of order {given['ord']}")
            return tracer.result("norm", source, out, {"count": count})
        scale = 1 / count if op == "mean" else 1.0
        return tracer.result("reduce", source, out, {"count": count, "scale": scale})

    return step


def _pool(op: str) -> Callable[[_Tracer, Mapping[str, Any], Tensor], _Value]:
    def step(tracer: _Tracer, given: Mapping[str, Any], out: Tensor) -> _Value:
        kernel = list(given["kernel_size"])
        stride, source = list(given["stride"] or kernel), list(given["self"].shape[1:])
        settings = {"kernel": kernel, "stride": stride, "padding": list(given["padding"]), "source": source}
        unusual = given.get("divisor_override") or (op == "avgpool" and not given["count_include_pad"])
        if unusual or list(given.get("dilation", (1, 1))) not in ([1, 1], [1]):
            raise tracer.unknown(f"{op} with these settings")
        return tracer.result(op, given["self"], out, settings)

    return step


def _pool_to_one(tracer: _Tracer, given: Mapping[str, Any], out: Tensor) -> _Value:
    if out.shape[2:] != (1, 1):
        raise tracer.unknown("adaptive pooling to more than one place")
    count = given["self"].shape[2] * given["self"].shape[3]
    return tracer.result("reduce", given["self"], out, {"count": count, "scale": 1 / count})


def _activation(op: str, **settings: str) -> Callable[[_Tracer, Mapping[str, Any], Tensor], _Value]:
    """An activation; `settings` name the arguments of the operation that the page needs."""

    def step(tracer: _Tracer, given: Mapping[str, Any], out: Tensor) -> _Value:
        chosen = {name: given[argument] for name, argument in settings.items()}
        return tracer.result(op, given["self"], out, {name: v for name, v in chosen.items() if v is not None})

    return step


_STEPS: dict[str, Callable[[_Tracer, Mapping[str, Any], Tensor], _Value]] = {
    "addmm": _dense, "mm": _dense, "convolution": _convolution, "native_batch_norm": _batch_norm,
    "_native_batch_norm_legit_no_training": _batch_norm, "native_layer_norm": _layer_norm,
    "native_group_norm": _group_norm, "add": _arithmetic("add"), "sub": _arithmetic("sub"),
    "mul": _arithmetic("mul"), "div": _arithmetic("div"), "rsub": _reverse_sub, "mean": _reduce("mean"),
    "sum": _reduce("sum"), "linalg_vector_norm": _reduce("norm"), "max_pool2d_with_indices": _pool("maxpool"),
    "avg_pool2d": _pool("avgpool"), "_adaptive_avg_pool2d": _pool_to_one, "relu": _activation("relu"),
    "tanh": _activation("tanh"), "sigmoid": _activation("sigmoid"),
    "leaky_relu": _activation("leaky", slope="negative_slope"),
    "elu": _activation("elu", alpha="alpha", scale="scale", input_scale="input_scale"),
    "silu": _activation("silu"), "gelu": _activation("gelu", approximate="approximate"),
    "softplus": _activation("softplus", beta="beta"), "hardtanh": _activation("clamp", low="min_val", high="max_val"),
    "clamp": _activation("clamp", low="min", high="max"), "clamp_min": _activation("clamp", low="min"),
    "clamp_max": _activation("clamp", high="max"), "exp": _activation("exp"), "abs": _activation("abs"),
    "hardswish": _activation("hardswish"), "hardsigmoid": _activation("hardsigmoid"),
}  # fmt: skip
