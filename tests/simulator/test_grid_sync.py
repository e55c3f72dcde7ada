"""Threads of all blocks meet at grid.sync(), and a wait that no schedule can end is found."""

# mypy: ignore-errors
from __future__ import annotations

import math

import numpy as np
import pytest
from kernel_bench import errors
from numba import cuda, float32, int32

from grader.errors import NotSimulated
from grader.records import Severity
from grader.simulator.configuration import LaunchRefused
from grader.simulator.stops import StepLimit


def test_grid_sync_orders_what_all_blocks_write(launch):
    def kernel(a, b, steps):
        i = cuda.grid(1)
        grid = cuda.cg.this_grid()
        for _ in range(steps):
            b[i] = a[(i + 1) % a.size] + a[(i + a.size - 1) % a.size]
            grid.sync()
            a[i] = b[i] % 1000
            grid.sync()

    a = np.random.default_rng(1).integers(0, 1000, 1024)
    expected = a.copy()
    for _ in range(5):
        expected = (np.roll(expected, -1) + np.roll(expected, 1)) % 1000
    result = launch(kernel, 8, 128, a, np.zeros(1024, np.int64), 5)
    assert result.findings == ()
    np.testing.assert_array_equal(a, expected)


def test_without_the_grid_sync_it_is_a_race(launch):
    def kernel(a, b):
        i = cuda.grid(1)
        b[i] = a[i] + 1
        cuda.syncthreads()
        a[i] = b[i - 1]

    assert errors(launch(kernel, 4, 32, np.zeros(128), np.zeros(128))) == ["race"]


def test_grid_sync_orders_shared_memory_of_a_block_too(launch):
    def kernel(out):
        s = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        s[t] = t
        cuda.cg.this_grid().sync()
        out[cuda.grid(1)] = s[63 - t]

    out = np.zeros(192, np.float32)
    assert launch(kernel, 3, 64, out).findings == ()
    np.testing.assert_array_equal(out, np.tile(np.arange(63.0, -1, -1), 3))


def test_all_blocks_run_in_one_wave_however_many_threads(launch):
    def kernel(a, out):
        i = cuda.grid(1)
        a[i] = i
        cuda.cg.this_grid().sync()
        out[i] = a[a.size - 1 - i]

    n = 40 * 1024  # all that 40 multiprocessors of 1024 threads hold
    out = np.zeros(n)
    assert launch(kernel, 40, 1024, np.zeros(n), out).findings == ()
    np.testing.assert_array_equal(out, np.arange(n)[::-1])


@pytest.mark.parametrize(
    ("blocks", "threads", "shared", "words"),
    [
        (41, 1024, 0, r"all 41 blocks at once; Tesla T4 holds 40: 1 per multiprocessor \(by threads 1"),
        (641, 32, 0, r"Tesla T4 holds 640: 16 per multiprocessor"),
        (81, 64, 30000, r"holds 80: 2 per multiprocessor \(by threads 16, by shared memory 2\) on 40"),
    ],
)
def test_a_grid_that_does_not_fit_is_refused_with_the_numbers(launch, blocks, threads, shared, words):
    def kernel(out):
        cuda.cg.this_grid().sync()
        out[cuda.grid(1) % 8] = 1

    with pytest.raises(LaunchRefused, match=words):
        launch(kernel, blocks, threads, np.zeros(8), shared=shared)
    launch(kernel, {41: 40, 641: 640, 81: 80}[blocks], threads, np.zeros(8), shared=shared)


def test_a_grid_whose_memory_is_too_large_for_us_is_not_judged(launch):
    def kernel(out):
        mine = cuda.local.array(4096, float32)
        mine[0] = 1
        cuda.cg.this_grid().sync()
        out[cuda.grid(1)] = mine[0]

    with pytest.raises(NotSimulated, match="must run together"):
        launch(kernel, 40, 1024, np.zeros(40 * 1024))


def test_a_thread_that_never_comes_to_grid_sync_is_found(launch):
    def kernel(out):
        i = cuda.grid(1)
        if i >= out.size:
            return
        out[i] = 1
        cuda.cg.this_grid().sync()

    result = launch(kernel, 3, 32, np.zeros(60))
    (finding,) = [f for f in result.findings if f.severity is Severity.ERROR]
    assert finding.kind == "endless-wait"
    assert "cuda.cg.this_grid().sync()" in finding.place.text
    assert "60 threads wait here for the whole grid, and 36 have returned" in finding.what
    assert not result.finished


def test_grid_sync_waits_for_no_thread_that_returned_while_the_first_of_its_block_stays(launch):
    def kernel(out):
        i = cuda.grid(1)
        if i >= out.size:
            return
        out[i] = 1
        cuda.cg.this_grid().sync()
        out[i] += out[i - 1]

    out = np.zeros(60)
    result = launch(kernel, 2, 32, out)
    assert errors(result) == ["race"]  # the last line reads what its neighbours change
    assert "early-return" in [f.kind for f in result.findings]
    assert result.finished


def test_grid_sync_of_some_and_a_block_barrier_of_others_is_found(launch):
    def kernel(out):
        if cuda.blockIdx.x == 0:
            cuda.cg.this_grid().sync()
        elif cuda.threadIdx.x < 16:
            cuda.syncthreads()
        else:
            cuda.cg.this_grid().sync()
        out[cuda.grid(1)] = 1

    result = launch(kernel, 2, 32, np.zeros(64))
    assert errors(result) == ["divergent-barrier"]
    assert not result.finished


def test_a_flag_that_nobody_sets_is_a_wait_without_end(launch):
    def kernel(flag, out):
        while cuda.atomic.add(flag, 0, 0) == 0:
            cuda.nanosleep(100)
        out[cuda.grid(1)] = 1

    result = launch(kernel, 2, 32, np.zeros(1, np.int32), np.zeros(64))
    assert errors(result) == ["endless-wait"]
    finding = next(f for f in result.findings if f.kind == "endless-wait")
    assert finding.place.line in range(kernel.__code__.co_firstlineno, kernel.__code__.co_firstlineno + 3)
    assert not result.finished


def test_a_flag_that_another_thread_sets_late_is_no_such_wait(launch):
    def kernel(flag, data, out):
        i = cuda.grid(1)
        if i == 0:
            total = 0.0
            for k in range(20000):
                total += math.sqrt(k)
            data[0] = total
            cuda.threadfence()
            cuda.atomic.exch(flag, 0, 1)
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
        cuda.threadfence()
        out[i] = data[0]

    out = np.zeros(64)
    result = launch(kernel, 2, 32, np.zeros(1, np.int32), np.zeros(1), out)
    assert errors(result) == []
    np.testing.assert_allclose(out, np.sqrt(np.arange(20000)).sum())


def test_a_lock_taken_twice_is_found_and_one_given_back_is_not(launch):
    def twice(lock, out):
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        out[0] += 1
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)

    def once(lock, out):
        while cuda.atomic.cas(lock, 0, 0, 1) != 0:
            pass
        cuda.threadfence()
        out[0] += 1
        cuda.threadfence()
        cuda.atomic.exch(lock, 0, 0)

    out = np.zeros(1)
    assert "endless-wait" in errors(launch(twice, 2, 4, np.zeros(1, np.int32), out))
    out = np.zeros(1)
    result = launch(once, 4, 4, np.zeros(1, np.int32), out)
    assert errors(result) == []
    assert out[0] == 16


def test_lanes_in_loops_of_different_lengths_that_never_end_are_found(launch):
    def kernel(flag, out):
        i = cuda.grid(1)
        turn = int32(0)
        while flag[0] == 0:
            turn = (turn + 1) % (2 + i % 5)
            for _ in range(turn):
                turn += 0
        out[i] = turn

    assert errors(launch(kernel, 1, 32, np.zeros(1), np.zeros(32))) == ["endless-wait"]


def test_others_that_wait_at_a_barrier_do_not_hide_it(launch):
    def kernel(flag, out):
        i = cuda.grid(1)
        if i % 2:
            while flag[0] == 0:
                pass
        cuda.syncthreads()
        flag[0] = 1
        out[i] = 1

    result = launch(kernel, 1, 32, np.zeros(1), np.zeros(32))
    assert "endless-wait" in errors(result)
    assert not result.finished


def test_a_spin_that_counts_is_stopped_by_the_time_limit(launch):
    def kernel(flag, out):
        turns = 0
        while flag[0] == 0:
            turns += 1
        out[0] = turns

    with pytest.raises(StepLimit):
        launch(kernel, 1, 32, np.zeros(1), np.zeros(1), cpu_seconds=0.5)


def test_long_loops_that_change_nothing_end(launch):
    def kernel(x, out):
        i = cuda.grid(1)
        value = x[i]
        for _ in range(10000):
            value = math.cos(value)
        for k in range(5000):
            if k % 2 == i % 2:
                continue
            value += 0.0
        out[i] = value

    out = np.zeros(32)
    result = launch(kernel, 1, 32, np.random.default_rng(2).random(32), out)
    assert result.findings == ()
    np.testing.assert_allclose(out, 0.7390851332151607)
