"""Halves an array in global memory, launch by launch: right, but each level is written and read again.

Caught by: test_sum_goes_through_shared_memory
"""

import math

from numba import cuda, float32

THREADS = 256
MAX_BLOCKS = 256


@cuda.jit
def halve_kernel(source, n, half, target):
    i = cuda.grid(1)
    if i < half:
        value = source[i]
        if i + half < n:
            value += source[i + half]
        target[i] = value


def reduce_sum(x, out):
    source, n = x, x.size
    while n > 1:
        half = (n + 1) // 2
        target = cuda.device_array(half, x.dtype)
        halve_kernel[(half + THREADS - 1) // THREADS, THREADS](source, n, half, target)
        source, n = target, half
    halve_kernel[1, 1](source, 1, 1, out)


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
