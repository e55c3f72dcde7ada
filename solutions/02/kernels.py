"""02 Reduction: thousands of threads, one result.

If every thread added its element straight to `out[0]`, they would have to queue: an atomic addition to one
address happens one after the other. So the work is split in three steps, from the fastest memory to the
slowest:

    1. each thread combines the elements that it meets in a grid-stride loop, in a register;
    2. the threads of a block combine their values in shared memory, as a tree: in each round half as many
       threads add a value from the other half to their own, and log2(THREADS) rounds later one is left;
    3. that one thread sends the block's value to global memory, with a single atomic operation.

Between two rounds stands a barrier, `cuda.syncthreads()`: no thread may read what its neighbour has not
written yet. All threads of the block must reach it, also those that have nothing to do in this round.

    reduce_sum   the sum
    reduce_max   the largest element: the same tree with another operation and another neutral element
"""

import math

from numba import cuda, float32

THREADS = 256  # threads per block; the tree halves it again and again, so it must be a power of two
MAX_BLOCKS = 256  # enough to keep a GPU busy; beyond that, threads take more elements each


@cuda.jit
def sum_kernel(x, out):
    """Adds the sum of this block's elements to out[0].

    Allocate shared memory with `cuda.shared.array(THREADS, float32)`. It holds garbage at the start, too.
    """
    ### BEGIN SOLUTION
    tile = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x

    total = float32(0)  # a thread that meets no element contributes 0, which changes no sum
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i]
    tile[t] = total
    cuda.syncthreads()  # the tile is complete

    half = THREADS // 2
    while half > 0:
        if t < half:
            tile[t] += tile[t + half]
        cuda.syncthreads()  # outside of the if: every thread of the block must come here
        half //= 2

    if t == 0:
        cuda.atomic.add(out, 0, tile[0])
    ### END SOLUTION


def reduce_sum(x, out):
    """out[0] = x[0] + x[1] + ... + x[n - 1].

    x    float32, shape (n,), n at least 1, any n; it must keep its contents
    out  float32, shape (1,); holds garbage at the start

    Asked for: read each element once, add up in a tree in shared memory, at most one atomic operation on
    global memory per block. Any order of the additions is right. A NaN in x makes the sum NaN, all by itself.
    """
    blocks = min((x.size + THREADS - 1) // THREADS, MAX_BLOCKS)
    ### BEGIN SOLUTION
    out[:] = 0  # a fill by the device, done before the launch that follows
    ### END SOLUTION
    sum_kernel[blocks, THREADS](x, out)


@cuda.jit
def max_kernel(x, out):
    """Raises out[0] to the largest of this block's elements, if it is not that large already."""
    ### BEGIN SOLUTION
    tile = cuda.shared.array(THREADS, float32)
    t = cuda.threadIdx.x

    largest = float32(-math.inf)  # not 0: all elements may be negative
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
    ### END SOLUTION


def reduce_max(x, out):
    """out[0] = the largest element of x that is a number, and -inf if none is.

    x    float32, shape (n,), n at least 1, any n; it must keep its contents
    out  float32, shape (1,); holds garbage at the start

    Asked for: the same as for reduce_sum.

    NaN is ignored, wherever it stands (np.fmax does the same). This costs nothing if you start from -inf:
    every comparison with NaN is false, so `if value > largest` passes over it, and `cuda.atomic.max` keeps
    the stored value if either side is NaN. For that last reason out[0] must not hold NaN when the kernel
    starts.
    """
    blocks = min((x.size + THREADS - 1) // THREADS, MAX_BLOCKS)
    ### BEGIN SOLUTION
    out[:] = -math.inf
    ### END SOLUTION
    max_kernel[blocks, THREADS](x, out)
