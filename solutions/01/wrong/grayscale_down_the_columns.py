"""Takes x as the row, with a grid that fits: right, but the threads of a warp go down a column of pixels.

Caught by: test_grayscale_reads_each_pixel_once
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
    start = cuda.grid(1)
    stride = cuda.gridsize(1)
    for i in range(start, out.size, stride):
        out[i] = alpha * x[i] + y[i]


def saxpy(alpha, x, y, out):
    blocks = 8 * cuda.get_current_device().MULTIPROCESSOR_COUNT
    saxpy_kernel[blocks, THREADS](alpha, x, y, out)


@cuda.jit
def grayscale_kernel(image, out):
    row, column = cuda.grid(2)
    height, width = out.shape
    if row < height and column < width:
        red = image[row, column, 0]
        green = image[row, column, 1]
        blue = image[row, column, 2]
        out[row, column] = (77 * red + 150 * green + 29 * blue + 128) // 256


def grayscale(image, out):
    height, width = out.shape
    blocks = ((height + SIDE - 1) // SIDE, (width + SIDE - 1) // SIDE)
    grayscale_kernel[blocks, (SIDE, SIDE)](image, out)
