"""Products of matrices and vectors."""

from __future__ import annotations

import numpy as np
from numba import cuda, float32, float64

T = 8
T2 = 16


def naive(a, b, c):
    row, column = cuda.grid(2)
    if row < c.shape[0] and column < c.shape[1]:
        # wrong: if row < c.shape[0] and column <= c.shape[1]: -> out-of-bounds on b at: total += a
        total = 0.0
        for k in range(a.shape[1]):
            # wrong: for k in range(b.shape[1]): -> out-of-bounds on a at: total += a[row, k] * b[k, column]
            total += a[row, k] * b[k, column]
        c[row, column] = total
        # wrong: c[row, column] += total -> uninitialised-read on c


def run_naive(bench):
    a, b = bench.rng.random((13, 7)), bench.rng.random((7, 21))
    c = bench.device_array((13, 21), np.float64)
    bench.launch(naive, (2, 3), (8, 8), a, b, c)
    return [(c, a @ b)]


def tiled(a, b, c):
    sa, sb = cuda.shared.array((T, T), float32), cuda.shared.array((T, T), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * T + ty, cuda.blockIdx.x * T + tx
    total = float32(0)
    for tile in range((a.shape[1] + T - 1) // T):
        i, j = tile * T + ty, tile * T + tx
        sa[ty, tx] = a[row, j] if row < a.shape[0] and j < a.shape[1] else float32(0)
        # wrong: sa[ty, tx] = a[row, j] if row < a.shape[0] else float32(0) -> out-of-bounds on a
        sb[ty, tx] = b[i, column] if i < b.shape[0] and column < b.shape[1] else float32(0)
        # wrong: sa[tx, ty] = b[i, column] if i < b.shape[0] and column < b.shape[1] else float32(0) -> race on sa
        cuda.syncthreads()
        # wrong: pass -> race on sa at: total += sa[ty, k] * sb[k, tx]
        # wrong: cuda.syncthreads -> race on sb at: total += sa[ty, k] * sb[k, tx]
        # wrong: cuda.syncwarp() -> race on sb at: total += sa[ty, k] * sb[k, tx]
        for k in range(T):
            # wrong: for k in range(T + 1): -> out-of-bounds on sa at: total += sa[ty, k] * sb[k, tx]
            total += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
        # wrong: pass -> race on sa at: sa[ty, tx] = a[row, j]
    if row < c.shape[0] and column < c.shape[1]:
        # wrong: if row < c.shape[0] or column < c.shape[1]: -> out-of-bounds on c at: c[row, column] = total
        c[row, column] = total


def run_tiled(bench):
    a, b = bench.rng.random((19, 21)).astype(np.float32), bench.rng.random((21, 30)).astype(np.float32)
    c = bench.device_array((19, 30), np.float32)
    bench.launch(tiled, (4, 3), (T, T), a, b, c)
    return [(c, a @ b)]


def edges_by_branch(a, b, c):
    """Threads outside of the matrix store zeros first, and everybody passes the barriers."""
    sa, sb = cuda.shared.array((T, T), float32), cuda.shared.array((T, T), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * T + ty, cuda.blockIdx.x * T + tx
    total = float32(0)
    for first in range(0, a.shape[1], T):
        sa[ty, tx] = 0
        # wrong: pass -> uninitialised-read on sa at: total += sa[ty, k] * sb[k, tx]
        sb[ty, tx] = 0
        if row < a.shape[0] and first + tx < a.shape[1]:
            sa[ty, tx] = a[row, first + tx]
        if first + ty < b.shape[0] and column < b.shape[1]:
            sb[ty, tx] = b[first + ty, column]
        cuda.syncthreads()
        for k in range(T):
            total += sa[ty, k] * sb[k, tx]
        cuda.syncthreads()
        # wrong: cuda.syncthreads -> race on sa at: sa[ty, tx] = 0
        # wrong: if row < 3: cuda.syncthreads() -> divergent-barrier at: cuda.syncthreads()
    if row < c.shape[0] and column < c.shape[1]:
        c[row, column] = total


def run_edges_by_branch(bench):
    a, b = bench.rng.random((19, 21)).astype(np.float32), bench.rng.random((21, 30)).astype(np.float32)
    c = bench.device_array((19, 30), np.float32)
    bench.launch(edges_by_branch, (4, 3), (T, T), a, b, c)
    return [(c, a @ b)]


def many_outputs_to_a_thread(a, b, c):
    sums = cuda.local.array(4, float64)
    column = cuda.grid(1)
    first = cuda.blockIdx.y * 4
    for r in range(4):
        sums[r] = 0
        # wrong: sums[0] = 0 -> uninitialised-read on sums at: sums[r] += a[first + r, k] * value
    for k in range(a.shape[1]):
        value = b[k, column]
        for r in range(4):
            # wrong: for r in range(5): -> out-of-bounds on sums at: sums[r] += a[first + r, k] * value
            sums[r] += a[first + r, k] * value
    for r in range(4):
        c[first + r, column] = sums[r]


def run_many_outputs_to_a_thread(bench):
    a, b = bench.rng.random((12, 10)), bench.rng.random((10, 64))
    c = bench.device_array((12, 64), np.float64)
    bench.launch(many_outputs_to_a_thread, (2, 3), 32, a, b, c)
    return [(c, a @ b)]


def double_buffered(a, b, c):
    """The next tiles are fetched into the other half while these are used: one barrier to a tile."""
    sa, sb = cuda.shared.array((2, T, T), float32), cuda.shared.array((2, T, T), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * T + ty, cuda.blockIdx.x * T + tx
    total = float32(0)
    tiles = a.shape[1] // T
    sa[0, ty, tx], sb[0, ty, tx] = a[row, tx], b[ty, column]
    cuda.syncthreads()
    # wrong: pass -> race on sa at: total += sa[now, ty, k] * sb[now, k, tx]
    for tile in range(tiles):
        now, then = tile % 2, (tile + 1) % 2
        # wrong: now, then = tile % 2, tile % 2 -> race on sa at: total += sa[now, ty, k] * sb[now, k, tx]
        if tile + 1 < tiles:
            sa[then, ty, tx] = a[row, (tile + 1) * T + tx]
            sb[then, ty, tx] = b[(tile + 1) * T + ty, column]
            # wrong: pass -> uninitialised-read on sb at: total += sa[now, ty, k] * sb[now, k, tx]
        for k in range(T):
            total += sa[now, ty, k] * sb[now, k, tx]
        cuda.syncthreads()
        # wrong: pass -> race on sa at: sa[then, ty, tx] = a[row, (tile + 1) * T + tx]
        # wrong: cuda.syncwarp() -> race on sb at: total += sa[now, ty, k] * sb[now, k, tx]
    c[row, column] = total


def run_double_buffered(bench):
    a, b = bench.rng.random((16, 40)).astype(np.float32), bench.rng.random((40, 24)).astype(np.float32)
    c = bench.device_array((16, 24), np.float32)
    bench.launch(double_buffered, (3, 2), (T, T), a, b, c)
    return [(c, a @ b)]


def dynamic_shared(a, b, c):
    """One stretch of dynamic shared memory, two tiles."""
    both = cuda.shared.array(0, float32)
    sa, sb = both[: T * T], both[T * T :]
    # wrong: sa, sb = both[: T * T], both[T * T - 1 :] -> race on both at: sb[ty * T + tx] = b[first + ty, column]
    # wrong: sa, sb = both[: T * T - 1], both[T * T :] -> out-of-bounds on both at: sa[ty * T + tx] = a[row, first + tx]
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * T + ty, cuda.blockIdx.x * T + tx
    total = float32(0)
    for first in range(0, a.shape[1], T):
        sa[ty * T + tx] = a[row, first + tx]
        sb[ty * T + tx] = b[first + ty, column]
        cuda.syncthreads()
        # wrong: pass -> race on both at: total += sa[ty * T + k] * sb[k * T + tx]
        for k in range(T):
            total += sa[ty * T + k] * sb[k * T + tx]
        cuda.syncthreads()
        # wrong: pass -> race on both at: sa[ty * T + tx] = a[row, first + tx]
    c[row, column] = total


def run_dynamic_shared(bench):
    a, b = bench.rng.random((16, 24)).astype(np.float32), bench.rng.random((24, 16)).astype(np.float32)
    c = bench.device_array((16, 16), np.float32)
    bench.launch(dynamic_shared, (2, 2), (T, T), a, b, c, shared=2 * T * T * 4)
    # wrong: bench.launch(dynamic_shared, (2, 2), (T, T), a, b, c, shared=T * T * 4) -> out-of-bounds at: sb[
    return [(c, a @ b)]


def two_dynamic_names(a, out):
    """All dynamic shared arrays begin at one address: views keep them apart."""
    head = cuda.shared.array(0, float32)
    tail = cuda.shared.array(0, float32)[64:]
    # wrong: tail = cuda.shared.array(0, float32)[63:] -> race on tail at: tail[t] = 2 * a[t]
    t = cuda.threadIdx.x
    head[t] = a[t]
    cuda.syncwarp()
    tail[t] = 2 * a[t]
    cuda.syncthreads()
    out[t] = head[63 - t] + tail[63 - t]


def run_two_dynamic_names(bench):
    a = bench.rng.random(64).astype(np.float32)
    out = bench.device_array(64, np.float32)
    bench.launch(two_dynamic_names, 1, 64, a, out, shared=512)
    return [(out, 3 * a[::-1])]


def matrix_vector(a, x, y):
    """A warp to a row."""
    row, lane = cuda.grid(1) // 32, cuda.laneid
    total = 0.0
    if row < a.shape[0]:
        # wrong: if row <= a.shape[0]: -> out-of-bounds on a at: total += a[row, k] * x[k]
        for k in range(lane, a.shape[1], 32):
            total += a[row, k] * x[k]
    offset = 16
    while offset:
        total += cuda.shfl_down_sync(0xFFFFFFFF, total, offset)
        offset //= 2
    if lane == 0 and row < a.shape[0]:
        # wrong: if row < a.shape[0]: -> race on y at: y[row] = total
        y[row] = total


def run_matrix_vector(bench):
    a, x = bench.rng.random((21, 70)), bench.rng.random(70)
    y = bench.device_array(21, np.float64)
    bench.launch(matrix_vector, 6, 128, a, x, y)
    return [(y, a @ x)]


def batched(a, b, c):
    n, i, j = cuda.blockIdx.z, cuda.threadIdx.y, cuda.threadIdx.x
    s = cuda.shared.array((T2, T2), float32)
    s[i, j] = b[n, i, j]
    cuda.syncthreads()
    # wrong: cuda.syncthreads -> race on s at: total += a[n, i, k] * s[k, j]
    total = float32(0)
    for k in range(T2):
        total += a[n, i, k] * s[k, j]
    c[n, i, j] = total
    # wrong: c[0, i, j] = total -> race on c
    # wrong: c[n + 1, i, j] = total -> out-of-bounds on c


def run_batched(bench):
    a, b = bench.rng.random((2, 3, 16, 16)).astype(np.float32)
    c = bench.device_array((3, 16, 16), np.float32)
    bench.launch(batched, (1, 1, 3), (16, 16), a, b, c)
    return [(c, a @ b)]


def split_k(a, b, c):
    """Several blocks share the sum of one output."""
    i, j = cuda.threadIdx.y, cuda.threadIdx.x
    first = cuda.blockIdx.x * T
    total = 0.0
    for k in range(first, first + T):
        # wrong: for k in range(first, first + T + 1): -> out-of-bounds on a at: total += a[i, k] * b[k, j]
        total += a[i, k] * b[k, j]
    cuda.atomic.add(c, (i, j), total)
    # wrong: c[i, j] += total -> race on c


def run_split_k(bench):
    a, b = bench.rng.random((8, 32)), bench.rng.random((32, 8))
    c = np.zeros((8, 8))
    bench.launch(split_k, 4, (8, 8), a, b, c)
    return [(c, a @ b)]
