"""One thread per query reads all keys and values from global memory by itself.

Caught by: test_attention_shares_tiles_of_keys_and_values
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


@cuda.jit
def attention_kernel(q, k, v, out, causal):
    query = cuda.grid(1)
    head = cuda.blockIdx.y
    n, d = q.shape[1], q.shape[2]
    if query >= n:
        return
    acc = cuda.local.array(MAX_D, float32)
    for c in range(d):
        acc[c] = 0
    largest = float32(-math.inf)
    total = float32(0)
    scale = float32(1.0 / math.sqrt(float32(d)))
    end = n
    if causal:
        end = query + 1
    for key in range(end):
        score = float32(0)
        for c in range(d):
            score += q[head, query, c] * k[head, key, c]
        score *= scale
        new_largest = largest
        if score > largest:
            new_largest = score
        rescale = math.exp(largest - new_largest)
        weight = math.exp(score - new_largest)
        largest = new_largest
        total = total * rescale + weight
        for c in range(d):
            acc[c] = acc[c] * rescale + weight * v[head, key, c]
    for c in range(d):
        out[head, query, c] = acc[c] / total


def attention(q, k, v, out, causal):
    heads, n = q.shape[0], q.shape[1]
    attention_kernel[((n + 63) // 64, heads), 64](q, k, v, out, causal)
