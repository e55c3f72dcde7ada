"""01 Indexing: which thread computes which element?

A kernel is one function that thousands of threads execute at the same time. All that tells a thread from its
neighbours is its place: `cuda.threadIdx` within the block and `cuda.blockIdx` within the grid. Three
exercises turn a place into an element:

    vector_add   one thread per element, and a guard for the threads that are left over
    saxpy        a grid of a fixed size walks over any number of elements
    grayscale    two dimensions: which of x and y is the row?

The host functions below are what the checks call. They get arrays that already live in device memory, choose
grid and block, and launch a kernel. Their launches are given here; later assignments leave them to you.
`problem.py` beside this file says exactly what each function must compute.
"""

from numba import cuda

THREADS = 256  # threads per block in one dimension: a multiple of 32, the size of a warp
SIDE = 16  # a two-dimensional block has SIDE x SIDE threads


@cuda.jit
def vector_add_kernel(a, b, out):
    """Thread number i of the whole grid adds element number i.

    The grid has a whole number of blocks, so it usually has more threads than there are elements: those that
    are left over must not touch the arrays.
    """
    # YOUR CODE HERE (about 3 lines)
    pass


def vector_add(a, b, out):
    """out[i] = a[i] + b[i] for every i.

    a, b   float32, shape (n,), n at least 1, any n
    out    float32, shape (n,); holds garbage at the start, and every element must be written

    Infinities and NaNs add up as IEEE 754 says, which is what `+` does.
    """
    blocks = (out.size + THREADS - 1) // THREADS  # rounded up: the last block may be partly idle
    vector_add_kernel[blocks, THREADS](a, b, out)


@cuda.jit
def saxpy_kernel(alpha, x, y, out):
    """Thread number i takes the elements i, i + t, i + 2 t, ..., where t is the number of threads in the
    grid.

    This is a grid-stride loop. It is right for any grid, even for one thread, and since neighbouring threads
    take neighbouring elements in every round, a warp's 32 loads stay side by side in memory.
    """
    # YOUR CODE HERE (about 4 lines)
    pass


def saxpy(alpha, x, y, out):
    """out[i] = alpha * x[i] + y[i] for every i ("single-precision a times x plus y").

    alpha  float32, a number (its value is known on the device only: pass it on)
    x, y   float32, shape (n,), n at least 1, any n: they must keep their contents
    out    float32, shape (n,); holds garbage at the start, and every element must be written

    Keep this launch. The grid is sized for the GPU, eight blocks for each of its multiprocessors, and not for
    n: with 40 multiprocessors it has 81,920 threads, whether n is 3 or 300 million.
    """
    blocks = 8 * cuda.get_current_device().MULTIPROCESSOR_COUNT
    saxpy_kernel[blocks, THREADS](alpha, x, y, out)


@cuda.jit
def grayscale_kernel(image, out):
    """One thread per pixel.

    `cuda.grid(2)` gives the thread's place as (x, y). The threads of a warp differ in x, and neighbours in
    memory are the pixels of one row, so x must become the column.
    """
    # YOUR CODE HERE (about 7 lines)
    pass


def grayscale(image, out):
    """The brightness of each pixel, in whole numbers: (77 R + 150 G + 29 B + 128) // 256.

    image  uint8, shape (height, width, 3): red, green, blue, each 0 to 255; any height and width from 1
    out    uint8, shape (height, width); holds garbage at the start, and every pixel must be written

    The weights are 0.299, 0.587 and 0.114 in 256ths, and 128 is one half: it makes `//` round to the nearest.
    Do it in integers, with exactly these weights. (Numba multiplies an element of a uint8 array by 77 in 64
    bits, so nothing overflows before you store it.)
    """
    height, width = out.shape
    blocks = ((width + SIDE - 1) // SIDE, (height + SIDE - 1) // SIDE)  # (x, y): columns first
    grayscale_kernel[blocks, (SIDE, SIDE)](image, out)
