"""Keeps all scores of a query in a local array, which has no room for those of a longer sequence.

Caught by: test_attention_stores_no_scores, test_attention_takes_several_shapes
"""

import math

from numba import cuda, float32

THREADS = 128

TILE = 16
MAX_D = 128
COLUMNS = MAX_D // TILE
PADDED = MAX_D + 1


@cuda.jit(device=True)
def block_max(tile, value):
    t = cuda.threadIdx.x
    cuda.syncthreads()
    tile[t] = value
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half and tile[t + half] > tile[t]:
            tile[t] = tile[t + half]
        cuda.syncthreads()
        half //= 2
    return tile[0]


@cuda.jit(device=True)
def block_sum(tile, value):
    t = cuda.threadIdx.x
    cuda.syncthreads()
    tile[t] = value
    cuda.syncthreads()
    half = THREADS // 2
    while half > 0:
        if t < half:
            tile[t] += tile[t + half]
        cuda.syncthreads()
        half //= 2
    return tile[0]


@cuda.jit
def softmax_kernel(x, out):
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    cols = x.shape[1]
    tile = cuda.shared.array(THREADS, float32)

    largest = float32(-math.inf)
    for c in range(t, cols, THREADS):
        value = x[row, c]
        if value > largest:
            largest = value
    largest = block_max(tile, largest)

    total = float32(0)
    for c in range(t, cols, THREADS):
        total += math.exp(x[row, c] - largest)
    total = block_sum(tile, total)

    for c in range(t, cols, THREADS):
        out[row, c] = math.exp(x[row, c] - largest) / total


def softmax(x, out):
    rows = x.shape[0]
    softmax_kernel[rows, THREADS](x, out)


QUERIES = 32
LONGEST = 512


@cuda.jit
def attention_kernel(q, k, v, out, causal):
    ts = cuda.shared.array((QUERIES, MAX_D), float32)
    sc = cuda.local.array(LONGEST, float32)  # all scores of a query
    acc = cuda.local.array(MAX_D, float32)
    qr = cuda.local.array(MAX_D, float32)
    t, h = cuda.threadIdx.x, cuda.blockIdx.y
    i = cuda.blockIdx.x * QUERIES + t
    n, d = q.shape[1], q.shape[2]
    for c in range(d):
        acc[c] = 0
        qr[c] = q[h, i, c] if i < n else float32(0)
    m = float32(-math.inf)
    for j0 in range(0, n, QUERIES):
        for e in range(t, QUERIES * d, QUERIES):
            if j0 + e // d < n:
                ts[e // d, e % d] = k[h, j0 + e // d, e % d]
        cuda.syncthreads()
        for j in range(min(QUERIES, n - j0)):
            s = float32(0)
            for c in range(d):
                s += qr[c] * ts[j, c]
            s /= math.sqrt(float32(d))
            if causal and j0 + j > i:
                s = float32(-math.inf)
            sc[j0 + j] = s
            m = max(m, s)
        cuda.syncthreads()
    l = float32(0)
    for j0 in range(0, n, QUERIES):
        for e in range(t, QUERIES * d, QUERIES):
            if j0 + e // d < n:
                ts[e // d, e % d] = v[h, j0 + e // d, e % d]
        cuda.syncthreads()
        for j in range(min(QUERIES, n - j0)):
            p = math.exp(sc[j0 + j] - m)
            l += p
            for c in range(d):
                acc[c] += p * ts[j, c]
        cuda.syncthreads()
    if i < n:
        for c in range(d):
            out[h, i, c] = acc[c] / l


def attention(q, k, v, out, causal):
    attention_kernel[((q.shape[1] + QUERIES - 1) // QUERIES, q.shape[0]), QUERIES](q, k, v, out, causal)
