"""Dynamic programming: waves along diagonals, rows from rows."""

from __future__ import annotations

import numpy as np
from numba import cuda, int32

N = 48


def edit_distance(a, b, out):
    """One block; each anti-diagonal from the two before it, three rows in shared memory."""
    s = cuda.shared.array((3, 64), int32)
    t = cuda.threadIdx.x
    n = a.size
    for d in range(2 * n + 1):
        here, last, before = d % 3, (d + 2) % 3, (d + 1) % 3
        # wrong: here, last, before = d % 2, (d + 1) % 2, d % 2 -> race on s at: s[here, t] = best
        j = d - t
        if t <= n and 0 <= j <= n:
            if t == 0 or j == 0:
                # wrong: if t == 0: -> uninitialised-read on s at: best = s[last, t] + 1
                s[here, t] = d
            else:
                best = s[last, t] + 1
                if s[last, t - 1] + 1 < best:
                    best = s[last, t - 1] + 1
                change = 0 if a[t - 1] == b[j - 1] else 1
                # wrong: change = 0 if a[t] == b[j - 1] else 1 -> out-of-bounds on a
                if s[before, t - 1] + change < best:
                    best = s[before, t - 1] + change
                s[here, t] = best
        cuda.syncthreads()
        # wrong: pass -> race on s at: best = s[last, t - 1] + 1
        # wrong: if t < 32: cuda.syncthreads() -> race on s at: if s[last, t - 1] + 1 < best:
    if t == n:
        out[0] = s[2 * n % 3, t]


def run_edit_distance(bench):
    a, b = bench.rng.integers(0, 4, (2, N))
    out = bench.device_array(1, np.int64)
    bench.launch(edit_distance, 1, 64, a, b, out)
    table = np.add.outer(np.arange(N + 1), np.arange(N + 1))
    for i in range(1, N + 1):
        for j in range(1, N + 1):
            change = table[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, change)
    return [(out, [table[N, N]])]


def longest_common(a, b, table):
    """The whole table in global memory, a barrier after each anti-diagonal."""
    t = cuda.threadIdx.x
    n = a.size
    for d in range(2, 2 * n + 1):
        i, j = t + 1, d - t - 1
        if i <= n and 1 <= j <= n:
            # wrong: if i <= n and 1 <= j <= n + 1: -> out-of-bounds on b at: if a[i - 1] == b[j - 1]:
            if a[i - 1] == b[j - 1]:
                table[i, j] = table[i - 1, j - 1] + 1
            elif table[i - 1, j] > table[i, j - 1]:
                table[i, j] = table[i - 1, j]
            else:
                table[i, j] = table[i, j - 1]
        cuda.syncthreads()
        # wrong: pass -> race on table at: elif table[i - 1, j] > table[i, j - 1]:
        # wrong: cuda.threadfence() -> race on table at: elif table[i - 1, j] > table[i, j - 1]:


def run_longest_common(bench):
    a, b = bench.rng.integers(0, 3, (2, N))
    table, expected = np.zeros((N + 1, N + 1), np.int64), np.zeros((N + 1, N + 1), np.int64)
    bench.launch(longest_common, 1, N, a, b, table)
    for i in range(1, N + 1):
        for j in range(1, N + 1):
            same = a[i - 1] == b[j - 1]
            expected[i, j] = expected[i - 1, j - 1] + 1 if same else max(expected[i - 1, j], expected[i, j - 1])
    return [(table, expected)]


def diagonal(cost, total, d):
    """Cheapest path down and right: one launch to an anti-diagonal."""
    i = cuda.grid(1)
    j = d - i
    if i < cost.shape[0] and 0 <= j < cost.shape[1]:
        # wrong: if i < cost.shape[0] and j < cost.shape[1]: -> negative-index on total at: total[i, j] = best
        best = 0
        if i > 0 and j > 0:
            up, left = total[i - 1, j], total[i, j - 1]
            # wrong: up, left = total[i - 1, j + 1], total[i, j - 1] -> race on total at: total[i, j] = best
            best = up if up < left else left
        elif i > 0:
            best = total[i - 1, j]
        elif j > 0:
            best = total[i, j - 1]
        total[i, j] = best + cost[i, j]


def run_diagonal(bench):
    cost = bench.rng.integers(1, 10, (20, 25))
    total = bench.device_array((20, 25), np.int64)
    for d in range(44):
        bench.launch(diagonal, 1, 32, cost, total, d)
    expected = cost.copy()
    for i in range(20):
        for j in range(25):
            before = [expected[i - 1, j]] * (i > 0) + [expected[i, j - 1]] * (j > 0)
            expected[i, j] += min(before, default=0)
    return [(total, expected)]


def knapsack(weights, values, best, after):
    """Two rows in turn, one barrier to an object."""
    t = cuda.threadIdx.x
    for k in range(weights.size):
        old, new = (best, after) if k % 2 == 0 else (after, best)
        # wrong: old, new = (best, best) if k % 2 == 0 else (after, best) -> race on best at: new[t] = taken
        taken = old[t]
        if t >= weights[k]:
            with_it = old[t - weights[k]] + values[k]
            taken = with_it if with_it > taken else taken
        new[t] = taken
        cuda.syncthreads()
        # wrong: pass -> race at: with_it = old[t - weights[k]] + values[k]


def run_knapsack(bench):
    weights, values = bench.rng.integers(1, 20, 10), bench.rng.integers(1, 50, 10)
    best, after = np.zeros(64, np.int64), np.zeros(64, np.int64)
    bench.launch(knapsack, 1, 64, weights, values, best, after)
    expected = np.zeros(64, np.int64)
    for weight, value in zip(weights, values, strict=True):
        expected[weight:] = np.maximum(expected[weight:], expected[:-weight] + value)
    return [(best, expected)]


def pascal(row, steps):
    """In place: read, barrier, write, barrier."""
    t = cuda.threadIdx.x
    for _ in range(steps):
        left = row[t - 1] if t > 0 else 0
        cuda.syncthreads()
        # wrong: pass -> race on row at: row[t] += left
        row[t] += left
        cuda.syncthreads()
        # wrong: pass -> race on row at: left = row[t - 1] if t > 0 else 0


def run_pascal(bench):
    row = np.zeros(64, np.int64)
    row[0] = 1
    bench.launch(pascal, 1, 64, row, 10)
    expected = np.poly1d([1, 1]) ** 10
    return [(row[:11], expected.coeffs.round().astype(int))]
