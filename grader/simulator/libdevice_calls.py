"""The functions of libdevice, by name: ``numba.cuda.libdevice``. Runs in the runner.

In: a function's name. Out: what it computes on lanes.

What each computes is in NVIDIA's "Libdevice User's Guide". Integers that it calls unsigned are int32 and int64 to
Numba. Functions with pointers for results return tuples in Numba. Results of transcendental functions are NumPy's;
a GPU's may differ in the last bits, as CUDA's table of maximum errors says.
"""

from __future__ import annotations

import importlib
import math
import statistics
from collections.abc import Callable
from typing import Any

import numpy as np
from numba import cuda

from grader.simulator.body import Body
from grader.simulator.numba_types import convert, dtype_of
from grader.simulator.operations import MATH, elementwise
from grader.simulator.registry import DEVICE_CALLS, Handler
from grader.simulator.rounding import (
    ADD,
    DIVIDE,
    MULTIPLY,
    SQUARE_ROOT,
    SUBTRACT,
    fused_multiply_add,
    fused_multiply_add_directed,
    narrow,
)

Operation = Callable[..., Any]
_F16, _F32, _F64 = np.dtype(np.float16), np.dtype(np.float32), np.dtype(np.float64)
_I32, _I64, _U32, _U64 = np.dtype(np.int32), np.dtype(np.int64), np.dtype(np.uint32), np.dtype(np.uint64)


def _unsigned(value: Any) -> Any:
    return np.asarray(value).astype(_U32 if np.asarray(value).dtype == _I32 else _U64)


def _bits(value: Any, dtype: np.dtype[Any]) -> Any:
    return np.ascontiguousarray(value).view(dtype).reshape(np.shape(value))[()]


def _on_unsigned(operation: Operation) -> Operation:
    return lambda *values: operation(*map(_unsigned, values))


def _wide(*values: Any) -> list[Any]:
    return [np.asarray(value).astype(object) for value in values]


def _high(bits: int, *, signed: bool) -> Operation:
    """The upper half of a product."""

    def operation(a: Any, b: Any) -> Any:
        x, y = _wide(a, b) if signed else _wide(_unsigned(a), _unsigned(b))
        return np.asarray((x * y) >> bits).astype(object)

    return lambda a, b: _wrapped(operation(a, b), bits)


def _wrapped(values: Any, bits: int) -> Any:
    """Python integers as the low ``bits`` of them."""
    return np.asarray(np.asarray(values, object) & ((1 << bits) - 1)).astype(_U32 if bits == 32 else _U64)


def _low_24(value: Any, *, signed: bool) -> Any:
    bits = np.asarray(value).astype(np.int64) & 0xFFFFFF
    return np.where(signed & (bits >> 23 != 0), bits - (1 << 24), bits)


def _average(a: Any, b: Any, *, signed: bool, up: int) -> Any:
    x, y = (np.asarray(v if signed else _unsigned(v)).astype(np.int64) for v in (a, b))
    return (x + y + up) >> 1


def _byte_perm(x: Any, y: Any, selector: Any) -> Any:
    both = _unsigned(x).astype(np.uint64) | (_unsigned(y).astype(np.uint64) << np.uint64(32))
    s, result = _unsigned(selector).astype(np.uint64), np.uint64(0)
    for k in range(4):
        which = (s >> np.uint64(4 * k)) & np.uint64(7)
        result = result | (((both >> (which * np.uint64(8))) & np.uint64(0xFF)) << np.uint64(8 * k))
    return result


def _distance(x: Any, y: Any, z: Any, *, signed: bool) -> Any:
    a, b = (np.asarray(v if signed else _unsigned(v)).astype(np.int64) for v in (x, y))
    return np.abs(a - b) + z


def _round_away(value: Any) -> Any:
    """To the nearest integer, halves away from zero."""
    whole = np.trunc(value)
    return np.where(np.abs(value - whole) >= 0.5, whole + np.copysign(1, value), whole)


def _exponent(value: Any) -> Any:
    """``ilogb``: the exponent; INT_MIN for 0 and NaN and INT_MAX for infinities."""
    exponent = np.frexp(value)[1].astype(np.int64) - 1
    exponent = np.where(np.isinf(value), 2**31 - 1, exponent)
    return np.where((value == 0) | np.isnan(value), -(2**31), exponent)


def _logb(value: Any) -> Any:
    special = np.where(value == 0, -np.inf, np.where(np.isinf(value), np.inf, value))
    ordinary = np.isfinite(value) & (value != 0)
    return np.where(ordinary, np.frexp(np.where(ordinary, value, 1))[1] - 1, special)


def _times_pi(function: Operation) -> Operation:
    """sin(pi x) and cos(pi x), exact at the quarter turns."""

    def operation(value: Any) -> Any:
        turn = np.fmod(np.asarray(value, np.float64), 2.0)
        return _quarters(function, turn)

    return operation


def _quarters(function: Operation, turn: Any) -> Any:
    quarter = np.rint(turn * 2)
    rest = (turn - quarter / 2) * np.pi
    shifted = np.mod(quarter + (1 if function is np.cos else 0), 4)
    sine, cosine = np.sin(rest), np.cos(rest)
    result = np.choose(
        np.where(np.isfinite(shifted), shifted, 0).astype(np.intp), [sine, cosine, -sine, -cosine], mode="clip"
    )
    return np.where(np.isfinite(turn), result + 0.0, np.nan)


def _inverse_normal(p: float) -> float:
    if 0 < p < 1:
        return statistics.NormalDist().inv_cdf(p)
    return -math.inf if p == 0 else math.inf if p == 1 else math.nan


def _inverse_error_function(y: float) -> float:
    """By Newton steps from the quantile of the normal distribution."""
    if abs(y) >= 1 or math.isnan(y):
        return math.copysign(math.inf, y) if abs(y) == 1 else math.nan
    x = statistics.NormalDist().inv_cdf((y + 1) / 2) / math.sqrt(2) if abs(y) < 0.999 else _start_of_tail(1 - abs(y), y)
    for _ in range(3):
        slope = 2 / math.sqrt(math.pi) * math.exp(-x * x)
        x -= (math.erf(x) - y) / slope if abs(y) < 0.5 else math.copysign(1, y) * _tail_error(x, y) / slope
    return x


def _start_of_tail(rest: float, y: float) -> float:
    return math.copysign(-statistics.NormalDist().inv_cdf(rest / 2) / math.sqrt(2), y)


def _tail_error(x: float, y: float) -> float:
    return (1 - abs(y)) - math.erfc(abs(x))


def _inverse_complement(y: float) -> float:
    if not 0 < y < 2:
        return math.inf if y == 0 else -math.inf if y == 2 else math.nan
    x = -statistics.NormalDist().inv_cdf(y / 2) / math.sqrt(2)
    for _ in range(3):
        slope = 2 / math.sqrt(math.pi) * math.exp(-x * x)
        x += (math.erfc(x) - y) / slope if slope else 0
    return x


def _scaled_complement(x: float) -> float:
    """exp(x²) erfc(x); for large x by the first terms of its asymptotic series (Abramowitz, Stegun, 7.1.23)."""
    if x < 20:
        return math.exp(x * x) * math.erfc(x)
    s = 1 / (2 * x * x)
    return (1 - s * (1 - 3 * s * (1 - 5 * s * (1 - 7 * s)))) / (x * math.sqrt(math.pi))


def _remainder_and_quotient(x: Any, y: Any) -> tuple[Any, Any]:
    """IEEE's remainder, and the low bits of the quotient with its sign."""
    pairs = np.frompyfunc(_remquo, 2, 2)(np.asarray(x, np.float64), np.asarray(y, np.float64))
    return np.asarray(pairs[0], np.float64), np.asarray(pairs[1], np.int64)


def _remquo(x: float, y: float) -> tuple[float, int]:
    if not math.isfinite(x) or math.isnan(y) or y == 0:
        return math.nan, 0
    rest = math.remainder(x, y)
    quotient = abs(round((x - rest) / y)) if math.isfinite(y) else 0
    return rest, (quotient & 7) * (-1 if (x < 0) != (y < 0) else 1)


def _remainder(x: float, y: float) -> float:
    return _remquo(x, y)[0]


def _to_integer(rounded: Operation, dtype: np.dtype[Any]) -> Operation:
    return lambda value: convert(rounded(np.asarray(value, np.float64)), dtype)


_ROUNDED: dict[str, Operation] = {"rn": np.rint, "rz": np.trunc, "ru": np.ceil, "rd": np.floor}
_POSITIVE = np.float32(0), np.float32(1)

# By name without the f of a float32 version.
_FLOAT: dict[str, Operation] = {
    "fabs": np.abs,
    "cbrt": np.cbrt,
    "cospi": _times_pi(np.cos),
    "sinpi": _times_pi(np.sin),
    "sincos": lambda x: (np.sin(x), np.cos(x)),
    "sincospi": lambda x: (_times_pi(np.sin)(x), _times_pi(np.cos)(x)),
    "erfcinv": elementwise(_inverse_complement),
    "erfinv": elementwise(_inverse_error_function),
    "erfcx": elementwise(_scaled_complement),
    "normcdf": elementwise(lambda x: math.erfc(-x / math.sqrt(2)) / 2),
    "normcdfinv": elementwise(_inverse_normal),
    "exp2": np.exp2,
    "exp10": lambda x: np.power(np.asarray(10, np.asarray(x).dtype), x),
    "tgamma": MATH[math.gamma],
    "logb": _logb,
    "ilogb": _exponent,
    "rint": np.rint,
    "nearbyint": np.rint,
    "round": _round_away,
    "llrint": _to_integer(np.rint, _I64),
    "llround": _to_integer(_round_away, _I64),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "fdim": lambda a, b: np.where(np.isnan(a) | np.isnan(b), np.nan, np.where(a > b, a - b, 0)),
    "fmax": np.fmax,
    "fmin": np.fmin,
    "nextafter": np.nextafter,
    "remainder": elementwise(_remainder),
    "remquo": _remainder_and_quotient,
    "fma": fused_multiply_add,
    "frexp": np.frexp,
    "modf": np.modf,
    "ldexp": np.ldexp,
    "scalbn": np.ldexp,
    "powi": lambda x, n: np.power(x, np.asarray(n).astype(np.asarray(x).dtype)),
    "saturate": lambda x: np.where(np.isnan(x), 0, np.clip(x, *_POSITIVE)),
}
for _function in ("acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "erfc", "exp"):
    _FLOAT[_function] = MATH[getattr(math, _function)]
for _function in ("expm1", "floor", "lgamma", "log", "log10", "log1p", "log2", "sin", "sinh", "sqrt", "tan", "tanh"):
    _FLOAT[_function] = MATH[getattr(math, _function)]
for _function in ("trunc", "atan2", "copysign", "fmod", "hypot", "pow"):
    _FLOAT[_function] = MATH[getattr(math, _function)]

_OTHER: dict[str, Operation] = {
    "abs": np.abs,
    "llabs": np.abs,
    "max": np.maximum,
    "min": np.minimum,
    "llmax": np.maximum,
    "llmin": np.minimum,
    "umax": _on_unsigned(np.maximum),
    "umin": _on_unsigned(np.minimum),
    "ullmax": _on_unsigned(np.maximum),
    "ullmin": _on_unsigned(np.minimum),
    "mulhi": _high(32, signed=True),
    "umulhi": _high(32, signed=False),
    "mul64hi": _high(64, signed=True),
    "umul64hi": _high(64, signed=False),
    "mul24": lambda a, b: _low_24(a, signed=True) * _low_24(b, signed=True),
    "umul24": lambda a, b: _low_24(a, signed=False) * _low_24(b, signed=False),
    "hadd": lambda a, b: _average(a, b, signed=True, up=0),
    "rhadd": lambda a, b: _average(a, b, signed=True, up=1),
    "uhadd": lambda a, b: _average(a, b, signed=False, up=0),
    "urhadd": lambda a, b: _average(a, b, signed=False, up=1),
    "byte_perm": _byte_perm,
    "sad": lambda x, y, z: _distance(x, y, z, signed=True),
    "usad": lambda x, y, z: _distance(x, y, _unsigned(z).astype(np.int64), signed=False),
    "isnand": np.isnan,
    "isnanf": np.isnan,
    "isinfd": np.isinf,
    "isinff": np.isinf,
    "isfinited": np.isfinite,
    "finitef": np.isfinite,
    "signbitd": np.signbit,
    "signbitf": np.signbit,
    "double2hiint": lambda x: _bits(x, _I64) >> np.int64(32),
    "double2loint": lambda x: _bits(x, _I64),
    "hiloint2double": lambda high, low: _bits(
        (np.asarray(high).astype(np.int64) << 32) | _unsigned(low).astype(np.int64), _F64
    ),
    "double_as_longlong": lambda x: _bits(x, _I64),
    "longlong_as_double": lambda x: _bits(x, _F64),
    "float_as_int": lambda x: _bits(x, _I32),
    "int_as_float": lambda x: _bits(x, _F32),
    "float2half_rn": lambda x: _bits(np.asarray(x).astype(_F16), np.dtype(np.int16)),
    "half2float": lambda x: _bits(x, _F16),
    "frsqrt_rn": lambda x: (1 / np.sqrt(np.asarray(x, np.float64))).astype(np.float32),
    "fast_fdividef": np.true_divide,
    "fast_powf": _FLOAT["pow"],
    "fast_sincosf": _FLOAT["sincos"],
}
for _function in ("cos", "exp10", "exp", "log10", "log2", "log", "sin", "tan"):
    _OTHER[f"fast_{_function}f"] = _FLOAT[_function]
for _mode in ("rn", "rz", "ru", "rd"):
    for _letter in "df":
        _OTHER[f"{_letter}add_{_mode}"] = ADD[_mode]
        _OTHER[f"{_letter}sub_{_mode}"] = SUBTRACT[_mode]
        _OTHER[f"{_letter}mul_{_mode}"] = MULTIPLY[_mode]
        _OTHER[f"{_letter}div_{_mode}"] = DIVIDE[_mode]
        _OTHER[f"{_letter}sqrt_{_mode}"] = SQUARE_ROOT[_mode]
        _OTHER[f"{_letter}rcp_{_mode}"] = lambda x, m=_mode: DIVIDE[m](np.asarray(1, np.asarray(x).dtype), x)
    _OTHER[f"fma_{_mode}"] = _OTHER[f"fmaf_{_mode}"] = fused_multiply_add_directed(_mode)
    _OTHER[f"double2float_{_mode}"] = lambda x, m=_mode: narrow(x, _F32, m)
    for _source in ("double", "float"):
        for _name, _dtype in (("int", _I32), ("uint", _U32), ("ll", _I64), ("ull", _U64)):
            _OTHER[f"{_source}2{_name}_{_mode}"] = _to_integer(_ROUNDED[_mode], _dtype)
    for _target, _float in (("double", _F64), ("float", _F32)):
        for _name in ("int", "ll"):
            _OTHER[f"{_name}2{_target}_{_mode}"] = lambda x, d=_float, m=_mode: narrow(x, d, m)
            _OTHER[f"u{_name}2{_target}_{_mode}"] = lambda x, d=_float, m=_mode: narrow(_unsigned(x), d, m)


def operation_of(name: str) -> Operation | None:
    """What the libdevice function ``name`` (without its prefix) computes; None for what the simulator lacks."""
    return _OTHER.get(name) or _FLOAT.get(name) or (_FLOAT.get(name[:-1]) if name.endswith("f") else None)


def _handler(operation: Operation) -> Handler:
    def handler(body: Body, target: Any, expr: Any, signature: Any) -> None:
        returned = signature.return_type
        dtypes = [dtype_of(item) for item in returned] if hasattr(returned, "__iter__") else dtype_of(returned)
        operands = tuple(
            body.cast_register(body.register(arg.name), body.type_of(arg), wanted)
            for arg, wanted in zip(expr.args, signature.args, strict=True)
        )

        def results(*values: Any) -> Any:
            result = operation(*values)
            if isinstance(dtypes, list):
                return tuple(convert(item, dtype) for item, dtype in zip(result, dtypes, strict=True))
            return convert(np.asarray(result)[()], dtypes)

        body.compute(body.register(target.name), results, operands)

    return handler


_libdevice = importlib.import_module("numba.cuda.libdevice")
for _name in [n for n in vars(_libdevice) if not n.startswith("_")]:
    _operation = operation_of(_name)
    if _operation is not None:
        DEVICE_CALLS[getattr(_libdevice, _name)] = _handler(_operation)
for _name in ("popc", "clz", "ffs", "brev"):
    for _suffix in ("", "ll"):
        DEVICE_CALLS[getattr(_libdevice, _name + _suffix)] = DEVICE_CALLS[getattr(cuda, _name)]
