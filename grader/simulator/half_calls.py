"""``numba.cuda.fp16``: functions of half-precision floats. Runs in the runner.

In: calls of typed IR. Out: steps of a body.

What each computes is in NVIDIA's "CUDA Math API", sections "Half Precision Intrinsics". NumPy's float16 arithmetic
computes in float32 and rounds once more, which for +, -, *, / and sqrt is the correctly rounded result (S. Figueroa,
"When is double rounding innocuous?", 1995: 24 bits are at least twice 11, and two).
"""

from __future__ import annotations

import contextlib
import importlib
import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from grader.simulator.body import Body
from grader.simulator.frontend import types
from grader.simulator.numba_types import convert, dtype_of
from grader.simulator.registry import register_call
from grader.simulator.rounding import fused_multiply_add, narrow

Operation = Callable[..., Any]
_HALF = np.dtype(np.float16)
_ROUND: dict[str, Operation] = {"rn": np.rint, "rz": np.trunc, "ru": np.ceil, "rd": np.floor}


def _saturated(operation: Operation) -> Operation:
    """Clamped to 0 … 1; NaN is 0."""

    def saturate(*values: Any) -> Any:
        result = operation(*values)
        return np.where(np.isnan(result), np.float16(0), np.clip(result, np.float16(0), np.float16(1)))

    return saturate


def _relu(*values: Any) -> Any:
    result = fused_multiply_add(*values)
    return np.where(result < 0, np.float16(0), result)


def _in_float32(function: Operation) -> Operation:
    return lambda value: function(np.asarray(value, np.float32)).astype(_HALF)


def _to_integer(mode: str, dtype: np.dtype[Any]) -> Operation:
    """Rounded; what does not fit ends at the limits, and NaN is 0 (PTX ISA, "cvt")."""

    def operation(value: Any) -> Any:
        limits = np.iinfo(dtype)
        whole = _ROUND[mode](np.asarray(value, np.float64))
        inside = np.where(np.isfinite(whole), whole, 0).astype(np.float64)
        inside = np.clip(inside, float(limits.min), 2.0**17)
        clipped = np.clip(inside.astype(np.int64), int(limits.min), min(int(limits.max), 2**17)).astype(dtype)
        low, high = dtype.type(limits.min), dtype.type(limits.max)
        return np.where(np.isposinf(whole), high, np.where(np.isneginf(whole), low, clipped))

    return operation


def _bits_as(dtype: np.dtype[Any]) -> Operation:
    return lambda value: np.ascontiguousarray(value).view(dtype).reshape(np.shape(value))


def _unordered(comparison: Operation) -> Operation:
    return lambda a, b: comparison(a, b) | np.isnan(a) | np.isnan(b)


def _propagating(function: Operation) -> Operation:
    return lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.float16(np.nan), function(a, b))


_HALF_FUNCTIONS: dict[str, Operation] = {
    "habs": np.abs,
    "hneg": np.negative,
    "hfma": fused_multiply_add,
    "hfma_sat": _saturated(fused_multiply_add),
    "hfma_relu": _relu,
    "hmax": np.fmax,
    "hmin": np.fmin,
    "hmax_nan": _propagating(np.fmax),
    "hmin_nan": _propagating(np.fmin),
    "hisnan": np.isnan,
    "hisinf": lambda value: np.where(np.isinf(value), np.sign(value), 0),
    "hrcp": _in_float32(lambda value: 1 / value),
    "hrsqrt": _in_float32(lambda value: 1 / np.sqrt(value)),
    "hsqrt": np.sqrt,
    "hexp10": _in_float32(lambda value: np.power(np.float32(10), value)),
    "hrint": np.rint,
    "htanh_approx": _in_float32(np.tanh),
    "half2float": lambda value: np.asarray(value, np.float32),
    "double2half": lambda value: narrow(value, _HALF, "rn"),
    "float2half": lambda value: narrow(value, _HALF, "rn"),
    "short_as_half": _bits_as(_HALF),
    "ushort_as_half": _bits_as(_HALF),
    "half_as_short": _bits_as(np.dtype(np.int16)),
    "half_as_ushort": _bits_as(np.dtype(np.uint16)),
}
for _name in ("ceil", "cos", "exp", "exp2", "floor", "log", "log10", "log2", "sin", "tanh", "trunc"):
    _HALF_FUNCTIONS["h" + _name] = _in_float32(getattr(np, _name))
for _name, _function in (("add", np.add), ("sub", np.subtract), ("mul", np.multiply), ("div", np.true_divide)):
    _HALF_FUNCTIONS["h" + _name] = _HALF_FUNCTIONS[f"h{_name}_rn"] = _function
    _HALF_FUNCTIONS[f"h{_name}_sat"] = _saturated(_function)
for _name in ("eq", "ge", "gt", "le", "lt"):
    _HALF_FUNCTIONS["h" + _name] = getattr(operator, _name)
    _HALF_FUNCTIONS[f"h{_name}u"] = _unordered(getattr(operator, _name))
# Not equal, where neither is NaN; the unordered one is true there.
_HALF_FUNCTIONS["hne"] = lambda a, b: (a != b) & ~np.isnan(a) & ~np.isnan(b)
_HALF_FUNCTIONS["hneu"] = operator.ne
for _mode in ("rn", "rz", "ru", "rd"):
    for _name in ("float", "int", "uint", "short", "ushort", "ll", "ull"):
        _HALF_FUNCTIONS[f"{_name}2half_{_mode}"] = lambda value, m=_mode: narrow(value, _HALF, m)
    for _name, _dtype in (
        *(("int", np.int32), ("uint", np.uint32), ("short", np.int16), ("ushort", np.uint16)),
        *(("ll", np.int64), ("ull", np.uint64), ("char", np.int8), ("uchar", np.uint8)),
    ):
        _HALF_FUNCTIONS[f"half2{_name}_{_mode}"] = _to_integer(_mode, np.dtype(_dtype))


def _translate(operation: Operation, name: str, body: Body, target: Any, expr: Any, signature: Any) -> None:
    dtype = dtype_of(signature.return_type)
    operands = tuple(
        body.cast_register(body.register(arg.name), body.type_of(arg), wanted)
        for arg, wanted in zip(expr.args, signature.args, strict=True)
    )
    body.compute(
        body.register(target.name), lambda *values: convert(np.asarray(operation(*values))[()], dtype), operands
    )
    if isinstance(signature.return_type, types.Float) and "2half" not in name and "as_half" not in name:
        body.note_flops(signature.return_type, each=2 if "fma" in name else 1)


with contextlib.suppress(ImportError):  # where it is a module, as in numba-cuda, nobody may have asked for it yet
    importlib.import_module("numba.cuda.fp16")
for _name, _operation in _HALF_FUNCTIONS.items():
    for _spelling in (_name, "__" + _name):
        register_call("fp16." + _spelling, partial(_translate, _operation, _name))
