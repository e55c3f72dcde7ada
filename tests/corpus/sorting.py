"""Sorting, merging, and putting together what is kept."""

from __future__ import annotations

import numpy as np
from numba import cuda, int32

N = 128


def bitonic(x):
    s = cuda.shared.array(N, int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    size = 2
    while size <= N:
        stride = size // 2
        while stride > 0:
            cuda.syncthreads()
            # wrong: pass -> race on s at: if (s[t] > s[partner]) == ascending:
            # wrong: cuda.syncwarp() -> race on s at: if (s[t] > s[partner]) == ascending:
            partner = t ^ stride
            if partner > t:
                # wrong: if partner >= 0: -> race on s at: s[t], s[partner] = s[partner], s[t]
                ascending = t & size == 0
                if (s[t] > s[partner]) == ascending:
                    s[t], s[partner] = s[partner], s[t]
            stride //= 2
        size *= 2
    cuda.syncthreads()
    # wrong: pass -> race on s at: x[t] = s[t]
    x[t] = s[t]


def run_bitonic(bench):
    x = bench.rng.permutation(N).astype(np.int32)
    bench.launch(bitonic, 1, N, x)
    return [(x, np.arange(N))]


def bitonic_step(x, size, stride):
    """One launch to a step: the end of a launch is a barrier for the whole grid."""
    i = cuda.grid(1)
    partner = i ^ stride
    if partner > i:
        # wrong: if partner != i: -> race on x at: x[partner] = a
        # wrong: if True: -> race on x at: x[partner] = a
        a, b = x[i], x[partner]
        if (a > b) == (i & size == 0):
            x[i] = b
            x[partner] = a


def run_bitonic_step(bench):
    x = bench.rng.permutation(256)
    size = 2
    while size <= 256:
        stride = size // 2
        while stride > 0:
            bench.launch(bitonic_step, 4, 64, x, size, stride)
            stride //= 2
        size *= 2
    return [(x, np.arange(256))]


def odd_even(x):
    s = cuda.shared.array(N, int32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    for turn in range(N):
        cuda.syncthreads()
        # wrong: pass -> race on s at: if left + 1 < N and s[left] > s[left + 1]:
        # wrong: cuda.syncthreads -> race on s at: if left + 1 < N and s[left] > s[left + 1]:
        left = 2 * t + turn % 2
        # wrong: left = t + turn % 2 -> race on s at: s[left], s[left + 1] = s[left + 1], s[left]
        if left + 1 < N and s[left] > s[left + 1]:
            # wrong: if left < N and s[left] > s[left + 1]: -> out-of-bounds on s
            s[left], s[left + 1] = s[left + 1], s[left]
    cuda.syncthreads()
    x[t] = s[t]


def run_odd_even(bench):
    x = bench.rng.permutation(N).astype(np.int32)
    bench.launch(odd_even, 1, N, x)
    return [(x, np.arange(N))]


def radix_step(x, out, bit):
    """Split by one bit, keeping the order: zeros first, by a prefix sum of who has one."""
    ones = cuda.shared.array(N, int32)
    t = cuda.threadIdx.x
    mine = x[t] >> bit & 1
    ones[t] = mine
    offset = 1
    while offset < N:
        cuda.syncthreads()
        before = ones[t - offset] if t >= offset else 0
        cuda.syncthreads()
        # wrong: pass -> race on ones at: ones[t] += before
        ones[t] += before
        offset *= 2
    cuda.syncthreads()
    # wrong: pass -> race on ones at: zeros = N - ones[N - 1]
    zeros = N - ones[N - 1]
    rank = zeros + ones[t] - 1 if mine else t - ones[t]
    # wrong: rank = zeros + ones[t] if mine else t - ones[t] -> out-of-bounds on out at: out[rank] = x[t]
    # wrong: rank = ones[t] - 1 if mine else t - ones[t] -> race on out at: out[rank] = x[t]
    # wrong: rank = zeros + ones[t] - 1 if mine else t - ones[t] - 1 -> negative-index on out at: out[rank] = x[t]
    out[rank] = x[t]


def run_radix_step(bench):
    x = bench.rng.permutation(N).astype(np.int32)
    out = bench.device_array(N, np.int32)
    for bit in range(7):
        bench.launch(radix_step, 1, N, x, out, bit)
        x, out = out, x
    return [(x, np.arange(N))]


def merge(a, b, keys, tags):
    """Each element of both finds its place by bisection; equal ones of ``a`` come first."""
    i = cuda.grid(1)
    if i < a.size + b.size:
        # wrong: if i <= a.size + b.size: -> out-of-bounds on b at: key = a[i] if mine_is_a else b[i - a.size]
        mine_is_a = i < a.size
        key = a[i] if mine_is_a else b[i - a.size]
        other = b if mine_is_a else a
        low, high = 0, other.size
        while low < high:
            middle = (low + high) // 2
            if other[middle] < key or (other[middle] == key and not mine_is_a):
                # wrong: if other[middle] < key: -> race on tags at: tags[low + (i if mine_is_a else i - a.size)] = i
                low = middle + 1
            else:
                high = middle
        keys[low + (i if mine_is_a else i - a.size)] = key
        tags[low + (i if mine_is_a else i - a.size)] = i


def run_merge(bench):
    a, b = np.sort(bench.rng.integers(0, 50, (2, 100)))
    keys, tags = bench.device_array(200, np.int64), bench.device_array(200, np.int64)
    bench.launch(merge, 4, 64, a, b, keys, tags)
    both = np.concatenate([a, b])
    return [(keys, np.sort(both)), (tags, np.argsort(both, kind="stable"))]


def by_rank(x, out, places):
    """Count who comes before me: equal ones by their index."""
    i = cuda.grid(1)
    if i < x.size:
        rank = 0
        for k in range(x.size):
            if x[k] < x[i] or (x[k] == x[i] and k < i):
                # wrong: if x[k] < x[i]: -> race on places at: places[rank] = i
                # wrong: if x[k] < x[i] or (x[k] == x[i] and k <= i): -> out-of-bounds on out at: out[rank] = x[i]
                rank += 1
        out[rank] = x[i]
        places[rank] = i


def run_by_rank(bench):
    x = bench.rng.integers(0, 20, 100)
    out, places = bench.device_array(100, np.int64), bench.device_array(100, np.int64)
    bench.launch(by_rank, 2, 64, x, out, places)
    return [(out, np.sort(x)), (places, np.argsort(x, kind="stable"))]


def compact(x, out, count):
    """Keep what is positive: a ballot ranks the lanes of a warp, one lane reserves room for all of them."""
    i, lane = cuda.grid(1), cuda.laneid
    keep = i < x.size and x[i] > 0
    # wrong: keep = x[i] > 0 -> out-of-bounds on x
    kept = cuda.ballot_sync(0xFFFFFFFF, keep)
    base = 0
    if lane == 0:
        base = cuda.atomic.add(count, 0, cuda.popc(kept))
        # wrong: base = count[0] -> race on out at: out[base + before] = x[i]
    base = cuda.shfl_sync(0xFFFFFFFF, base, 0)
    before = cuda.popc(kept & cuda.lanemask_lt())
    # wrong: before = cuda.popc(kept) -> race on out at: out[base + before] = x[i]
    # wrong: before = 0 -> race on out at: out[base + before] = x[i]
    if keep:
        out[base + before] = x[i]


def run_compact(bench):
    x = bench.rng.normal(size=300)
    out, count = np.zeros(300), np.zeros(1, np.int32)
    bench.launch(compact, 3, 128, x, out, count)
    kept = np.sort(x[x > 0])
    return [(count, [kept.size]), (np.sort(out[: kept.size]), kept)]


def compact_by_block(x, out, total):
    """Room is counted in shared memory first."""
    place = cuda.shared.array(2, int32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    if t == 0:
        place[0] = 0
        # wrong: pass -> uninitialised-read on place at: mine = cuda.atomic.add(place, 0, 1)
    cuda.syncthreads()
    # wrong: pass -> race on place at: mine = cuda.atomic.add(place, 0, 1)
    keep = i < x.size and x[i] % 3 == 0
    mine = 0
    if keep:
        mine = cuda.atomic.add(place, 0, 1)
        # wrong: mine = place[0] -> race on out at: out[place[1] + mine] = x[i]
    cuda.syncthreads()
    # wrong: pass -> race on place at: place[1] = cuda.atomic.add(total, 0, place[0])
    if t == 0:
        place[1] = cuda.atomic.add(total, 0, place[0])
    cuda.syncthreads()
    # wrong: cuda.syncwarp() -> race on place at: out[place[1] + mine] = x[i]
    if keep:
        out[place[1] + mine] = x[i]


def run_compact_by_block(bench):
    x = bench.rng.integers(0, 1000, 500).astype(np.int32)
    out, total = np.zeros(500, np.int32), np.zeros(1, np.int32)
    bench.launch(compact_by_block, 4, 128, x, out, total)
    kept = np.sort(x[x % 3 == 0])
    return [(total, [kept.size]), (np.sort(out[: kept.size]), kept)]
