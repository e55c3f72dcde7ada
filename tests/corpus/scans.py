"""Prefix sums: in place, with two buffers, by warps, over blocks."""

from __future__ import annotations

import numpy as np
from numba import cuda, float64, int64

N = 128


def hillis_steele(x):
    s = cuda.shared.array(N, int64)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    # wrong: pass -> race on s at: value = s[t - offset]
    offset = 1
    while offset < N:
        value = 0
        if t >= offset:
            value = s[t - offset]
        cuda.syncthreads()
        # wrong: pass -> race on s at: s[t] += value
        # wrong: cuda.syncthreads -> race on s at: s[t] += value
        s[t] += value
        cuda.syncthreads()
        # wrong: pass -> race on s at: value = s[t - offset]
        offset *= 2
    x[t] = s[t]


def run_hillis_steele(bench):
    x = bench.rng.integers(0, 100, N)
    expected = x.cumsum()
    bench.launch(hillis_steele, 1, N, x)
    return [(x, expected)]


def two_buffers(x, out):
    s = cuda.shared.array((2, N), int64)
    t = cuda.threadIdx.x
    here = 0
    s[here, t] = x[t]
    cuda.syncthreads()
    offset = 1
    while offset < N:
        there = 1 - here
        # wrong: there = here -> race on s at: s[there, t] = s[here, t] + s[here, t - offset]
        if t >= offset:
            s[there, t] = s[here, t] + s[here, t - offset]
        else:
            s[there, t] = s[here, t]
            # wrong: pass -> uninitialised-read on s at: s[there, t] = s[here, t] + s[here, t - offset]
        cuda.syncthreads()
        # wrong: pass -> race on s at: s[there, t] = s[here, t] + s[here, t - offset]
        here = there
        offset *= 2
    out[t] = s[here, t]


def run_two_buffers(bench):
    x = bench.rng.integers(0, 100, N)
    out = bench.device_array(N, np.int64)
    bench.launch(two_buffers, 1, N, x, out)
    return [(out, x.cumsum())]


def blelloch(x, out):
    """Exclusive, two elements to a thread: up the tree, and down again."""
    s = cuda.shared.array(N, float64)
    t = cuda.threadIdx.x
    s[2 * t], s[2 * t + 1] = x[2 * t], x[2 * t + 1]
    # wrong: s[2 * t], s[2 * t + 2] = x[2 * t], x[2 * t + 1] -> out-of-bounds on s
    offset = 1
    pairs = N // 2
    while pairs > 0:
        cuda.syncthreads()
        # wrong: pass -> race on s at: s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1]
        if t < pairs:
            s[offset * (2 * t + 2) - 1] += s[offset * (2 * t + 1) - 1]
        offset *= 2
        pairs //= 2
    if t == 0:
        s[N - 1] = 0
    pairs = 1
    while pairs < N:
        offset //= 2
        cuda.syncthreads()
        # wrong: pass -> race on s at: s[left] = s[right]
        if t < pairs:
            left, right = offset * (2 * t + 1) - 1, offset * (2 * t + 2) - 1
            kept = s[left]
            s[left] = s[right]
            s[right] += kept
        pairs *= 2
    cuda.syncthreads()
    # wrong: pass -> race on s at: out[t], out[t + N // 2] = s[t], s[t + N // 2]
    # wrong: cuda.syncthreads -> race on s at: out[t], out[t + N // 2] = s[t], s[t + N // 2]
    out[t], out[t + N // 2] = s[t], s[t + N // 2]


def run_blelloch(bench):
    x = bench.rng.random(N)
    out = bench.device_array(N, np.float64)
    bench.launch(blelloch, 1, N // 2, x, out)
    return [(out, x.cumsum() - x)]


def by_warps(x, out):
    sums = cuda.shared.array(4, int64)
    t = cuda.threadIdx.x
    lane, warp = t % 32, t // 32
    value = x[t]
    offset = 1
    while offset < 32:
        before = cuda.shfl_up_sync(0xFFFFFFFF, value, offset)
        if lane >= offset:
            value += before
        offset *= 2
    if lane == 31:
        # wrong: if lane == 31 and warp > 0: -> uninitialised-read on sums at: base += sums[w]
        sums[warp] = value
    cuda.syncthreads()
    # wrong: cuda.syncwarp() -> race on sums at: base += sums[w]
    base = 0
    for w in range(warp):
        base += sums[w]
    out[t] = base + value


def run_by_warps(bench):
    x = bench.rng.integers(0, 100, N)
    out = bench.device_array(N, np.int64)
    bench.launch(by_warps, 1, N, x, out)
    return [(out, x.cumsum())]


def scan_of_blocks(x, sums):
    s = cuda.shared.array(64, int64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else 0
    offset = 1
    while offset < 64:
        cuda.syncthreads()
        value = s[t - offset] if t >= offset else 0
        cuda.syncthreads()
        # wrong: pass -> race on s at: s[t] += value
        s[t] += value
        offset *= 2
    if i < x.size:
        # wrong: if i <= x.size: -> out-of-bounds on x at: x[i] = s[t]
        x[i] = s[t]
    if t == 63:
        sums[cuda.blockIdx.x] = s[t]


def add_sums(x, sums):
    i = cuda.grid(1)
    if i < x.size and cuda.blockIdx.x > 0:
        x[i] += sums[cuda.blockIdx.x - 1]
        # wrong: x[i] += sums[cuda.blockIdx.x + 1] -> out-of-bounds on sums


def run_three_launches(bench):
    x = bench.rng.integers(0, 100, 1000)
    expected = x.cumsum()
    sums, total = bench.device_array(16, np.int64), bench.device_array(1, np.int64)
    bench.launch(scan_of_blocks, 16, 64, x, sums)
    # wrong: bench.launch(scan_of_blocks, 15, 64, x, sums) -> uninitialised-read on x at: s[t] = x[i]
    bench.launch(scan_of_blocks, 1, 64, sums, total)
    bench.launch(add_sums, 16, 64, x, sums)
    return [(x, expected), (total, expected[-1:])]


def chained(x, flags, sums, out):
    """Each block waits for the one before it, and hands its sum on: data, fence, flag."""
    s = cuda.shared.array(64, int64)
    base = cuda.shared.array(1, int64)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    s[t] = x[cuda.grid(1)]
    offset = 1
    while offset < 64:
        cuda.syncthreads()
        value = s[t - offset] if t >= offset else 0
        cuda.syncthreads()
        s[t] += value
        offset *= 2
    if t == 63:
        base[0] = 0
        if b > 0:
            while cuda.atomic.add(flags, b - 1, 0) == 0:
                # wrong: while False: -> uninitialised-read on sums at: base[0] = sums[b - 1]
                pass
            cuda.threadfence()
            base[0] = sums[b - 1]
        sums[b] = base[0] + s[63]
        cuda.threadfence()
        # wrong: pass -> race on sums at: base[0] = sums[b - 1]
        # wrong: cuda.threadfence_block() -> race on sums at: base[0] = sums[b - 1]
        cuda.atomic.exch(flags, b, 1)
        # wrong: flags[b] = 1 -> race on flags
        # wrong: pass -> endless-wait at: while
    cuda.syncthreads()
    # wrong: pass -> race on base at: out[cuda.grid(1)] = base[0] + s[t]
    out[cuda.grid(1)] = base[0] + s[t]


def run_chained(bench):
    x = bench.rng.integers(0, 100, 640)
    sums, out = bench.device_array(10, np.int64), bench.device_array(640, np.int64)
    bench.launch(chained, 10, 64, x, np.zeros(10, np.int32), sums, out)
    return [(out, x.cumsum())]
