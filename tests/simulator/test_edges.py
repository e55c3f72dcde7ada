"""Corners where a simulator and a GPU could part: each was once wrong here."""

# mypy: ignore-errors
from __future__ import annotations

import math

import numpy as np
import pytest
from kernel_bench import errors
from numba import cuda, float32, int8, int32, uint8, uint32

from grader.simulator.frontend import KernelError, types
from grader.simulator.signatures import choose_signature


def test_an_unsigned_index_that_wrapped_is_outside(launch):
    def kernel(a, out):
        i = cuda.grid(1)
        out[i] = a[uint32(i) - uint32(1)]

    result = launch(kernel, 1, 32, np.arange(32.0), np.zeros(32))
    assert errors(result) == ["out-of-bounds"]
    assert result.findings[0].count == 1


def test_zip_asks_no_part_beyond_the_shortest(launch):
    def kernel(n, out):
        s = cuda.shared.array(4, float32)
        if cuda.threadIdx.x == 0:
            for k in range(3):
                s[k] = k + 1
        cuda.syncthreads()
        for k, value in zip(range(n[cuda.threadIdx.x]), s):  # noqa: B905
            out[cuda.threadIdx.x] += (k + 1) * value

    out = np.zeros(4)
    result = launch(kernel, 1, 4, np.array([3, 0, 2, 3]), out)
    assert errors(result) == []
    assert out.tolist() == [14, 0, 5, 14]
    assert result.counters["shared_loads"] == 8


def test_enumerate_may_start_below_zero(launch):
    def kernel(x, out):
        i = cuda.grid(1)
        for k, value in enumerate(x, -i):
            out[i] += k * value

    x, out = np.array([1.0, 10.0, 100.0]), np.zeros(4)
    launch(kernel, 1, 4, x, out)
    assert out.tolist() == [sum(k * v for k, v in enumerate(x, -i)) for i in range(4)]


def test_integer_powers_with_negative_exponents(launch):
    def kernel(base, exponent, out):
        i = cuda.grid(1)
        out[i] = base[i] ** exponent[i]

    out = np.zeros(5, np.int64)
    launch(kernel, 1, 5, np.array([2, 1, -1, -1, 3]), np.array([-1, -5, -3, -2, 4]), out)
    assert out.tolist() == [0, 1, -1, 1, 81]


def test_a_tuple_index_outside_is_the_kernels_mistake(launch):
    def kernel(out):
        items = (2.0, 3.0)
        i = cuda.grid(1)
        out[i] = items[i]

    out = np.zeros(4)
    result = launch(kernel, 1, 4, out)
    assert errors(result) == ["out-of-bounds"]
    assert result.findings[0].count == 2
    assert out[:2].tolist() == [2, 3]


def test_floats_that_fit_no_integer_end_at_its_limits(launch):
    def kernel(x, out):
        i = cuda.grid(1)
        out[0, i] = int32(x[i])
        out[1, i] = uint8(x[i])
        out[2, i] = int8(x[i])
        out[3, i] = int(x[i])

    x = np.array([1e10, -1e10, math.nan, -1.9, 300.7])
    out = np.zeros((4, 5), np.int64)
    launch(kernel, 1, 5, x, out)
    assert out[0].tolist() == [2**31 - 1, -(2**31), 0, -1, 300]
    assert out[1].tolist() == [255, 0, 0, 0, 44]
    assert out[2].tolist() == [-1, 0, 0, -1, 44]
    assert out[3].tolist() == [10**10, -(10**10), 0, -1, 300]


def test_minus_zero_is_not_zero(launch):
    def kernel(out):
        i = cuda.grid(1)
        y = 0.0 if i % 2 else -0.0
        out[i] = math.copysign(1.0, y)

    out = np.zeros(4)
    launch(kernel, 1, 4, out)
    assert out.tolist() == [-1, 1, -1, 1]


def test_a_wrong_reshape_is_the_kernels_mistake(launch):
    def kernel(out):
        out[0] = out.reshape((3, 3))[0, 0]

    with pytest.raises(KernelError, match="8 elements cannot be reshaped"):
        launch(kernel, 1, 1, np.zeros(8))


def test_an_exact_signature_wins_and_no_value_is_cut_if_another_fits():
    array = types.Array(types.float32, 1, "C")
    whole, real = (array, types.int64), (array, types.float64)
    assert choose_signature((array, types.float64), [whole, real]) == real
    assert choose_signature((array, types.float32), [whole, real]) == real
    assert choose_signature((array, types.int64), [real, whole]) == whole


def test_what_an_atomic_returns_survives_a_join(launch):
    """One lane reserves room for its warp; Numba's IR copies the result into the variable of both paths."""

    def kernel(count, out):
        base = 0
        if cuda.laneid == 0:
            base = cuda.atomic.add(count, 0, 32)
        out[cuda.grid(1)] = cuda.shfl_sync(0xFFFFFFFF, base, 0) + cuda.laneid

    out = np.zeros(64, np.int64)
    launch(kernel, 1, 64, np.zeros(1, np.int32), out)
    assert sorted(out.tolist()) == list(range(64))


def small_arrays(out):
    a = cuda.shared.array(100, np.float32)
    b = cuda.shared.array(3, np.uint8)
    c = cuda.shared.array(5, np.float64)
    mine = cuda.local.array(3, np.int16)
    t = cuda.threadIdx.x
    mine[0] = t
    a[t] = mine[0]
    if t < 3:
        b[t] = c[t] = t
    cuda.syncthreads()
    out[t] = a[t] + (b[t % 3] + c[t % 3])


def test_memory_of_arrays_is_what_a_gpu_gives_them(launch):
    out = np.zeros(64)
    counters = launch(small_arrays, 1, 64, out).counters
    assert counters["shared_bytes"] == 400 + 3 + 5 + 40  # five bytes so that float64 is aligned
    assert counters["local_bytes"] == 6
    assert out.tolist() == [t + 2 * (t % 3) for t in range(64)]


def nearly_all_shared_memory(out):
    a = cuda.shared.array(3071, np.float32)
    b = cuda.shared.array(3071, np.float32)
    c = cuda.shared.array(3071, np.float32)
    d = cuda.shared.array(3075, np.float32)
    t = cuda.threadIdx.x
    a[t] = b[t] = c[t] = d[t] = t
    out[t] = a[t] + b[t] + c[t] + d[t]


def test_arrays_that_fill_shared_memory_to_the_last_bytes_are_accepted(launch):
    assert launch(nearly_all_shared_memory, 1, 32, np.zeros(32, np.float32)).counters["shared_bytes"] == 48 << 10
