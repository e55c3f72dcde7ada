"""04 Fused attention: from a safe softmax to a kernel that never stores the scores.

**Softmax.** exp(x) overflows float32 from x = 89 on. But exp(x) / sum(exp(x)) does not change if every x is
made smaller by the same number, so subtract the row's maximum first: the largest exponential is then exp(0) =
1, and what underflows to 0 was too small to matter.

**Attention.** out = softmax(q @ k.T / sqrt(d)) @ v. The scores q @ k.T are n x n numbers; written to global
memory and read again they would cost more time than all the arithmetic. A fused kernel goes over the keys
tile by tile and keeps, for each query, three things only:

    largest     the largest score so far
    total       the sum of exp(score - largest) so far
    acc         the sum of exp(score - largest) * v so far: d numbers

When a tile brings a larger score, everything so far was computed with the wrong maximum. No harm done:
multiply total and acc by exp(old largest - new largest) and go on. This is the online softmax (M. Milakov and
N. Gimelshein, 2018), and with it attention needs each tile of keys and values once (T. Dao et al., 2022). At
the end, out = acc / total.
"""

import math

from numba import cuda, float32

THREADS = 128  # threads per block of softmax, one block per row; a power of two, for the tree

TILE = 16  # attention: a block has TILE queries, takes TILE keys at a time, and has TILE x TILE threads
MAX_D = 128  # the largest d; shared and local arrays need a size that is known when the kernel is compiled
COLUMNS = MAX_D // TILE  # so many of the d columns of its query's output belong to one thread
PADDED = MAX_D + 1  # the length of a row of keys in shared memory: one more, to spread them over its banks


# ------------------------------------------------------------------------------------------------- softmax


@cuda.jit(device=True)
def block_max(tile, value):
    """The largest `value` of the block's threads, given to all of them: assignment 02's tree as a function.

    `tile` is a shared array with one float32 for each thread. All threads of the block must call this. Before
    you write into the tile, make sure that nobody still reads what an earlier call has left there.
    """
    # YOUR CODE HERE (about 11 lines)
    pass


@cuda.jit(device=True)
def block_sum(tile, value):
    """The sum of `value` over the block's threads, given to all of them, in the same way."""
    # YOUR CODE HERE (about 11 lines)
    pass


@cuda.jit
def softmax_kernel(x, out):
    """A block takes one row; its threads walk over the columns THREADS apart.

    Three walks: for the maximum, for the sum of the exponentials, and for the results. `block_max` and
    `block_sum` above turn what each thread found into what the block found.
    """
    row = cuda.blockIdx.x
    t = cuda.threadIdx.x
    cols = x.shape[1]
    # YOUR CODE HERE (about 13 lines)


def softmax(x, out):
    """out[r, c] = exp(x[r, c]) / (sum of exp(x[r, :])), computed so that nothing overflows.

    x    float32, shape (rows, cols), any rows and cols from 1
    out  float32, shape (rows, cols); holds garbage at the start, and every element must be written

    Elements of x may be as large as 10,000 and as small as -10,000, and all of a row may be. An element may
    be -inf (a masked logit): its result is 0. Each row has at least one finite element.

    Asked for: at least a warp of 32 threads per row, x read at most three times.
    """
    rows = x.shape[0]
    softmax_kernel[rows, THREADS](x, out)


# ----------------------------------------------------------------------------------------------- attention


@cuda.jit
def attention_kernel(q, k, v, out, causal):
    """A block takes TILE queries of one head. Its thread (tx, ty) works for the query `query`:

    it computes the score of key tx of each tile, and owns the output columns tx, tx + TILE, tx + 2 TILE, ...
    """
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    head = cuda.blockIdx.y
    first = cuda.blockIdx.x * TILE  # the block's first query
    query = first + ty  # may lie beyond the end
    n, d = q.shape[1], q.shape[2]

    q_tile = cuda.shared.array((TILE, MAX_D), float32)  # the block's queries
    k_tile = cuda.shared.array((TILE, PADDED), float32)  # the tile's keys
    v_tile = cuda.shared.array((TILE, MAX_D), float32)  # the tile's values
    scores = cuda.shared.array((TILE, TILE), float32)  # of query ty and key tx, at [ty, tx]
    weights = cuda.shared.array((TILE, TILE), float32)  # exp(score - largest)
    acc = cuda.local.array(COLUMNS, float32)  # a thread's own: acc[e] is for the column tx + e TILE
    # YOUR CODE HERE (about 54 lines)


def attention(q, k, v, out, causal):
    """out[h] = softmax(q[h] @ k[h].T / sqrt(d)) @ v[h] for every head h; the softmax goes along the keys.

    q, k, v  float32, shape (heads, n, d): any heads and n from 1, d from 1 to 128 (MAX_D)
    out      float32, shape (heads, n, d); holds garbage at the start, and every element must be written
    causal   bool: if True, query i sees the keys 0, 1, ..., i only, itself included; if False, all of them

    Scores may be as large as 10,000 and as small as -10,000; the result is finite then, too.

    Asked for: online rescaling, so that no n x n array is ever stored in global memory; tiles of keys and values
    in shared memory, which at least 16 queries share. A block reads its queries once and each tile once.
    """
    heads, n = q.shape[0], q.shape[1]
    block = (TILE, TILE)
    grid = (1, 1)  # one block covers TILE queries of one head: how many in x (queries) and y (heads)?
    # YOUR CODE HERE (about 1 line)
    attention_kernel[grid, block](q, k, v, out, causal)
