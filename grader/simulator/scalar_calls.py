"""Functions and methods of single numbers that return several, or that Numba composes. Runs in the runner.

In: calls of typed IR. Out: steps of a body.

``math.frexp`` and its like, ``round`` to digits, ``cmath``, complex numbers, bit casts.
"""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from grader.simulator.body import Body
from grader.simulator.frontend import types
from grader.simulator.numba_types import convert, dtype_of, is_scalar, plain
from grader.simulator.registry import DEVICE_CALLS, Handler

Operation = Callable[..., Any]


def scalar_call(operation: Operation, *, each: int = 1) -> Handler:
    """A translation: arguments cast as the signature says, results to the returned types; ``each``: flops it takes."""

    def handler(body: Body, target: Any, expr: Any, signature: Any) -> None:
        returned = signature.return_type
        several = isinstance(returned, types.BaseTuple)
        dtypes = [dtype_of(item) for item in (returned if several else (returned,))]
        operands = tuple(
            body.cast_register(body.register(arg.name), body.type_of(arg), wanted)
            for arg, wanted in zip(expr.args, signature.args, strict=False)
        )

        def results(*values: Any) -> Any:
            found = operation(*values)
            if not several:
                return convert(np.asarray(found)[()], dtypes[0])
            return tuple(convert(np.asarray(item)[()], dtype) for item, dtype in zip(found, dtypes, strict=True))

        body.compute(body.register(target.name), results, operands)
        if each and is_scalar(returned):
            body.note_flops(returned, each=each)

    return handler


# ---------------------------------------------------------------------------- round(x, n)


def _round_to(value: Any, digits: Any) -> Any:
    """``round(x, n)`` by the method of CPython's fallback, which Numba's CUDA target follows: scale, round, unscale.

    The rounding goes through a 64-bit integer there, so what is larger ends at its limits here, too.
    """
    x = np.asarray(value, np.float64)
    places = np.asarray(digits, np.int64)
    power = np.power(10.0, np.minimum(np.abs(places), 22).astype(np.float64))
    more = np.power(10.0, np.maximum(np.abs(places) - 22, 0).astype(np.float64))
    scale, rest = np.where(places > 22, more, power), np.where(places > 22, 1e22, 1.0)
    negative_scale = np.power(10.0, np.abs(places).astype(np.float64))
    y = np.where(places >= 0, (x * scale) * rest, x / negative_scale)
    z = _through_int64(y)
    z = np.where(np.abs(y - z) == 0.5, 2.0 * _through_int64(y / 2.0), z)
    result = np.where(places >= 0, (z / rest) / scale, z * negative_scale)
    keep = ~np.isfinite(x) | ((places >= 0) & np.isinf(y))
    return np.where(keep, x, result)


def _through_int64(value: Any) -> Any:
    return np.asarray(convert(np.rint(value), np.dtype(np.int64))).astype(np.float64)


_round_to_digits = scalar_call(_round_to)


def round_number(body: Body, target: Any, expr: Any, signature: Any) -> bool:
    """``round(x, n)``; False for ``round(x)``."""
    if len(expr.args) < 2:
        return False
    _round_to_digits(body, target, expr, signature)
    return True


# ---------------------------------------------------------------------------- math, cmath, complex


def make_complex(body: Body, target: Any, expr: Any, signature: Any) -> None:
    """``complex(real, imag)``."""
    dtype = dtype_of(signature.return_type)
    operands = tuple(body.cast_register(body.register(arg.name), body.type_of(arg), types.float64) for arg in expr.args)
    body.compute(body.register(target.name), lambda real, imag: convert(_complex(real, imag), dtype), operands)


def _complex(real: Any, imag: Any) -> Any:
    """Both parts as they are: ``real + 1j * imag`` would mix infinities and signs of zero."""
    out = np.empty(np.broadcast_shapes(np.shape(real), np.shape(imag)), np.complex128)
    out.real, out.imag = real, imag
    return out[()]


def _polar(value: Any) -> tuple[Any, Any]:
    return np.abs(value), np.angle(value)


def _exponential(value: Any) -> Any:
    """Numba gives a zero without signs for minus infinity and an angle that is none (C11, G.6.3.1: they are free)."""
    none = np.isneginf(np.real(value)) & ~np.isfinite(np.imag(value))
    return np.where(none, np.zeros_like(value), np.exp(value))


def _logarithm(value: Any, base: Any | None = None) -> Any:
    return np.log(value) if base is None else np.log(value) / np.log(base)


_FUNCTIONS: dict[Any, Operation] = {
    math.frexp: np.frexp,
    math.modf: np.modf,
    math.ldexp: np.ldexp,
    np.ldexp: np.ldexp,
    cmath.phase: np.angle,
    cmath.polar: _polar,
    cmath.exp: _exponential,
    cmath.log: _logarithm,
    cmath.isnan: np.isnan,
    cmath.isinf: np.isinf,
    cmath.isfinite: np.isfinite,
}
for _name in ("log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"):
    _FUNCTIONS[getattr(cmath, _name)] = getattr(np, _name)
for _name in ("asin", "acos", "atan", "asinh", "acosh", "atanh"):
    _FUNCTIONS[getattr(cmath, _name)] = getattr(np, "arc" + _name[1:])
for _function, _operation in _FUNCTIONS.items():
    DEVICE_CALLS[_function] = scalar_call(_operation)


# ---------------------------------------------------------------------------- methods of numbers


def _view(body: Body, target: Any, value: Any, signature: Any) -> None:
    """``x.view(dtype)``: the same bits."""
    dtype = dtype_of(signature.return_type)
    body.compute(
        body.register(target.name),
        lambda number: np.ascontiguousarray(number).view(dtype).reshape(np.shape(number))[()],
        (body.register(value.name),),
    )


def _through(operation: Operation) -> Callable[[Body, Any, Any, Any], None]:
    def method(body: Body, target: Any, value: Any, signature: Any) -> None:
        dtype = dtype_of(signature.return_type)
        body.compute(
            body.register(target.name),
            lambda number: convert(operation(number), dtype),
            (body.register(value.name),),
        )

    return method


_METHODS: dict[str, Callable[[Body, Any, Any, Any], None]] = {
    "view": _view,
    "conjugate": _through(np.conjugate),
    "item": _through(lambda value: value),
    "bit_count": _through(np.bitwise_count),
}


def translate_number_method(body: Body, target: Any, value: Any, name: str, signature: Any) -> bool:
    """``target = value.name(...)`` of a number; False where the simulator does not know it."""
    if not is_scalar(plain(body.type_of(value))) or name not in _METHODS:
        return False
    _METHODS[name](body, target, value, signature)
    return True
