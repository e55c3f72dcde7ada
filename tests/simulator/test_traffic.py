"""Requests, sectors, bank conflicts, divergence: figures known from GPUs, and a slow count by hand for any pattern."""

# mypy: ignore-errors
from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
from numba import cuda, float32

T = 32
PADDED = 33


def strided_copy(x, out, stride):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i * stride]


@pytest.mark.parametrize(("stride", "sectors"), [(1, 4096), (2, 8192), (8, 32768), (32, 32768)])
def test_a_strided_copy_reads_the_sectors_that_a_gpu_reads(launch, stride, sectors):
    # 1,024 requests; 4,096 and 32,768 sectors for strides of 1 and 32: measured with ncu on an NVIDIA H200.
    n = 1 << 15
    counters = launch(
        strided_copy, n // 256, 256, np.zeros(n * stride, np.float32), np.zeros(n, np.float32), stride
    ).counters
    assert counters["global_load_requests"] == counters["global_store_requests"] == 1024
    assert counters["global_load_sectors"] == sectors
    assert counters["global_store_sectors"] == 4096
    assert counters["global_load_bytes"] == 4 * n


def naive_transpose(x, out):
    i, j = cuda.grid(2)
    out[i, j] = x[j, i]


def test_a_naive_transpose_writes_a_sector_for_each_element(launch):
    # Measured with ncu on an NVIDIA H200.
    x = np.zeros((256, 256), np.float32)
    counters = launch(naive_transpose, (8, 8), (32, 32), x, x.copy()).counters
    assert (counters["global_store_requests"], counters["global_store_sectors"]) == (2048, 65536)
    assert (counters["global_load_requests"], counters["global_load_sectors"]) == (2048, 8192)


def tiled_transpose(x, out):
    tile = cuda.shared.array((T, T), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = cuda.grid(2)
    tile[ty, tx] = x[j, i]
    cuda.syncthreads()
    out[cuda.blockIdx.x * T + ty, cuda.blockIdx.y * T + tx] = tile[tx, ty]


def padded_transpose(x, out):
    tile = cuda.shared.array((T, PADDED), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    i, j = cuda.grid(2)
    tile[ty, tx] = x[j, i]
    cuda.syncthreads()
    out[cuda.blockIdx.x * T + ty, cuda.blockIdx.y * T + tx] = tile[tx, ty]


@pytest.mark.parametrize(("kernel", "conflicts"), [(tiled_transpose, 63488), (padded_transpose, 0)])
def test_padding_removes_bank_conflicts(launch, kernel, conflicts):
    # 63,488: ncu on an NVIDIA GPU; 64 blocks of 32 warps, each read is served in 32 turns instead of one.
    x = np.arange(256 * 256, dtype=np.float32).reshape(256, 256)
    out = np.zeros_like(x)
    counters = launch(kernel, (8, 8), (32, 32), x, out).counters
    np.testing.assert_array_equal(out, x.T)
    assert counters["shared_load_bank_conflicts"] == conflicts
    assert counters["shared_store_bank_conflicts"] == 0
    assert counters["shared_load_requests"] == 2048


def gather(x, index, active, out):
    i = cuda.grid(1)
    if active[i]:
        out[i] = x[index[i]]


def shared_gather(index, active, out):
    tile = cuda.shared.array(1024, np.float32)
    i = cuda.grid(1)
    for k in range(cuda.threadIdx.x, 1024, cuda.blockDim.x):
        tile[k] = k
    cuda.syncthreads()
    if active[i]:
        out[i] = tile[index[i]]


def shared_gather_wide(index, active, out):
    tile = cuda.shared.array(1024, np.float64)
    i = cuda.grid(1)
    for k in range(cuda.threadIdx.x, 1024, cuda.blockDim.x):
        tile[k] = k
    cuda.syncthreads()
    if active[i]:
        out[i] = tile[index[i]]


def _warps(block, index, active):
    """The lanes and indices of each warp's active threads."""
    for first in range(0, index.size, block):
        for start in range(first, first + block, 32):
            places = [k for k in range(start, min(start + 32, first + block)) if active[k]]
            if places:
                yield [(k - start, int(index[k])) for k in places]


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, np.float32, np.float64, np.complex64, np.complex128])
@pytest.mark.parametrize("block", [64, 72])
def test_any_gather_costs_what_a_count_by_hand_says(launch, dtype, block):
    rng = np.random.default_rng(block)
    n = 5 * block
    index, active = rng.integers(0, 300, n), rng.random(n) < 0.7
    x = np.zeros(300, dtype)
    counters = launch(gather, 5, block, x, index, active, np.zeros(n, dtype)).counters
    sectors = requests = 0
    halves = 2 if x.dtype.kind == "c" else 1  # a complex number is read in two halves
    size = x.itemsize // halves
    for lanes in _warps(block, index, active):
        requests += 1
        sectors += sum(len({(at * halves + half) * size // 32 for _, at in lanes}) for half in range(halves))
    masks = 5 * -(-block // 32)
    own = _own_sectors(block, n, active)
    assert counters["global_load_requests"] == masks + requests + halves * requests
    assert counters["global_load_sectors"] == sectors + own["active"] + own["index"]
    assert counters["global_load_bytes"] == n + int(active.sum()) * (8 + x.itemsize)


def _own_sectors(block, n, active):
    """Sectors of the reads of active[i] (bool, by all) and index[i] (int64, by the active threads)."""
    sectors = {"active": 0, "index": 0}
    for first in range(0, n, block):
        for start in range(first, first + block, 32):
            mine = range(start, min(start + 32, first + block))
            sectors["active"] += len({k // 32 for k in mine})
            sectors["index"] += len({k * 8 // 32 for k in mine if active[k]})
    return sectors


@pytest.mark.parametrize(("kernel", "words"), [(shared_gather, 1), (shared_gather_wide, 2)])
@pytest.mark.parametrize("block", [64, 72])
def test_bank_conflicts_of_any_pattern_are_those_of_a_count_by_hand(launch, kernel, words, block):
    rng = np.random.default_rng(block)
    n = 3 * block
    index, active = rng.integers(0, 200, n), rng.random(n) < 0.8
    out = np.zeros(n, np.float64)
    counters = launch(kernel, 3, block, index, active, out).counters
    np.testing.assert_array_equal(out[active], index[active])
    conflicts = 0
    for lanes in _warps(block, index, active):
        for part in range(words):  # half warps for elements of two words
            banks = defaultdict(set)
            for lane, at in lanes:
                if lane * words // 32 == part:
                    for word in range(at * words, at * words + words):
                        banks[word % 32].add(word)
            conflicts += max((len(different) for different in banks.values()), default=1) - 1
    assert counters["shared_load_bank_conflicts"] == conflicts


def repeat(x, out):
    """The same pattern moved on: by whole sectors, by parts of one, and by other lanes."""
    i = cuda.grid(1)
    total = float32(0)
    for k in range(12):
        if (i // 3 + k) % 5:
            total += x[2 * i + k]
    out[i] = total


def test_a_pattern_that_moves_through_a_loop_is_counted_each_time(launch):
    n = 96
    x = np.zeros(2 * n + 12, np.float32)
    counters = launch(repeat, 1, n, x, np.zeros(n, np.float32)).counters
    sectors = 0
    for k in range(12):
        for warp in range(0, n, 32):
            sectors += len({(2 * i + k) * 4 // 32 for i in range(warp, warp + 32) if (i // 3 + k) % 5})
    assert counters["global_load_sectors"] == sectors


ROWS = 6


def reads_rows(x, out):
    s = cuda.shared.array((ROWS, 128), float32)
    t = cuda.threadIdx.x
    twice = 2 * t
    for k in range(ROWS):
        s[k, t] = x[k, t]
        s[k, t + 64] = x[k, t]
    cuda.syncthreads()
    total = float32(0)
    for k in range(ROWS):
        total += s[k, twice] + x[k, t]
    out[t] = total


@pytest.mark.parametrize("columns", [64, 67])
def test_a_read_that_a_loop_repeats_is_counted_each_time(launch, columns):
    x = np.zeros((ROWS, columns), np.float32)
    counters = launch(reads_rows, 2, 64, x, np.zeros(64, np.float32)).counters
    blocks, warps, turns = 2, 4, 3 * ROWS  # each row of x is read three times
    rows = [row * columns for row in range(ROWS)]
    sectors = sum(len({(row + lane) // 8 for lane in range(warp, warp + 32)}) for row in rows for warp in (0, 32))
    assert counters["global_loads"] == blocks * 64 * turns
    assert counters["global_load_requests"] == warps * turns
    assert counters["global_load_sectors"] == blocks * sectors * 3
    assert counters["global_load_bytes"] == blocks * 64 * turns * 4
    assert counters["shared_loads"] == blocks * 64 * ROWS
    assert counters["shared_load_requests"] == warps * ROWS
    assert counters["shared_load_bank_conflicts"] == warps * ROWS  # even words only: two turns each
    assert counters["busiest_thread"] == turns + 1
    assert counters["busiest_thread_shared"] == 3 * ROWS


def histogram(x, bins):
    i = cuda.grid(1)
    cuda.atomic.add(bins, x[i], 1)


def test_the_most_crowded_address_of_atomics_is_counted(launch):
    x = np.random.default_rng(3).integers(0, 7, 4096)
    x[x == 5] = 2
    bins = np.zeros(7, np.int64)
    counters = launch(histogram, 16, 256, x, bins).counters
    assert counters["global_atomics"] == 4096
    assert counters["global_atomics_on_one_address"] == bins.max()


def parting(x, out):
    i = cuda.grid(1)
    value = x[i]
    if i % 2:
        value = value * value + float32(1)
    if i < 64:
        value = value - float32(2)
    out[i] = value


def test_branches_that_part_a_warp_are_told_from_those_that_part_warps(launch):
    result = launch(parting, 1, 128, np.zeros(128, np.float32), np.zeros(128, np.float32))
    assert result.counters["branches"] == 8
    assert result.counters["divergent_branches"] == 4  # i % 2 parts each of four warps, i < 64 none
    assert result.counters["flops_float32"] == 2 * 64 + 64
    by_line = {place.text: counters for place, counters in result.lines.items()}
    assert by_line["if i % 2:"]["divergent_branches"] == 4
    assert by_line["if i < 64:"]["divergent_branches"] == 0
    both = by_line["value = value * value + float32(1)"]
    assert both["thread_steps"] / both["warp_steps"] == 16
    assert both["flops_float32"] == 128


def test_counters_of_lines_add_up_to_those_of_the_launch(launch):
    x = np.arange(256 * 256, dtype=np.float32).reshape(256, 256)
    result = launch(tiled_transpose, (8, 8), (32, 32), x, x.copy())
    names = {name for counters in result.lines.values() for name in counters}
    assert {"global_load_sectors", "shared_load_bank_conflicts", "barriers", "thread_steps"} <= names
    for name in names:
        assert sum(counters.get(name, 0) for counters in result.lines.values()) == result.counters[name], name


def test_an_access_outside_of_an_array_is_left_out_of_every_count(launch):
    def kernel(a, out):
        i = cuda.grid(1)
        out[i] = a[i]
        cuda.atomic.add(out, i + 40, 1.0)

    counters = launch(kernel, 2, 32, np.ones(40, np.float32), np.zeros(50, np.float32)).counters
    assert (counters["global_loads"], counters["global_load_bytes"]) == (40, 160)
    assert (counters["global_stores"], counters["global_store_bytes"]) == (50, 200)
    assert (counters["global_atomics"], counters["global_atomic_bytes"]) == (10, 40)
    assert (counters["working_threads"], counters["busiest_thread"]) == (50, 3)
