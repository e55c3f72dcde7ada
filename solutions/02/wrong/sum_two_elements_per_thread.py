"""Each thread takes two elements, a grid apart, where a long x needs more.

Caught by: test_sum_takes_several_lengths
"""

import math

from numba import cuda, float32

THREADS = 256
MAX_BLOCKS = 256


@cuda.jit
def sum_kernel(x, out):
    tile = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x

    total = float32(0)
    i = cuda.grid(1)
    if i < x.size:
        total += x[i]
    if i + cuda.gridsize(1) < x.size:
        total += x[i + cuda.gridsize(1)]
    tile[t] = total
    cuda.syncthreads()

    half = THREADS // 2
    while half > 0:
        if t < half:
            tile[t] += tile[t + half]
        cuda.syncthreads()
        half //= 2

    if t == 0:
        cuda.atomic.add(out, 0, tile[0])


def reduce_sum(x, out):
    out[:] = 0
    blocks = min((x.size + THREADS - 1) // THREADS, MAX_BLOCKS)
    sum_kernel[blocks, THREADS](x, out)


@cuda.jit
def max_kernel(x, out):
    tile = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x

    largest = float32(-math.inf)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        value = x[i]
        if value > largest:
            largest = value
    tile[t] = largest
    cuda.syncthreads()

    half = THREADS // 2
    while half > 0:
        if t < half and tile[t + half] > tile[t]:
            tile[t] = tile[t + half]
        cuda.syncthreads()
        half //= 2

    if t == 0:
        cuda.atomic.max(out, 0, tile[0])


def reduce_max(x, out):
    blocks = min((x.size + THREADS - 1) // THREADS, MAX_BLOCKS)
    out[:] = -math.inf
    max_kernel[blocks, THREADS](x, out)
