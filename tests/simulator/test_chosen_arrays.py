"""A variable may be one array for some threads and another for others; a view outside of its array may exist."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
from kernel_bench import errors
from numba import cuda, float32


def test_rows_buffers_and_spaces_chosen_by_thread(launch):
    def kernel(a, b, out):
        s = cuda.shared.array(32, float32)
        i = cuda.grid(1)
        s[i] = i
        cuda.syncthreads()
        row = a[0] if i % 2 else a[1]
        other = b if i % 3 else row
        third = s if i % 5 else other
        out[0, i] = row[i]
        out[1, i] = other[i]
        out[2, i] = third[31 - i]
        out[3, i] = third.size

    rng = np.random.default_rng(1)
    a, b, out = rng.random((2, 32), np.float32), rng.random(32, np.float32), np.zeros((4, 32), np.float32)
    result = launch(kernel, 1, 32, a, b, out)
    i = np.arange(32)
    row = np.where(i % 2, a[0], a[1])
    np.testing.assert_array_equal(out[0], row)
    np.testing.assert_array_equal(out[1], np.where(i % 3, b, row))
    mirrored = np.where(i % 3, b[::-1], np.where(i % 2, a[0, ::-1], a[1, ::-1]))
    np.testing.assert_array_equal(out[2], np.where(i % 5, 31 - i, mirrored))
    assert (out[3] == 32).all()
    assert result.findings == ()
    assert result.counters["shared_loads"] == np.count_nonzero(i % 5)


def test_writes_and_atomics_go_to_the_array_each_thread_chose(launch):
    def kernel(a, b):
        i = cuda.grid(1)
        c = a if i % 2 else b
        c[i] = i + 1
        d = b if i % 2 else a
        old = cuda.atomic.add(d, i, 100)
        cuda.atomic.add(d, i, old)

    a, b = np.zeros(40, np.int64), np.zeros(40, np.int64)
    result = launch(kernel, 1, 40, a, b)
    i = np.arange(40)
    np.testing.assert_array_equal(a, np.where(i % 2, i + 1, 100))
    np.testing.assert_array_equal(b, np.where(i % 2, 100, i + 1))
    assert errors(result) == []


def test_accesses_through_a_chosen_array_are_watched(launch):
    def outside(a, b):
        i = cuda.grid(1)
        c = a if i % 2 else b
        c[i] = 1

    def race(a, b):
        i = cuda.grid(1)
        c = a if i % 2 else b
        c[i // 4] = i

    result = launch(outside, 1, 32, np.zeros(32), np.zeros(20))
    assert [(f.kind, f.array, f.count) for f in result.findings] == [("out-of-bounds", "b", 6)]
    assert sorted(f.array for f in launch(race, 1, 32, np.zeros(32), np.zeros(32)).findings) == ["a", "b"]


def test_buffers_that_change_places_in_a_loop_that_threads_leave_one_by_one(launch):
    def kernel(a, b, out):
        i = cuda.grid(1)
        source, target = a, b
        for k in range(i % 4):
            target[i] = source[i] + k
            source, target = target, source
        out[i] = source[i]

    a, b, out = np.arange(32.0), np.zeros(32), np.zeros(32)
    assert errors(launch(kernel, 1, 32, a, b, out)) == []
    i = np.arange(32)
    np.testing.assert_array_equal(out, i + np.array([0, 0, 1, 3])[i % 4])


def test_a_tuple_of_arrays_indexed_by_thread(launch):
    def kernel(a, b, out):
        i = cuda.grid(1)
        out[i] = (a, b)[i % 2][i]

    a, b, out = np.arange(16.0), -np.arange(16.0), np.zeros(16)
    launch(kernel, 1, 16, a, b, out)
    np.testing.assert_array_equal(out, np.where(np.arange(16) % 2, b, a))


def test_a_row_outside_is_reported_where_it_is_used_and_only_then(launch):
    def unused(a, out):
        i = cuda.grid(1)
        row = a[i]
        if i < a.shape[0]:
            out[i] = row[1]

    def used(a, out):
        i = cuda.grid(1)
        row = a[i]
        row[1] = 1
        out[i] = row[0]

    a, out = np.ones((5, 2)), np.zeros(32)
    assert launch(unused, 1, 32, a, out).findings == ()
    result = launch(used, 1, 32, a, out)
    assert [(f.kind, f.count) for f in result.findings] == [("out-of-bounds", 27), ("out-of-bounds", 27)]
    assert "a[5] outside its shape (5, 2)" in result.findings[0].what
    assert a[:, 0].tolist() == [1] * 5
    assert out[5:].tolist() == [0] * 27


def test_a_row_that_was_written_does_not_vouch_for_the_others(launch):
    def kernel(out):
        s = cuda.shared.array((4, 4), float32)
        i = cuda.grid(1)
        row = s[0]
        row[i] = 1
        cuda.syncthreads()
        out[i] = row[i] + row[3 - i]
        out[i] += s[3, i]

    result = launch(kernel, 1, 4, np.zeros(4))
    assert errors(result) == ["uninitialised-read"]
