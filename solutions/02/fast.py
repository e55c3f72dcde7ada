"""02 Reduction, as fast as Numba goes.

Each element is read once and added once, so the memory is the limit again, and what a reduction must avoid is to keep
it waiting. Compared with `kernels.py`:

- A thread reads four elements with one instruction, and adds them to four sums of its own. An addition must wait for
  the one before it; four that do not depend on each other do not wait for each other.
- The tree goes through registers. `cuda.shfl_down_sync` hands a value from one lane of a warp to another, without
  shared memory and without a barrier: a warp adds up its 32 values in five steps. Shared memory holds only what the
  warps of a block found, 16 values, and there is one barrier instead of nine.
- The grid is as large as the GPU can hold at a time, a few times over, and no larger: then few atomic additions wait
  in line for out[0].
"""

import math

from numba import cuda, float32

from grader.vector_access import load4

THREADS = 512
WARPS = THREADS // 32
MAX_BLOCKS = 2112  # 16 for each of the 132 multiprocessors of a large GPU
ALL_LANES = 0xFFFFFFFF


@cuda.jit(device=True)
def warp_sum(value):
    """The sum of `value` over the lanes of a warp, in lane 0; all lanes must call this.

    In the first step lanes 0 to 15 add the values of lanes 16 to 31 to their own, then 0 to 7 those of 8 to 15, ...
    """
    step = 16
    while step > 0:
        value += cuda.shfl_down_sync(ALL_LANES, value, step)
        step //= 2
    return value


@cuda.jit
def sum_kernel(x, out):
    """Adds the sum of this block's elements to out[0]."""
    of_warps = cuda.shared.array(WARPS, float32)
    t = cuda.threadIdx.x
    thread = cuda.grid(1)
    whole = x.size - x.size % 4

    sum0, sum1, sum2, sum3 = float32(0), float32(0), float32(0), float32(0)
    for i in range(4 * thread, whole, 4 * cuda.gridsize(1)):
        v = load4(x, i)
        sum0 += v[0]
        sum1 += v[1]
        sum2 += v[2]
        sum3 += v[3]
    if whole + thread < x.size:  # up to three threads of the grid take one of the last elements each
        sum0 += x[whole + thread]

    total = warp_sum((sum0 + sum1) + (sum2 + sum3))
    if t % 32 == 0:
        of_warps[t // 32] = total
    cuda.syncthreads()

    if t < 32:  # the first warp adds up what the warps found
        total = float32(0)
        if t < WARPS:
            total = of_warps[t]
        total = warp_sum(total)
        if t == 0:
            cuda.atomic.add(out, 0, total)


def reduce_sum(x, out):
    """out[0] = the sum of x."""
    out[:] = 0
    sum_kernel[blocks_for(x.size), THREADS](x, out)


@cuda.jit(device=True)
def larger(a, b):
    """The larger of two numbers; `a` if `b` is no number, so a NaN never gets into it."""
    if b > a:
        return b
    return a


@cuda.jit(device=True)
def warp_max(value):
    """The largest `value` of the lanes of a warp, in lane 0."""
    step = 16
    while step > 0:
        value = larger(value, cuda.shfl_down_sync(ALL_LANES, value, step))
        step //= 2
    return value


@cuda.jit
def max_kernel(x, out):
    """Raises out[0] to the largest of this block's elements; the same in all but the operation."""
    of_warps = cuda.shared.array(WARPS, float32)
    t = cuda.threadIdx.x
    thread = cuda.grid(1)
    whole = x.size - x.size % 4

    nothing = float32(-math.inf)
    max0, max1, max2, max3 = nothing, nothing, nothing, nothing
    for i in range(4 * thread, whole, 4 * cuda.gridsize(1)):
        v = load4(x, i)
        max0 = larger(max0, v[0])
        max1 = larger(max1, v[1])
        max2 = larger(max2, v[2])
        max3 = larger(max3, v[3])
    if whole + thread < x.size:
        max0 = larger(max0, x[whole + thread])

    largest = warp_max(larger(larger(max0, max1), larger(max2, max3)))
    if t % 32 == 0:
        of_warps[t // 32] = largest
    cuda.syncthreads()

    if t < 32:
        largest = nothing
        if t < WARPS:
            largest = of_warps[t]
        largest = warp_max(largest)
        if t == 0:
            cuda.atomic.max(out, 0, largest)


def reduce_max(x, out):
    """out[0] = the largest element of x that is a number, and -inf if none is."""
    out[:] = -math.inf
    max_kernel[blocks_for(x.size), THREADS](x, out)


def blocks_for(n):
    """One four per thread, until the grid is large enough."""
    per_block = 4 * THREADS
    return min((n + per_block - 1) // per_block, MAX_BLOCKS)
