"""What lanes of a warp do together: shuffles, votes, masks, and shared memory behind syncwarp."""

from __future__ import annotations

import numpy as np
from numba import cuda, float32, int32

ALL = 0xFFFFFFFF
LOW = 0xFFFF


def butterfly(x, out):
    """Every lane ends with the sum."""
    total = x[cuda.grid(1)]
    for turn in range(5):
        total += cuda.shfl_xor_sync(ALL, total, 1 << turn)
    out[cuda.grid(1)] = total
    # wrong: out[cuda.grid(1) // 32] = total * cuda.laneid -> race on out


def run_butterfly(bench):
    x = bench.rng.random(96)
    out = bench.device_array(96, np.float64)
    bench.launch(butterfly, 3, 32, x, out)
    return [(out, np.repeat(x.reshape(3, 32).sum(axis=1), 32))]


def half_warps(x, out):
    """The lower half works alone, and its mask says so."""
    lane = cuda.laneid
    out[lane] = x[lane]
    if lane < 16:
        other = cuda.shfl_xor_sync(LOW, x[lane], 1)
        # wrong: other = cuda.shfl_xor_sync(ALL, x[lane], 1) -> incomplete-warp
        out[lane] = other
        cuda.syncwarp(LOW)
        # wrong: pass -> race on out at: out[lane] += out[15 - lane] * 0
        # wrong: cuda.syncwarp() -> incomplete-warp
        out[lane] += out[15 - lane] * 0
    cuda.syncthreads()
    out[lane] *= 2


def run_half_warps(bench):
    # warns: same-value-writes
    x = bench.rng.random(32)
    out = bench.device_array(32, np.float64)
    bench.launch(half_warps, 1, 32, x, out)
    return [(out / 2, np.concatenate([x[:16].reshape(8, 2)[:, ::-1].ravel(), x[16:]]))]


def until_all_agree(x, out):
    """Newton's square root; a warp goes on until each of its lanes is content."""
    i = cuda.grid(1)
    root = x[i]
    while cuda.any_sync(ALL, abs(root * root - x[i]) > 1e-9):
        root = 0.5 * (root + x[i] / root)
    out[i] = root
    # wrong: out[i + 1] = root -> out-of-bounds on out


def run_until_all_agree(bench):
    x = 1 + bench.rng.random(64)
    out = bench.device_array(64, np.float64)
    bench.launch(until_all_agree, 2, 32, x, out)
    return [(out, np.sqrt(x))]


def transpose_in_a_warp(x, out):
    """32 × 32 numbers, one row to a turn; a warp needs no block's barrier."""
    s = cuda.shared.array((4, 32, 33), float32)
    lane, warp = cuda.laneid, cuda.threadIdx.x // 32
    for k in range(32):
        s[warp, k, lane] = x[warp, k, lane]
    cuda.syncwarp()
    # wrong: pass -> race on s at: out[warp, k, lane] = s[warp, lane, k]
    # wrong: cuda.activemask() -> race on s at: out[warp, k, lane] = s[warp, lane, k]
    for k in range(32):
        out[warp, k, lane] = s[warp, lane, k]
        # wrong: out[warp, k, lane] = s[3 - warp, lane, k] -> race on s


def run_transpose_in_a_warp(bench):
    x = bench.rng.random((4, 32, 32)).astype(np.float32)
    out = bench.device_array((4, 32, 32), np.float32)
    bench.launch(transpose_in_a_warp, 1, 128, x, out)
    return [(out, x.transpose(0, 2, 1))]


def exchange_of_local_arrays(x, out):
    """A lane's local array is its own: others get at it through shuffles."""
    mine = cuda.local.array(4, float32)
    lane = cuda.laneid
    for k in range(4):
        mine[k] = x[lane, k]
        # wrong: mine[0] = x[lane, k] -> uninitialised-read on mine at: = cuda.shfl_sync
    for k in range(4):
        out[lane, k] = cuda.shfl_sync(ALL, mine[k], 31 - lane)
        # wrong: out[lane, k] = mine[31 - lane] -> out-of-bounds on mine


def run_exchange_of_local_arrays(bench):
    x = bench.rng.random((32, 4)).astype(np.float32)
    out = bench.device_array((32, 4), np.float32)
    bench.launch(exchange_of_local_arrays, 1, 32, x, out)
    return [(out, x[::-1])]


def leader_of_a_warp(x, out, count):
    """One atomic for all lanes that found something."""
    i = cuda.grid(1)
    votes = cuda.ballot_sync(ALL, x[i] > 0)
    leader = cuda.ffs(votes) - 1
    if cuda.laneid == leader:
        cuda.atomic.add(count, 0, cuda.popc(votes))
        # wrong: count[0] += cuda.popc(votes) -> race on count
    out[i] = votes >> cuda.laneid & 1
    # wrong: out[leader] = votes -> race on out


def run_leader_of_a_warp(bench):
    x = bench.rng.normal(size=128)
    out, count = bench.device_array(128, np.int64), np.zeros(1, np.int32)
    bench.launch(leader_of_a_warp, 2, 64, x, out, count)
    return [(out, x > 0), (count, [(x > 0).sum()])]


def early_return(x, out):
    """Threads beyond the end leave before the barrier: it does not count who has returned."""
    s = cuda.shared.array(64, float32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if i >= x.size:
        return
    s[t] = x[i]
    cuda.syncthreads()
    # wrong: pass -> race on s at: out[i] = s[t] - s[t - 1] if t > 0 else s[t]
    out[i] = s[t] - s[t - 1] if t > 0 else s[t]
    # wrong: out[i] = s[t + 1] - s[t] if t < 63 else s[t] -> uninitialised-read on s


def run_early_return(bench):
    x = bench.rng.random(100).astype(np.float32)
    out = bench.device_array(100, np.float32)
    bench.launch(early_return, 2, 64, x, out)
    expected = np.diff(x, prepend=0)
    expected[64] = x[64]
    return [(out, expected)]


def barrier_in_both_branches(x, out):
    """The condition is the same for a whole block, so its threads meet."""
    s = cuda.shared.array(64, int32)
    t = cuda.threadIdx.x
    s[t] = x[cuda.grid(1)]
    if cuda.blockIdx.x == 0:
        # wrong: if t < 32: -> divergent-barrier at: cuda.syncthreads()
        cuda.syncthreads()
        out[cuda.grid(1)] = s[63 - t]
    else:
        cuda.syncthreads()
        # wrong: pass -> race on s at: out[cuda.grid(1)] = 2 * s[63 - t]
        out[cuda.grid(1)] = 2 * s[63 - t]


def run_barrier_in_both_branches(bench):
    x = bench.rng.integers(0, 99, 128).astype(np.int32)
    out = bench.device_array(128, np.int32)
    bench.launch(barrier_in_both_branches, 2, 64, x, out)
    return [(out, np.concatenate([x[63::-1], 2 * x[:63:-1]]))]


def quarters(x, out):
    """Each quarter of a warp adds up its own numbers, and waits for nobody else."""
    s = cuda.shared.array(64, float32)
    t, lane = cuda.threadIdx.x, cuda.laneid
    mask = 0xFF << (lane & 24)
    # wrong: mask = 0xFF -> incomplete-warp at: cuda.syncwarp(mask)
    s[t] = x[cuda.grid(1)]
    for turn in range(3):
        stride = 4 >> turn
        cuda.syncwarp(mask)
        # wrong: pass -> race on s at: s[t] += s[t + stride]
        if lane & 7 < stride:
            s[t] += s[t + stride]
            # wrong: s[t] += s[(t + 8 + stride) % 64] -> race on s
    if lane & 7 == 0:
        out[cuda.grid(1) // 8] = s[t]


def run_quarters(bench):
    x = bench.rng.random(128).astype(np.float32)
    out = bench.device_array(16, np.float32)
    bench.launch(quarters, 2, 64, x, out)
    return [(out, x.reshape(16, 8).sum(axis=1))]


def warp_sums_behind_a_guard(x, out):
    """All lanes take part in the shuffles, those beyond the end with a zero."""
    i = cuda.grid(1)
    total = x[i] if i < x.size else float32(0)
    if i < cuda.gridsize(1):
        # wrong: if i < x.size: -> incomplete-warp at: total += cuda.shfl_down_sync
        for turn in range(5):
            total += cuda.shfl_down_sync(ALL, total, 16 >> turn)
    if cuda.laneid == 0:
        cuda.atomic.add(out, 0, total)


def run_warp_sums_behind_a_guard(bench):
    x = bench.rng.random(100).astype(np.float32)
    out = np.zeros(1, np.float32)
    bench.launch(warp_sums_behind_a_guard, 2, 64, x, out)
    return [(out, [x.sum()])]


def rounds_of_a_block(x, out):
    """A block goes over its part in rounds that all of its threads take, also those with nothing left."""
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    total = float32(0)
    for first in range(0, x.size, 32):
        # wrong: for first in range(t, x.size, 32): -> divergent-barrier at: cuda.syncthreads()
        s[t] = x[first + t] if first + t < x.size else float32(0)
        cuda.syncthreads()
        total += s[31 - t]
        cuda.syncthreads()
    out[t] = total


def run_rounds_of_a_block(bench):
    x = bench.rng.random(80).astype(np.float32)
    out = bench.device_array(32, np.float32)
    bench.launch(rounds_of_a_block, 1, 32, x, out)
    padded = np.zeros(96, np.float32)
    padded[:80] = x
    return [(out, padded.reshape(3, 32).sum(axis=0)[::-1])]
