"""04 Fused attention, as fast as Numba goes.

**Softmax** is limited by memory: x has to be read, out has to be written, and that is all it should cost. `kernels.py`
reads x three times. Here a block keeps its row in registers between the walks, 16 numbers per thread, so that x is
read once. Rows that are longer, or that do not come in fours, take two walks: the online softmax finds the maximum and
the sum in the first.

**Attention** is limited by arithmetic: 4 n n d operations on 4 n d numbers. It is two matrix products with an
exponential in between, so what assignment 03's fast kernel does for a product is done twice here:

1. A thread computes 8 x 8 scores of a 64 x 64 tile, then 8 x 8 outputs, in registers. It reads 16 numbers from shared
   memory for 64 multiplications.
2. Queries and keys are stored transposed, [column, query], so that `load4` reads four queries' numbers at once. The
   weights go through shared memory, too, [key, query]: the second product needs them by key.
3. Bank conflicts are avoided without padding, since three tiles of 64 x 64 floats are exactly the 48 KiB that a block
   may have. The groups of four of a row change places, in another order in every fourth row: `fours(row)` below. So
   neither the threads that write down a column nor those that read along a row meet in one bank. The weights overwrite
   the keys, which are not needed any more.
4. The keys are split into parts, which are worked on by blocks of their own. One head of 4096 queries makes 64 tiles of
   queries, fewer than a large GPU has multiprocessors. Each part leaves its acc, largest and total, and a second, small
   kernel combines them: it is the same rescaling as for a new maximum.

It is written for d = 64 and whole tiles. Everything else goes to the lesson's kernel.
"""

import math

from numba import cuda, float32

from grader.vector_access import load4, store4

ALL_LANES = 0xFFFFFFFF

# ------------------------------------------------------------------------------------------------- softmax

THREADS = 256  # one block per row
WARPS = THREADS // 32
FOURS = 4  # that a thread can keep of a row
KEPT = 4 * FOURS
LONGEST = KEPT * THREADS  # columns of a row that fits into a block's registers


@cuda.jit(device=True)
def larger(a, b):
    """The larger of two numbers."""
    if b > a:
        return b
    return a


@cuda.jit(device=True)
def block_max(of_warps, value):
    """The largest `value` of the block, given to all threads.

    After five steps of `shfl_xor_sync` every lane has its warp's. Then each lane takes one warp's from shared memory,
    and every eight neighbours find out the largest of these, for themselves: nobody has to be told.
    """
    step = 16
    while step > 0:
        value = larger(value, cuda.shfl_xor_sync(ALL_LANES, value, step))
        step //= 2
    t = cuda.threadIdx.x
    if t % 32 == 0:
        of_warps[t // 32] = value
    cuda.syncthreads()
    value = of_warps[t % WARPS]
    step = WARPS // 2
    while step > 0:
        value = larger(value, cuda.shfl_xor_sync(ALL_LANES, value, step))
        step //= 2
    return value


@cuda.jit(device=True)
def block_sum(of_warps, value):
    """The sum of `value` over the block, given to all threads. `of_warps` is not that of block_max."""
    step = 16
    while step > 0:
        value += cuda.shfl_xor_sync(ALL_LANES, value, step)
        step //= 2
    t = cuda.threadIdx.x
    if t % 32 == 0:
        of_warps[t // 32] = value
    cuda.syncthreads()
    value = of_warps[t % WARPS]
    step = WARPS // 2
    while step > 0:
        value += cuda.shfl_xor_sync(ALL_LANES, value, step)
        step //= 2
    return value


@cuda.jit
def softmax_in_registers_kernel(x, out):
    """A block takes a row of up to LONGEST columns, in fours, and reads it once."""
    maxima = cuda.shared.array(WARPS, float32)
    sums = cuda.shared.array(WARPS, float32)
    mine = cuda.local.array(KEPT, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    cols = x.shape[1]

    largest = float32(-math.inf)
    for f in range(FOURS):
        c = 4 * (t + f * THREADS)
        if c < cols:
            v = load4(x, (row, c))
            for s in range(4):
                mine[4 * f + s] = v[s]
                largest = larger(largest, v[s])
    largest = block_max(maxima, largest)

    total = float32(0)
    for f in range(FOURS):
        if 4 * (t + f * THREADS) < cols:
            for s in range(4):
                weight = math.exp(mine[4 * f + s] - largest)
                mine[4 * f + s] = weight
                total += weight
    share = float32(1) / block_sum(sums, total)

    for f in range(FOURS):
        c = 4 * (t + f * THREADS)
        if c < cols:
            v = (mine[4 * f] * share, mine[4 * f + 1] * share, mine[4 * f + 2] * share, mine[4 * f + 3] * share)
            store4(out, (row, c), v)


@cuda.jit
def softmax_online_kernel(x, out):
    """A block takes a row of any length. In its first walk a thread keeps the largest and the sum of what it met."""
    maxima = cuda.shared.array(WARPS, float32)
    sums = cuda.shared.array(WARPS, float32)
    row, t = cuda.blockIdx.x, cuda.threadIdx.x
    cols = x.shape[1]
    nothing = float32(-math.inf)

    mine = nothing
    total = float32(0)
    for c in range(t, cols, THREADS):
        value = x[row, c]
        if value > mine:
            total = total * math.exp(mine - value) + float32(1)
            mine = value
        elif value > nothing:  # -inf adds nothing, and -inf - -inf is no number
            total += math.exp(value - mine)
    largest = block_max(maxima, mine)
    share = float32(1) / block_sum(sums, total * math.exp(mine - largest))

    for c in range(t, cols, THREADS):
        out[row, c] = math.exp(x[row, c] - largest) * share


def softmax(x, out):
    """out[r, c] = exp(x[r, c]) / (sum of exp(x[r, :]))."""
    rows, cols = x.shape
    if cols % 4 == 0 and cols <= LONGEST:
        softmax_in_registers_kernel[rows, THREADS](x, out)
    else:
        softmax_online_kernel[rows, THREADS](x, out)


# ----------------------------------------------------------------------------------------------- attention

D = 64  # columns of q, k, v
QUERIES, KEYS = 64, 64  # a block's queries, and the keys of a tile
EACH = 8  # a thread has EACH queries x EACH keys of the scores, then EACH queries x EACH columns of the output
ACROSS = KEYS // EACH  # so many neighbouring threads share their queries
WORKERS = QUERIES // EACH * ACROSS  # threads of a block
FETCHED = QUERIES * D // 4 // WORKERS  # fours of a tile that a thread fetches
ROUNDS = 8 * KEYS // WORKERS  # turns in which a block fetches 128 bytes of every row
ENOUGH_BLOCKS = 512  # what a large GPU holds at a time: four blocks, by their shared memory, on each multiprocessor
MAX_PARTS = 8
# Below every score. Not -inf: with fastmath the compiler may assume that there is none.
NO_SCORE = -1e30


@cuda.jit(device=True)
def fours(row):
    """What a column's number is combined with, by exclusive or, to find its place in a row of a transposed tile.

    It moves whole groups of four. Rows 0 to 3 have all in place, in rows 4 to 7 groups 0 and 1, 2 and 3, ... have
    changed places, and so on; after 32 rows it begins again. Eight threads that write to one column of rows 0, 4, 8,
    ... 28 meet eight different groups, so 32 different banks.
    """
    return row & 28  # row // 4 % 8 * 4: of numbers that may be negative, // and % are many instructions


@cuda.jit(device=True)
def place_of(t, f):
    """The row and the first column of the four of a tile that thread t fetches in its turn f.

    Eight neighbours fetch 128 bytes of a row, four times eight the same part of four rows. Written down a column each,
    in the order of `fours`, their numbers are in 32 different banks.
    """
    return (t >> 3) + f % ROUNDS * (WORKERS // 8), 4 * (t & 7) + f // ROUNDS * 32


# fastmath: exp(x) becomes one multiplication and one instruction, right to 2 + floor(1.173 |x|) units in the last place
# (CUDA C++ Programming Guide, intrinsic functions, __expf). That is many for a score far below the largest, but such a
# weight is tiny: (2 + 1.173 |x|) exp(-|x|) is never above 2, so no weight is wrong by more than two units in the last
# place of the largest one, which is 1. Nor is what a new largest score rescales: its factor is such an exp, too.
@cuda.jit(fastmath=True)
def attention_part_kernel(q, k, v, sums, stats, scale, causal):
    """A block takes QUERIES queries of a head and one part of the tiles of keys, and leaves acc, largest, total."""
    q_tile = cuda.shared.array((D, QUERIES), float32)  # [column, query], in the order of `fours`
    k_tile = cuda.shared.array((D, KEYS), float32)  # [column, key]; then the weights, [key, query]
    v_tile = cuda.shared.array((KEYS, D), float32)  # [key, column], as it is
    largest = cuda.local.array(EACH, float32)
    total = cuda.local.array(EACH, float32)
    acc = cuda.local.array((EACH, EACH), float32)
    scores = cuda.local.array((EACH, EACH), float32)
    left = cuda.local.array(EACH, float32)
    right = cuda.local.array(EACH, float32)
    next_left = cuda.local.array(EACH, float32)
    next_right = cuda.local.array(EACH, float32)

    t = cuda.threadIdx.x
    tx, ty = t % ACROSS, t // ACROSS  # a thread's keys and columns are 4 tx + 0 ... 3 and 32 + 4 tx + 0 ... 3
    tile, part, head = cuda.blockIdx.x, cuda.blockIdx.y, cuda.blockIdx.z
    tiles, parts = q.shape[1] // KEYS, cuda.gridDim.y

    for f in range(FETCHED):
        r, c = place_of(t, f)
        x = load4(q, (head, tile * QUERIES + r, c))
        for s in range(4):
            q_tile[c + s, r ^ fours(c)] = x[s] * scale
    for i in range(EACH):
        largest[i] = float32(NO_SCORE)
        total[i] = float32(0)
        for j in range(EACH):
            acc[i, j] = float32(0)

    first, end = part * tiles // parts, (part + 1) * tiles // parts
    if causal and end > tile + 1:
        end = tile + 1
    for step in range(first, end):
        cuda.syncthreads()  # everyone is done with the weights and values of the tile before
        for f in range(FETCHED):
            r, c = place_of(t, f)
            x = load4(k, (head, step * KEYS + r, c))
            for s in range(4):
                k_tile[c + s, r ^ fours(c)] = x[s]
            store4(v_tile, (r, c), load4(v, (head, step * KEYS + r, c)))
        cuda.syncthreads()  # the tiles are complete

        # First product: scores[i, j] of query EACH ty + i.
        for i in range(EACH):
            for j in range(EACH):
                scores[i, j] = float32(0)
        # Two columns to a turn: what addresses and counters cost is shared by 128 multiplications.
        for c in range(0, D, 2):
            flip = fours(c)  # of both columns
            for g in range(EACH // 4):
                at_query, at_key = (EACH * ty + 4 * g) ^ flip, (4 * tx + 4 * ACROSS * g) ^ flip
                x, y = load4(q_tile, (c, at_query)), load4(k_tile, (c, at_key))
                z, u = load4(q_tile, (c + 1, at_query)), load4(k_tile, (c + 1, at_key))
                for s in range(4):
                    left[4 * g + s] = x[s]
                    right[4 * g + s] = y[s]
                    next_left[4 * g + s] = z[s]
                    next_right[4 * g + s] = u[s]
            for i in range(EACH):
                for j in range(EACH):
                    scores[i, j] += left[i] * right[j]
                    scores[i, j] += next_left[i] * next_right[j]
        if causal and step == tile:  # the tile on the diagonal: each query sees the first key, at least
            for i in range(EACH):
                for j in range(EACH):
                    if 4 * tx + j // 4 * 4 * ACROSS + j % 4 > EACH * ty + i:
                        scores[i, j] = float32(NO_SCORE)

        # The new maximum of each query is found by the ACROSS lanes that share it, then everything is rescaled.
        for i in range(EACH):
            new = largest[i]
            for j in range(EACH):
                new = max(new, scores[i, j])
            w = ACROSS // 2
            while w > 0:
                new = max(new, cuda.shfl_xor_sync(ALL_LANES, new, w))
                w //= 2
            rescale = math.exp(largest[i] - new)
            largest[i] = new
            total[i] *= rescale  # of this thread's own keys; the lanes' totals are added up at the end
            for j in range(EACH):
                acc[i, j] *= rescale
                weight = math.exp(scores[i, j] - new)
                scores[i, j] = weight
                total[i] += weight

        cuda.syncthreads()  # everyone is done with the keys: the weights take their place
        for j in range(EACH):
            key = 4 * tx + j // 4 * 4 * ACROSS + j % 4
            for g in range(EACH // 4):
                x = (scores[4 * g, j], scores[4 * g + 1, j], scores[4 * g + 2, j], scores[4 * g + 3, j])
                store4(k_tile, (key, (EACH * ty + 4 * g) ^ fours(key)), x)
        cuda.syncwarp()  # a query's weights are written and read by lanes of one warp

        # Second product: acc[i, j] of query EACH ty + i and this thread's column j.
        for key in range(0, KEYS, 2):
            flip = fours(key)
            for g in range(EACH // 4):
                at_query, column = (EACH * ty + 4 * g) ^ flip, 4 * tx + 4 * ACROSS * g
                x, y = load4(k_tile, (key, at_query)), load4(v_tile, (key, column))
                z, u = load4(k_tile, (key + 1, at_query)), load4(v_tile, (key + 1, column))
                for s in range(4):
                    left[4 * g + s] = x[s]
                    right[4 * g + s] = y[s]
                    next_left[4 * g + s] = z[s]
                    next_right[4 * g + s] = u[s]
            for i in range(EACH):
                for j in range(EACH):
                    acc[i, j] += left[i] * right[j]
                    acc[i, j] += next_left[i] * next_right[j]

    for i in range(EACH):
        whole = total[i]
        w = ACROSS // 2
        while w > 0:
            whole += cuda.shfl_xor_sync(ALL_LANES, whole, w)
            w //= 2
        query = tile * QUERIES + EACH * ty + i
        for g in range(EACH // 4):
            x = (acc[i, 4 * g], acc[i, 4 * g + 1], acc[i, 4 * g + 2], acc[i, 4 * g + 3])
            store4(sums, (part, head, query, 4 * tx + 4 * ACROSS * g), x)
        if tx == 0:
            stats[part, head, query, 0] = largest[i]
            stats[part, head, query, 1] = whole


@cuda.jit(fastmath=True)
def combine_kernel(sums, stats, out):
    """A thread makes four columns of a query's output of what the parts have left: their mean, weighted by totals."""
    head = cuda.blockIdx.y
    query = cuda.blockIdx.x * cuda.blockDim.y + cuda.threadIdx.y
    c = 4 * cuda.threadIdx.x
    largest = float32(NO_SCORE)
    for part in range(sums.shape[0]):
        largest = max(largest, stats[part, head, query, 0])
    total = float32(0)
    sum0, sum1, sum2, sum3 = float32(0), float32(0), float32(0), float32(0)
    for part in range(sums.shape[0]):
        rescale = math.exp(stats[part, head, query, 0] - largest)
        total += rescale * stats[part, head, query, 1]
        x = load4(sums, (part, head, query, c))
        sum0 += rescale * x[0]
        sum1 += rescale * x[1]
        sum2 += rescale * x[2]
        sum3 += rescale * x[3]
    share = float32(1) / total
    store4(out, (head, query, c), (sum0 * share, sum1 * share, sum2 * share, sum3 * share))


TILE = 16  # of the lesson's kernel, which is for every other shape
MAX_D = 128
COLUMNS = MAX_D // TILE
PADDED = MAX_D + 1


@cuda.jit
def any_shape_kernel(q, k, v, out, causal):
    """A block takes TILE queries of one head, TILE keys at a time, with TILE x TILE threads (see kernels.py)."""
    q_tile = cuda.shared.array((TILE, MAX_D), float32)
    k_tile = cuda.shared.array((TILE, PADDED), float32)
    v_tile = cuda.shared.array((TILE, MAX_D), float32)
    weights = cuda.shared.array((TILE, TILE), float32)
    acc = cuda.local.array(COLUMNS, float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    head, first = cuda.blockIdx.y, cuda.blockIdx.x * TILE
    query = first + ty
    n, d = q.shape[1], q.shape[2]
    scale = float32(1) / math.sqrt(float32(d))
    for e in range(COLUMNS):
        acc[e] = 0
    largest = float32(-math.inf)
    total = float32(0)
    for c in range(tx, d, TILE):
        q_tile[ty, c] = q[head, query, c] * scale if query < n else float32(0)

    end = n
    if causal and first + TILE < n:
        end = first + TILE
    for start in range(0, end, TILE):
        for c in range(tx, d, TILE):
            there = start + ty < n
            k_tile[ty, c] = k[head, start + ty, c] if there else float32(0)
            v_tile[ty, c] = v[head, start + ty, c] if there else float32(0)
        cuda.syncthreads()

        key = start + tx
        score = float32(-math.inf)
        if key < n and (key <= query or not causal):
            score = float32(0)
            for c in range(d):
                score += q_tile[ty, c] * k_tile[tx, c]
        # The 16 threads of a query are half a warp: they find its maximum and its sum by shuffles.
        new = largest
        best = score
        step = TILE // 2
        while step > 0:
            best = larger(best, cuda.shfl_xor_sync(ALL_LANES, best, step))
            step //= 2
        new = larger(new, best)
        weight = math.exp(score - new)
        rescale = math.exp(largest - new)
        largest = new
        weights[ty, tx] = weight
        step = TILE // 2
        while step > 0:
            weight += cuda.shfl_xor_sync(ALL_LANES, weight, step)
            step //= 2
        total = total * rescale + weight
        cuda.syncwarp()  # a query's weights are written and read by lanes of one warp
        for e in range(COLUMNS):
            c = tx + e * TILE
            if c < d:
                column = acc[e] * rescale
                for j in range(TILE):
                    column += weights[ty, j] * v_tile[j, c]
                acc[e] = column
        cuda.syncthreads()

    for e in range(COLUMNS):
        c = tx + e * TILE
        if query < n and c < d:
            out[head, query, c] = acc[e] / total


def parts_for(heads, n):
    """Into how many parts the keys are split: as many as it takes to have a large GPU's multiprocessors full."""
    tiles = n // QUERIES
    return max(1, min(MAX_PARTS, tiles, ENOUGH_BLOCKS // (tiles * heads)))


def attention(q, k, v, out, causal):
    """out[h] = softmax(q[h] @ k[h].T / sqrt(d)) @ v[h] for every head h."""
    heads, n, d = q.shape
    if d == D and n % QUERIES == 0:
        tiles = n // QUERIES
        parts = parts_for(heads, n)
        sums = cuda.device_array((parts, heads, n, d), q.dtype)
        stats = cuda.device_array((parts, heads, n, 2), q.dtype)
        scale = float32(1 / math.sqrt(d))
        attention_part_kernel[(tiles, parts, heads), WORKERS](q, k, v, sums, stats, scale, causal)
        combine_kernel[(n // TILE, heads), (D // 4, TILE)](sums, stats, out)
    else:
        any_shape_kernel[((n + TILE - 1) // TILE, heads), (TILE, TILE)](q, k, v, out, causal)
