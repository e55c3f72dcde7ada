"""Threads outside of the product return at once, and their part of the tiles is never fetched.

Caught by: test_product_is_right_for_any_shape, test_product_of_long_and_thin_matrices,
    test_product_takes_several_shapes, test_infinity_stays_in_its_row_and_column,
    test_tiles_are_reused, test_tiles_are_reused_in_another_shape
"""

from numba import cuda, float32

TILE = 16


@cuda.jit
def matmul_kernel(a, b, out):
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row = cuda.blockIdx.y * TILE + ty
    col = cuda.blockIdx.x * TILE + tx
    m, k = a.shape
    n = b.shape[1]
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)

    if row >= m or col >= n:
        return

    total = float32(0)
    for start in range(0, k, TILE):
        if row < m and start + tx < k:
            tile_a[ty, tx] = a[row, start + tx]
        else:
            tile_a[ty, tx] = 0
        if start + ty < k and col < n:
            tile_b[ty, tx] = b[start + ty, col]
        else:
            tile_b[ty, tx] = 0
        cuda.syncthreads()

        for j in range(TILE):
            total += tile_a[ty, j] * tile_b[j, tx]
        cuda.syncthreads()

    if row < m and col < n:
        out[row, col] = total


def matmul(a, b, out):
    m, n = out.shape
    block = (TILE, TILE)
    grid = ((n + TILE - 1) // TILE, (m + TILE - 1) // TILE)
    matmul_kernel[grid, block](a, b, out)
