"""03 Tiled matmul, as fast as Numba goes.

With 16 x 16 tiles (`kernels.py`) a thread reads two numbers from shared memory for each multiplication. A
multiprocessor can multiply 128 numbers in the time in which shared memory delivers 32, so most of it waits. The
remedy is the same idea one floor higher: tiles in *registers*. A thread that computes 16 x 8 elements of the product
reads 16 + 8 numbers and multiplies 128 times. What makes this fast, in the order in which it matters:

1. **A tile in registers.** `acc` is a local array, but each index into it is known when the loops over it are
   unrolled, so the compiler keeps all 128 sums in registers. (Of at most 255; a larger tile would not fit.)
2. **16-byte accesses.** `load4` fetches four numbers with one instruction, from global and from shared memory. To read
   16 elements of a *column* of a's tile that way, the tile is stored transposed: `tile_a[k, row]`.
3. **No bank conflicts.** The threads of a quarter of a warp read neighbouring fours, or the same ones. That is why a
   thread's eight columns are two groups of four, 32 columns apart, and not eight in a row. The padding of `tile_a` is
   for its writes: of the threads of a warp, four would meet in each bank; like this it is two.
4. **Two buffers.** While a block computes with one pair of tiles, the next pair is on its way from global memory into
   registers. It is put into the other buffer afterwards, so one barrier per step is enough.

A block of 128 threads computes 128 x 128 elements. Its four warps have 64 x 64 each: the lanes of a warp form 4 rows
of 8, and a lane has 16 rows in four groups, and 8 columns in two groups.

All this is for sizes that are multiples of the tile. For all others there is a second kernel, which is simpler.
"""

from numba import cuda, float32

from grader.vector_access import load4, store4

BM, BN = 128, 128  # a block's tile of the product: rows and columns
BK = 16  # one step along k
TM, TN = 16, 8  # a thread's elements
LANE_ROWS, LANE_COLS = 4, 8  # how the 32 lanes of a warp lie over its part
WARP_ROWS, WARP_COLS = LANE_ROWS * TM, LANE_COLS * TN  # 64 x 64
WARPS_ACROSS = BN // WARP_COLS
THREADS = 32 * (BM // WARP_ROWS) * WARPS_ACROSS
ROW_STEP, COL_STEP = 4 * LANE_ROWS, 4 * LANE_COLS  # from one group of four of a thread to its next
PADDED = BM + 4  # the length of a row of tile_a; still a multiple of 4, as load4 needs it

FOURS_A, FOURS_B = BM * BK // 4 // THREADS, BK * BN // 4 // THREADS  # that a thread fetches of each tile
HELD_A, HELD_B = 4 * FOURS_A, 4 * FOURS_B  # Numba wants the length of an array as a number or a name, not as a product
FOURS_PER_ROW_A, FOURS_PER_ROW_B = BK // 4, BN // 4


@cuda.jit
def whole_tiles_kernel(a, b, out):
    """A block computes out[row0 : row0 + BM, col0 : col0 + BN]; nothing sticks out over an edge."""
    tile_a = cuda.shared.array((2, BK, PADDED), float32)  # transposed: [buffer, k, row]
    tile_b = cuda.shared.array((2, BK, BN), float32)  # [buffer, k, column]
    acc = cuda.local.array((TM, TN), float32)
    from_a = cuda.local.array(TM, float32)
    from_b = cuda.local.array(TN, float32)
    next_a = cuda.local.array(HELD_A, float32)
    next_b = cuda.local.array(HELD_B, float32)

    t = cuda.threadIdx.x
    lane, warp = t % 32, t // 32
    row0, col0 = cuda.blockIdx.y * BM, cuda.blockIdx.x * BN
    # This thread's first row and first column within the block's tile.
    row = warp // WARPS_ACROSS * WARP_ROWS + lane // LANE_COLS * 4
    col = warp % WARPS_ACROSS * WARP_COLS + lane % LANE_COLS * 4

    for i in range(TM):
        for j in range(TN):
            acc[i, j] = float32(0)

    # The first pair of tiles. Neighbouring threads fetch neighbouring fours.
    for f in range(FOURS_A):
        q = t + f * THREADS
        v = load4(a, (row0 + q // FOURS_PER_ROW_A, q % FOURS_PER_ROW_A * 4))
        for s in range(4):
            tile_a[0, q % FOURS_PER_ROW_A * 4 + s, q // FOURS_PER_ROW_A] = v[s]
    for f in range(FOURS_B):
        q = t + f * THREADS
        store4(
            tile_b,
            (0, q // FOURS_PER_ROW_B, q % FOURS_PER_ROW_B * 4),
            load4(b, (q // FOURS_PER_ROW_B, col0 + q % FOURS_PER_ROW_B * 4)),
        )
    cuda.syncthreads()

    now = 0  # the buffer that is computed with
    for start in range(0, a.shape[1], BK):
        more = start + BK < a.shape[1]
        if more:  # the next tiles set out; nothing waits for them until they are written to shared memory below
            for f in range(FOURS_A):
                q = t + f * THREADS
                v = load4(a, (row0 + q // FOURS_PER_ROW_A, start + BK + q % FOURS_PER_ROW_A * 4))
                for s in range(4):
                    next_a[4 * f + s] = v[s]
            for f in range(FOURS_B):
                q = t + f * THREADS
                v = load4(b, (start + BK + q // FOURS_PER_ROW_B, col0 + q % FOURS_PER_ROW_B * 4))
                for s in range(4):
                    next_b[4 * f + s] = v[s]

        for k in range(BK):
            for g in range(TM // 4):
                v = load4(tile_a, (now, k, row + g * ROW_STEP))
                for s in range(4):
                    from_a[4 * g + s] = v[s]
            for g in range(TN // 4):
                v = load4(tile_b, (now, k, col + g * COL_STEP))
                for s in range(4):
                    from_b[4 * g + s] = v[s]
            for i in range(TM):  # 24 numbers, 128 multiplications
                for j in range(TN):
                    acc[i, j] += from_a[i] * from_b[j]

        if more:
            other = 1 - now
            for f in range(FOURS_A):
                q = t + f * THREADS
                for s in range(4):
                    tile_a[other, q % FOURS_PER_ROW_A * 4 + s, q // FOURS_PER_ROW_A] = next_a[4 * f + s]
            for f in range(FOURS_B):
                q = t + f * THREADS
                v = (next_b[4 * f], next_b[4 * f + 1], next_b[4 * f + 2], next_b[4 * f + 3])
                store4(tile_b, (other, q // FOURS_PER_ROW_B, q % FOURS_PER_ROW_B * 4), v)
        # The other buffer is complete, and everyone is done with this one: it is the next to be overwritten.
        cuda.syncthreads()
        now = 1 - now

    for i in range(TM):
        r = row0 + row + i // 4 * ROW_STEP + i % 4
        for g in range(TN // 4):
            v = (acc[i, 4 * g], acc[i, 4 * g + 1], acc[i, 4 * g + 2], acc[i, 4 * g + 3])
            store4(out, (r, col0 + col + g * COL_STEP), v)


SIDE = 64  # the other kernel's tile of the product
ACROSS = 16  # its threads lie 16 x 16 over it, so each has 4 x 4 elements, ACROSS apart
EACH = SIDE // ACROSS
ROW = SIDE + 2  # of tile_a: two more, so that the 2 x 16 threads that write two rows of a are in different banks
FETCHED = SIDE * BK // ACROSS**2  # elements of each tile that a thread fetches


@cuda.jit
def any_size_kernel(a, b, out):
    """A block computes SIDE x SIDE elements, as far as they exist; what sticks out over an edge is zero."""
    tile_a = cuda.shared.array((BK, ROW), float32)
    tile_b = cuda.shared.array((BK, SIDE), float32)
    acc = cuda.local.array((EACH, EACH), float32)
    t = cuda.threadIdx.x
    ty, tx = t // ACROSS, t % ACROSS
    row0, col0 = cuda.blockIdx.y * SIDE, cuda.blockIdx.x * SIDE
    m, n = out.shape
    depth = a.shape[1]
    for i in range(EACH):
        for j in range(EACH):
            acc[i, j] = float32(0)

    for start in range(0, depth, BK):
        for f in range(FETCHED):
            q = t + f * ACROSS * ACROSS
            r, k = q // BK, q % BK
            value = float32(0)
            if row0 + r < m and start + k < depth:
                value = a[row0 + r, start + k]
            tile_a[k, r] = value
            k, c = q // SIDE, q % SIDE
            value = float32(0)
            if start + k < depth and col0 + c < n:
                value = b[start + k, col0 + c]
            tile_b[k, c] = value
        cuda.syncthreads()

        for k in range(BK):
            for i in range(EACH):
                for j in range(EACH):
                    acc[i, j] += tile_a[k, ty + i * ACROSS] * tile_b[k, tx + j * ACROSS]
        cuda.syncthreads()

    for i in range(EACH):
        for j in range(EACH):
            r, c = row0 + ty + i * ACROSS, col0 + tx + j * ACROSS
            if r < m and c < n:
                out[r, c] = acc[i, j]


def matmul(a, b, out):
    """out = a @ b, for any shapes that fit together."""
    (m, n), depth = out.shape, a.shape[1]
    if m % BM == 0 and n % BN == 0 and depth % BK == 0:
        whole_tiles_kernel[(n // BN, m // BM), THREADS](a, b, out)
    else:
        grid = ((n + SIDE - 1) // SIDE, (m + SIDE - 1) // SIDE)
        any_size_kernel[grid, ACROSS * ACROSS](a, b, out)
