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
    # YOUR CODE HERE (about 15 lines)
    pass


def reduce_sum(x, out):
    """out[0] = x[0] + x[1] + ... + x[n - 1].

    x    float32, shape (n,), n at least 1, any n; it must keep its contents
    out  float32, shape (1,); holds garbage at the start

    Asked for: read each element once, add up in a tree in shared memory, at most one atomic operation on
    global memory per block. Any order of the additions is right. A NaN in x makes the sum NaN, all by itself.
    """
    blocks = min((x.size + THREADS - 1) // THREADS, MAX_BLOCKS)
    # YOUR CODE HERE (about 1 line)
    sum_kernel[blocks, THREADS](x, out)


@cuda.jit
def max_kernel(x, out):
    """Raises out[0] to the largest of this block's elements, if it is not that large already."""
    # YOUR CODE HERE (about 17 lines)
    pass


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
    # YOUR CODE HERE (about 1 line)
    max_kernel[blocks, THREADS](x, out)
