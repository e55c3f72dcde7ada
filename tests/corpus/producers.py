"""Producers and consumers: between warps of a block, and between blocks."""

from __future__ import annotations

import numpy as np
from numba import cuda, float32, int32


def flag_between_blocks(x, data, flag, out):
    """Block 0 makes data, the others wait for its flag."""
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        data[t] = 2 * x[t]
        cuda.threadfence()
        # wrong: pass -> race on data at: out[cuda.blockIdx.x - 1, t] = data[t] + cuda.blockIdx.x
        cuda.syncthreads()
        # wrong: pass -> race on data at: out[cuda.blockIdx.x - 1, t] = data[t] + cuda.blockIdx.x
        if t == 0:
            cuda.atomic.exch(flag, 0, 1)
            # wrong: flag[0] = 1 -> race on flag at: while cuda.atomic.add(flag, 0, 0) == 0:
    else:
        if t == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:
                # wrong: while False: -> race on data at: = data[t] + cuda.blockIdx.x
                pass
            cuda.threadfence()
        cuda.syncthreads()
        # wrong: pass -> race on data at: out[cuda.blockIdx.x - 1, t] = data[t] + cuda.blockIdx.x
        out[cuda.blockIdx.x - 1, t] = data[t] + cuda.blockIdx.x


def run_flag_between_blocks(bench):
    x = bench.rng.random(64)
    data, out = bench.device_array(64, np.float64), bench.device_array((3, 64), np.float64)
    bench.launch(flag_between_blocks, 4, 64, x, data, np.zeros(1, np.int32), out)
    return [(out, 2 * x + np.arange(1, 4)[:, None])]


def warps_of_a_block(x, out):
    """Warp 0 fetches, warp 1 computes; barriers hand the buffer to and fro."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    lane, warp = t % 32, t // 32
    for part in range(x.size // 32):
        if warp == 0:
            s[lane] = x[part * 32 + lane]
        cuda.syncthreads()
        # wrong: pass -> race on s at: out[part * 32 + lane] = 2 * s[31 - lane]
        # wrong: cuda.syncwarp() -> race on s at: out[part * 32 + lane] = 2 * s[31 - lane]
        # wrong: if warp == 0: cuda.syncthreads() -> divergent-barrier at: cuda.syncthreads()
        if warp == 1:
            out[part * 32 + lane] = 2 * s[31 - lane]
        cuda.syncthreads()
        # wrong: pass -> race on s at: s[lane] = x[part * 32 + lane]


def run_warps_of_a_block(bench):
    x = bench.rng.random(320).astype(np.float32)
    out = bench.device_array(320, np.float32)
    bench.launch(warps_of_a_block, 1, 64, x, out)
    return [(out, 2 * x.reshape(10, 32)[:, ::-1].ravel())]


def ping_pong_buffers(x, out):
    """Two buffers: while one is used, the other is filled. One barrier to a part."""
    s = cuda.shared.array((2, 32), float32)
    t = cuda.threadIdx.x
    lane, warp = t % 32, t // 32
    parts = x.size // 32
    for part in range(parts + 1):
        if warp == 0 and part < parts:
            # wrong: if warp == 0: -> out-of-bounds on x at: s[part % 2, lane] = x[part * 32 + lane]
            s[part % 2, lane] = x[part * 32 + lane]
            # wrong: s[0, lane] = x[part * 32 + lane] -> race on s at: s[(part + 1) % 2, 31 - lane]
        elif warp == 1 and part > 0:
            # wrong: elif warp == 1: -> uninitialised-read on s at: out[part * 32 - 32 + lane] = 2 * s[(part + 1) % 2
            out[part * 32 - 32 + lane] = 2 * s[(part + 1) % 2, 31 - lane]
            # wrong: out[part * 32 - 32 + lane] = 2 * s[part % 2, 31 - lane] -> race on s
        cuda.syncthreads()
        # wrong: pass -> race on s at: s[(part + 1) % 2, 31 - lane]


def run_ping_pong_buffers(bench):
    x = bench.rng.random(320).astype(np.float32)
    out = bench.device_array(320, np.float32)
    bench.launch(ping_pong_buffers, 1, 64, x, out)
    return [(out, 2 * x.reshape(10, 32)[:, ::-1].ravel())]


def wait_between_warps(x, out):
    """A warp waits for another one's flag in shared memory: a fence of the block is enough."""
    s = cuda.shared.array(32, float32)
    flag = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    lane = t % 32
    if t == 0:
        flag[0] = 0
        # wrong: pass -> uninitialised-read on flag at: cuda.atomic.exch(flag, 0, 1)
    cuda.syncthreads()
    # wrong: pass -> race on flag at: while cuda.atomic.add(flag, 0, 0) == 0:
    if t < 32:
        s[lane] = x[lane]
        cuda.threadfence_block()
        # wrong: pass -> race on s at: out[lane] = s[31 - lane]
        cuda.syncwarp()
        # wrong: pass -> race on s at: out[lane] = s[31 - lane]
        if lane == 0:
            cuda.atomic.exch(flag, 0, 1)
            # wrong: flag[0] = 1 -> race on flag at: while cuda.atomic.add(flag, 0, 0) == 0:
    else:
        if lane == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
            cuda.threadfence_block()
        cuda.syncwarp()
        # wrong: pass -> race on s at: out[lane] = s[31 - lane]
        out[lane] = s[31 - lane]


def run_wait_between_warps(bench):
    x = bench.rng.random(32).astype(np.float32)
    out = bench.device_array(32, np.float32)
    bench.launch(wait_between_warps, 1, 64, x, out)
    return [(out, x[::-1])]


def ring(x, slots, filled, emptied, out):
    """A ring of four slots between two blocks of one thread each; counters say how far each has come."""
    if cuda.blockIdx.x == 0:
        for k in range(x.size):
            while cuda.atomic.add(emptied, 0, 0) + slots.size <= k:
                # wrong: while False: -> wrong-result
                pass
            slots[k % slots.size] = x[k]
            cuda.threadfence()
            # wrong: pass -> race on slots at: out[k] = slots[k % slots.size]
            cuda.atomic.add(filled, 0, 1)
            # wrong: filled[0] += 1 -> race on filled at: while cuda.atomic.add(filled, 0, 0) <= k:
    else:
        for k in range(x.size):
            while cuda.atomic.add(filled, 0, 0) <= k:
                pass
            cuda.threadfence()
            out[k] = slots[k % slots.size]
            cuda.threadfence()
            cuda.atomic.add(emptied, 0, 1)
            # wrong: pass -> endless-wait at: while


def run_ring(bench):
    x, out = bench.rng.random(9), bench.device_array(9, np.float64)
    slots = bench.device_array(4, np.float64)
    bench.launch(ring, 2, 1, x, slots, np.zeros(1, np.int32), np.zeros(1, np.int32), out)
    return [(out, x)]


def barrier_of_the_grid(x, arrived, out):
    """Blocks that all run at once can meet at a counter."""
    s = cuda.shared.array(1, int32)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    x[b, t] = b * 100 + t
    cuda.threadfence()
    # wrong: pass -> race on x at: out[b, t] = x[(b + 1) % cuda.gridDim.x, 31 - t]
    cuda.syncthreads()
    if t == 0:
        s[0] = cuda.atomic.add(arrived, 0, 1)
        # wrong: s[0] = arrived[0] -> endless-wait at: while
        while cuda.atomic.add(arrived, 0, 0) < cuda.gridDim.x:
            # wrong: while cuda.atomic.add(arrived, 0, 0) <= cuda.gridDim.x: -> endless-wait at: while
            pass
    cuda.syncthreads()
    # wrong: pass -> race on x at: out[b, t] = x[(b + 1) % cuda.gridDim.x, 31 - t]
    out[b, t] = x[(b + 1) % cuda.gridDim.x, 31 - t]


def run_barrier_of_the_grid(bench):
    x, out = bench.device_array((4, 32), np.int64), bench.device_array((4, 32), np.int64)
    bench.launch(barrier_of_the_grid, 4, 32, x, np.zeros(1, np.int32), out)
    all_of_it = np.arange(4)[:, None] * 100 + np.arange(32)
    return [(out, np.roll(all_of_it, -1, 0)[:, ::-1])]
