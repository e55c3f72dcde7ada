"""Numbers are the GPU's: Numba's types, wrap-around, IEEE results, negative indices."""

# mypy: ignore-errors
from __future__ import annotations

import math

import numpy as np
import pytest
from numba import cuda, float32, int8, int32, njit, uint8

from grader.records import Severity
from grader.simulator.frontend import has_builtin_target

FACTORS = np.array([[1.5, -2.0], [0.25, 8.0]], np.float32)
SHAPE = (4, 8)


def test_integers_wrap_and_widen_as_numba_types_them(launch):
    def kernel(a, b, out):
        i = cuda.grid(1)
        out[0, i] = a[i] + b[i]  # int32 + int32 is int64
        out[1, i] = int32(a[i] * b[i])
        out[2, i] = int8(a[i])
        out[3, i] = uint8(b[i])
        out[4, i] = a[i] // 7 + a[i] % 7
        out[5, i] = (a[i] << 3) ^ (b[i] >> 2)

    rng = np.random.default_rng(1)
    a, b = rng.integers(-(2**31), 2**31, (2, 64)).astype(np.int32)
    out = np.zeros((6, 64), np.int64)
    launch(kernel, 1, 64, a, b, out)
    wide_a, wide_b = a.astype(np.int64), b.astype(np.int64)
    np.testing.assert_array_equal(out[0], wide_a + wide_b)
    np.testing.assert_array_equal(out[1], (wide_a * wide_b).astype(np.int32))
    np.testing.assert_array_equal(out[2], a.astype(np.int8))
    np.testing.assert_array_equal(out[3], b.astype(np.uint8))
    np.testing.assert_array_equal(out[4], wide_a // 7 + wide_a % 7)
    np.testing.assert_array_equal(out[5], (wide_a << 3) ^ (wide_b >> 2))


@pytest.mark.parametrize("bits", [8, 16, 32, 64])
@pytest.mark.parametrize("kind", ["int", "uint"])
def test_a_sign_is_changed_before_an_integer_is_widened(launch, kind, bits):
    def kernel(a, out):
        i = cuda.grid(1)
        out[0, i] = -a[i]
        out[1, i] = ~a[i]
        out[2, i] = +a[i]

    dtype = np.dtype(f"{kind}{bits}")
    limits = np.iinfo(dtype)
    a = np.array([0, 1, 5, limits.max, limits.min, limits.max - 1], dtype)
    out = np.zeros((3, a.size), f"{kind}64")
    launch(kernel, 1, a.size, a, out)
    # Numba's lowering of the three for numba.cuda: a subtraction or xor in the operand's own width, then an extension.
    np.testing.assert_array_equal(out[0], np.negative(a).astype(out.dtype))
    np.testing.assert_array_equal(out[1], np.invert(a).astype(out.dtype))
    np.testing.assert_array_equal(out[2], a.astype(out.dtype))


def test_a_power_of_one_half_is_no_square_root_at_the_edges(launch):
    def kernel(x, out, half):
        i = cuda.grid(1)
        out[0, i] = x[i] ** 0.5
        out[1, i] = math.pow(x[i], 0.5)
        out[2, i] = x[i] ** half

    x = np.array([-math.inf, -0.0, 0.0, 4.0, math.inf, -1.0])
    out = np.zeros((3, x.size))
    launch(kernel, 1, x.size, x, out, 0.5)
    for row in out:  # C11, F.10.4.4
        np.testing.assert_array_equal(row, [math.inf, 0.0, 0.0, 2.0, math.inf, math.nan])
        assert not np.signbit(row[1])


def test_division_by_zero_is_ieee_and_raises_nothing(launch):
    def kernel(x, n, out):
        i = cuda.grid(1)
        out[0, i] = 1 / x[i]
        out[1, i] = math.sqrt(x[i])
        out[2, i] = n[i] / 0
        out[3, i] = math.log(x[i])

    x = np.array([0.0, -1.0, 4.0], np.float32)
    out = np.zeros((4, 3), np.float64)
    launch(kernel, 1, 3, x, np.array([1, 0, -1], np.int32), out)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out[0], 1 / x.astype(np.float64))
        np.testing.assert_array_equal(out[1], np.sqrt(x))
        np.testing.assert_array_equal(out[2], [math.inf, math.nan, -math.inf])
        np.testing.assert_array_equal(out[3], np.log(x))


def test_float32_stays_float32_and_literals_widen_it(launch):
    def kernel(x, out):
        i = cuda.grid(1)
        out[0, i] = x[i] * x[i] + x[i]
        out[1, i] = x[i] * 2.5 + 1
        out[2, i] = abs(x[i]) ** 2

    x = np.random.default_rng(2).standard_normal(100).astype(np.float32)
    out = np.zeros((3, 100), np.float64)
    launch(kernel, 1, 100, x, out)
    np.testing.assert_array_equal(out[0], x * x + x)
    np.testing.assert_array_equal(out[1], x.astype(np.float64) * 2.5 + 1)
    np.testing.assert_array_equal(out[2], np.abs(x) ** np.float32(2))


@pytest.mark.skipif(has_builtin_target(), reason="Numba's built-in CUDA target cannot compile max of two floats")
def test_max_and_min_of_more_than_two_floats_keep_what_comes_first_beside_nan(launch):
    def kernel(x, n, out):
        i = cuda.grid(1)
        out[0, i] = max(x[i], n[i])
        out[1, i] = max(n[i], x[i])
        out[2, i] = min(x[i], 1)
        out[3, i] = max(x[i], 1.0, x[0])
        out[4, i] = min(1.0, x[i], x[0])

    x = np.array([2.5, math.nan, -math.inf], np.float32)
    out = np.zeros((5, 3))
    launch(kernel, 1, 3, x, np.array([2, 2, 2]), out)
    nan = math.nan
    # Numba compares and selects, where it calls fmax and fmin for two floats.
    np.testing.assert_array_equal(
        out, [[2.5, nan, 2], [2.5, 2, 2], [1, nan, -math.inf], [2.5, nan, 2.5], [1, 1, -math.inf]]
    )


@pytest.mark.skipif(has_builtin_target(), reason="Numba's built-in CUDA target cannot compile max of two floats")
def test_max_and_min_prefer_numbers_to_nan(launch):
    def kernel(x, out):
        i = cuda.grid(1)
        out[0, i] = max(x[i], float32(0.25))
        out[1, i] = min(x[i], float32(-2.0))

    x = np.array([1.0, -3.0, math.nan, 0.25], np.float32)
    out = np.zeros((2, 4), np.float32)
    launch(kernel, 1, 4, x, out)
    np.testing.assert_array_equal(out, [[1.0, 0.25, 0.25, 0.25], [-2.0, -3.0, -2.0, -2.0]])


def test_negative_indices_count_from_the_end_once(launch):
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = x[i - 1] + x[-1]

    x = np.random.default_rng(3).random(16)
    out = np.zeros(16)
    result = launch(kernel, 1, 16, x, out)
    np.testing.assert_array_equal(out, np.roll(x, 1) + x[-1])
    assert [finding.kind for finding in result.findings if finding.severity is not Severity.ADVICE] == [
        "negative-index"
    ]


def test_accesses_outside_are_suppressed_named_and_counted(launch):
    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = x[i + 2]

    x, out = np.arange(1.0, 31.0), np.zeros(30)
    result = launch(kernel, 2, 16, x, out)
    np.testing.assert_array_equal(out, np.r_[x[2:], 0, 0])
    errors = [finding for finding in result.findings if finding.severity is Severity.ERROR]
    read, write = sorted(errors, key=lambda finding: finding.array, reverse=True)
    assert (read.array, read.count, read.kind) == ("x", 4, "out-of-bounds")
    assert (write.array, write.count) == ("out", 2)
    assert "x[30]" in read.what
    assert "(30,)" in read.what
    assert read.threads == (((1, 0, 0), (12, 0, 0)),)
    assert read.place.text == "out[i] = x[i + 2]"


def test_rows_slices_and_transposes_are_views(launch):
    def kernel(a, out):
        i = cuda.grid(1)
        row = a[i]
        part = row[1:3]
        column = a.T[0]
        part[0] = 5
        out[i] = row[1] + part[1] + column[i] + a[i, 2:][0] + len(part)

    a = np.random.default_rng(5).random((6, 4))
    before = a.copy()
    out = np.zeros(6)
    launch(kernel, 1, 6, a, out)
    np.testing.assert_allclose(out, 5 + before[:, 2] + before[:, 0] + before[:, 2] + 2)
    np.testing.assert_array_equal(a[:, 1], 5)


def test_captured_arrays_tuples_and_njit_functions(launch):
    scale = 3

    @njit
    def twice(value):
        return value * 2 * scale

    def kernel(out):
        i = cuda.grid(1)
        table = cuda.const.array_like(FACTORS)
        out[i] = twice(FACTORS[i % 2, i // 2]) + table[1, 1] + SHAPE[0] * SHAPE[1]

    out = np.zeros(4)
    launch(kernel, 1, 4, out)
    np.testing.assert_array_equal(out, 6 * FACTORS.T.reshape(-1).astype(np.float64) + 8 + 32)


def test_local_arrays_are_one_per_thread_and_shared_ones_one_per_block(launch):
    def kernel(out):
        mine = cuda.local.array(4, int32)
        ours = cuda.shared.array(SHAPE, int32)
        twin_a, twin_b = cuda.shared.array(32, int32), cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        for k in range(4):
            mine[k] = t * k
        ours[t // 8, t % 8] = t + cuda.blockIdx.x
        twin_a[t] = t
        twin_b[t] = -t
        cuda.syncthreads()
        out[cuda.blockIdx.x, t] = mine[3] + 1000 * ours[3 - t // 8, t % 8] + twin_a[t] + twin_b[t]

    out = np.zeros((5, 32), np.int64)
    launch(kernel, 5, 32, out)
    t, block = np.arange(32), np.arange(5)[:, None]
    np.testing.assert_array_equal(out, 3 * t + 1000 * ((3 - t // 8) * 8 + t % 8 + block))


def test_dynamic_shared_memory_is_one_stretch(launch):
    def kernel(out):
        floats = cuda.shared.array(0, float32)
        ints = cuda.shared.array(0, int32)
        t = cuda.threadIdx.x
        floats[t] = float32(1.0)
        cuda.syncthreads()
        out[t] = ints[t]

    out = np.zeros(16, np.int32)
    launch(kernel, 1, 16, out, shared=64)
    assert (out.view(np.float32) == 1).all()


def test_unwritten_shared_memory_shows(launch):
    def kernel(out):
        s = cuda.shared.array(32, float32)
        out[cuda.threadIdx.x] = s[cuda.threadIdx.x]

    out = np.zeros(32, np.float32)
    launch(kernel, 1, 32, out)
    assert np.isnan(out).all()


@pytest.mark.parametrize("name", ["add", "max", "min", "sub", "exch"])
def test_atomics_lose_nothing_where_lanes_meet(launch, name):
    kernels = {}

    def add(x, out):
        cuda.atomic.add(out, cuda.grid(1) % 3, x[cuda.grid(1)])

    def sub(x, out):
        cuda.atomic.sub(out, cuda.grid(1) % 3, x[cuda.grid(1)])

    def largest(x, out):
        cuda.atomic.max(out, cuda.grid(1) % 3, x[cuda.grid(1)])

    def smallest(x, out):
        cuda.atomic.min(out, cuda.grid(1) % 3, x[cuda.grid(1)])

    def exch(x, out):
        cuda.atomic.exch(out, cuda.grid(1) % 3, x[cuda.grid(1)])

    kernels = {"add": add, "sub": sub, "max": largest, "min": smallest, "exch": exch}
    x = np.random.default_rng(6).integers(-50, 50, 96).astype(np.int32)
    out = np.zeros(3, np.int32)
    result = launch(kernels[name], 3, 32, x, out)
    groups = x.reshape(32, 3)
    expected = {
        "add": groups.sum(0),
        "sub": -groups.sum(0),
        "max": np.maximum(groups.max(0), 0),
        "min": np.minimum(groups.min(0), 0),
    }
    if name == "exch":
        assert all(out[k] in groups[:, k] for k in range(3))
    else:
        np.testing.assert_array_equal(out, expected[name])
    assert result.counters["global_atomics"] == 96


def test_atomic_max_keeps_what_is_stored_when_either_side_is_nan(launch):
    def kernel(x, out):
        i = cuda.grid(1)
        cuda.atomic.max(out, i, x[i])

    out = np.array([1.0, math.nan, 2.0], np.float32)
    launch(kernel, 1, 3, np.array([math.nan, 5.0, 3.0], np.float32), out)
    np.testing.assert_array_equal(out, np.array([1.0, math.nan, 3.0], np.float32))


def test_tickets_are_handed_out_once(launch):
    def kernel(counter, out):
        out[cuda.grid(1)] = cuda.atomic.add(counter, 0, 1)

    out = np.zeros(500, np.int32)
    launch(kernel, 5, 100, np.zeros(1, np.int32), out)
    assert sorted(out) == list(range(500))


def test_warp_shuffles_and_votes(launch):
    def kernel(x, out):
        t = cuda.threadIdx.x
        value = x[t]
        for delta in (16, 8, 4, 2, 1):
            value += cuda.shfl_down_sync(0xFFFFFFFF, value, delta)
        out[0, t] = cuda.shfl_sync(0xFFFFFFFF, value, 0)
        out[1, t] = cuda.shfl_xor_sync(0xFFFFFFFF, x[t], 1)
        out[2, t] = cuda.shfl_up_sync(0xFFFFFFFF, x[t], 2)
        out[3, t] = cuda.popc(cuda.ballot_sync(0xFFFFFFFF, x[t] > 50))
        out[4, t] = cuda.any_sync(0xFFFFFFFF, x[t] > 1000)

    x = np.random.default_rng(7).integers(0, 100, 64).astype(np.int32)
    out = np.zeros((5, 64), np.int32)
    launch(kernel, 1, 64, x, out)
    halves = x.reshape(2, 32)
    np.testing.assert_array_equal(out[0], np.repeat(halves.sum(1), 32))
    np.testing.assert_array_equal(out[1], x[np.arange(64) ^ 1])
    np.testing.assert_array_equal(out[2].reshape(2, 32), np.c_[halves[:, :2], halves[:, :-2]])
    np.testing.assert_array_equal(out[3], np.repeat((halves > 50).sum(1), 32))
    assert not out[4].any()


def test_bits_are_counted_found_and_reversed(launch):
    def kernel(x, out):
        i = cuda.grid(1)
        out[0, i] = cuda.popc(x[i])
        out[1, i] = cuda.clz(x[i])
        out[2, i] = cuda.ffs(x[i])
        out[3, i] = cuda.brev(x[i])

    x = np.array([0, 1, 6, 0x80000000, 0xFFFFFFFF, 12345], np.uint32)
    out = np.zeros((4, 6), np.int64)
    launch(kernel, 1, 6, x, out)
    text = [f"{value:032b}" for value in x.tolist()]
    assert out[0].tolist() == [bits.count("1") for bits in text]
    assert out[1].tolist() == [len(bits) - len(bits.lstrip("0")) for bits in text]
    assert out[2].tolist() == [bits[::-1].find("1") + 1 for bits in text]
    assert out[3].tolist() == [int(bits[::-1], 2) for bits in text]


def test_loops_over_arrays_tuples_zip_and_enumerate(launch):
    def kernel(x, out):
        i = cuda.grid(1)
        for value in x[: i % 5]:  # some threads have nothing to go over
            out[0, i] += value
        for k, row in enumerate(out[1:2]):
            row[i] = k + 1
        for weight, value in zip((3, 5, 7), x[i % 3 :]):  # noqa: B905
            out[2, i] += weight * value
        for k, (a, b) in enumerate(((1, 2), (3, i)), 10):
            if k <= 10 + i % 2:
                out[3, i] += k * a + b
        for k, j in enumerate(range(i, 20, 4)):
            out[4, i] += k * j

    x = np.arange(1.0, 6.0)
    out = np.zeros((5, 32))
    assert launch(kernel, 1, 32, x, out).findings == ()
    i = range(32)
    assert out[0].tolist() == [x[: k % 5].sum() for k in i]
    assert out[1].tolist() == [1] * 32
    assert out[2].tolist() == [sum(w * v for w, v in zip((3, 5, 7), x[k % 3 :], strict=False)) for k in i]
    assert out[3].tolist() == [sum(n * a + b for n, (a, b) in [(10, (1, 2)), (11, (3, k))][: 1 + k % 2]) for k in i]
    assert out[4].tolist() == [sum(n * j for n, j in enumerate(range(k, 20, 4))) for k in i]


def test_reshape_view_and_divmod(launch):
    def kernel(x, out):
        s = cuda.shared.array(24, float32)
        i = cuda.grid(1)
        s[i] = x[i]
        cuda.syncthreads()
        square = s.reshape(4, 6)
        row, column = divmod(i, 6)
        out[0, i] = square[row, column] + s.reshape((2, -1))[i // 12, i % 12]
        out[1, i] = s.view(np.int32)[i]
        out[2, i] = square.reshape(24)[i] + square.transpose()[column, row]

    x = np.random.default_rng(8).random(24).astype(np.float32)
    out = np.zeros((3, 24))
    assert launch(kernel, 1, 24, x, out).findings == ()
    np.testing.assert_array_equal(out[0], (x + x).astype(np.float64))
    np.testing.assert_array_equal(out[1], x.view(np.int32))
    np.testing.assert_array_equal(out[2], (x + x).astype(np.float64))


def test_slices_are_assigned_element_by_element(launch):
    def kernel(a, out):
        mine = cuda.local.array(4, float32)
        i = cuda.grid(1)
        mine[:] = 2
        mine[1 : 1 + i % 3] = i
        out[i] = a[0, 3]
        out[i, 1:3] = mine[2]
        out[i, ..., 3:] = -1

    a, out = np.random.default_rng(9).random((2, 4)), np.zeros((8, 4))
    assert [f for f in launch(kernel, 1, 8, a, out).findings if f.severity is Severity.ERROR] == []
    for i in range(8):
        mine = np.full(4, 2.0)
        mine[1 : 1 + i % 3] = i
        assert out[i].tolist() == [a[0, 3], mine[2], mine[2], -1]


NO_DEFAULTS = pytest.mark.skipif(
    has_builtin_target(), reason="Numba's built-in CUDA target cannot compile default and variable arguments"
)


@NO_DEFAULTS
def test_default_arguments_of_device_functions(launch):
    @cuda.jit(device=True)
    def scaled(x, factor=None):
        if factor is None:
            return x
        return x * factor

    @cuda.jit(device=True)
    def shifted(x, by=2.5, times=2, also=(1, 0.5), ready=True):
        return x + by * times + also[1] if ready else x

    def kernel(x, out):
        i = cuda.grid(1)
        out[0, i] = scaled(x[i]) + scaled(x[i], 3.0) * 10
        out[1, i] = shifted(x[i]) + shifted(x[i], times=4) * 100

    x, out = np.random.default_rng(11).random(4), np.zeros((2, 4))
    launch(kernel, 1, 4, x, out)
    np.testing.assert_allclose(out[0], 31 * x)
    np.testing.assert_allclose(out[1], x + 5.5 + (x + 10.5) * 100)


@NO_DEFAULTS
def test_variable_arguments_of_device_functions(launch):
    @cuda.jit(device=True)
    def total(first, *rest):
        result = first
        for value in rest:
            result += value
        return result

    def kernel(x, out):
        i = cuda.grid(1)
        out[i] = total(x[i], x[i], 3.0) + total(x[i], 2) * 100

    x, out = np.random.default_rng(12).random(4), np.zeros(4)
    launch(kernel, 1, 4, x, out)
    np.testing.assert_allclose(out, 2 * x + 3 + 100 * (x + 2))


def test_tuples_compare_and_none_is_an_argument(launch):
    @cuda.jit(device=True)
    def scaled(x, factor):
        if factor is None:
            return x
        return x * factor

    def kernel(image, out):
        i = cuda.grid(1)
        red, green, blue = image[i]
        out[0, i] = scaled(red, None) + scaled(green, 3.0) * 10
        out[1, i] = (i, 1) == (2, 1)
        out[2, i] = i in (1, 3)
        pair = (red,) + (blue,)  # noqa: RUF005
        out[3, i] = pair[1] if image.shape != (1, 1) else 0

    image = np.random.default_rng(10).random((4, 3))
    out = np.zeros((4, 4))
    launch(kernel, 1, 4, image, out)
    np.testing.assert_allclose(out[0], image[:, 0] + 30 * image[:, 1])
    assert out[1:3].tolist() == [[0, 0, 1, 0], [0, 1, 0, 1]]
    np.testing.assert_array_equal(out[3], image[:, 2])
