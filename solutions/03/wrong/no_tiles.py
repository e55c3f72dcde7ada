"""Every thread reads its row and its column from global memory: right, but sixteen times the traffic.

Caught by: test_tiles_are_reused, test_tiles_are_reused_in_another_shape
"""

from numba import cuda, float32

TILE = 16


@cuda.jit
def matmul_kernel(a, b, out):
    col, row = cuda.grid(2)
    m, k = a.shape
    n = b.shape[1]
    if row < m and col < n:
        total = float32(0)
        for j in range(k):
            total += a[row, j] * b[j, col]
        out[row, col] = total


def matmul(a, b, out):
    m, n = out.shape
    block = (TILE, TILE)
    grid = ((n + TILE - 1) // TILE, (m + TILE - 1) // TILE)
    matmul_kernel[grid, block](a, b, out)
