"""Sparse matrices in CSR and ELL form."""

from __future__ import annotations

import numpy as np
from numba import cuda, float64

ROWS, COLUMNS = 45, 30


def matrix(rng):
    """Dense, and as values, columns, offsets."""
    dense = rng.random((ROWS, COLUMNS)) * (rng.random((ROWS, COLUMNS)) < 0.2)
    rows, columns = np.nonzero(dense)
    return dense, dense[rows, columns], columns, np.searchsorted(rows, np.arange(ROWS + 1))


def row_by_thread(values, columns, offsets, x, y):
    row = cuda.grid(1)
    if row < y.size:
        # wrong: if row <= y.size: -> out-of-bounds on offsets at: for k in range(offsets[row], offsets[row + 1]):
        total = 0.0
        for k in range(offsets[row], offsets[row + 1]):
            # wrong: for k in range(offsets[row], offsets[row + 1] + 1): -> out-of-bounds on values at: total += values
            total += values[k] * x[columns[k]]
        y[row] = total
        # wrong: y[columns[0]] = total -> race on y


def run_row_by_thread(bench):
    dense, values, columns, offsets = matrix(bench.rng)
    x = bench.rng.random(COLUMNS)
    y = bench.device_array(ROWS, np.float64)
    bench.launch(row_by_thread, 2, 32, values, columns, offsets, x, y)
    return [(y, dense @ x)]


def row_by_warp(values, columns, offsets, x, y):
    s = cuda.shared.array(64, float64)
    t = cuda.threadIdx.x
    row, lane = cuda.grid(1) // 32, t % 32
    total = 0.0
    if row < y.size:
        for k in range(offsets[row] + lane, offsets[row + 1], 32):
            total += values[k] * x[columns[k]]
    s[t] = total
    cuda.syncwarp()
    # wrong: pass -> race on s at: s[t] += s[t + half]
    half = 16
    while half:
        if lane < half:
            s[t] += s[t + half]
        cuda.syncwarp()
        # wrong: pass -> race on s at: s[t] += s[t + half]
        # wrong: cuda.threadfence() -> race on s at: s[t] += s[t + half]
        half //= 2
    if lane == 0 and row < y.size:
        # wrong: if lane == 0: -> out-of-bounds on y at: y[row] = s[t]
        y[row] = s[t]


def run_row_by_warp(bench):
    dense, values, columns, offsets = matrix(bench.rng)
    x = bench.rng.random(COLUMNS)
    y = bench.device_array(ROWS, np.float64)
    bench.launch(row_by_warp, 23, 64, values, columns, offsets, x, y)
    return [(y, dense @ x)]


def by_columns(values, rows, offsets, x, y):
    """CSC: each thread spreads a column over the result."""
    column = cuda.grid(1)
    if column < x.size:
        for k in range(offsets[column], offsets[column + 1]):
            cuda.atomic.add(y, rows[k], values[k] * x[column])
            # wrong: y[rows[k]] += values[k] * x[column] -> race on y


def run_by_columns(bench):
    dense, values, rows, offsets = matrix(bench.rng)  # of the transpose
    x = bench.rng.random(ROWS)
    y = np.zeros(COLUMNS)
    bench.launch(by_columns, 2, 32, values, rows, offsets, x, y)
    return [(y, dense.T @ x)]


def ell(values, columns, x, y):
    """Rows padded to one length, stored by columns; -1 marks the padding."""
    row = cuda.grid(1)
    if row < y.size:
        total = 0.0
        for k in range(columns.shape[0]):
            column = columns[k, row]
            if column >= 0:
                # wrong: if column >= -1: -> negative-index on x at: total += values[k, row] * x[column]
                total += values[k, row] * x[column]
        y[row] = total


def pack(values, offsets, padded):
    row = cuda.grid(1)
    if row < padded.shape[1]:
        for k in range(offsets[row], offsets[row + 1]):
            # wrong: for k in range(offsets[row] + 1, offsets[row + 1]): -> uninitialised-read on values at: x[column]
            padded[k - offsets[row], row] = values[k]


def zero_padding(padded, where):
    row, k = cuda.grid(2)
    if k < where.shape[0] and row < where.shape[1] and where[k, row] < 0:
        padded[k, row] = 0


def run_ell(bench):
    dense, values, columns, offsets = matrix(bench.rng)
    width = np.diff(offsets).max()
    padded, where = bench.device_array((width, ROWS), np.float64), np.full((width, ROWS), -1)
    bench.launch(pack, 2, 32, values, offsets, padded)
    for row in range(ROWS):
        here = columns[offsets[row] : offsets[row + 1]]
        where[: here.size, row] = here
    x = bench.rng.random(COLUMNS)
    y = bench.device_array(ROWS, np.float64)
    bench.launch(ell, 2, 32, padded, where, x, y)
    bench.launch(zero_padding, (2, 8), (32, 4), padded, where)
    return [(y, dense @ x)]


def lower_triangular(values, columns, offsets, b, x, done):
    """Forward substitution: rows wait for the ones they need; a flag follows each result, with a fence between."""
    row = cuda.grid(1)
    if row < b.size:
        total = b[row]
        for k in range(offsets[row], offsets[row + 1]):
            need = columns[k]
            if need < row:
                while cuda.atomic.add(done, need, 0) == 0:
                    pass
                cuda.threadfence()
                total -= values[k] * x[need]
            else:
                x[row] = total / values[k]
        cuda.threadfence()
        # wrong: pass -> race on x at: total -= values[k] * x[need]
        # wrong: cuda.syncwarp(1 << cuda.laneid) -> race on x at: total -= values[k] * x[need]
        cuda.atomic.exch(done, row, 1)
        # wrong: done[row] = 1 -> race on done


def run_lower_triangular(bench):
    n = 20
    dense = np.tril(bench.rng.random((n, n)) * (bench.rng.random((n, n)) < 0.15), -1) + np.eye(n) * 2
    rows, columns = np.nonzero(dense)
    offsets = np.searchsorted(rows, np.arange(n + 1))
    b, x = bench.rng.random(n), bench.device_array(n, np.float64)
    bench.launch(lower_triangular, 2, 16, dense[rows, columns], columns, offsets, b, x, np.zeros(n, np.int32))
    return [(x, np.linalg.solve(dense, b))]
