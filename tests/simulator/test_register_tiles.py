"""Tiles in registers, buffers in turn, fours in loops: what is spared of looking again never hides anything."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from kernel_bench import errors
from numba import complex64, cuda, float32, float64, int8, int32

from grader.records import Severity
from grader.simulator.block_sample import BlockSample, waves_of
from grader.vector_access import load4, store4

THREADS = 64


def zeros(*shape):
    return np.zeros(shape, np.float32)


def told(result, kind):
    """How often a kind of finding was made, in all."""
    return sum(finding.count for finding in result.findings if finding.kind == kind)


# ------------------------------------------------------------------------------------------ tiles in registers


def test_each_lane_has_a_tile_of_its_own(launch):
    def kernel(x, out):
        acc = cuda.local.array((3, 5), float32)
        t = cuda.grid(1)
        for i in range(3):
            for j in range(5):
                acc[i, j] = x[t] + 10 * i
        for turn in range(2):
            for i in range(3):
                for j in range(5):
                    acc[i, j] += j + turn
        for i in range(3):
            for j in range(5):
                out[t, i, j] = acc[i, j]

    x = np.arange(2 * THREADS, dtype=np.float32) * 100
    out = zeros(2 * THREADS, 3, 5)
    result = launch(kernel, 2, THREADS, x, out)
    i, j = np.mgrid[:3, :5]
    np.testing.assert_array_equal(out, x[:, None, None] + 10 * i + 2 * j + 1)
    assert errors(result) == []
    assert result.counters["local_stores"] == 2 * THREADS * 15 * 3
    assert result.counters["local_loads"] == 2 * THREADS * 15 * 3
    (update,) = (counts for place, counts in result.lines.items() if "+= j + turn" in place.text)
    assert update["local_loads"] == update["local_stores"] == 2 * THREADS * 15 * 2


def test_a_value_that_was_read_stays_when_the_tile_changes(launch):
    def kernel(out):
        mine = cuda.local.array(2, float32)
        t = cuda.threadIdx.x
        for i in range(2):
            mine[i] = t
        total = float32(0)
        for _turn in range(3):
            for i in range(2):
                before = mine[i]
                mine[i] = before + 1
                total += before
        out[t] = total

    out = zeros(THREADS)
    launch(kernel, 1, THREADS, out)
    np.testing.assert_array_equal(out, 6 * np.arange(THREADS) + 6)


def test_an_element_that_nobody_wrote_is_found_in_every_turn(launch):
    def kernel(out):
        acc = cuda.local.array((2, 3), float32)
        t = cuda.threadIdx.x
        for i in range(2):
            for j in range(3):
                if i + j < 3:  # all but the last
                    acc[i, j] = t
        total = float32(0)
        for _turn in range(4):
            for i in range(2):
                for j in range(3):
                    total += acc[i, j]
        out[t] = total

    result = launch(kernel, 1, THREADS, zeros(THREADS))
    assert errors(result) == ["uninitialised-read"]
    assert told(result, "uninitialised-read") == 4 * THREADS


def test_an_element_written_by_some_lanes_only_is_found_for_the_others(launch):
    def kernel(out):
        mine = cuda.local.array(4, float32)
        t = cuda.threadIdx.x
        for i in range(4):
            if i < 3 or t < 60:
                mine[i] = t
        total = float32(0)
        for _turn in range(3):
            for i in range(4):
                total += mine[i]
        out[t] = total

    result = launch(kernel, 1, THREADS, zeros(THREADS))
    assert told(result, "uninitialised-read") == 3 * 4


@pytest.mark.parametrize("verb", ["read", "write"])
def test_an_index_outside_of_a_tile_is_found_in_every_turn(launch, verb):
    def reads(out):
        acc = cuda.local.array((2, 4), float32)
        t = cuda.threadIdx.x
        for i in range(2):
            for j in range(4):
                acc[i, j] = 1
        total = float32(0)
        for _turn in range(3):
            for i in range(2):
                for j in range(5):
                    total += acc[i, j]
        out[t] = total

    def writes(out):
        acc = cuda.local.array((2, 4), float32)
        t = cuda.threadIdx.x
        for _turn in range(3):
            for i in range(2):
                for j in range(5):
                    acc[i, j] = i
        out[t] = 4 * acc[0, 3] + 8 * acc[1, 0]

    out = zeros(THREADS)
    result = launch(reads if verb == "read" else writes, 1, THREADS, out)
    assert errors(result) == ["out-of-bounds"]
    assert told(result, "out-of-bounds") == 3 * 2 * THREADS
    assert (out == (24 if verb == "read" else 8)).all()


def test_a_computed_index_below_zero_is_told_of_in_every_turn(launch):
    def kernel(out):
        mine = cuda.local.array(4, float32)
        t = cuda.threadIdx.x
        for i in range(4):
            mine[i] = i
        total = float32(0)
        for _turn in range(3):
            for i in range(4):
                total += mine[i - 1] * (i + 1)
        out[t] = total

    out = zeros(THREADS)
    result = launch(kernel, 1, THREADS, out)
    assert told(result, "negative-index") == 3 * THREADS
    assert (out == 3 * (3 * 1 + 0 * 2 + 1 * 3 + 2 * 4)).all()


def test_two_tiles_at_one_line_are_two(launch):
    @cuda.jit(device=True)
    def add(tile, value):
        for i in range(4):
            tile[i] += value

    def kernel(out):
        ours, theirs = cuda.local.array(4, float32), cuda.local.array(4, float32)
        t = cuda.threadIdx.x
        for i in range(4):
            ours[i] = t
            theirs[i] = -t
        for turn in range(3):
            tile = ours if turn % 2 == 0 else theirs
            for k in range(2):
                add(tile, k + 1)
        out[t, 0] = ours[3]
        out[t, 1] = theirs[3]

    out = zeros(THREADS, 2)
    result = launch(kernel, 1, THREADS, out)
    t = np.arange(THREADS)
    np.testing.assert_array_equal(out, np.stack([t + 6, -t + 3], axis=1))
    assert result.counters["local_loads"] == THREADS * (3 * 2 * 4 + 2)
    assert result.counters["local_stores"] == THREADS * (8 + 3 * 2 * 4)


def test_lanes_that_go_on_alone_keep_their_tiles(launch):
    def kernel(out):
        mine = cuda.local.array(3, float32)
        t = cuda.threadIdx.x
        for turn in range(2):
            for i in range(3):
                mine[i] = 10 * t + i + turn
        if t % 3 == 0:
            return
        for _turn in range(2):
            for i in range(3):
                mine[i] += mine[i]
        for i in range(3):
            out[t, i] = mine[i]

    out = zeros(THREADS, 3)
    result = launch(kernel, 1, THREADS, out)
    t, i = np.mgrid[:THREADS, :3]
    np.testing.assert_array_equal(out, np.where(t % 3 == 0, 0, 4 * (10 * t + i + 1)))
    gone_on = np.count_nonzero(np.arange(THREADS) % 3)
    assert result.counters["local_loads"] == gone_on * (2 * 3 * 2 + 3)
    assert result.counters["local_stores"] == THREADS * 6 + gone_on * 6


def test_lanes_that_leave_a_loop_take_nothing_from_those_that_stay(launch):
    def kernel(out):
        mine = cuda.local.array(3, float32)
        t = cuda.threadIdx.x
        for i in range(3):
            mine[i] = 10 * t + i
        for turn in range(4):
            for i in range(3):
                mine[i] += 1
            if turn == 1 and t % 4 < 2:
                return
        for i in range(3):
            out[t, i] = mine[i]

    out = zeros(THREADS, 3)
    result = launch(kernel, 1, THREADS, out)
    t, i = np.mgrid[:THREADS, :3]
    np.testing.assert_array_equal(out, np.where(t % 4 < 2, 0, 10 * t + i + 4))
    assert result.counters["local_stores"] == THREADS * (3 + 2 * 3) + THREADS // 2 * 2 * 3


def test_an_index_per_lane_and_one_for_all_may_take_turns(launch):
    def kernel(out):
        mine = cuda.local.array(4, int32)
        t = cuda.threadIdx.x
        for i in range(4):
            mine[i] = 0
        for turn in range(3):
            i = turn
            if turn == 1:
                i = t % 4
            mine[i] += turn + 1
        for i in range(4):
            out[t, i] = mine[i]

    out = np.zeros((THREADS, 4), np.int32)
    launch(kernel, 1, THREADS, out)
    t, i = np.mgrid[:THREADS, :4]
    np.testing.assert_array_equal(out, 1 * (i == 0) + 2 * (i == t % 4) + 3 * (i == 2))


def test_a_loop_that_waits_for_its_own_tile_to_change_is_no_endless_wait(launch):
    def kernel(out):
        left = cuda.local.array(1, int32)
        left[0] = 9000
        while left[0] > 0:
            left[0] -= 1
        out[cuda.threadIdx.x] = 1

    out = zeros(THREADS)
    assert errors(launch(kernel, 1, THREADS, out)) == []
    assert out.all()


def test_what_is_put_into_a_tile_becomes_a_number_of_its_kind(launch):
    def kernel(x, out):
        small, large = cuda.local.array(2, int8), cuda.local.array(2, float64)
        t = cuda.threadIdx.x
        for _turn in range(2):
            for i in range(2):
                small[i] = x[t] + 100 * i
                large[i] = x[t] * 0.1
        out[t] = small[0] + small[1] + large[1]

    x = np.arange(THREADS, dtype=np.int32)
    out = np.zeros(THREADS)
    launch(kernel, 1, THREADS, x, out)
    expected = x.astype(np.int8).astype(np.int64) + (x + 100).astype(np.int8) + x * 0.1
    np.testing.assert_array_equal(out, expected)


def test_a_tile_may_be_looked_at_as_numbers_of_another_size(launch):
    def kernel(out):
        words = cuda.local.array(4, int32)
        t = cuda.threadIdx.x
        for i in range(4):
            words[i] = t + (i << 16)
        octets, doubles = words.view(int8), words.view(np.int64)
        out[t, 0] = octets[0]
        out[t, 1] = octets[14]
        out[t, 2] = doubles[1] >> 32
        for i in range(16):
            octets[i] = i % 4 == 0
        out[t, 3] = words[0] + words[3]

    out = np.zeros((THREADS, 4), np.int64)
    assert errors(launch(kernel, 1, THREADS, out)) == []
    t = np.arange(THREADS)
    np.testing.assert_array_equal(out, np.stack([t, 0 * t + 3, t + (3 << 16), 0 * t + 2], axis=1))


def test_a_tile_of_complex_numbers_has_real_and_imaginary_parts(launch):
    def kernel(out):
        mine = cuda.local.array(2, complex64)
        t = cuda.threadIdx.x
        for i in range(2):
            mine[i] = complex64(t + 1j * i)
        real, imag = mine.real, mine.imag
        for i in range(2):
            out[t, i, 0] = real[i]
            out[t, i, 1] = imag[i]

    out = zeros(THREADS, 2, 2)
    assert errors(launch(kernel, 1, THREADS, out)) == []
    np.testing.assert_array_equal(out[..., 0], np.repeat(np.arange(THREADS), 2).reshape(-1, 2))
    np.testing.assert_array_equal(out[..., 1], np.tile([0, 1], (THREADS, 1)))


def test_operations_of_all_lanes_and_of_some_are_counted_by_turn(launch):
    def kernel(x, out):
        t = cuda.threadIdx.x
        value = x[t]
        for _turn in range(5):
            value = value * x[t]
        if t < 8:
            for _turn in range(3):
                value = value * x[t]
        for _turn in range(2):
            value = value * x[t]
        out[t] = value

    result = launch(kernel, 3, THREADS, np.ones(THREADS, np.float32), zeros(THREADS))
    assert result.counters["flops_float32"] == 3 * (THREADS * 7 + 8 * 3)
    warps = THREADS // 32
    assert result.counters["branches"] == 3 * (warps * (6 + 1 + 3) + 4)  # of the 8 lanes' loop: one warp
    assert result.counters["divergent_branches"] == 3


# ------------------------------------------------------------------------------------------ buffers in turn


def in_turn(x, out):
    turns = cuda.shared.array((2, THREADS), float32)
    t = cuda.threadIdx.x
    turns[0, t] = x[t]
    cuda.syncthreads()
    now = 0
    total = float32(0)
    for step in range(4):
        for k in range(4):
            total += turns[now, (t + k) % THREADS]
        turns[1 - now, t] = x[t] + step
        cuda.syncthreads()
        now = 1 - now
    out[t] = total


def in_one(x, out):
    turns = cuda.shared.array((2, THREADS), float32)
    t = cuda.threadIdx.x
    turns[0, t] = x[t]
    cuda.syncthreads()
    now = 0
    total = float32(0)
    for step in range(4):
        for k in range(4):
            total += turns[now, (t + k) % THREADS]
        turns[now, t] = x[t] + step
        cuda.syncthreads()
    out[t] = total


def without_barrier(x, out):
    turns = cuda.shared.array((2, THREADS), float32)
    t = cuda.threadIdx.x
    turns[0, t] = x[t]
    cuda.syncthreads()
    now = 0
    total = float32(0)
    for step in range(4):
        for k in range(4):
            total += turns[now, (t + k) % THREADS]
        turns[1 - now, t] = x[t] + step
        now = 1 - now
    out[t] = total


@pytest.mark.parametrize(("kernel", "found"), [(in_turn, []), (in_one, ["race"]), (without_barrier, ["race", "race"])])
def test_two_buffers_in_turn_are_no_race_and_one_buffer_is(launch, kernel, found):
    result = launch(kernel, 2, THREADS, np.arange(THREADS, dtype=np.float32), zeros(THREADS))
    kinds = [f.kind for f in result.findings if f.kind == "race" and "turns" in str(f)]
    assert kinds == found


def test_a_write_elsewhere_does_not_hide_the_race_with_the_next_one(launch):
    def kernel(out):
        tile = cuda.shared.array(128, float32)
        t = cuda.threadIdx.x
        tile[t] = tile[t + 64] = t
        cuda.syncthreads()
        value = tile[63 - t]
        tile[t + 64] = 0  # apart from what was read
        tile[t] = 0
        out[t] = value

    result = launch(kernel, 1, THREADS, zeros(THREADS))
    (race,) = (f for f in result.findings if f.kind == "race")
    assert "tile[t] = 0" in str(race)


@pytest.mark.parametrize(("first", "found"), [(1, ["race"]), (63, ["race"]), (64, []), (127, [])])
def test_reads_and_writes_that_meet_in_one_element_only_are_a_race(launch, first, found):
    def kernel(out, first):
        tile = cuda.shared.array(192, float32)
        t = cuda.threadIdx.x
        tile[t] = tile[t + 64] = tile[t + 128] = t
        cuda.syncthreads()
        value = tile[t]
        tile[t + first] = 0
        out[t] = value

    def turned_round(out, first):
        tile = cuda.shared.array(192, float32)
        t = cuda.threadIdx.x
        tile[t] = tile[t + 64] = tile[t + 128] = t
        cuda.syncthreads()
        value = tile[t + first]
        tile[t] = 0
        out[t] = value

    for each in (kernel, turned_round):
        assert errors(launch(each, 2, THREADS, zeros(THREADS), first)) == found


@pytest.mark.parametrize("fence", [False, True])
def test_what_a_neighbour_read_behind_a_syncwarp_may_not_be_written_again(launch, fence):
    def kernel(out, fence):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        if fence:
            cuda.threadfence_block()
        tile[t] = t
        cuda.syncwarp()
        value = tile[t ^ 1]
        tile[t] = 0
        out[t] = value

    result = launch(kernel, 1, THREADS, zeros(THREADS), fence)
    (race,) = (f for f in result.findings if f.severity is Severity.ERROR)
    assert race.kind == "race"
    assert "writes what thread 1 of block 0 read" in " ".join(str(race).split())


def test_a_read_behind_a_write_elsewhere_is_remembered(launch):
    def kernel(out):
        tile = cuda.shared.array(128, float32)
        t = cuda.threadIdx.x
        tile[t] = tile[t + 64] = t
        cuda.syncthreads()
        tile[t + 64] = 0
        value = tile[63 - t]
        tile[t] = 0
        out[t] = value

    result = launch(kernel, 1, THREADS, zeros(THREADS))
    (race,) = (f for f in result.findings if f.kind == "race")
    assert "tile[t] = 0" in str(race)


def test_fours_and_single_elements_of_one_row_meet(launch):
    def kernel(out, first):
        tile = cuda.shared.array(512, float32)
        t = cuda.threadIdx.x
        for k in range(8):
            tile[t + 64 * k] = t
        cuda.syncthreads()
        value = load4(tile, 4 * t)[3]
        tile[t + first] = 0
        out[t] = value

    assert errors(launch(kernel, 1, THREADS, zeros(THREADS), 255)) == ["race"]
    assert errors(launch(kernel, 1, THREADS, zeros(THREADS), 256)) == []


def test_a_block_that_waits_before_its_barrier_is_not_forgotten_when_others_pass_theirs(launch):
    def kernel(out):
        tile = cuda.shared.array(64, float32)
        t, b = cuda.threadIdx.x, cuda.blockIdx.x
        tile[t] = t
        if b > 0:
            for k in range(3):
                cuda.syncthreads()
                tile[t] = k
                cuda.syncthreads()
        out[b, t] = tile[63 - t]  # block 0 has not met since it wrote

    result = launch(kernel, 3, THREADS, zeros(3, THREADS))
    (race,) = (f for f in result.findings if f.severity is Severity.ERROR)
    assert race.kind == "race"
    assert "of block 0" in str(race)


# ------------------------------------------------------------------------------------------ fours in loops


@pytest.mark.parametrize("rows", [4, 5])
def test_fours_in_a_loop_are_where_their_indices_say(launch, rows):
    def kernel(x, out):
        tile = cuda.shared.array((8, 64), float32)
        t = cuda.threadIdx.x
        for k in range(x.shape[0]):
            store4(tile, (k, 4 * (t % 16)), load4(x, (k, 4 * (t % 16))))
        cuda.syncthreads()
        for k in range(x.shape[0]):
            a, b, c, d = load4(tile, (k, 4 * (15 - t % 16)))
            store4(out, (k, 4 * (t % 16)), (d, c, b, a))

    x = np.arange(rows * 64, dtype=np.float32).reshape(rows, 64)
    out = np.zeros_like(x)
    result = launch(kernel, 1, 16, x, out)
    np.testing.assert_array_equal(out, x[:, ::-1])
    assert errors(result) == []
    assert result.counters["global_load_sectors"] == rows * 64 * 4 // 32
    assert result.counters["shared_loads"] == result.counters["shared_stores"] == rows * 64


@pytest.mark.parametrize("verb", ["load4", "store4"])
@pytest.mark.parametrize(("shape", "start", "step"), [((4, 32), 0, 4), ((4, 32), 96, -36), ((4, 40), 4, 2)])
def test_fours_that_a_loop_moves_out_of_their_row_are_found(launch, verb, shape, start, step):
    def loads(x, start, step):
        t = cuda.threadIdx.x
        total = float32(0)
        for k in range(3):
            total += load4(x, (t // 8, 4 * (t % 8) + start + k * step))[0]
        x[t // 8, t % 8] = total

    def stores(x, start, step):
        t = cuda.threadIdx.x
        for k in range(3):
            store4(x, (t // 8, 4 * (t % 8) + start + k * step), (0, 1, 2, 3))

    result = launch(loads if verb == "load4" else stores, 1, 32, zeros(*shape), start, step)
    column = 4 * (np.arange(32) % 8) + start + step * np.arange(3)[:, None]
    outside = (column < 0) | (column > shape[1] - 4)
    assert told(result, "out-of-bounds") == np.count_nonzero(outside)
    assert told(result, "misaligned-access") == np.count_nonzero((column % 4 > 0) & ~outside)


@pytest.mark.parametrize("verb", ["load4", "store4"])
def test_fours_that_a_loop_moves_half_over_the_end_are_found(launch, verb):
    def loads(x, out):
        t = cuda.threadIdx.x
        for k in range(3):
            out[t] += load4(x, 4 * (t + k))[0]

    def stores(x, out):
        t = cuda.threadIdx.x
        for k in range(3):
            store4(x, 4 * (t + k), (1, 1, 1, 1))

    result = launch(loads if verb == "load4" else stores, 1, 8, zeros(34), zeros(8))
    assert told(result, "out-of-bounds") == 1 + 2


def test_fours_that_all_lanes_read_and_then_some_of_them(launch):
    def kernel(x, out):
        tile = cuda.shared.array((4, 32), float32)
        t = cuda.threadIdx.x
        for k in range(4):
            tile[k, t] = x[k, t]
        cuda.syncthreads()
        total = float32(0)
        for k in range(4):
            if k < 2 or t < 8:
                total += load4(tile, (k, 4))[3]
        out[t] = total

    x, out = np.arange(128, dtype=np.float32).reshape(4, 32), zeros(32)
    launch(kernel, 1, 32, x, out)
    column = x[:, 7]
    np.testing.assert_array_equal(out, np.where(np.arange(32) < 8, column.sum(), column[:2].sum()))


def test_fours_in_rows_that_begin_between_two_fours_are_found_row_by_row(launch):
    def kernel(x, out):
        t = cuda.threadIdx.x
        total = float32(0)
        for k in range(4):
            total += load4(x, (k, 4 * (t % 8)))[1]
        out[t] = total

    x = np.ones((4, 34), np.float32)
    out = zeros(32)
    result = launch(kernel, 1, 32, x, out)
    assert told(result, "misaligned-access") == 2 * 32  # rows 1 and 3
    assert (out == 2).all()


def test_fours_of_two_arrays_at_one_line_are_two(launch):
    @cuda.jit(device=True)
    def total_of(array, t):
        total = float32(0)
        for k in range(3):
            total += load4(array, (k, 4 * t))[2]
        return total

    def kernel(x, y, out):
        t = cuda.threadIdx.x
        total = float32(0)
        for turn in range(4):
            array = x if turn % 2 == 0 else y
            total = 10 * total + total_of(array, t)
        out[t] = total

    x, y = np.ones((3, 128), np.float32), np.full((3, 256), 2, np.float32)
    out = zeros(32)
    result = launch(kernel, 1, 32, x, y, out)
    assert (out == 3636).all()
    assert result.counters["global_loads"] == 4 * 3 * 32 * 4


def test_fours_that_nobody_wrote_are_found_in_every_turn(launch):
    def kernel(out):
        tile = cuda.shared.array((4, 128), float32)
        t = cuda.threadIdx.x
        for k in range(3):
            store4(tile, (k, 4 * t), (1, 1, 1, 1))
        cuda.syncthreads()
        total = float32(0)
        for _turn in range(2):
            for k in range(4):
                total += load4(tile, (k, 4 * t))[0]
        out[t] = total

    assert told(launch(kernel, 1, 32, zeros(32)), "uninitialised-read") == 2 * 32


# ------------------------------------------------------------------------------------------ blocks of a sample


def test_as_many_stretches_as_fit_run_together():
    assert waves_of([(0, 3), (10, 3), (20, 3)], 6) == [[(0, 3), (10, 3)], [(20, 3)]]
    assert waves_of([(0, 4), (4, 4), (8, 2)], 4) == [[(0, 4)], [(4, 4)], [(8, 2)]]


def test_blocks_of_stretches_that_run_together_know_who_they_are(launch):
    def kernel(out):
        tile = cuda.shared.array(32, float32)
        t, b = cuda.threadIdx.x, cuda.blockIdx.x + cuda.gridDim.x * cuda.blockIdx.y
        tile[t] = b
        cuda.syncthreads()
        out[b, t] = tile[31 - t] + 1000 * cuda.blockIdx.y
        if t < 20:
            out[b, t] += 0

    out = np.full((100, 32), -1, np.float32)
    sample = BlockSample(32, 1)
    stretches = sample.stretches(100, 100)
    result = launch(kernel, (10, 10), 32, out, sample=sample)
    chosen = [block for first, count in stretches for block in range(first, first + count)]
    assert len(stretches) > 1
    for block in range(100):
        assert (out[block] == (block + 1000 * (block // 10) if block in chosen else -1)).all()
    assert errors(result) == []
    assert result.counters["working_blocks"] == 100
    assert result.counters["working_threads"] == 3200


def test_a_finding_names_the_block_of_the_launch_in_whichever_stretch_it_is(launch):
    def kernel(out, guilty):
        tile = cuda.shared.array(32, float32)
        t, b = cuda.threadIdx.x, cuda.blockIdx.x
        if b != guilty:
            tile[t] = t
        cuda.syncthreads()
        if b == guilty + 1:
            tile[31 - t] = tile[t]
        out[b, t] = tile[t]

    sample = BlockSample(32, 1)
    stretches = [(first, count) for first, count in sample.stretches(100, 100) if count > 2]
    assert len(stretches) > 1
    for first, _ in stretches:
        result = launch(kernel, 100, 32, zeros(100, 32), first + 1, sample=sample)
        by_kind = {f.kind: " ".join(str(f).split()) for f in result.findings if f.severity is Severity.ERROR}
        assert f"of block {first + 1}" in by_kind["uninitialised-read"]
        assert f"of block {first + 2}" in by_kind["race"]
