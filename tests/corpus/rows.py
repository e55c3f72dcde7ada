"""Softmax, layer norm, attention: a block, a warp or a thread to a row."""

from __future__ import annotations

import math

import numpy as np
from numba import cuda, float32

T = 64


@cuda.jit(device=True)
def sum_of_block(s, t):
    """The sum of s[0 … T - 1], for all threads; s may be used again when it returns."""
    half = T // 2
    while half > 0:
        cuda.syncthreads()
        if t < half:
            s[t] += s[t + half]
        half //= 2
    cuda.syncthreads()
    # wrong: pass -> race on s at: total = s[0]
    total = s[0]
    cuda.syncthreads()
    # wrong: pass -> race on s at: s[t] = mine / total
    return total


def softmax(x, out):
    s = cuda.shared.array(T, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    s[t] = x[row, t]
    half = T // 2
    while half > 0:
        cuda.syncthreads()
        # wrong: pass -> race on s at: if t < half and s[t + half] > s[t]:
        if t < half and s[t + half] > s[t]:
            s[t] = s[t + half]
        half //= 2
    cuda.syncthreads()
    # wrong: pass -> race on s at: largest = s[0]
    # wrong: cuda.syncwarp() -> race on s at: largest = s[0]
    largest = s[0]
    cuda.syncthreads()
    # wrong: pass -> race on s at: s[t] = math.exp(x[row, t] - largest)
    # wrong: cuda.syncthreads -> race on s at: s[t] = math.exp(x[row, t] - largest)
    s[t] = math.exp(x[row, t] - largest)
    mine = s[t]
    total = sum_of_block(s, t)
    s[t] = mine / total
    out[row, t] = s[t]


def run_softmax(bench):
    x = bench.rng.normal(size=(5, T)).astype(np.float32)
    out = bench.device_array((5, T), np.float32)
    bench.launch(softmax, 5, T, x, out)
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return [(out, e / e.sum(axis=1, keepdims=True))]


def layer_norm(x, scale, out):
    """A warp to a row, shuffles only."""
    row, lane = cuda.grid(1) // 32, cuda.laneid
    if row >= x.shape[0]:
        # wrong: if row > x.shape[0]: -> out-of-bounds on x at: total += x[row, k]
        return
    total = float32(0)
    for k in range(lane, x.shape[1], 32):
        total += x[row, k]
    for turn in range(5):
        total += cuda.shfl_xor_sync(0xFFFFFFFF, total, 1 << turn)
    mean = total / x.shape[1]
    squares = 0.0
    for k in range(lane, x.shape[1], 32):
        # wrong: for k in range(lane, x.shape[1] + 1, 32): -> out-of-bounds on x at: squares += (x[row, k] - mean) ** 2
        squares += (x[row, k] - mean) ** 2
    for turn in range(5):
        squares += cuda.shfl_xor_sync(0xFFFFFFFF, squares, 1 << turn)
    for k in range(lane, x.shape[1], 32):
        value = (x[row, k] - mean) / math.sqrt(squares / x.shape[1] + 1e-5) * scale[k]
        out[row, k] = value
        # wrong: out[0, k] = value -> race on out


def run_layer_norm(bench):
    x, scale = bench.rng.normal(size=(7, 70)).astype(np.float32), bench.rng.random(70).astype(np.float32)
    out = bench.device_array((7, 70), np.float32)
    bench.launch(layer_norm, 2, 128, x, scale, out)
    return [(out, (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5) * scale)]


def attention(q, k, v, out):
    """A thread to a query, with a running maximum; keys and values come in tiles through shared memory."""
    keys, values = cuda.shared.array((16, 8), float32), cuda.shared.array((16, 8), float32)
    sums = cuda.local.array(8, float32)
    t, i = cuda.threadIdx.x, cuda.grid(1)
    for c in range(8):
        # wrong: for c in range(7): -> uninitialised-read on sums at: sums[c] = sums[c] * keep + weight * values[j, c]
        sums[c] = 0
    largest, total = float32(-1e30), float32(0)
    for first in range(0, k.shape[0], 16):
        if t < 16 and first + t < k.shape[0]:
            # wrong: if t < 15 and first + t < k.shape[0]: -> uninitialised-read on keys at: score +=
            for c in range(8):
                keys[t, c] = k[first + t, c]
                values[t, c] = v[first + t, c]
        cuda.syncthreads()
        # wrong: pass -> race on keys at: score += q[i, c] * keys[j, c]
        if i < q.shape[0]:
            for j in range(16):
                if first + j < k.shape[0]:
                    # wrong: if first + j <= k.shape[0]: -> wrong-result
                    score = float32(0)
                    for c in range(8):
                        score += q[i, c] * keys[j, c]
                    higher = score if score > largest else largest
                    keep, weight = math.exp(largest - higher), math.exp(score - higher)
                    largest = higher
                    total = total * keep + weight
                    for c in range(8):
                        sums[c] = sums[c] * keep + weight * values[j, c]
        cuda.syncthreads()
        # wrong: pass -> race on keys at: keys[t, c] = k[first + t, c]
        # wrong: if i < q.shape[0]: cuda.syncthreads() -> divergent-barrier at: cuda.syncthreads()
    if i < q.shape[0]:
        for c in range(8):
            out[i, c] = sums[c] / total


def run_attention(bench):
    q, k, v = (bench.rng.normal(size=(n, 8)).astype(np.float32) for n in (50, 41, 41))
    out = bench.device_array((50, 8), np.float32)
    bench.launch(attention, 2, 32, q, k, v, out)
    e = np.exp(q @ k.T)
    return [(out, e / e.sum(axis=1, keepdims=True) @ v)]
