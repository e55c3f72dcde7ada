"""Integers, floats and complex numbers at their edges, beside Python's and NumPy's own arithmetic.

What compiled code does where Python raises is in Numba's documentation ("Error model" numpy) and in the PTX ISA
("shl", "shr": amounts beyond the width are clamped; "cvt": what does not fit ends at the limits).
"""

# mypy: ignore-errors
from __future__ import annotations

import cmath
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numba import cuda

from grader.simulator.frontend import has_builtin_target

INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
EDGES = [0, 1, 2, 3, 7, 8, -1, -2, -7, -8, 100]


def _edges(dtype):
    limits = np.iinfo(dtype)
    values = {v for v in EDGES if limits.min <= v <= limits.max}
    return np.array(sorted(values | {limits.min, limits.max, limits.max // 2}), dtype)


def _pairs(dtype):
    values = _edges(dtype)
    return np.repeat(values, values.size), np.tile(values, values.size)


def _python_divmod(a, b, result):
    """As compiled Numba does it: 0 for a divisor of 0, Python's rounding else."""
    if b == 0:
        return 0, 0
    bits = 8 * np.dtype(result).itemsize

    def wrapped(value):
        value &= (1 << bits) - 1
        return value - (1 << bits) if np.dtype(result).kind == "i" and value >> (bits - 1) else value

    return wrapped(a // b), wrapped(a % b)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_floor_division_and_remainder_of_every_width(launch, dtype):
    def kernel(a, b, quotient, rest):
        i = cuda.grid(1)
        quotient[i] = a[i] // b[i]
        rest[i] = a[i] % b[i]

    a, b = _pairs(dtype)
    result = np.uint64 if dtype.startswith("u") else np.int64
    quotient, rest = np.zeros((2, a.size), result)
    launch(kernel, 1, a.size, a, b, quotient, rest)
    expected = [_python_divmod(int(x), int(y), result) for x, y in zip(a, b, strict=True)]
    if dtype == "int64":  # the quotient of the smallest number by -1 does not exist
        keep = ~((a == np.iinfo(dtype).min) & (b == -1))
        quotient, rest = quotient[keep], rest[keep]
        expected = [e for e, k in zip(expected, keep, strict=True) if k]
    assert list(zip(quotient.tolist(), rest.tolist(), strict=True)) == expected


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_by_more_than_the_width_leave_nothing_but_the_sign(launch, dtype):
    def kernel(a, n, left, right):
        i = cuda.grid(1)
        left[i] = a[i] << n[i]
        right[i] = a[i] >> n[i]

    values = _edges(dtype)
    amounts = np.array([0, 1, 5, 31, 32, 63, 64, 65, 1000], np.uint64 if dtype.startswith("u") else np.int64)
    a, n = np.repeat(values, amounts.size), np.tile(amounts, values.size)
    result = np.uint64 if dtype.startswith("u") else np.int64
    left, right = np.zeros((2, a.size), result)
    launch(kernel, 1, a.size, a, n, left, right)
    mask = (1 << 64) - 1
    for x, amount, up, down in zip(a.tolist(), n.tolist(), left.tolist(), right.tolist(), strict=True):
        assert up & mask == (x << amount) & mask
        assert down == x >> amount


@pytest.mark.parametrize("dtype", INTEGERS)
def test_bit_operations_of_every_width(launch, dtype):
    def kernel(a, b, out):
        i = cuda.grid(1)
        out[0, i] = a[i] & b[i]
        out[1, i] = a[i] | b[i]
        out[2, i] = a[i] ^ b[i]
        out[3, i] = ~a[i]

    a, b = _pairs(dtype)
    out = np.zeros((4, a.size), np.uint64 if dtype.startswith("u") else np.int64)
    launch(kernel, 1, a.size, a, b, out)
    wide = out.dtype
    x, y = a.astype(wide), b.astype(wide)
    np.testing.assert_array_equal(out, [x & y, x | y, x ^ y, (~a).astype(wide)])  # ~ comes before the widening


@pytest.mark.parametrize("target", INTEGERS)
def test_casts_between_integers_take_the_low_bits(launch, target):
    kind = getattr(np, target)

    def kernel(a, out):
        i = cuda.grid(1)
        out[i] = kind(a[i])

    a = _edges(np.int64)
    out = np.zeros(a.size, target)
    launch(kernel, 1, a.size, a, out)
    np.testing.assert_array_equal(out, a.astype(target))


def _divisions(a, b, out):
    i = cuda.grid(1)
    out[0, i] = a[i] // b[i]
    out[1, i] = a[i] % b[i]
    out[2, i] = math.fmod(a[i], b[i])


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.floats(allow_nan=False, width=32), st.floats(allow_nan=False, width=32)), min_size=1, max_size=64
    )
)
def test_floor_division_and_remainder_of_floats(launch, pairs):
    a, b = (np.array(column, np.float64) for column in zip(*pairs, strict=True))
    out = np.zeros((3, a.size))
    launch(_divisions, 1, a.size, a, b, out)
    for x, y, quotient, rest, truncated in zip(a.tolist(), b.tolist(), *out, strict=True):
        if y == 0 or not math.isfinite(x):
            assert math.isnan(rest)
            assert math.isnan(truncated)
        else:
            assert (quotient, rest) == (x // y, x % y)
            assert truncated == math.fmod(x, y)


def test_fractions_exponents_and_scaling(launch):
    def kernel(x, out, exponents):
        i = cuda.grid(1)
        mantissa, exponent = math.frexp(x[i])
        out[0, i], exponents[i] = mantissa, exponent
        fraction, whole = math.modf(x[i])
        out[1, i], out[2, i] = fraction, whole
        out[3, i] = math.ldexp(mantissa, exponent)

    x = np.array([0.0, 0.3, -17.25, 1e300, 5e-324, -0.75])
    out, exponents = np.zeros((4, 6)), np.zeros(6, np.int32)
    launch(kernel, 1, 6, x, out, exponents)
    assert list(zip(out[0], exponents, strict=True)) == [math.frexp(v) for v in x]
    assert list(zip(out[1], out[2], strict=True)) == [math.modf(v) for v in x]
    np.testing.assert_array_equal(out[3], x)


def test_round_to_digits_is_pythons(launch):
    def kernel(x, digits, out):
        i = cuda.grid(1)
        out[i] = round(x[i], digits[i])

    x = np.array([2.675, -1234.5678, 0.5, 1.5, 25.0, 35.0, 123.456, math.inf, math.nan, 1e-30])
    digits = np.array([2, 1, 0, 0, -1, -1, 5, 2, 1, 30])
    out = np.zeros(10)
    launch(kernel, 1, 10, x, digits, out)
    expected = [2.68, -1234.6, 0, 2, 20, 40, 123.456, math.inf, math.nan, 1e-30]
    np.testing.assert_allclose(out, expected, rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_complex_arithmetic_is_numpys(launch, dtype):
    def kernel(a, b, out, sizes):
        i = cuda.grid(1)
        out[0, i] = a[i] + b[i] * 2
        out[1, i] = a[i] * b[i] - b[i]
        out[2, i] = a[i] / b[i]
        out[3, i] = -a[i]
        out[4, i] = complex(a[i].real, b[i].imag)
        out[5, i] = a[i].conjugate()
        sizes[0, i] = abs(a[i])
        sizes[1, i] = a[i] == b[i]

    rng = np.random.default_rng(1)
    a, b = (rng.standard_normal((2, 32)) + 1j * rng.standard_normal((2, 32))).astype(dtype)
    out, sizes = np.zeros((6, 32), dtype), np.zeros((2, 32))
    launch(kernel, 1, 32, a, b, out, sizes)
    expected = [a + 2 * b, a * b - b, a / b, -a, a.real + 1j * b.imag, a.conj()]
    np.testing.assert_allclose(out, expected, rtol=1e-5 if dtype is np.complex64 else 1e-13)
    np.testing.assert_allclose(sizes, [np.abs(a), a == b], rtol=1e-6)


def test_cmath_of_complex_numbers_is_pythons(launch):
    names = ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "asin", "acos", "atan", "log10")
    lines = "".join(f"    out[{k}, i] = cmath.{name}(z[i])\n" for k, name in enumerate(names))
    code = f"def kernel(z, out, parts):\n    i = cuda.grid(1)\n{lines}"
    code += "    size, angle = cmath.polar(z[i])\n    parts[0, i], parts[1, i] = size, angle\n"
    code += "    parts[2, i] = cmath.phase(z[i])\n    out[13, i] = cmath.rect(size, angle)\n"
    code += "    parts[3, i] = cmath.isnan(z[i])\n"
    scope = {"cuda": cuda, "cmath": cmath}
    exec(compile(code, __file__, "exec"), scope)
    rng = np.random.default_rng(2)
    z = rng.standard_normal(16) + 1j * rng.standard_normal(16)
    out, parts = np.zeros((14, 16), np.complex128), np.zeros((4, 16))
    launch(scope["kernel"], 1, 16, z, out, parts)
    for row, name in zip(out, names, strict=False):
        np.testing.assert_allclose(row, [getattr(cmath, name)(v) for v in z], rtol=1e-12)
    np.testing.assert_allclose(parts[:2].T, [cmath.polar(v) for v in z], rtol=1e-14)
    np.testing.assert_allclose(parts[2], [cmath.phase(v) for v in z], rtol=1e-14)
    np.testing.assert_allclose(out[13], z, rtol=1e-13)
    assert not parts[3].any()


def test_bit_casts_of_numbers(launch):
    def kernel(x, n, out):
        i = cuda.grid(1)
        out[0, i] = x[i].view(np.int32)
        out[1, i] = n[i].view(np.uint32)
        out[2, i] = np.float32(x[i] * 2).view(np.uint32)

    if has_builtin_target():
        pytest.skip("Numba's built-in target has no view of numbers")
    x, n = np.array([1.5, -0.0, 3e38], np.float32), np.array([-1, 5, -(2**31)], np.int32)
    out = np.zeros((3, 3), np.int64)
    launch(kernel, 1, 3, x, n, out)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, [x.view(np.int32), n.view(np.uint32), (x * 2).view(np.uint32)])


def test_lanes_that_hold_the_same_value_find_each_other(launch):
    def kernel(x, y, some, all_of_them, holds):
        t = cuda.threadIdx.x
        some[t] = cuda.match_any_sync(0xFFFFFFFF, x[t])
        mask, same = cuda.match_all_sync(0xFFFFFFFF, y[t])
        all_of_them[t] = mask
        holds[t] = same

    x = np.random.default_rng(3).integers(0, 5, 64).astype(np.int32)
    y = np.repeat(np.array([2.5, 0.0]), 32)
    y[40] = 1
    some, everyone, holds = np.zeros(64, np.uint32), np.zeros(64, np.uint32), np.zeros(64, np.int32)
    launch(kernel, 1, 64, x, y, some, everyone, holds)
    for t in range(64):
        warp = range(t // 32 * 32, t // 32 * 32 + 32)
        assert some[t] == sum(1 << (k % 32) for k in warp if x[k] == x[t])
    assert everyone.tolist() == [0xFFFFFFFF] * 32 + [0] * 32
    assert holds.tolist() == [1] * 32 + [0] * 32


def test_matches_ask_only_lanes_of_the_mask(launch):
    def kernel(x, out):
        t = cuda.threadIdx.x
        if t < 8:
            out[t] = cuda.match_any_sync(0xFF, x[t])

    x, out = np.zeros(32, np.int64), np.zeros(32, np.uint32)
    launch(kernel, 1, 32, x, out)
    assert out.tolist() == [0xFF] * 8 + [0] * 24


@pytest.mark.skipif(has_builtin_target(), reason="Numba's built-in target does not type them")
def test_functions_that_numba_writes_in_python_run_as_it_wrote_them(launch):
    def kernel(x, out):
        i = cuda.grid(1)
        out[0, i] = np.real(x[i]) + np.size(x)
        out[1, i] = np.shape(x)[0]
        out[2, i] = np.logical_not(x[i])
        out[3, i] = np.arctan2(x[i], x[0])

    x = np.array([0.0, -1.5, 2.0])
    out = np.zeros((4, 3))
    launch(kernel, 1, 3, x, out)
    np.testing.assert_array_equal(out, [x + 3, [3] * 3, x == 0, np.arctan2(x, x[0])])


def test_functions_of_a_number_that_all_threads_share(launch):
    def kernel(x, out):
        i = cuda.grid(1)
        out[0, i] = math.erf(x)
        out[1, i] = math.gamma(x + 1)
        out[2, i] = math.remainder(x, x)
        out[3, i] = math.lgamma(x) + out[0, i]
        out[4, i] = cuda.ffs(np.int32(x * 4)) + cuda.clz(np.int32(x))

    out = np.zeros((5, 8))
    launch(kernel, 1, 8, 2.5, out)
    expected = [math.erf(2.5), math.gamma(3.5), 0.0, math.lgamma(2.5) + math.erf(2.5), 2 + 30]
    np.testing.assert_allclose(out, np.repeat(np.array(expected)[:, None], 8, axis=1), rtol=1e-14)


def test_rect_of_angles_that_are_no_numbers(launch):
    def kernel(size, angle, out):
        i = cuda.grid(1)
        out[i] = cmath.rect(size[i], angle[i])

    sizes = [0.0, 0.0, math.inf, 2.0, math.inf, -math.inf, -math.inf]
    angles = [math.inf, math.nan, math.nan, 0.5, 0.0, 0.0, 2.0]
    out = np.zeros(7, np.complex128)
    launch(kernel, 1, 7, np.array(sizes), np.array(angles), out)
    np.testing.assert_array_equal(out, [cmath.rect(r, phi) for r, phi in zip(sizes, angles, strict=True)])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_exp_of_complex_numbers_at_their_limits(launch, dtype):
    def kernel(z, out):
        i = cuda.grid(1)
        out[i] = cmath.exp(z[i])

    parts = [-math.inf, -1.5, 0.0, 2.0]
    z = np.array([complex(x, y) for x in parts for y in (-2.0, 0.0, 1.0)] + [complex(-math.inf, math.inf)], dtype)
    out = np.zeros_like(z)
    launch(kernel, 1, z.size, z, out)
    np.testing.assert_allclose(out, [cmath.exp(each) for each in z], rtol=1e-6)
    assert not np.signbit(out[-1].real)


@pytest.mark.parametrize("dtype", [*INTEGERS, "bool"])
@pytest.mark.parametrize("name", ["sin", "log", "arcsinh", "deg2rad", "arctan2", "hypot"])
def test_numpys_functions_of_integers_compute_in_the_type_that_numba_gives_them(launch, name, dtype):
    function, pair = getattr(np, name), name in ("arctan2", "hypot")

    def one(a, out):
        i = cuda.grid(1)
        out[i] = function(a[i])

    def two(a, out):
        i = cuda.grid(1)
        out[i] = function(a[i], a[i] + 1 > 0)

    a = _edges(dtype) if dtype != "bool" else np.array([False, True])
    out = np.zeros(a.size)
    launch(two if pair else one, 1, a.size, a, out)
    # Numba takes the first loop of the ufunc that holds the integers, and has none for float16.
    real = np.float64 if np.dtype(dtype).itemsize > 2 else np.float32
    with np.errstate(all="ignore"):
        x = a.astype(real)
        expected = function(x, (a.astype(np.float64) + 1 > 0).astype(real)) if pair else function(x)
    assert expected.dtype == real
    np.testing.assert_allclose(out, expected, rtol=4 * np.finfo(real).eps)


def test_gamma_functions_have_the_poles_of_a_gpus(launch):
    def kernel(x, out):
        i = cuda.grid(1)
        out[0, i] = math.gamma(x[i])
        out[1, i] = math.lgamma(x[i])

    x = np.array([0.0, -0.0, -1.0, -2.0, -math.inf, math.inf, math.nan, 4.0, -0.5, 200.0])
    out = np.zeros((2, x.size))
    launch(kernel, 1, x.size, x, out)
    inf, nan = math.inf, math.nan
    # CUDA Math API, tgamma and lgamma.
    gamma = [inf, -inf, nan, nan, nan, inf, nan, 6.0, math.gamma(-0.5), inf]
    np.testing.assert_allclose(out[0], gamma, rtol=1e-15)
    lgamma = [inf, inf, inf, inf, inf, inf, nan, math.log(6.0), math.lgamma(-0.5), math.lgamma(200.0)]
    np.testing.assert_allclose(out[1], lgamma, rtol=1e-15)
