"""All values of a block stand in shared memory, and one thread adds them up while the others have nothing to do.

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

    total = float32(0)
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i]
    tile[t] = total
    cuda.syncthreads()

    if t == 0:
        total = float32(0)
        for k in range(THREADS):
            total += tile[k]
        cuda.atomic.add(out, 0, total)


def reduce_sum(x, out):
    blocks = min((x.size + THREADS - 1) // THREADS, MAX_BLOCKS)
    out[:] = 0
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
