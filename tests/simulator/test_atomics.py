"""Every atomic on every dtype that Numba types: as if threads came one after another, with the old value returned.

What they do with NaN is read off Numba's implementations: max and min keep what is stored where either side is NaN,
nanmax and nanmin let a number replace NaN. inc and dec are CUDA C++ Programming Guide's atomicInc and atomicDec.
"""

# mypy: ignore-errors
from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from numba import cuda, float32, int32, int64, uint32, uint64

from grader.records import Severity

ALL = ("int32", "uint32", "int64", "uint64", "float32", "float64")
INTEGERS = ALL[:4]
UNSIGNED = ("uint32", "uint64")


def _inc(old, value):
    return 0 if old >= value else old + 1


def _dec(old, value):
    return value if old == 0 or old > value else old - 1


def _keep(better):
    return lambda old, value: value if not math.isnan(value) and better(value, old) else old


def _number(better):
    return lambda old, value: old if math.isnan(value) else value if math.isnan(old) or better(value, old) else old


OPERATIONS = {
    "add": (lambda old, value: old + value, ALL),
    "sub": (lambda old, value: old - value, ALL),
    "max": (_keep(lambda a, b: a > b), ALL),
    "min": (_keep(lambda a, b: a < b), ALL),
    "nanmax": (_number(lambda a, b: a > b), ALL),
    "nanmin": (_number(lambda a, b: a < b), ALL),
    "and_": (lambda old, value: old & value, INTEGERS),
    "or_": (lambda old, value: old | value, INTEGERS),
    "xor": (lambda old, value: old ^ value, INTEGERS),
    "inc": (_inc, UNSIGNED),
    "dec": (_dec, UNSIGNED),
    "exch": (lambda old, value: value, INTEGERS),
}
CASES = [(name, dtype) for name, (_, dtypes) in OPERATIONS.items() for dtype in dtypes]


def _as(dtype, number):
    if np.dtype(dtype).kind == "f":
        return float(np.dtype(dtype).type(number))
    bits = 8 * np.dtype(dtype).itemsize
    number &= (1 << bits) - 1
    return number - (1 << bits) if np.dtype(dtype).kind == "i" and number >> (bits - 1) else number


def _kernel(name, *, returns):
    line = f"cuda.atomic.{name}(cells, index[i], values[i])"
    code = f"def kernel(cells, index, values, old):\n    i = cuda.grid(1)\n    {'old[i] = ' if returns else ''}{line}\n"
    scope = {"cuda": cuda}
    exec(compile(code, __file__, "exec"), scope)
    return scope["kernel"]


def _values(dtype, count, seed):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.integers(-20, 20, count).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, count, dtype, endpoint=True)


@pytest.mark.parametrize(("name", "dtype"), CASES)
@pytest.mark.parametrize("returns", [True, False])
def test_threads_take_turns(launch, name, dtype, returns):
    operation, _ = OPERATIONS[name]
    start, values = _values(dtype, 4, 1), _values(dtype, 96, 2)
    if name in ("inc", "dec"):
        start, values = start % 7, values % 7
    index = np.random.default_rng(3).integers(-4, 4, 96)
    cells, old = start.copy(), np.zeros(96, dtype)
    result = launch(_kernel(name, returns=returns), 3, 32, cells, index, values, old)
    assert [f for f in result.findings if f.severity is Severity.ERROR] == []
    if returns:
        # The old values tell the order: each cell's history is a chain through all operations on it.
        for cell in range(4):
            here = [i for i in range(96) if index[i] % 4 == cell]
            steps = Counter((old[i].item(), _as(dtype, operation(old[i].item(), values[i].item()))) for i in here)
            leaves, enters = Counter(), Counter()
            for (before, after), count in steps.items():
                leaves[before] += count
                enters[after] += count
            enters[start[cell].item()] += 1
            leaves[cells[cell].item()] += 1
            assert leaves == enters
    if name not in ("exch", "inc", "dec"):
        for cell in range(4):
            expected = start[cell].item()
            for i in range(96):
                if index[i] % 4 == cell:
                    expected = _as(dtype, operation(expected, values[i].item()))
            assert cells[cell].item() == expected


@pytest.mark.parametrize("name", ["max", "min", "nanmax", "nanmin"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("returns", [True, False])
def test_extrema_keep_numbers_nan_and_infinities_as_numba_does(launch, name, dtype, returns):
    operation, _ = OPERATIONS[name]
    numbers = [math.nan, math.inf, -math.inf, 1.0, -1.0, 0.0]
    start = np.repeat(np.array(numbers, dtype), 6)
    values = np.tile(np.array(numbers, dtype), 6)
    cells, old = start.copy(), np.zeros(36, dtype)
    launch(_kernel(name, returns=returns), 1, 36, cells, np.arange(36), values, old)
    expected = [operation(a, b) for a, b in zip(start.tolist(), values.tolist(), strict=True)]
    np.testing.assert_array_equal(cells, np.array(expected, dtype))
    if returns:
        np.testing.assert_array_equal(old, start)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_compare_and_swap_writes_where_the_old_value_is_the_wanted_one(launch, dtype):
    def kernel(cells, flat, old, wanted, new):
        i = cuda.grid(1)
        old[0, i] = cuda.atomic.cas(cells, (i % 2, i // 2), wanted[i], new[i])
        old[1, i] = cuda.atomic.cas(flat, i, wanted[i], new[i])
        old[2, i] = cuda.atomic.compare_and_swap(flat[i:], new[i], wanted[i])

    start, new = _values(dtype, 8, 4), _values(dtype, 8, 5)
    wanted = np.where(np.arange(8) % 3 == 0, start, start ^ start.dtype.type(1))
    cells, flat, old = start.reshape(4, 2).T.copy(), start.copy(), np.zeros((3, 8), dtype)
    launch(kernel, 1, 8, cells, flat, old, wanted, new)
    swapped = np.where(wanted == start, new, start)
    np.testing.assert_array_equal(cells.T.reshape(-1), swapped)
    np.testing.assert_array_equal(old, [start, start, swapped])
    np.testing.assert_array_equal(flat, np.where(swapped == new, wanted, swapped))


def test_shared_and_local_arrays_with_several_axes(launch):
    def kernel(out):
        ours = cuda.shared.array((2, 3), float32)
        mine = cuda.local.array((2, 2), int64)
        t = cuda.threadIdx.x
        if t < 6:
            ours[t // 3, t % 3] = 0
        mine[0, 0] = 0
        mine[1, 1] = t
        cuda.syncthreads()
        cuda.atomic.add(ours, (t % 2, t % 3), float32(t))
        cuda.atomic.max(mine, (1, -1), 20)
        before = cuda.atomic.add(mine, (0, 0), 5)
        cuda.syncthreads()
        out[0, t] = ours[t % 2, t % 3]
        out[1, t] = mine[1, 1]
        out[2, t] = mine[0, 0] - before

    out = np.zeros((3, 32))
    assert [f for f in launch(kernel, 1, 32, out).findings if f.severity is Severity.ERROR] == []
    t = np.arange(32)
    sums = [[sum(k for k in t if k % 2 == a and k % 3 == b) for b in range(3)] for a in range(2)]
    np.testing.assert_array_equal(out[0], [sums[k % 2][k % 3] for k in t])
    np.testing.assert_array_equal(out[1], np.maximum(t, 20))
    np.testing.assert_array_equal(out[2], 5)


def test_an_unsigned_index_that_wrapped_counts_from_the_end(launch):
    def kernel(cells, image):
        i = cuda.grid(1)
        cuda.atomic.add(cells, uint64(i) - uint64(1), 1)
        cuda.atomic.add(image, (uint64(i) - uint64(1), 0), 1)

    cells, image = np.zeros(4, np.int32), np.zeros((4, 2), np.int32)
    result = launch(kernel, 1, 4, cells, image)
    assert [f for f in result.findings if f.severity is Severity.ERROR] == []
    assert cells.tolist() == [1] * 4
    assert image[:, 0].tolist() == [1] * 4


def test_an_atomic_outside_is_found_and_changes_nothing(launch):
    def kernel(cells):
        cuda.atomic.add(cells, cuda.grid(1), 1)

    cells = np.zeros(4, np.int32)
    result = launch(kernel, 1, 8, cells)
    (finding,) = [f for f in result.findings if f.severity is Severity.ERROR]
    assert (finding.kind, finding.count) == ("out-of-bounds", 4)
    assert cells.tolist() == [1] * 4


def test_values_are_cast_to_the_arrays_dtype(launch):
    def kernel(whole, real, counts):
        cuda.atomic.add(whole, 0, 2.75)
        cuda.atomic.add(real, 0, int32(3))
        cuda.atomic.inc(counts, 0, uint32(2))

    whole, real, counts = np.zeros(1, np.int32), np.zeros(1, np.float32), np.zeros(1, np.uint32)
    launch(kernel, 1, 4, whole, real, counts)
    assert (whole[0], real[0], counts[0]) == (8, 12, 1)
