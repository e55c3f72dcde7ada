"""Allocates a tile, but one thread per block adds all of the block's elements.

Caught by: test_sum_goes_through_shared_memory
"""

import math

from numba import cuda, float32

THREADS = 256
MAX_BLOCKS = 256


@cuda.jit
def sum_kernel(x, out):
    tile = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x

    if t == 0:
        total = float32(0)
        for start in range(cuda.blockIdx.x * THREADS, x.size, cuda.gridsize(1)):
            for i in range(start, min(start + THREADS, x.size)):
                total += x[i]
        tile[0] = total
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
