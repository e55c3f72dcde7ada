"""Half-precision floats: arithmetic and casts are rounded correctly, and fp16's functions do what CUDA's do."""

# mypy: ignore-errors
from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from numba import cuda

from grader.simulator.frontend import has_builtin_target, types
from grader.simulator.rounding import round_fraction

F16 = np.dtype(np.float16)
needs_numba_cuda = pytest.mark.skipif(has_builtin_target(), reason="Numba's built-in target lacks these functions")


def _halves(count, seed=1):
    """Random bit patterns, all finite."""
    bits = np.random.default_rng(seed).integers(0, 2**16, 4 * count).astype(np.uint16)
    values = bits.view(np.float16)
    return values[np.isfinite(values)][:count]


def _rounded(fractions):
    return np.array([round_fraction(f, F16, "rn") for f in fractions], np.float16)


def test_arithmetic_is_rounded_correctly(launch):
    def kernel(a, b, out):
        i = cuda.grid(1)
        out[0, i] = a[i] + b[i]
        out[1, i] = a[i] - b[i]
        out[2, i] = a[i] * b[i]
        out[3, i] = a[i] / b[i]
        out[4, i] = -abs(a[i])

    a, b = _halves(1024, 1), _halves(1024, 2)
    b[b == 0] = 1
    out = np.zeros((5, 1024), np.float16)
    launch(kernel, 4, 256, a, b, out)
    x, y = [Fraction(float(v)) for v in a], [Fraction(float(v)) for v in b]
    np.testing.assert_array_equal(out[0], _rounded([p + q for p, q in zip(x, y, strict=True)]))
    np.testing.assert_array_equal(out[1], _rounded([p - q for p, q in zip(x, y, strict=True)]))
    np.testing.assert_array_equal(out[2], _rounded([p * q for p, q in zip(x, y, strict=True)]))
    np.testing.assert_array_equal(out[3], _rounded([p / q for p, q in zip(x, y, strict=True)]))
    np.testing.assert_array_equal(out[4], -np.abs(a))


def test_casts_round_once(launch):
    half = types.float16

    def kernel(x, d, n, out, back):
        i = cuda.grid(1)
        out[0, i] = half(x[i])
        out[1, i] = half(d[i])
        out[2, i] = half(n[i])
        back[i] = half(x[i])

    rng = np.random.default_rng(3)
    d = rng.standard_normal(512) * 10.0 ** rng.integers(-8, 5, 512)
    d[:4] = [65519.99, 65520, 2.0**-25, 2.0**-25 * 1.0000001]
    x, n = d.astype(np.float32), rng.integers(-70000, 70000, 512).astype(np.int32)
    out, back = np.zeros((3, 512), np.float16), np.zeros(512, np.float32)
    launch(kernel, 2, 256, x, d, n, out, back)
    np.testing.assert_array_equal(out[0], _rounded([Fraction(float(v)) for v in x]))
    np.testing.assert_array_equal(out[1], _rounded([Fraction(v) for v in d.tolist()]))
    np.testing.assert_array_equal(out[2], _rounded([Fraction(int(v)) for v in n]))
    np.testing.assert_array_equal(back, out[0].astype(np.float32))


def test_fma_of_halves_is_rounded_once(launch):
    def kernel(a, b, c, out):
        i = cuda.grid(1)
        out[i] = cuda.fp16.hfma(a[i], b[i], c[i])

    a, b, c = _halves(1024, 4), _halves(1024, 5), _halves(1024, 6)
    out = np.zeros(1024, np.float16)
    launch(kernel, 4, 256, a, b, c, out)
    exact = [Fraction(float(p)) * Fraction(float(q)) + Fraction(float(r)) for p, q, r in zip(a, b, c, strict=True)]
    np.testing.assert_array_equal(out, _rounded(exact))


def test_functions_of_fp16_are_close_to_pythons(launch):
    def kernel(a, out):
        i = cuda.grid(1)
        out[0, i] = cuda.fp16.hsin(a[i])
        out[1, i] = cuda.fp16.hcos(a[i])
        out[2, i] = cuda.fp16.hexp(a[i])
        out[3, i] = cuda.fp16.hlog(a[i])
        out[4, i] = cuda.fp16.hsqrt(a[i])
        out[5, i] = cuda.fp16.hrcp(a[i])
        out[6, i] = cuda.fp16.hrsqrt(a[i])
        out[7, i] = cuda.fp16.hfloor(a[i])
        out[8, i] = cuda.fp16.hrint(a[i])
        out[9, i] = cuda.fp16.hexp10(a[i])
        out[10, i] = cuda.fp16.hlog2(a[i])
        out[11, i] = cuda.fp16.habs(cuda.fp16.hneg(a[i]))

    a = np.random.default_rng(7).uniform(0.01, 4, 64).astype(np.float16)
    out = np.zeros((12, 64), np.float16)
    launch(kernel, 1, 64, a, out)
    x = [float(v) for v in a]
    functions = [
        *(math.sin, math.cos, math.exp, math.log, math.sqrt, lambda v: 1 / v, lambda v: v**-0.5, math.floor, round),
        *(lambda v: 10**v, math.log2, lambda v: v),
    ]
    for row, function in zip(out, functions, strict=True):
        np.testing.assert_allclose(row, [function(v) for v in x], rtol=1e-3, atol=1e-7)


def test_comparisons_and_extremes_with_nan(launch):
    def kernel(a, b, flags, out):
        i = cuda.grid(1)
        flags[0, i] = cuda.fp16.heq(a[i], b[i])
        flags[1, i] = cuda.fp16.hlt(a[i], b[i])
        flags[2, i] = cuda.fp16.hge(a[i], b[i])
        flags[3, i] = cuda.fp16.hne(a[i], b[i])
        flags[4, i] = a[i] < b[i]
        out[0, i] = cuda.fp16.hmax(a[i], b[i])
        out[1, i] = cuda.fp16.hmin(a[i], b[i])

    a = np.array([1, 2, np.nan, 3, np.inf], np.float16)
    b = np.array([1, 3, 1, np.nan, 5], np.float16)
    flags, out = np.zeros((5, 5), np.int32), np.zeros((2, 5), np.float16)
    launch(kernel, 1, 5, a, b, flags, out)
    assert flags.tolist() == [[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [1, 0, 0, 0, 1], [0, 1, 0, 0, 1], [0, 1, 0, 0, 0]]
    np.testing.assert_array_equal(out, np.array([[1, 3, 1, 3, np.inf], [1, 2, 1, 3, 5]], np.float16))


@needs_numba_cuda
def test_rounding_modes_saturation_and_unordered_comparisons(launch):
    from numba.cuda import fp16

    def kernel(x, h, out, numbers):
        i = cuda.grid(1)
        out[0, i] = fp16.__float2half_ru(x[i])
        out[1, i] = fp16.__float2half_rd(x[i])
        out[2, i] = fp16.__float2half_rz(x[i])
        out[3, i] = fp16.__hadd_sat(h[i], h[i])
        out[4, i] = fp16.__hfma_relu(h[i], h[i], h[i])
        out[5, i] = fp16.__hmax_nan(h[i], h[0])
        numbers[0, i] = fp16.__half2int_rn(h[i])
        numbers[1, i] = fp16.__half2short_rd(h[i])
        numbers[2, i] = fp16.__half2uint_rz(h[i])
        numbers[3, i] = fp16.__half2char_rz(h[i])
        numbers[4, i] = fp16.__half_as_short(h[i])
        numbers[5, i] = fp16.__hltu(h[i], h[0])
        numbers[6, i] = fp16.__hisinf(h[i])

    x = np.array([1.0001, -1.0001, 70000, -70000, 3, 0.1], np.float32)
    h = np.array([2.5, -2.5, np.nan, np.inf, -np.inf, 0.25], np.float16)
    out, numbers = np.zeros((6, 6), np.float16), np.zeros((7, 6), np.int64)
    # fp16.__name in a function is not mangled as it would be in a class.
    launch(kernel, 1, 6, x, h, out, numbers)
    for row, mode in ((0, "ru"), (1, "rd"), (2, "rz")):
        expected = [round_fraction(Fraction(float(v)), F16, mode) for v in x]
        np.testing.assert_array_equal(out[row].astype(np.float64), expected)
    assert out[3].tolist() == [1, 0, 0, 1, 0, 0.5]
    np.testing.assert_array_equal(out[4], np.array([8.75, 3.75, np.nan, np.inf, np.nan, 0.3125], np.float16))
    np.testing.assert_array_equal(out[5], np.array([2.5, 2.5, np.nan, np.inf, 2.5, 2.5], np.float16))
    assert numbers[0].tolist() == [2, -2, 0, 2**31 - 1, -(2**31), 0]
    assert numbers[1].tolist() == [2, -3, 0, 2**15 - 1, -(2**15), 0]
    assert numbers[2].tolist() == [2, 0, 0, 2**32 - 1, 0, 0]
    assert numbers[3].tolist() == [2, -2, 0, 127, -128, 0]
    assert numbers[4].tolist() == h.view(np.int16).tolist()
    assert numbers[5].tolist() == [0, 1, 1, 0, 1, 1]
    assert numbers[6].tolist() == [0, 0, 0, 1, -1, 0]


@needs_numba_cuda
def test_math_and_max_take_halves(launch):
    def kernel(a, out):
        i = cuda.grid(1)
        out[0, i] = math.sin(a[i])
        out[1, i] = math.sqrt(a[i])
        out[2, i] = max(a[i], a[0])

    a = np.array([2.0, 0.5, 3.25], np.float16)
    out = np.zeros((3, 3), np.float16)
    launch(kernel, 1, 3, a, out)
    np.testing.assert_allclose(out[0], np.sin(a.astype(float)), rtol=1e-3)
    np.testing.assert_array_equal(out[1], np.sqrt(a.astype(float)).astype(np.float16))
    np.testing.assert_array_equal(out[2], np.maximum(a, a[0]))
