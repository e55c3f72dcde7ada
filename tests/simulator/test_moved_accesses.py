"""An index per lane that a loop moves by one number for all lanes is the access before, moved: and only that."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, float32

from grader.simulator import watch

WARPS = 4
THREADS = 32 * WARPS


def kinds(result):
    return [finding.kind for finding in result.findings if finding.severity.name != "ADVICE"]


def sectors_of_a_warp(first_bytes):
    """Sectors of one request for float32."""
    return len({byte // 32 for byte in first_bytes})


@pytest.mark.parametrize("step", [1, 3, 8, 32, -1, -5])
def test_moved_reads_and_writes_give_the_values_and_cost_the_sectors_of_where_they_are(launch, step):
    turns = 9
    start = 0 if step > 0 else -step * (turns - 1)

    def kernel(x, out, start, step):
        t = cuda.threadIdx.x
        for k in range(9):
            i = t + start + k * step
            out[i] = x[i] + k

    x = np.random.default_rng(0).standard_normal(THREADS + abs(step) * (turns - 1)).astype(np.float32)
    out = np.full(x.size, np.nan, np.float32)
    result = launch(kernel, 1, THREADS, x, out, start, step)
    expected = np.full(x.size, np.nan, np.float32)
    for k in range(turns):
        at = start + k * step
        expected[at : at + THREADS] = x[at : at + THREADS] + np.float32(k)
    np.testing.assert_array_equal(out, expected)
    sectors = sum(
        sectors_of_a_warp([4 * (start + k * step + 32 * warp + lane) for lane in range(32)])
        for k in range(turns)
        for warp in range(WARPS)
    )
    assert result.counters["global_load_sectors"] == result.counters["global_store_sectors"] == sectors
    assert result.counters["global_load_requests"] == turns * WARPS


def test_a_moved_access_of_two_axes_is_where_both_say(launch):
    def kernel(x, out):
        t = cuda.threadIdx.x
        total = float32(0)
        for i in range(4):
            row = t % 8 + i * 8
            for j in range(5):
                column = t // 8 + j * 16
                total += x[row, column] * (i + 10 * j)
        out[t] = total

    x = np.random.default_rng(0).integers(0, 9, (32, 80)).astype(np.float32)
    out = np.zeros(THREADS, np.float32)
    result = launch(kernel, 1, THREADS, x, out)
    t = np.arange(THREADS)
    expected = sum(x[t % 8 + i * 8, t // 8 + j * 16] * (i + 10 * j) for i in range(4) for j in range(5))
    np.testing.assert_array_equal(out, expected)
    assert result.findings == () or not kinds(result)


@pytest.mark.parametrize("verb", ["read", "write"])
def test_an_access_that_moves_out_of_its_array_is_found_with_the_first_that_is_outside(launch, verb):
    def reads(x, out):
        t = cuda.threadIdx.x
        total = float32(0)
        for k in range(4):
            i = t + k * 128
            total += x[i]
        out[t] = total

    def writes(x, out):
        t = cuda.threadIdx.x
        for k in range(4):
            i = t + k * 128
            x[i] = 1
        out[t] = 0

    x, out = np.ones(500, np.float32), np.zeros(THREADS, np.float32)
    result = launch(reads if verb == "read" else writes, 1, THREADS, x, out)
    (finding,) = [f for f in result.findings if f.kind == "out-of-bounds"]
    assert "x[500]" in str(finding)
    assert finding.count == 4 * 128 - 500


def test_an_index_that_moves_below_zero_wraps_and_is_warned_of(launch):
    def kernel(x, out):
        t = cuda.threadIdx.x
        for k in range(3):
            i = t + 1 - k
            out[k, t] = x[i]

    x = np.arange(THREADS + 1, dtype=np.float32)
    out = np.zeros((3, THREADS), np.float32)
    result = launch(kernel, 1, THREADS, x, out)
    for k in range(3):
        np.testing.assert_array_equal(out[k], x[np.arange(THREADS) + 1 - k])
    assert kinds(result) == ["negative-index"]


def test_lanes_that_move_differently_in_the_middle_are_where_they_say(launch):
    def kernel(x, offsets, out):
        t = cuda.threadIdx.x
        for k in range(3):
            i = t + offsets[k, t]
            out[k, t] = x[i]

    x = np.arange(4 * THREADS, dtype=np.float32)
    offsets = np.zeros((3, THREADS), np.int64)
    offsets[1] = 7
    offsets[2] = 7
    offsets[2, 1:-1] = np.random.default_rng(0).integers(0, 99, THREADS - 2)
    out = np.zeros((3, THREADS), np.float32)
    launch(kernel, 1, THREADS, x, offsets, out)
    np.testing.assert_array_equal(out, x[np.arange(THREADS) + offsets])


def test_a_read_that_moves_to_where_nobody_has_written_is_found(launch):
    def kernel(out):
        tile = cuda.shared.array(256, float32)
        t = cuda.threadIdx.x
        tile[t] = t
        cuda.syncthreads()
        total = float32(0)
        for k in range(2):
            i = t + k * 128
            total += tile[i]
        out[t] = total

    assert kinds(launch(kernel, 1, THREADS, np.zeros(THREADS, np.float32))) == ["uninitialised-read"]


def test_a_moved_read_that_races_with_a_later_write_is_found(launch):
    def kernel(out):
        tile = cuda.shared.array(256, float32)
        t = cuda.threadIdx.x
        tile[t] = t
        tile[t + 128] = t
        cuda.syncthreads()
        total = float32(0)
        for k in range(2):
            i = t + k * 128
            total += tile[i]
        tile[t + 127] = total  # what the thread before it reads in turn 1
        out[t] = total

    assert kinds(launch(kernel, 1, THREADS, np.zeros(THREADS, np.float32))) == ["race"]


@pytest.mark.parametrize("unmarked", [0, 1 << 20])
def test_reads_are_remembered_whether_marked_at_once_or_put_off(launch, monkeypatch, unmarked):
    def kernel(out):
        tile = cuda.shared.array(128, float32)
        t = cuda.threadIdx.x
        tile[t] = t
        cuda.syncthreads()
        value = tile[127 - t]
        tile[t] = value
        out[t] = value

    monkeypatch.setattr(watch, "MAX_UNMARKED", unmarked)
    assert kinds(launch(kernel, 1, THREADS, np.zeros(THREADS, np.float32))) == ["race"]


def test_writes_before_a_barrier_of_all_blocks_are_forgotten_and_those_after_it_are_not(launch):
    def kernel(out):
        tile = cuda.shared.array(128, float32)
        t = cuda.threadIdx.x
        tile[t] = t
        cuda.syncthreads()
        tile[127 - t] = t
        if t < 64:
            tile[t] = 0  # thread 127 - t has just written there
        cuda.syncthreads()
        out[t] = tile[t]

    result = launch(kernel, 2, THREADS, np.zeros(THREADS, np.float32))
    races = [finding for finding in result.findings if finding.kind == "race" and "tile" in str(finding)]
    assert len(races) == 1
    assert "tile[t] = 0" in str(races[0])


def test_each_turn_of_a_private_arrays_reads_is_counted(launch):
    def kernel(out):
        mine = cuda.local.array(8, float32)
        t = cuda.threadIdx.x
        for k in range(8):
            mine[k] = k
        total = float32(0)
        for _ in range(3):
            for k in range(8):
                total += mine[k]
        out[t] = total

    result = launch(kernel, 1, THREADS, np.zeros(THREADS, np.float32))
    assert result.counters["local_loads"] == 24 * THREADS
    assert result.counters["local_stores"] == 8 * THREADS


@pytest.mark.parametrize("first", [-100, -1, 0, 3, 100])
@pytest.mark.parametrize("then", [-106, -2, 0, 50, 100])
@pytest.mark.parametrize("ends", ["alike", "as much modulo 256"])
def test_narrow_indices_are_where_they_say_also_if_they_move_by_more_than_they_hold(launch, first, then, ends):
    def kernel(table, x, out):
        t = cuda.threadIdx.x
        for k in range(2):
            i = table[k, t]
            out[k, t] = x[i]

    x = np.arange(200, dtype=np.float32)
    table = np.zeros((2, 32), np.int8)
    table[0], table[1] = first, then
    if ends != "alike":
        by = (then - first) % 256
        table[:, [0, -1]] = [[0], [by]] if by <= 127 else [[127], [by - 129]]
    out = np.zeros((2, 32), np.float32)
    launch(kernel, 1, 32, table, x, out)
    np.testing.assert_array_equal(out, x[table])
