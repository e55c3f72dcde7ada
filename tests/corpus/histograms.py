"""Histograms: many threads count in few places."""

from __future__ import annotations

import numpy as np
from numba import cuda, int32, int64

BINS = 16


def all_in_global(x, counts):
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.add(counts, x[i], 1)
        # wrong: counts[x[i]] += 1 -> race on counts


def run_all_in_global(bench):
    x = bench.rng.integers(0, BINS, 1000)
    counts = np.zeros(BINS, np.int32)
    bench.launch(all_in_global, 8, 128, x, counts)
    return [(counts, np.bincount(x, minlength=BINS))]


def by_block(x, counts):
    s = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    if t < BINS:
        # wrong: if t < BINS - 1: -> uninitialised-read on s at: cuda.atomic.add(s, x[i], 1)
        s[t] = 0
    cuda.syncthreads()
    # wrong: pass -> race on s at: cuda.atomic.add(s, x[i], 1)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        cuda.atomic.add(s, x[i], 1)
        # wrong: s[x[i]] += 1 -> race on s
        # wrong: cuda.atomic.add(s, x[i] + 1, 1) -> out-of-bounds on s
    cuda.syncthreads()
    # wrong: pass -> race on s at: cuda.atomic.add(counts, t, s[t])
    # wrong: cuda.syncthreads -> race on s at: cuda.atomic.add(counts, t, s[t])
    if t < BINS:
        cuda.atomic.add(counts, t, s[t])
        # wrong: counts[t] += s[t] -> race on counts


def run_by_block(bench):
    x = bench.rng.integers(0, BINS, 1000)
    counts = np.zeros(BINS, np.int32)
    bench.launch(by_block, 3, 128, x, counts)
    return [(counts, np.bincount(x, minlength=BINS))]


def tile_after_tile(x, counts):
    """A row of counts per tile; the block counts in the same shared memory again and again."""
    s = cuda.shared.array(BINS, int32)
    t = cuda.threadIdx.x
    for tile in range(counts.shape[0]):
        if t < BINS:
            s[t] = 0
        cuda.syncthreads()
        # wrong: pass -> race on s at: cuda.atomic.add(s, x[tile * 64 + t], 1)
        cuda.atomic.add(s, x[tile * 64 + t], 1)
        cuda.syncthreads()
        # wrong: pass -> race on s at: counts[tile, t] = s[t]
        if t < BINS:
            counts[tile, t] = s[t]


def run_tile_after_tile(bench):
    x = bench.rng.integers(0, BINS, 640)
    counts = bench.device_array((10, BINS), np.int32)
    bench.launch(tile_after_tile, 1, 64, x, counts)
    return [(counts, [np.bincount(row, minlength=BINS) for row in x.reshape(10, 64)])]


def by_warp(x, counts):
    """Each warp has counts of its own."""
    s = cuda.shared.array((4, BINS), int32)
    t = cuda.threadIdx.x
    lane, warp = t % 32, t // 32
    if lane < BINS:
        s[warp, lane] = 0
    cuda.syncwarp()
    # wrong: pass -> race on s at: cuda.atomic.add(s, (warp, x[i]), 1)
    for i in range(t, x.size, 128):
        cuda.atomic.add(s, (warp, x[i]), 1)
        # wrong: cuda.atomic.add(s, (warp + 1, x[i]), 1) -> out-of-bounds on s
        # wrong: s[warp, x[i]] += 1 -> race on s
    cuda.syncthreads()
    # wrong: cuda.syncwarp() -> race on s at: total += s[w, t]
    if t < BINS:
        total = 0
        for w in range(4):
            total += s[w, t]
        counts[t] = total


def run_by_warp(bench):
    x = bench.rng.integers(0, BINS, 1000)
    counts = bench.device_array(BINS, np.int32)
    bench.launch(by_warp, 1, 128, x, counts)
    return [(counts, np.bincount(x, minlength=BINS))]


def by_thread(x, counts):
    """Each thread counts in local memory."""
    mine = cuda.local.array(BINS, int32)
    for k in range(BINS):
        # wrong: for k in range(1, BINS): -> uninitialised-read on mine at: mine[x[i]] += 1
        # wrong: for k in range(BINS + 1): -> out-of-bounds on mine at: mine[k] = 0
        mine[k] = 0
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        mine[x[i]] += 1
    for k in range(BINS):
        cuda.atomic.add(counts, k, mine[k])
        # wrong: counts[k] += mine[k] -> race on counts


def run_by_thread(bench):
    x = bench.rng.integers(0, BINS, 3000)
    counts = np.zeros(BINS, np.int32)
    bench.launch(by_thread, 2, 32, x, counts)
    return [(counts, np.bincount(x, minlength=BINS))]


def two_dimensional(x, y, counts):
    i = cuda.grid(1)
    if i < x.size:
        row, column = int(x[i] * counts.shape[0]), int(y[i] * counts.shape[1])
        # wrong: row, column = int(x[i] * counts.shape[1]), int(y[i] * 7) -> out-of-bounds at: add(counts, (row
        cuda.atomic.add(counts, (row, column), 1)


def run_two_dimensional(bench):
    x, y = bench.rng.random((2, 2000))
    counts = np.zeros((7, 12), np.int64)
    bench.launch(two_dimensional, 16, 128, x, y, counts)
    return [(counts, np.histogram2d(x, y, bins=(7, 12), range=((0, 1), (0, 1)))[0].astype(int))]


def guarded_maximum(x, best):
    """Looking first whether it is worth an atomic: the look may be out of date, which does no harm."""
    # warns: mixed-atomic
    s = cuda.shared.array(1, int64)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = 0
    cuda.syncthreads()
    # wrong: pass -> race on s at: if x[i] > s[0]:
    for i in range(t, x.size, 64):
        if x[i] > s[0]:
            cuda.atomic.max(s, 0, x[i])
            # wrong: s[0] = x[i] -> race on s
    cuda.syncthreads()
    if t == 0:
        best[0] = s[0]


def run_guarded_maximum(bench):
    x = bench.rng.integers(0, 10000, 640)
    best = bench.device_array(1, np.int64)
    bench.launch(guarded_maximum, 1, 64, x, best)
    return [(best, [x.max()])]
