"""Lanes that part meet again, barriers hold, loops end: whatever way a kernel takes."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, float32, int32

from grader.records import Severity
from grader.simulator.stops import StepLimit

N = 1000


def test_branches_take_each_lane_its_own_way(launch):
    def kernel(x, out):
        i = cuda.grid(1)
        if i < out.size:
            if x[i] > 0:
                if x[i] > 1:  # noqa: SIM108
                    y = x[i] * 2
                else:
                    y = x[i] + 10
            elif x[i] < -1:
                y = -x[i]
            else:
                y = float32(7)
            out[i] = y

    x = np.random.default_rng(1).standard_normal(N).astype(np.float32)
    out = np.zeros(N, np.float32)
    launch(kernel, 4, 256, x, out)
    expected = np.where(x > 0, np.where(x > 1, x * 2, x + 10), np.where(x < -1, -x, np.float32(7)))
    np.testing.assert_array_equal(out, expected)


def test_loops_of_different_length_break_and_continue(launch):
    def kernel(out):
        i = cuda.grid(1)
        total = 0
        k = 0
        while True:
            k += 1
            if k % 3 == 0:
                continue
            if k > i % 17:
                break
            for j in range(k, 0, -2):
                if j == 5:
                    break
                total += j
        out[i] = total

    def reference(i):
        total = k = 0
        while True:
            k += 1
            if k % 3 == 0:
                continue
            if k > i % 17:
                break
            for j in range(k, 0, -2):
                if j == 5:
                    break
                total += j
        return total

    out = np.zeros(256, np.int64)
    launch(kernel, 2, 128, out)
    assert out.tolist() == [reference(i) for i in range(256)]


def test_lanes_meet_after_a_loop_before_they_shuffle(launch):
    def kernel(out):
        i = cuda.threadIdx.x
        value = 0
        for k in range(i):
            value += k
        out[i] = cuda.shfl_down_sync(0xFFFFFFFF, value, 1)

    out = np.zeros(32, np.int64)
    launch(kernel, 1, 32, out)
    sums = [sum(range(i)) for i in range(32)]
    assert out.tolist() == [*sums[1:], sums[31]]


def test_early_returns_leave_the_rest_running_through_barriers(launch):
    def kernel(x, out):
        s = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        if t >= 64:
            return
        i = cuda.blockIdx.x * 64 + t
        s[t] = x[i]
        cuda.syncthreads()
        for turn in range(6):
            other = s[t ^ (1 << turn)]
            cuda.syncthreads()
            s[t] += other
            cuda.syncthreads()
        out[i] = s[t]

    x = np.random.default_rng(2).standard_normal(640).astype(np.float32)
    out = np.zeros(640, np.float32)
    result = launch(kernel, 10, 96, x, out)
    np.testing.assert_allclose(out, np.repeat(x.reshape(10, 64).sum(1), 64), rtol=1e-5, atol=1e-5)
    assert {finding.kind for finding in result.findings} == {"early-return"}


def test_barriers_at_different_lines_are_reported(launch):
    def kernel(out):
        if cuda.threadIdx.x < 16:
            out[cuda.threadIdx.x] = 1
            cuda.syncthreads()
        else:
            cuda.syncthreads()

    (finding,) = launch(kernel, 1, 32, np.zeros(32, np.int32)).findings
    assert finding.kind == "divergent-barrier"
    assert finding.severity is Severity.ERROR
    assert "syncthreads" in finding.place.text


def test_barrier_votes_count_all_threads_of_a_block(launch):
    def kernel(x, out):
        t = cuda.threadIdx.x
        b = cuda.blockIdx.x
        count = cuda.syncthreads_count(x[b, t])
        every = cuda.syncthreads_and(x[b, t])
        some = cuda.syncthreads_or(x[b, t])
        if t == 3:
            out[b, 0] = count
            out[b, 1] = every
            out[b, 2] = some

    x = np.zeros((3, 64), np.int32)
    x[1] = 5
    x[2, 7] = 1
    out = np.zeros((3, 3), np.int32)
    launch(kernel, 3, 64, x, out)
    assert (out != 0).tolist() == [[False] * 3, [True] * 3, [True, False, True]]
    assert out[:, 0].tolist() == [0, 64, 1]


def test_a_spinning_lane_yields_to_the_one_it_waits_for(launch):
    def kernel(lock, counter):
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        counter[0] += 1
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)

    counter = np.zeros(1, np.int32)
    counters = launch(kernel, 3, 32, np.zeros(1, np.int32), counter).counters
    assert counter[0] == 96
    # Who holds the lock goes on after a few turns of the others: 230 steps for each. With scheduler.PATIENCE alone they
    # would be more than 1,200.
    assert counters["warp_steps"] / 96 < 500


def test_the_last_block_finishes_the_work_of_all(launch):
    def kernel(x, partial, ticket, out):
        s = cuda.shared.array(1, int32)
        t, b = cuda.threadIdx.x, cuda.blockIdx.x
        if t == 0:
            partial[b] = x[b]
            cuda.threadfence()
            s[0] = cuda.atomic.add(ticket, 0, 1)
        cuda.syncthreads()
        if s[0] == cuda.gridDim.x - 1 and t == 0:
            total = int32(0)
            for k in range(cuda.gridDim.x):
                total += partial[k]
            out[0] = total

    x = np.arange(1, 2001, dtype=np.int32)
    out = np.zeros(1, np.int32)
    launch(kernel, 2000, 64, x, np.zeros(2000, np.int32), np.zeros(1, np.int32), out)
    assert out[0] == 2000 * 2001 // 2


def test_device_functions_return_from_branches_and_loops(launch):
    @cuda.jit(device=True)
    def first_over(row, bound):
        for k in range(row.shape[0]):
            if row[k] > bound:
                return k, row[k]
        return -1, bound

    def kernel(x, where, what):
        i = cuda.grid(1)
        if i < x.shape[0]:
            where[i], what[i] = first_over(x[i], float32(0.9))

    x = np.random.default_rng(3).random((500, 13)).astype(np.float32)
    where, what = np.zeros(500, np.int64), np.zeros(500, np.float32)
    launch(kernel, 4, 128, x, where, what)
    hit = (x > np.float32(0.9)).any(1)
    expected = np.where(hit, (x > np.float32(0.9)).argmax(1), -1)
    assert where.tolist() == expected.tolist()
    np.testing.assert_array_equal(what, np.where(hit, x[np.arange(500), expected], np.float32(0.9)))


def test_a_tuple_keeps_the_values_it_was_built_from(launch):
    def kernel(x, out):
        t = cuda.grid(1)
        i, j = 0, t
        before = (i, j)
        for _ in range(3):
            out[t] += x[before]
            before = (i, j)
            i = i + 1

    x = np.random.default_rng(4).random((3, 8))
    out = np.zeros(8)
    launch(kernel, 1, 8, x, out)
    np.testing.assert_allclose(out, 2 * x[0] + x[1])


def test_waves_cover_a_grid_that_is_larger_than_one(launch):
    def kernel(out):
        i, j, k = cuda.grid(3)
        if i < out.shape[2] and j < out.shape[1] and k < out.shape[0]:
            out[k, j, i] = i + 100 * j + 10000 * k

    out = np.zeros((40, 50, 90), np.int64)
    launch(kernel, (12, 13, 10), (8, 4, 4), out)
    k, j, i = np.indices(out.shape)
    np.testing.assert_array_equal(out, i + 100 * j + 10000 * k)


def test_an_endless_loop_stops_and_names_its_line(launch):
    def kernel(out):
        i = 0
        while out[0] == 0:
            i += 1
        out[1] = i

    with pytest.raises(StepLimit) as stopped:
        launch(kernel, 1, 32, np.zeros(2), cpu_seconds=0.5)
    assert stopped.value.place.text in {"while out[0] == 0:", "i += 1"}
