"""What Python's operators and the functions of ``math`` mean on lanes, in NumPy. Runs in the runner.

In: an operator or a function. Out: the same on values of lanes.

Each entry takes values that are already cast as Numba casts them. Integer arithmetic wraps, floats follow IEEE
754 (the launch runs under ``np.errstate(all="ignore")``), as compiled kernels do under Numba's NumPy error model.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

Operation = Callable[..., Any]


def _power(a: Any, b: Any) -> Any:
    """Integers to negative powers give the truncated quotient, and zero the smallest integer, as Numba has it."""
    kind = np.result_type(a, b).kind
    if kind == "f" and not isinstance(b, np.ndarray) and b == 0.5:
        # NumPy takes the square root, whose results for -inf and -0.0 are others (C11, F.10.4.4 and F.10.4.5).
        return np.where(np.equal(a, -np.inf), -a, np.power(a + a.dtype.type(0), b))[()]
    if kind not in "iu" or not np.any(np.less(b, 0)):
        return np.power(a, b)
    negative = np.less(b, 0)
    power = np.power(a, np.abs(b))
    dtype = np.asarray(power).dtype
    quotient = np.where(np.equal(a, 0), np.iinfo(dtype).min, np.where(np.abs(power) == 1, power, 0)).astype(dtype)
    return np.where(negative, quotient, power)[()]


ARITHMETIC: dict[Any, Operation] = {
    operator.add: np.add,
    operator.sub: np.subtract,
    operator.mul: np.multiply,
    operator.truediv: np.true_divide,
    operator.floordiv: np.floor_divide,
    operator.mod: np.remainder,
    operator.pow: _power,
    operator.and_: np.bitwise_and,
    operator.or_: np.bitwise_or,
    operator.xor: np.bitwise_xor,
    operator.lshift: np.left_shift,
    operator.rshift: np.right_shift,
}
INPLACE: dict[Any, Any] = {
    operator.iadd: operator.add,
    operator.isub: operator.sub,
    operator.imul: operator.mul,
    operator.itruediv: operator.truediv,
    operator.ifloordiv: operator.floordiv,
    operator.imod: operator.mod,
    operator.ipow: operator.pow,
    operator.iand: operator.and_,
    operator.ior: operator.or_,
    operator.ixor: operator.xor,
    operator.ilshift: operator.lshift,
    operator.irshift: operator.rshift,
}
COMPARISONS: dict[Any, Operation] = {
    operator.lt: np.less,
    operator.le: np.less_equal,
    operator.gt: np.greater,
    operator.ge: np.greater_equal,
    operator.eq: np.equal,
    operator.ne: np.not_equal,
    operator.is_: np.equal,
    operator.is_not: np.not_equal,
}
UNARY: dict[Any, Operation] = {
    operator.neg: np.negative,
    operator.pos: np.positive,
    operator.invert: np.invert,
    operator.not_: np.logical_not,
}


def _equal(a: Any, b: Any) -> Any:
    """Whether two numbers, or two tuples of equal things, are equal."""
    if not (isinstance(a, tuple) and isinstance(b, tuple)):
        return np.False_ if isinstance(a, tuple) or isinstance(b, tuple) else np.equal(a, b)
    if len(a) != len(b):
        return np.False_
    return reduce(np.logical_and, (_equal(x, y) for x, y in zip(a, b, strict=True)), np.True_)


def _before(a: Any, b: Any) -> Any:
    """Whether ``a`` comes first: of tuples, the first unequal items decide, and a beginning comes before the whole."""
    if not isinstance(a, tuple):
        return np.less(a, b)
    less: Any = np.bool_(len(a) < len(b))
    for x, y in reversed(list(zip(a, b, strict=False))):
        less = np.where(_equal(x, y), less, _before(x, y))[()]
    return less


def _contains(items: tuple[Any, ...], value: Any) -> Any:
    return reduce(np.logical_or, (_equal(item, value) for item in items), np.False_)


# Of tuples; items are numbers or tuples.
TUPLE_OPERATIONS: dict[Any, Operation] = {
    operator.eq: _equal,
    operator.ne: lambda a, b: np.logical_not(_equal(a, b)),
    operator.lt: _before,
    operator.gt: lambda a, b: _before(b, a),
    operator.le: lambda a, b: np.logical_not(_before(b, a)),
    operator.ge: lambda a, b: np.logical_not(_before(a, b)),
    operator.add: lambda a, b: a + b,
    operator.contains: _contains,
}


def elementwise(function: Callable[..., float]) -> Operation:
    """A function of Python's math that NumPy lacks, for lanes; domain errors give nan, as on a GPU."""

    def safe(*values: float) -> float:
        try:
            return function(*values)
        except ValueError:
            return math.nan
        except OverflowError:
            return math.inf

    by_lane = np.vectorize(safe, otypes=[np.float64])
    return lambda *values: by_lane(*values)[()]  # one number where all lanes share one


def _largest(*values: Any) -> Any:
    """Of floats, the other one where one is NaN: PTX ``max`` (PTX ISA, "Floating Point Instructions: max")."""
    result = values[0]
    for value in values[1:]:
        result = np.fmax(result, value)
    return result


def _smallest(*values: Any) -> Any:
    result = values[0]
    for value in values[1:]:
        result = np.fmin(result, value)
    return result


def _gamma(x: float) -> float:
    """CUDA Math API, tgamma: Python has no value at 0."""
    return math.copysign(math.inf, x) if x == 0 else math.gamma(x)


def _log_gamma(x: float) -> float:
    """CUDA Math API, lgamma: Python has no value at the poles."""
    return math.inf if x == -math.inf or (x <= 0 and float(x).is_integer()) else math.lgamma(x)


def chosen(before: Operation) -> Operation:
    """The value that stays when each next one replaces it where ``before`` holds: NaN replaces nothing."""

    def operation(*values: Any) -> Any:
        kept = values[0]
        for value in values[1:]:
            kept = np.where(before(value, kept), value, kept)[()]
        return kept

    return operation


# Numba calls libdevice's fmax and fmin for two floats; of anything else it compares one after the other.
MOST_OF_MIXED: dict[Any, Operation] = {max: chosen(np.greater), min: chosen(np.less)}
MATH: dict[Any, Operation] = {
    math.sqrt: np.sqrt,
    math.exp: np.exp,
    math.expm1: np.expm1,
    math.log: np.log,
    math.log1p: np.log1p,
    math.log2: np.log2,
    math.log10: np.log10,
    math.sin: np.sin,
    math.cos: np.cos,
    math.tan: np.tan,
    math.asin: np.arcsin,
    math.acos: np.arccos,
    math.atan: np.arctan,
    math.atan2: np.arctan2,
    math.sinh: np.sinh,
    math.cosh: np.cosh,
    math.tanh: np.tanh,
    math.asinh: np.arcsinh,
    math.acosh: np.arccosh,
    math.atanh: np.arctanh,
    math.pow: _power,
    math.hypot: np.hypot,
    math.fabs: np.abs,
    math.fmod: np.fmod,
    math.copysign: np.copysign,
    math.floor: np.floor,
    math.ceil: np.ceil,
    math.trunc: np.trunc,
    math.isnan: np.isnan,
    math.isinf: np.isinf,
    math.isfinite: np.isfinite,
    math.exp2: np.exp2,
    math.nextafter: np.nextafter,
    math.degrees: np.degrees,
    math.radians: np.radians,
    math.erf: elementwise(math.erf),
    math.erfc: elementwise(math.erfc),
    math.gamma: elementwise(_gamma),
    math.lgamma: elementwise(_log_gamma),
    math.remainder: elementwise(math.remainder),
    abs: np.abs,
    round: np.rint,
    max: _largest,
    min: _smallest,
    pow: _power,
    operator.pow: _power,
}
# NumPy functions on scalars: whatever takes numbers and gives one.
for _function in vars(np).values():
    if isinstance(_function, np.ufunc) and _function.nout == 1 and _function.signature is None:
        MATH[_function] = _function
# They pick, or move bits.
NO_FLOPS = {abs, max, min, np.abs, np.fabs, np.maximum, np.minimum, np.fmax, np.fmin, np.copysign, np.negative, np.sign}
