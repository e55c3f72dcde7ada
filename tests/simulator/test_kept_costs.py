"""What an access cost once is taken for its cost again only where it must be the same."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
from numba import cuda, float32, uint8


def conflicts_of_a_warp(first_bytes):
    """Bank conflicts of one request for elements of at most 4 bytes, counted one bank at a time."""
    words = {byte // 4 for byte in first_bytes}
    return max(sum(word % 32 == bank for word in words) for bank in range(32)) - 1


def test_shared_and_global_memory_read_by_one_line_cost_what_they_cost(launch):
    @cuda.jit(device=True)
    def element(array, index):
        return array[index]

    def kernel(x, out):
        tile = cuda.shared.array(256, float32)
        t = cuda.threadIdx.x
        for k in range(t, 256, 32):
            tile[k] = k
        cuda.syncthreads()
        out[t] = element(x, t * 8) + element(tile, t * 8)

    counters = launch(kernel, 1, 32, np.zeros(256, np.float32), np.zeros(32, np.float32)).counters
    assert counters["global_load_sectors"] == 32
    assert counters["shared_load_bank_conflicts"] == conflicts_of_a_warp(range(0, 32 * 32, 32)) == 7


def test_bytes_that_move_by_less_than_a_word_have_the_conflicts_of_where_they_are(launch):
    def kernel(out, stride, some):
        tile = cuda.shared.array(4096, uint8)
        t = cuda.threadIdx.x
        for k in range(t, 4096, 32):
            tile[k] = k
        cuda.syncthreads()
        total = 0
        for k in range(8):
            if t < some:
                total += tile[t * stride + k]
        out[t] = total

    for some in (32, 20):
        for stride in (5, 33, 66, 127):
            expected = sum(conflicts_of_a_warp([t * stride + k for t in range(some)]) for k in range(8))
            counters = launch(kernel, 1, 32, np.zeros(32, np.int32), stride, some).counters
            assert counters["shared_load_bank_conflicts"] == expected, (some, stride)


def test_lanes_that_are_left_over_are_of_other_warps(launch):
    def kernel(x, out):
        t = cuda.threadIdx.x
        for k in range(2):
            if k == 1 and t % 4:
                return
            cuda.syncthreads()  # who has returned is forgotten here
            if t < 16 + 48 * k:
                out[t] = x[t // (1 + 3 * k) % 8]

    counters = launch(kernel, 1, 128, np.zeros(8, np.float32), np.zeros(128, np.float32)).counters
    assert counters["global_load_requests"] == 1 + 2
    assert counters["global_load_sectors"] == 1 + 2


def test_each_field_of_a_copied_record_has_the_conflicts_of_its_own_size(launch):
    record = np.dtype([("x", np.float32), ("y", np.float64)], align=True)

    def kernel(a, out):
        tile = cuda.shared.array(32, record)
        t = cuda.threadIdx.x
        tile[t] = a[t]
        cuda.syncthreads()
        out[t] = tile[t]

    a = np.zeros(32, record)
    counters = launch(kernel, 1, 32, a, a.copy()).counters
    # x: words 0, 4, 8, … of 8 banks. y, by half warps: words 2, 3, 6, 7, … of 16 banks.
    assert counters["shared_load_bank_conflicts"] == 3 + 2 * 1
