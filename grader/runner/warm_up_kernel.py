"""A kernel that uses what most kernels use, so that Numba's caches are full before a job begins. Runs in the runner.

In: an array. Out: nothing that anybody looks at.
"""

import math

from numba import cuda, float32


@cuda.jit(device=True)
def _larger(x, y):  # type: ignore[no-untyped-def]
    return x if x > y else y


def warm_up_kernel(a):  # type: ignore[no-untyped-def]
    """Typed and simulated once; its result is of no interest."""
    tile = cuda.shared.array((8, 8), float32)
    mine = cuda.local.array(2, float32)
    i, j = cuda.grid(2)
    x = cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x
    total = float32(0)
    if i < a.shape[0] and j < a.shape[1]:
        tile[i, j] = a[i, j] * 2.0 - 1
        mine[0] = math.exp(-tile[i, j])
    cuda.syncthreads()
    for k in range(x, a.size // 8, cuda.gridsize(1)):
        total += _larger(tile[k, j], float32(0)) / (k + 1)
    stride = cuda.blockDim.x // 2
    while stride > 0:
        if x < stride:
            total += float32(stride)
        cuda.syncthreads()
        stride //= 2
    cuda.atomic.add(a, (i, j), total + mine[0])
    cuda.atomic.max(a, (i, j), total % 3)
