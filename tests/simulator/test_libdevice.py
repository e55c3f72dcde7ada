"""Each function of libdevice computes what NVIDIA's Libdevice User's Guide says, beside Python's own arithmetic."""

# mypy: ignore-errors
from __future__ import annotations

import importlib
import math
import struct
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba.cuda import libdevicefuncs

from grader.simulator.libdevice_calls import operation_of
from grader.simulator.rounding import fused_multiply_add, narrow, round_fraction

libdevice = importlib.import_module("numba.cuda.libdevice")
F32, F64 = np.dtype(np.float32), np.dtype(np.float64)
# NumPy and Python's math have no Bessel functions.
BESSEL = {f"{name}{suffix}" for name in ("j0", "j1", "jn", "y0", "y1", "yn") for suffix in ("", "f")}

FLOATS = [0.0, -0.0, 0.3, -0.7, 1.0, 2.5, -3.5, 0.5, 1e-3, 7.25, -11.0, 100.5]
UNIT = [0.0, 0.1, -0.3, 0.999, -0.999, 0.5, 1e-9, 0.9999999]


def _sincos(x):
    return math.sin(x), math.cos(x)


def _away(x):
    return math.copysign(math.floor(abs(x) + 0.5), x)


def _bits32(x):
    return struct.unpack("<i", struct.pack("<f", x))[0]


# By name: what it computes, on Python floats and ints, and on which inputs.
REFERENCES = {
    **{name: (getattr(math, name), FLOATS) for name in ("ceil", "floor", "trunc", "fabs", "erf", "erfc", "sin", "cos")},
    **{name: (getattr(math, name), [0.1, 1.0, 2.5, 100.0]) for name in ("sqrt", "log", "log10", "log2", "lgamma")},
    **{name: (getattr(math, name), UNIT) for name in ("asin", "acos", "atan", "atanh", "log1p", "expm1", "tan")},
    **{name: (getattr(math, name), [0.5, -1.5, 3.0]) for name in ("sinh", "cosh", "tanh", "asinh", "exp")},
    "acosh": (math.acosh, [1.0, 1.5, 20.0]),
    "tgamma": (math.gamma, [0.5, 1.0, 4.5, -1.5]),
    "cbrt": (lambda x: math.copysign(abs(x) ** (1 / 3), x), [8.0, -27.0, 0.3]),
    "rcbrt": (lambda x: 1 / math.copysign(abs(x) ** (1 / 3), x), [8.0, -27.0, 0.3]),
    "rsqrt": (lambda x: x**-0.5, [4.0, 0.3, 100.0]),
    "exp2": (lambda x: 2.0**x, [0.5, -3.0, 10.25]),
    "exp10": (lambda x: 10.0**x, [0.5, -3.0, 10.25]),
    "sinpi": (lambda x: math.sin(math.pi * x), [0.25, 1.0, -0.5, 0.1, 1.7, 100.5]),
    "cospi": (lambda x: math.cos(math.pi * x), [0.25, 1.0, -0.5, 0.1, 1.7, 100.0]),
    "erfinv": (None, UNIT),
    "erfcinv": (None, [0.1, 0.5, 1.0, 1.9, 1e-6]),
    "erfcx": (lambda x: math.exp(x * x) * math.erfc(x), [-1.0, 0.5, 3.0, 10.0, 19.0]),
    "normcdf": (lambda x: 0.5 * (1 + math.erf(x / math.sqrt(2))), [-1.5, 0.0, 0.3, 2.0]),
    "normcdfinv": (None, [0.1, 0.5, 0.975]),
    "logb": (lambda x: float(math.frexp(x)[1] - 1), [1.0, 0.3, -20.0]),
    "ilogb": (lambda x: math.frexp(x)[1] - 1, [1.0, 0.3, -20.0]),
    "rint": (round, FLOATS),
    "nearbyint": (round, FLOATS),
    "round": (_away, FLOATS),
    "llrint": (round, FLOATS),
    "llround": (_away, FLOATS),
    "modf": (math.modf, FLOATS),
    "frexp": (math.frexp, FLOATS),
    "sincos": (_sincos, FLOATS),
    "sincospi": (lambda x: _sincos(math.pi * x), [0.25, 1.0, 0.1]),
    "saturate": (lambda x: min(max(x, 0.0), 1.0), FLOATS),
}
PAIRS = {
    "atan2": math.atan2,
    "copysign": math.copysign,
    "fdim": lambda a, b: max(a - b, 0.0),
    "fmax": max,
    "fmin": min,
    "fmod": math.fmod,
    "hypot": math.hypot,
    "remainder": math.remainder,
    "pow": math.pow,
}
INTEGERS = [0, 1, -1, 5, -77, 2**31 - 1, -(2**31), 123456789, 1 << 23]


def _u32(x):
    return x & 0xFFFFFFFF


def _signed(x, bits=32):
    x &= (1 << bits) - 1
    return x - (1 << bits) if x >> (bits - 1) else x


def _low24(x):
    return _signed(x & 0xFFFFFF, 24)


INTEGER_PAIRS = {
    "max": max,
    "min": min,
    "umax": lambda a, b: max(_u32(a), _u32(b)),
    "umin": lambda a, b: min(_u32(a), _u32(b)),
    "mulhi": lambda a, b: (a * b) >> 32,
    "umulhi": lambda a, b: (_u32(a) * _u32(b)) >> 32,
    "mul24": lambda a, b: _low24(a) * _low24(b),
    "umul24": lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF),
    "hadd": lambda a, b: (a + b) >> 1,
    "rhadd": lambda a, b: (a + b + 1) >> 1,
    "uhadd": lambda a, b: (_u32(a) + _u32(b)) >> 1,
    "urhadd": lambda a, b: (_u32(a) + _u32(b) + 1) >> 1,
}


def _run(launch, name, columns, dtypes):
    """The function on every row of the columns; its results, one array each."""
    returned, parameters = libdevicefuncs.functions["__nv_" + name]
    returns = [returned] if str(returned) not in {"none", "void"} else []
    returns += [p.ty for p in parameters if p.is_ptr]
    arrays = [np.array(column, dtype) for column, dtype in zip(columns, dtypes, strict=True)]
    outs = [np.zeros(len(columns[0]), str(t)) for t in returns]
    inputs = ", ".join(f"x{k}[i]" for k in range(len(arrays)))
    targets = ", ".join(f"y{k}[i]" for k in range(len(outs)))
    names = ", ".join([f"x{k}" for k in range(len(arrays))] + [f"y{k}" for k in range(len(outs))])
    scope = {"function": getattr(libdevice, name), "cuda": importlib.import_module("numba.cuda")}
    code = f"def kernel({names}):\n    i = cuda.grid(1)\n    {targets} = function({inputs})\n"
    exec(compile(code, __file__, "exec"), scope)
    assert launch(scope["kernel"], 1, len(columns[0]), *arrays, *outs).finished
    return outs


def _parameters(name):
    return [np.dtype(str(p.ty)) for p in libdevicefuncs.functions["__nv_" + name][1] if not p.is_ptr]


@pytest.mark.parametrize("name", sorted(libdevicefuncs.functions))
def test_all_of_libdevice_is_known_but_the_bessel_functions(name):
    assert (operation_of(name[5:]) is None) == (name[5:] in BESSEL) or name[5:] in {
        *("popc", "popcll", "clz", "clzll", "ffs", "ffsll", "brev", "brevll")
    }


@pytest.mark.parametrize("name", [n for n, (reference, _) in REFERENCES.items() if reference])
@pytest.mark.parametrize("suffix", ["", "f"])
def test_functions_of_one_number(launch, name, suffix):
    if name == "saturate" and not suffix:
        pytest.skip("there is no such function of float64")
    reference, inputs = REFERENCES[name]
    (dtype,) = _parameters(name + suffix)
    values = np.array(inputs, dtype)
    outs = _run(launch, name + suffix, [values], [dtype])
    expected = [reference(float(value)) for value in values]
    expected = np.array([e if isinstance(e, tuple) else (e,) for e in expected], np.float64).T
    for out, column in zip(outs, expected, strict=True):
        np.testing.assert_allclose(out, column, rtol=4e-6 if suffix else 1e-13, atol=1e-6 if suffix else 1e-13)


@pytest.mark.parametrize("name", ["erfinv", "erfcinv", "normcdfinv"])
def test_inverses_undo_their_functions(launch, name):
    forward = {
        "erfinv": math.erf,
        "erfcinv": math.erfc,
        "normcdfinv": lambda x: 0.5 * math.erfc(-x / math.sqrt(2)),
    }[name]
    inputs = REFERENCES[name][1]
    (out,) = _run(launch, name, [inputs], [np.float64])
    np.testing.assert_allclose([forward(x) for x in out], inputs, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", sorted(PAIRS))
@pytest.mark.parametrize("suffix", ["", "f"])
def test_functions_of_two_numbers(launch, name, suffix):
    rng = np.random.default_rng(1)
    dtypes = _parameters(name + suffix)
    a, b = (rng.uniform(0.1, 9, 50) * rng.choice([1, -1], 50)).astype(dtypes[0]), rng.uniform(0.2, 4, 50)
    a = np.abs(a) if name == "pow" else a
    b = b.astype(dtypes[1])
    (out,) = _run(launch, name + suffix, [a, b], dtypes)
    expected = [PAIRS[name](float(x), float(y)) for x, y in zip(a, b, strict=True)]
    np.testing.assert_allclose(out, expected, rtol=1e-5 if suffix else 1e-13, atol=2e-6 if suffix else 1e-14)


@pytest.mark.parametrize("name", sorted(INTEGER_PAIRS))
def test_functions_of_two_integers(launch, name):
    a, b = (list(column) for column in zip(*((x, y) for x in INTEGERS for y in INTEGERS), strict=True))
    (out,) = _run(launch, name, [a, b], [np.int32, np.int32])
    assert out.tolist() == [_signed(INTEGER_PAIRS[name](x, y)) for x, y in zip(a, b, strict=True)]


def test_upper_halves_of_64_bit_products(launch):
    a = [3, -5, 2**62 + 12345, -(2**63), 2**63 - 1, -1]
    b = [7, 2**61, -(2**50) + 3, 2**63 - 1, 2**63 - 1, -1]
    (signed,) = _run(launch, "mul64hi", [a, b], [np.int64, np.int64])
    (unsigned,) = _run(launch, "umul64hi", [a, b], [np.int64, np.int64])
    mask = 2**64 - 1
    assert signed.tolist() == [(x * y) >> 64 for x, y in zip(a, b, strict=True)]
    assert unsigned.tolist() == [_signed(((x & mask) * (y & mask)) >> 64, 64) for x, y in zip(a, b, strict=True)]


def test_bytes_distances_and_bit_casts(launch):
    (out,) = _run(launch, "byte_perm", [[0x03020100], [0x07060504], [0x7241]], [np.int32] * 3)
    assert out.tolist() == [0x07020401]
    (out,) = _run(launch, "sad", [[5, -7], [-3, 2], [10, 1]], [np.int32] * 3)
    assert out.tolist() == [18, 10]
    (out,) = _run(launch, "usad", [[5, -7], [-3, 2], [10, 1]], [np.int32] * 3)
    assert out.tolist() == [_signed(abs(5 - _u32(-3)) + 10), _signed(abs(_u32(-7) - 2) + 1)]
    values = [1.5, -0.1, 1e30]
    (bits,) = _run(launch, "float_as_int", [values], [np.float32])
    assert bits.tolist() == [_bits32(x) for x in np.float32(values).tolist()]
    (high,) = _run(launch, "double2hiint", [values], [np.float64])
    (low,) = _run(launch, "double2loint", [values], [np.float64])
    (back,) = _run(launch, "hiloint2double", [high, low], [np.int32, np.int32])
    assert back.tolist() == values


@pytest.mark.parametrize("mode", ["rn", "rz", "ru", "rd"])
def test_floats_to_integers_round_as_named_and_end_at_the_limits(launch, mode):
    values = [0.5, 1.5, -1.5, 2.7, -2.7, 3e9, -3e9, 5e9, math.nan, math.inf, -math.inf, 1e30]
    rounded = {"rn": round, "rz": math.trunc, "ru": math.ceil, "rd": math.floor}[mode]

    def reference(x, low, high):
        if math.isnan(x):
            return 0
        return high if x >= high else low if x <= low else min(max(rounded(x), low), high)

    for name, low, high, bits in (
        ("double2int_", -(2**31), 2**31 - 1, 32),
        ("double2uint_", 0, 2**32 - 1, 32),
        ("double2ll_", -(2**63), 2**63 - 1, 64),
        ("double2ull_", 0, 2**64 - 1, 64),
    ):
        (out,) = _run(launch, name + mode, [values], [np.float64])
        assert out.tolist() == [_signed(reference(x, low, high), bits) for x in values], name


floats64 = st.floats(allow_nan=False, allow_infinity=False, width=64)
floats32 = st.floats(allow_nan=False, allow_infinity=False, width=32)


def _is_rounded(result, exact, dtype, mode):
    """Whether ``result`` is the neighbour of ``exact`` that the mode asks for, by asking its neighbours."""
    kind = dtype.type
    if math.isinf(result):
        limit = Fraction(float(np.finfo(dtype).max))
        return abs(exact) > limit
    found = Fraction(float(result))
    with np.errstate(over="ignore", under="ignore"):
        up, down = (float(np.nextafter(kind(result), kind(end))) for end in (np.inf, -np.inf))
    above = Fraction(up) if math.isfinite(up) else None
    below = Fraction(down) if math.isfinite(down) else None
    if mode == "rn":
        spans = [other for other in (above, below) if other is not None]
        return all(abs(exact - found) <= abs(exact - other) for other in spans)
    if mode == "ru" or (mode == "rz" and exact < 0):
        return found >= exact and (below is None or below < exact)
    return found <= exact and (above is None or above > exact)


@pytest.mark.parametrize("mode", ["rn", "rz", "ru", "rd"])
@given(a=floats64, b=floats64)
def test_single_operations_are_rounded_as_named(mode, a, b):
    operations = {"dadd": Fraction.__add__, "dmul": Fraction.__mul__, "ddiv": Fraction.__truediv__}
    with np.errstate(all="ignore"):
        for name, exact in operations.items():
            if name == "ddiv" and b == 0:
                continue
            result = operation_of(f"{name}_{mode}")(np.float64(a), np.float64(b))
            assert _is_rounded(result, exact(Fraction(a), Fraction(b)), F64, mode), name


@pytest.mark.parametrize("mode", ["rn", "rz", "ru", "rd"])
@given(value=floats64)
def test_narrowing_is_rounded_as_named(mode, value):
    with np.errstate(all="ignore"):
        result = narrow(np.float64(value), F32, mode)
    assert _is_rounded(result, Fraction(value), F32, mode)


@given(a=floats32, b=floats32, c=floats32)
def test_fma_of_float32_is_rounded_once(a, b, c):
    with np.errstate(all="ignore"):
        result = fused_multiply_add(np.float32(a), np.float32(b), np.float32(c))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    assert result.dtype == np.float32
    assert float(result) == round_fraction(exact, F32, "rn")


@given(a=floats64, b=floats64, c=floats64)
def test_fma_of_float64_is_rounded_once(a, b, c):
    with np.errstate(all="ignore"):
        result = fused_multiply_add(np.float64(a), np.float64(b), np.float64(c))
    exact = Fraction(a) * Fraction(b) + Fraction(c)
    assert float(result) == round_fraction(exact, F64, "rn")


@given(a=st.floats(-4, 4), b=st.floats(-4, 4), scale=st.integers(-60, 0))
def test_fma_of_float64_near_cancellation_is_rounded_once(a, b, scale):
    c = -a * b * (1 + 2.0**scale)
    result = fused_multiply_add(np.array([a]), np.array([b]), np.array([c]))
    assert float(result[0]) == round_fraction(Fraction(a) * Fraction(b) + Fraction(c), F64, "rn")


def test_fma_of_special_values():
    with np.errstate(all="ignore"):
        results = fused_multiply_add(
            np.array([np.inf, np.inf, 1.0, 0.0, np.nan, -0.0]),
            np.array([2.0, 0.0, 1.0, 5.0, 1.0, 1.0]),
            np.array([1.0, 1.0, -np.inf, -0.0, 1.0, -0.0]),
        )
    np.testing.assert_array_equal(results, [np.inf, np.nan, -np.inf, 0.0, np.nan, -0.0])
    assert np.signbit(results[5])
