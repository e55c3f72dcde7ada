"""Each thread takes a stretch of neighbouring elements instead of elements that are a grid apart.

Caught by: test_saxpy_walks_over_the_grid
"""

from numba import cuda

THREADS = 256
SIDE = 16


@cuda.jit
def vector_add_kernel(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]


def vector_add(a, b, out):
    blocks = (out.size + THREADS - 1) // THREADS
    vector_add_kernel[blocks, THREADS](a, b, out)


@cuda.jit
def saxpy_kernel(alpha, x, y, out):
    each = (out.size + cuda.gridsize(1) - 1) // cuda.gridsize(1)
    first = each * cuda.grid(1)
    for i in range(first, min(first + each, out.size)):
        out[i] = alpha * x[i] + y[i]


def saxpy(alpha, x, y, out):
    blocks = 8 * cuda.get_current_device().MULTIPROCESSOR_COUNT
    saxpy_kernel[blocks, THREADS](alpha, x, y, out)


@cuda.jit
def grayscale_kernel(image, out):
    column, row = cuda.grid(2)
    height, width = out.shape
    if row < height and column < width:
        red = image[row, column, 0]
        green = image[row, column, 1]
        blue = image[row, column, 2]
        out[row, column] = (77 * red + 150 * green + 29 * blue + 128) // 256


def grayscale(image, out):
    height, width = out.shape
    blocks = ((width + SIDE - 1) // SIDE, (height + SIDE - 1) // SIDE)
    grayscale_kernel[blocks, (SIDE, SIDE)](image, out)
