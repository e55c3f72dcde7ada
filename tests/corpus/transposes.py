"""Transposes: what was read along rows is written along rows."""

from __future__ import annotations

import numpy as np
from numba import cuda, float32

TILE = 32
PADDED = 33


def naive(a, out):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        # wrong: if i < a.shape[1] and j < a.shape[0]: -> out-of-bounds on a at: out[j, i] = a[i, j]
        out[j, i] = a[i, j]
        # wrong: out[i, j] = a[i, j] -> out-of-bounds on out


def run_naive(bench):
    a = bench.rng.random((30, 50))
    out = bench.device_array((50, 30), np.float64)
    bench.launch(naive, (4, 7), (8, 8), a, out)
    return [(out, a.T)]


def padded(a, out):
    s = cuda.shared.array((TILE, PADDED), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row, column = cuda.blockIdx.y * TILE + ty, cuda.blockIdx.x * TILE + tx
    if row < a.shape[0] and column < a.shape[1]:
        s[ty, tx] = a[row, column]
    cuda.syncthreads()
    # wrong: pass -> race on s at: out[row, column] = s[tx, ty]
    # wrong: cuda.syncthreads -> race on s at: out[row, column] = s[tx, ty]
    row, column = cuda.blockIdx.x * TILE + ty, cuda.blockIdx.y * TILE + tx
    # wrong: row, column = cuda.blockIdx.x * TILE + tx, cuda.blockIdx.y * TILE + ty -> uninitialised-read at: = s[
    if row < out.shape[0] and column < out.shape[1]:
        # wrong: if row < out.shape[0] and column <= out.shape[1]: -> out-of-bounds on out at: = s[
        # wrong: if True: -> uninitialised-read at: = s[
        out[row, column] = s[tx, ty]


def run_padded(bench):
    a = bench.rng.random((50, 70)).astype(np.float32)
    out = bench.device_array((70, 50), np.float32)
    bench.launch(padded, (3, 2), (TILE, TILE), a, out)
    return [(out, a.T)]


def rows_in_turns(a, out):
    """A block of 32 × 8 threads moves a tile of 32 × 32."""
    s = cuda.shared.array((TILE, PADDED), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    x, y = cuda.blockIdx.x * TILE, cuda.blockIdx.y * TILE
    for k in range(0, TILE, 8):
        # wrong: for k in range(0, TILE - 8, 8): -> uninitialised-read on s at: out[x + ty + k, y + tx] = s[tx, ty + k]
        # wrong: for k in range(0, TILE + 8, 8): -> out-of-bounds on s at: s[ty + k, tx] = a[y + ty + k, x + tx]
        s[ty + k, tx] = a[y + ty + k, x + tx]
    cuda.syncthreads()
    # wrong: pass -> race on s at: out[x + ty + k, y + tx] = s[tx, ty + k]
    for k in range(0, TILE, 8):
        out[x + ty + k, y + tx] = s[tx, ty + k]


def run_rows_in_turns(bench):
    a = bench.rng.random((64, 96)).astype(np.float32)
    out = bench.device_array((96, 64), np.float32)
    bench.launch(rows_in_turns, (3, 2), (TILE, 8), a, out)
    return [(out, a.T)]


def swizzled(a, out):
    """No padding: columns are permuted by an exclusive or with the row."""
    s = cuda.shared.array((TILE, TILE), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    for k in range(0, TILE, 8):
        s[ty + k, tx ^ (ty + k)] = a[ty + k, tx]
        # wrong: s[ty + k, (tx ^ (ty + k)) & 15] = a[ty + k, tx] -> race on s
    cuda.syncthreads()
    # wrong: cuda.syncwarp() -> race on s at: out[ty + k, tx] = s[tx, (ty + k) ^ tx]
    for k in range(0, TILE, 8):
        out[ty + k, tx] = s[tx, (ty + k) ^ tx]
        # wrong: out[ty + k, tx] = s[tx, (ty + k) ^ tx + 1] -> out-of-bounds on s


def run_swizzled(bench):
    a = bench.rng.random((32, 32)).astype(np.float32)
    out = bench.device_array((32, 32), np.float32)
    bench.launch(swizzled, 1, (TILE, 8), a, out)
    return [(out, a.T)]


def in_place(a):
    i, j = cuda.grid(2)
    if i < j < a.shape[0]:
        # wrong: if i < a.shape[0] and j < a.shape[0]: -> race on a at: a[i, j] = lower
        # wrong: if i < j <= a.shape[0]: -> out-of-bounds on a at: upper, lower = a[i, j], a[j, i]
        upper, lower = a[i, j], a[j, i]
        a[i, j] = lower
        a[j, i] = upper


def run_in_place(bench):
    a = bench.rng.random((37, 37))
    expected = a.T.copy()
    bench.launch(in_place, (5, 5), (8, 8), a)
    return [(a, expected)]


def axes_201(a, out):
    k, j, i = cuda.grid(3)
    if i < a.shape[0] and j < a.shape[1] and k < a.shape[2]:
        # wrong: if i < a.shape[0] and j < a.shape[1]: -> out-of-bounds on a at: out[k, i, j] = a[i, j, k]
        out[k, i, j] = a[i, j, k]
        # wrong: out[k, j, i] = a[i, j, k] -> out-of-bounds on out


def run_axes_201(bench):
    a = bench.rng.random((5, 9, 13))
    out = bench.device_array((13, 5, 9), np.float64)
    bench.launch(axes_201, (4, 3, 3), (4, 4, 2), a, out)
    return [(out, a.transpose(2, 0, 1))]
