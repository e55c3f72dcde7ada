"""03 Tiled matmul: read once, use sixteen times.

One thread per element of the product is easily written: k loads from a, k loads from b, k multiplications.
But then each element of a is read from global memory once for every column of b, and a GPU that could do
thousands of multiplications waits for memory.

The threads of a block can help each other. A block computes a TILE x TILE piece of the product, and for it
needs TILE rows of a and TILE columns of b. It walks along k in steps of TILE. In each step

    1. every thread fetches one element of a and one of b into shared memory: two tiles;
    2. barrier: the tiles are complete;
    3. every thread adds TILE products to its own sum, reading only shared memory;
    4. barrier: nobody needs these tiles any more, so the next step may overwrite them.

Each fetched element serves TILE threads, so the traffic with global memory is down to one TILE-th.

Where a tile sticks out over the edge of a or b, put zeros into it. They add nothing to any sum, and every
thread can take part in every fetch and every barrier, also one whose own element lies outside of the product.
"""

from numba import cuda, float32

TILE = 16  # TILE x TILE threads per block


@cuda.jit
def matmul_kernel(a, b, out):
    """The thread (tx, ty) of a block computes out[row, col], if that exists.

    x runs along the columns, so that the threads of a warp fetch neighbours in memory.
    """
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    row = cuda.blockIdx.y * TILE + ty
    col = cuda.blockIdx.x * TILE + tx
    m, k = a.shape
    n = b.shape[1]
    # YOUR CODE HERE (about 18 lines)


def matmul(a, b, out):
    """out = a @ b, for any shapes that fit together.

    a    float32, shape (m, k)
    b    float32, shape (k, n); m, k and n are at least 1 and need not be multiples of anything
    out  float32, shape (m, n); holds garbage at the start, and every element must be written

    Asked for: tiles of a and b in shared memory, TILE x TILE or larger, so that each of their elements is
    read from global memory once per tile of out that needs it, and out is written once. An infinity or a NaN
    in row i of a changes row i of out only, and one in column j of b changes column j only.
    """
    m, n = out.shape
    block = (TILE, TILE)
    grid = (1, 1)  # one block covers one tile of out: how many in x and in y cover all of it?
    # YOUR CODE HERE (about 1 line)
    matmul_kernel[grid, block](a, b, out)
