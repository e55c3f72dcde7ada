"""Three kernels that hand each other an n x n array of scores.

Caught by: test_attention_shares_tiles_of_keys_and_values, test_attention_stores_no_scores
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
def scores_kernel(q, k, causal, scores):
    key, query = cuda.grid(2)
    head = cuda.blockIdx.z
    n, d = q.shape[1], q.shape[2]
    if query < n and key < n:
        score = float32(-math.inf)
        if key <= query or not causal:
            score = float32(0)
            for c in range(d):
                score += q[head, query, c] * k[head, key, c]
            score /= math.sqrt(float32(d))
        scores[head * n + query, key] = score


@cuda.jit
def values_kernel(weights, v, out):
    column, query = cuda.grid(2)
    head = cuda.blockIdx.z
    n, d = v.shape[1], v.shape[2]
    if query < n and column < d:
        total = float32(0)
        for key in range(n):
            total += weights[head * n + query, key] * v[head, key, column]
        out[head, query, column] = total


def attention(q, k, v, out, causal):
    heads, n, d = q.shape
    scores = cuda.device_array((heads * n, n), q.dtype)
    block = (TILE, TILE)
    tiles = (n + TILE - 1) // TILE
    scores_kernel[(tiles, tiles, heads), block](q, k, causal, scores)
    softmax_kernel[heads * n, THREADS](scores, scores)
    values_kernel[((d + TILE - 1) // TILE, tiles, heads), block](scores, v, out)
