"""Reductions: many values become one, within a block, between blocks, by warp."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numba import cuda, float32, float64, int32

N = 256


def tree(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else float32(0)
    # wrong: s[t] = x[i] -> out-of-bounds on x
    cuda.syncthreads()
    # wrong: pass -> race on s at: s[t] += s[t + stride]
    # wrong: cuda.syncthreads -> race on s at: s[t] += s[t + stride]
    stride = N // 2
    # wrong: stride = N -> out-of-bounds on s at: s[t] += s[t + stride]
    while stride > 0:
        if t < stride:
            # wrong: if t <= stride: -> race on s at: s[t] += s[t + stride]
            s[t] += s[t + stride]
        cuda.syncthreads()
        # wrong: pass -> race on s at: s[t] += s[t + stride]
        # wrong: cuda.syncwarp() -> race on s at: s[t] += s[t + stride]
        stride //= 2
    if t == 0:
        cuda.atomic.add(out, 0, s[0])
        # wrong: out[0] += s[0] -> race on out


def run_tree(bench):
    x = bench.rng.random(1000).astype(np.float32)
    out = np.zeros(1, np.float32)
    bench.launch(tree, 4, N, x, out)
    return [(out, [x.sum()])]


def interleaved(x, out):
    s = cuda.shared.array(128, float64)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 1
    while step < 128:
        if t % (2 * step) == 0:
            # wrong: if t % step == 0: -> race on s at: s[t] += s[t + step]
            s[t] += s[t + step]
        step *= 2
        cuda.syncthreads()
        # wrong: cuda.syncthreads -> race on s at: s[t] += s[t + step]
    if t == 0:
        out[cuda.blockIdx.x] = s[0]


def run_interleaved(bench):
    x = bench.rng.random(512)
    out = bench.device_array(4, np.float64)
    bench.launch(interleaved, 4, 128, x, out)
    return [(out, x.reshape(4, 128).sum(axis=1))]


@cuda.jit(device=True)
def warp_sum(value):
    offset = 16
    while offset > 0:
        value += cuda.shfl_down_sync(0xFFFFFFFF, value, offset)
        offset //= 2
    return value


def by_warps(x, out):
    partial = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    lane, warp = t % 32, t // 32
    total = float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i]
    total = warp_sum(total)
    if lane == 0:
        partial[warp] = total
    cuda.syncthreads()
    # wrong: pass -> race on partial at: total = partial[lane]
    # wrong: cuda.syncwarp() -> race on partial at: total = partial[lane]
    if warp == 0:
        total = partial[lane] if lane < cuda.blockDim.x // 32 else float32(0)
        # wrong: total = partial[lane] -> uninitialised-read on partial
        total = warp_sum(total)
        if lane == 0:
            cuda.atomic.add(out, 0, total)


def run_by_warps(bench):
    x = bench.rng.random(3000).astype(np.float32)
    out = np.zeros(1, np.float32)
    bench.launch(by_warps, 3, 256, x, out)
    return [(out, [x.sum(dtype=np.float64)])]


def last_block_finishes(x, partial, tickets, out):
    """The last block to be done adds what all have left: a fence before the ticket makes the partial sums seen."""
    s = cuda.shared.array(64, float64)
    is_last = cuda.shared.array(1, int32)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    total = 0.0
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i]
    s[t] = total
    cuda.syncthreads()
    for turn in range(6):
        stride = 32 >> turn
        if t < stride:
            s[t] += s[t + stride]
        cuda.syncthreads()
    if t == 0:
        partial[b] = s[0]
        cuda.threadfence()
        # wrong: pass -> race on partial at: total += partial[k]
        # wrong: cuda.threadfence_block() -> race on partial at: total += partial[k]
        # wrong: cuda.syncwarp() -> race on partial at: total += partial[k]
        is_last[0] = cuda.atomic.add(tickets, 0, 1) == cuda.gridDim.x - 1
        # wrong: is_last[0] = tickets[0] == cuda.gridDim.x - 1 -> unwritten-output
    cuda.syncthreads()
    # wrong: pass -> race on is_last at: if is_last[0]
    if is_last[0] and t == 0:
        # wrong: if b == 0 and t == 0: -> race on partial at: total += partial[k]
        # wrong: if t == 0: -> race on partial at: total += partial[k]
        total = 0.0
        for k in range(cuda.gridDim.x):
            total += partial[k]
        out[0] = total


def run_last_block_finishes(bench):
    x = bench.rng.random(5000)
    partial, out = bench.device_array(20, np.float64), bench.device_array(1, np.float64)
    bench.launch(last_block_finishes, 20, 64, x, partial, np.zeros(1, np.int32), out)
    return [(out, [x.sum()])]


def last_block_all_threads(x, partial, tickets, out):
    """As before, but all threads publish, and all threads of the last block read what the others published."""
    is_last = cuda.shared.array(1, int32)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    partial[b, t] = 2 * x[cuda.grid(1)]
    cuda.threadfence()
    # wrong: pass -> race on partial at: total += partial[k, t]
    cuda.syncthreads()
    # wrong: pass -> race on partial at: total += partial[k, t]
    if t == 0:
        ticket = cuda.atomic.add(tickets, 0, 1)
        # wrong: ticket = cuda.gridDim.x - 1 -> race on partial at: total += partial[k, t]
        is_last[0] = ticket == cuda.gridDim.x - 1
    cuda.syncthreads()
    # wrong: pass -> race on is_last at: if is_last[0]:
    if is_last[0]:
        # wrong: if b == 0: -> race on partial at: total += partial[k, t]
        total = 0.0
        for k in range(cuda.gridDim.x):
            total += partial[k, t]
        out[t] = total


def run_last_block_all_threads(bench):
    x = bench.rng.random(640)
    partial, out = np.zeros((10, 64)), bench.device_array(64, np.float64)
    bench.launch(last_block_all_threads, 10, 64, x, partial, np.zeros(1, np.int32), out)
    return [(out, 2 * x.reshape(10, 64).sum(axis=0))]


def largest(x, out):
    s = cuda.shared.array(1, int32)
    if cuda.threadIdx.x == 0:
        s[0] = -(2**31)
    cuda.syncthreads()
    # wrong: pass -> race on s at: cuda.atomic.max(s, 0, x[i])
    i = cuda.grid(1)
    if i < x.size:
        cuda.atomic.max(s, 0, x[i])
        # wrong: s[0] = x[i] if x[i] > s[0] else s[0] -> race on s
    cuda.syncthreads()
    # wrong: pass -> race on s at: cuda.atomic.max(out, 0, s[0])
    if cuda.threadIdx.x == 0:
        cuda.atomic.max(out, 0, s[0])
        # wrong: out[0] = s[0] if s[0] > out[0] else out[0] -> race on out


def run_largest(bench):
    x = bench.rng.integers(-1000, 1000, 700).astype(np.int32)
    out = np.full(1, -(2**31), np.int32)
    bench.launch(largest, 6, 128, x, out)
    return [(out, [x.max()])]


def dot(a, b, out):
    s = cuda.shared.array(128, float64)
    t = cuda.threadIdx.x
    s[t] = 0
    # wrong: pass -> uninitialised-read on s at: s[t] += a[i] * b[i]
    for i in range(cuda.grid(1), a.size, cuda.gridsize(1)):
        s[t] += a[i] * b[i]
        # wrong: s[0] += a[i] * b[i] -> race on s
    cuda.syncthreads()
    half = 64
    while half:
        if t < half:
            s[t] += s[t + half]
        half //= 2
        cuda.syncthreads()
        # wrong: pass -> race on s at: s[t] += s[t + half]
    if t == 0:
        cuda.atomic.add(out, 0, s[0])


def run_dot(bench):
    a, b = bench.rng.random((2, 1500))
    out = np.zeros(1)
    bench.launch(dot, 4, 128, a, b, out)
    return [(out, [a @ b])]


def partial_sums(x, partial):
    s = cuda.shared.array(64, float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    half = 32
    while half:
        if t < half:
            s[t] += s[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        # wrong: if t == 0 and cuda.blockIdx.x > 0: -> uninitialised-read on x at: s[t] = x[i]
        partial[cuda.blockIdx.x] = s[0]


def run_two_launches(bench):
    x = bench.rng.random(1000)
    partial, out = bench.device_array(16, np.float64), bench.device_array(1, np.float64)
    bench.launch(partial_sums, 16, 64, x, partial)
    # wrong: bench.launch(partial_sums, 15, 64, x, partial) -> uninitialised-read on x at: s[t] = x[i]
    bench.launch(partial_sums, 1, 64, partial, out)
    return [(out, [x.sum()])]


def where_is_the_smallest(x, out):
    values = cuda.shared.array(N, float32)
    places = cuda.shared.array(N, int32)
    t = cuda.threadIdx.x
    best, where = float32(np.inf), -1
    for i in range(t, x.size, N):
        if x[i] < best:
            best, where = x[i], i
    values[t], places[t] = best, where
    # wrong: values[t] = best -> uninitialised-read on places at: places[t] = places[t + stride]
    stride = N // 2
    while stride > 0:
        cuda.syncthreads()
        # wrong: pass -> race on values at: if t < stride and values[t + stride] < values[t]:
        if t < stride and values[t + stride] < values[t]:
            values[t] = values[t + stride]
            places[t] = places[t + stride]
        stride //= 2
    if t == 0:
        out[0] = places[0]


def run_where_is_the_smallest(bench):
    x = bench.rng.random(2000).astype(np.float32)
    out = bench.device_array(1, np.int32)
    bench.launch(where_is_the_smallest, 1, N, x, out)
    return [(out, [x.argmin()])]


def count_positive(x, out):
    i = cuda.grid(1)
    flag = 1 if i < x.size and x[i] > 0 else 0
    # wrong: flag = 1 if x[i] > 0 else 0 -> out-of-bounds on x
    count = cuda.syncthreads_count(flag)
    # wrong: count = cuda.syncthreads_count(1) if flag else 0 -> divergent-barrier
    cuda.syncthreads()
    if cuda.threadIdx.x == 0:
        cuda.atomic.add(out, 0, count)
        # wrong: out[0] += count -> race on out


def run_count_positive(bench):
    x = bench.rng.normal(size=1000)
    out = np.zeros(1, np.int64)
    bench.launch(count_positive, 8, 128, x, out)
    return [(out, [(x > 0).sum()])]


def segments(x, starts, out):
    """A block per segment, of any length."""
    s = cuda.shared.array(64, float64)
    t, segment = cuda.threadIdx.x, cuda.blockIdx.x
    total = 0.0
    for i in range(starts[segment] + t, starts[segment + 1], 64):
        # wrong: for i in range(starts[segment] + t, starts[segment + 2], 64): -> out-of-bounds on starts
        total += x[i]
    s[t] = total
    half = 32
    while half:
        cuda.syncthreads()
        if t < half:
            s[t] += s[t + half]
            # wrong: s[t] += s[t + half + 1] -> out-of-bounds on s
        half //= 2
    if t == 0:
        out[segment] = s[0]
        # wrong: out[0] = s[0] -> race on out


def run_segments(bench):
    x = bench.rng.random(1000)
    starts = np.array([0, 100, 100, 130, 700, 1000])
    out = bench.device_array(5, np.float64)
    bench.launch(segments, 5, 64, x, starts, out)
    return [(out, [x[a:b].sum() for a, b in pairwise(starts)])]


def unrolled_last_warp(x, out):
    s = cuda.shared.array(128, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if t < 64:
        s[t] += s[t + 64]
    cuda.syncthreads()
    # wrong: pass -> race on s at: s[t] += s[t + 32]
    if t < 32:
        s[t] += s[t + 32]
        cuda.syncwarp()
        # wrong: pass -> race on s at: value = s[t + 16 & 127]
        stride = 16
        value = s[t + 16 & 127]
        while stride > 0:
            cuda.syncwarp()
            # wrong: pass -> race on s at: s[t] += value
            s[t] += value
            cuda.syncwarp()
            # wrong: pass -> race on s at: value = s[t + stride]
            # wrong: cuda.threadfence_block() -> race on s at: value = s[t + stride]
            stride //= 2
            value = s[t + stride]
        if t == 0:
            out[0] = s[0]


def run_unrolled_last_warp(bench):
    x = bench.rng.random(128).astype(np.float32)
    out = bench.device_array(1, np.float32)
    bench.launch(unrolled_last_warp, 1, 128, x, out)
    return [(out, [x.sum()])]


def variance(x, out):
    """Chan's rule for joining counts, means and sums of squared deviations."""
    mean = cuda.shared.array(64, float64)
    squares = cuda.shared.array(64, float64)
    t = cuda.threadIdx.x
    mean[t], squares[t] = x[t], 0
    # wrong: mean[t] = x[t] -> uninitialised-read on squares at: squares[t] +=
    count = 1
    while count < 64:
        cuda.syncthreads()
        # wrong: cuda.syncthreads -> race on mean at: delta = mean[t + count] - mean[t]
        if t % (2 * count) == 0:
            delta = mean[t + count] - mean[t]
            squares[t] += squares[t + count] + delta * delta * count / 2
            mean[t] += delta / 2
        count *= 2
    if t == 0:
        out[0], out[1] = mean[0], squares[0] / 64
        # wrong: out[0] = mean[0] -> unwritten-output


def run_variance(bench):
    x = bench.rng.normal(size=64)
    out = bench.device_array(2, np.float64)
    bench.launch(variance, 1, 64, x, out)
    return [(out, [x.mean(), x.var()])]


def persistent_blocks(x, out):
    """Few blocks stream over many tiles; the shared tile is used again and again."""
    s = cuda.shared.array(64, float64)
    t = cuda.threadIdx.x
    for tile in range(cuda.blockIdx.x, x.size // 64, cuda.gridDim.x):
        s[t] = x[tile * 64 + t]
        cuda.syncthreads()
        # wrong: pass -> race on s at: s[t] += s[t + half]
        half = 32
        while half:
            if t < half:
                s[t] += s[t + half]
            cuda.syncthreads()
            half //= 2
        if t == 0:
            out[tile] = s[0]
        cuda.syncthreads()


def run_persistent_blocks(bench):
    x = bench.rng.random(64 * 11)
    out = bench.device_array(11, np.float64)
    bench.launch(persistent_blocks, 3, 64, x, out)
    return [(out, x.reshape(11, 64).sum(axis=1))]
