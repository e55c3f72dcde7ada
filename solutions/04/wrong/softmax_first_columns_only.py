"""Each thread takes one column, so that long rows are cut off.

Caught by: test_softmax_is_right_for_any_shape, test_softmax_shares_each_row,
    test_softmax_takes_several_shapes, test_softmax_of_rows_of_huge_negative_logits,
    test_softmax_of_masked_logits
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
    for c in range(t, cols, cols):
        value = x[row, c]
        if value > largest:
            largest = value
    largest = block_max(tile, largest)

    total = float32(0)
    for c in range(t, cols, cols):
        total += math.exp(x[row, c] - largest)
    total = block_sum(tile, total)

    for c in range(t, cols, cols):
        out[row, c] = math.exp(x[row, c] - largest) / total


def softmax(x, out):
    rows = x.shape[0]
    softmax_kernel[rows, THREADS](x, out)


@cuda.jit
def attention_kernel(q, k, v, out, causal):
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    head = cuda.blockIdx.y
    first = cuda.blockIdx.x * TILE
    query = first + ty
    n, d = q.shape[1], q.shape[2]

    q_tile = cuda.shared.array((TILE, MAX_D), float32)
    k_tile = cuda.shared.array((TILE, PADDED), float32)
    v_tile = cuda.shared.array((TILE, MAX_D), float32)
    scores = cuda.shared.array((TILE, TILE), float32)
    weights = cuda.shared.array((TILE, TILE), float32)
    acc = cuda.local.array(COLUMNS, float32)
    for e in range(COLUMNS):
        acc[e] = 0
    largest = float32(-math.inf)
    total = float32(0)
    scale = float32(1.0 / math.sqrt(float32(d)))

    for c in range(tx, d, TILE):
        if query < n:
            q_tile[ty, c] = q[head, query, c]
        else:
            q_tile[ty, c] = 0

    end = n
    if causal and first + TILE < n:
        end = first + TILE

    for start in range(0, end, TILE):
        for c in range(tx, d, TILE):
            if start + ty < n:
                k_tile[ty, c] = k[head, start + ty, c]
                v_tile[ty, c] = v[head, start + ty, c]
            else:
                k_tile[ty, c] = 0
                v_tile[ty, c] = 0
        cuda.syncthreads()

        key = start + tx
        score = float32(-math.inf)
        if key < n and (key <= query or not causal):
            dot = float32(0)
            for c in range(d):
                dot += q_tile[ty, c] * k_tile[tx, c]
            score = dot * scale
        scores[ty, tx] = score
        cuda.syncthreads()

        new_largest = largest
        for j in range(TILE):
            if scores[ty, j] > new_largest:
                new_largest = scores[ty, j]
        weights[ty, tx] = math.exp(score - new_largest)
        rescale = math.exp(largest - new_largest)
        largest = new_largest
        cuda.syncthreads()

        total *= rescale
        for j in range(TILE):
            total += weights[ty, j]
        for e in range(COLUMNS):
            c = tx + e * TILE
            if c < d:
                column = acc[e] * rescale
                for j in range(TILE):
                    column += weights[ty, j] * v_tile[j, c]
                acc[e] = column
        cuda.syncthreads()

    for e in range(COLUMNS):
        c = tx + e * TILE
        if query < n and c < d:
            out[head, query, c] = acc[e] / total


def attention(q, k, v, out, causal):
    heads, n = q.shape[0], q.shape[1]
    block = (TILE, TILE)
    grid = (1, 1)
    grid = ((n + TILE - 1) // TILE, heads)
    attention_kernel[grid, block](q, k, v, out, causal)
