"""Results of single operations rounded as asked: once, and up, down, to zero or to nearest. Pure; runs in the runner.

In and out: floats, one for all lanes or one per lane.

Modes are named as in PTX and CUDA: "rn" (to nearest, ties to even), "rz" (to zero), "ru" (up), "rd" (down).
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt

Exact = Callable[..., Fraction]
# Operands beyond these are left to exact arithmetic: Dekker's product would overflow or lose bits.
_LARGE, _SMALL = 2.0**480, 2.0**-480


def round_fraction(value: Fraction, dtype: np.dtype[Any], mode: str) -> float:
    """``value`` as the float of ``dtype`` that the mode names; what is too large is infinite or the largest number."""
    if value == 0:
        return 0.0
    limits = np.finfo(dtype)
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    # Subnormal numbers have the spacing of the smallest normal ones.
    spacing = Fraction(2) ** (max(exponent, int(limits.minexp)) - int(limits.nmant))
    steps, rest = divmod(size / spacing, 1)
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and steps % 2 == 1),
        "rz": False,
        "ru": rest > 0 and value > 0,
        "rd": rest > 0 and value < 0,
    }[mode]
    size = (steps + up) * spacing
    largest = Fraction(float(limits.max))
    if size > largest:
        to_largest = mode == "rz" or (mode == "ru" and value < 0) or (mode == "rd" and value > 0)
        size_float = float(limits.max) if to_largest else math.inf
    else:
        size_float = float(size)
    return -size_float if value < 0 else size_float


def directed(function: Callable[..., Any], exact: Exact, mode: str) -> Callable[..., Any]:
    """``function`` of floats, rounded by ``mode``; ``exact`` is the same on fractions.

    Where an operand or the result is zero, infinite or NaN, the mode makes no difference, but for an exact zero sum.
    """

    def operation(*operands: Any) -> Any:
        nearest = np.asarray(function(*operands))
        dtype = nearest.dtype
        flat = [np.broadcast_to(operand, nearest.shape).reshape(-1) for operand in operands]
        out = nearest.reshape(-1).copy()
        for k, values in enumerate(zip(*flat, strict=True)):
            if not all(math.isfinite(value) for value in values):
                continue
            try:
                value = exact(*(Fraction(float(v)) for v in values))
            except (ZeroDivisionError, ValueError):
                continue
            if value != 0:
                out[k] = round_fraction(value, dtype, mode)
            elif mode == "rd" and function in (np.add, np.subtract) and any(v != 0 for v in values):
                out[k] = -0.0
        return out.reshape(nearest.shape)[()]

    return operation


def _square_root(mode: str) -> Callable[[Any], Any]:
    def operation(value: Any) -> Any:
        nearest = np.sqrt(value)
        below, above = np.nextafter(nearest, -np.inf), np.nextafter(nearest, np.inf)
        side = np.vectorize(_side_of_root, otypes=[np.int64])(nearest, value)
        if mode == "ru":
            return np.where(side > 0, above, nearest).astype(nearest.dtype)[()]
        return np.where(side < 0, below, nearest).astype(nearest.dtype)[()]

    return np.sqrt if mode == "rn" else operation


def _side_of_root(root: float, value: float) -> int:
    """Whether the exact root is larger (1), smaller (-1) or equal."""
    if not math.isfinite(root):
        return 0
    square = Fraction(float(root)) ** 2
    return (Fraction(float(value)) > square) - (Fraction(float(value)) < square)


ADD = {mode: directed(np.add, operator.add, mode) if mode != "rn" else np.add for mode in ("rn", "rz", "ru", "rd")}
SUBTRACT = {mode: directed(np.subtract, operator.sub, mode) if mode != "rn" else np.subtract for mode in ADD}
MULTIPLY = {mode: directed(np.multiply, operator.mul, mode) if mode != "rn" else np.multiply for mode in ADD}
DIVIDE = {mode: directed(np.true_divide, operator.truediv, mode) if mode != "rn" else np.true_divide for mode in ADD}
SQUARE_ROOT = {mode: _square_root(mode) for mode in ADD}


def narrow(value: Any, dtype: np.dtype[Any], mode: str) -> Any:
    """A number, or one per lane, as a float of ``dtype``, rounded by ``mode``."""
    nearest = np.asarray(value).astype(dtype)
    if mode == "rn":
        return nearest[()]
    out = nearest.reshape(-1).copy()
    for k, number in enumerate(np.asarray(value).reshape(-1).tolist()):
        if isinstance(number, int) or math.isfinite(number):
            fraction = Fraction(number)
            if fraction != 0:
                out[k] = round_fraction(fraction, dtype, mode)
    return out.reshape(nearest.shape)[()]


# ---------------------------------------------------------------------------- a * b + c, rounded once


def _two_sum(a: Any, b: Any) -> tuple[Any, Any]:
    """A sum and its rounding error (D. Knuth, "The Art of Computer Programming", volume 2, 4.2.2)."""
    total = a + b
    other = total - a
    return total, (a - (total - other)) + (b - other)


def _two_product(a: Any, b: Any) -> tuple[Any, Any]:
    """A product and its rounding error (T. J. Dekker, "A floating-point technique for extending precision", 1971)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _split(a), _split(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _split(a: Any) -> tuple[Any, Any]:
    scaled = 134217729.0 * a  # 2**27 + 1
    high = scaled - (scaled - a)
    return high, a - high


def _to_odd(a: Any, b: Any) -> npt.NDArray[np.float64]:
    """A + b, where it is not exact the neighbour whose last bit is 1: rounding once more is then right."""
    total, error = _two_sum(a, b)
    total = np.array(total, np.float64, copy=True, ndmin=1)
    error = np.broadcast_to(error, total.shape)
    even = (total.view(np.int64) & 1) == 0
    towards = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
    return np.where((error != 0) & even, towards, total)


def fused_multiply_add(a: Any, b: Any, c: Any) -> Any:
    """A * b + c rounded once, to nearest, for float16, float32 and float64, one per lane or one for all.

    S. Boldo, G. Melquiond, "Emulation of a FMA and correctly rounded sums: proved algorithms using rounding to odd",
    IEEE Transactions on Computers 57 (2008). Very large and very small float64 operands go through exact fractions.
    """
    dtype = np.result_type(a, b, c)
    shape = np.broadcast_shapes(np.shape(a), np.shape(b), np.shape(c))
    x, y, z = (np.asarray(operand, np.float64) for operand in (a, b, c))
    if dtype != np.float64:
        product = x * y  # exact: twice 24 bits fit into 53
        result = np.where(np.isfinite(product + z), _to_odd(product, z).reshape(shape), product + z).astype(dtype)
        # An exact zero keeps the sign that the sum gives it.
        return np.where(product + z == 0, (product + z).astype(dtype), result)[()]
    high, low = _two_product(x, y)
    sum_high, sum_low = _two_sum(z, low)
    total, error = _two_sum(high, sum_high)
    result = total + _to_odd(sum_low, error).reshape(shape)
    plain = x * y + z
    size = np.abs(x * y)
    hard = (size > _LARGE) | ((size < _SMALL) & (x != 0) & (y != 0)) | (np.abs(x) > _LARGE) | (np.abs(y) > _LARGE)
    hard |= (np.abs(z) > _LARGE) | ((np.abs(z) < _SMALL) & (z != 0))
    zero = (high + z == 0) & (low == 0)
    result = np.where(np.isfinite(plain) & ~zero, result, plain)
    hard = np.broadcast_to(hard & np.isfinite(x) & np.isfinite(y) & np.isfinite(z), shape)
    if hard.any():
        exact = directed(lambda *v: plain, lambda p, q, r: p * q + r, "rn")(x, y, z)
        result = np.where(hard, exact, result)
    return result[()]


def fused_multiply_add_directed(mode: str) -> Callable[..., Any]:
    """A * b + c rounded once, by ``mode``."""
    if mode == "rn":
        return fused_multiply_add
    return directed(lambda a, b, c: np.asarray(a * b + c), lambda p, q, r: p * q + r, mode)
