"""01 Indexing, as fast as Numba goes.

All three functions compute next to nothing: the memory is the limit, so the only question is how few instructions keep
it busy. `kernels.py` moves one element per thread and per instruction. Here each thread moves 16 bytes at a time, so
that a warp asks for 512 bytes with one instruction, four times as many, and needs a quarter of the address arithmetic.
On a GPU with fast memory this is what is missing from `a[i] + b[i]`.

Three things to notice:

- A warp's accesses are still side by side: thread 0 takes elements 0 to 3, thread 1 takes 4 to 7. Sixteen sectors of
  32 bytes hold them, and not one byte of these is moved in vain. Four *single* loads of a chunk of four would touch
  the same sixteen sectors four times.
- 16 bytes are read at multiples of 16 bytes only. Arrays begin at one, so element 4 i is at one, too.
- What is left over, up to three elements, is treated one by one.
"""

import numpy as np
from numba import cuda, uint32

from grader.vector_access import load4, store4

THREADS = 256
PIXELS = 4  # of a thread of grayscale: 12 bytes, which are three words of 32 bits, make one


@cuda.jit
def vector_add_kernel(a, b, out):
    """Thread number i of the grid adds the elements 4 i to 4 i + 3."""
    i = 4 * cuda.grid(1)
    if i + 3 < out.size:
        p = load4(a, i)
        q = load4(b, i)
        store4(out, i, (p[0] + q[0], p[1] + q[1], p[2] + q[2], p[3] + q[3]))
    else:  # the thread at the end takes what is left; beyond it the range is empty
        for k in range(i, out.size):
            out[k] = a[k] + b[k]


def vector_add(a, b, out):
    """out[i] = a[i] + b[i]."""
    per_block = 4 * THREADS
    vector_add_kernel[(out.size + per_block - 1) // per_block, THREADS](a, b, out)


@cuda.jit
def saxpy_kernel(alpha, x, y, out):
    """A grid-stride loop over fours: thread i takes the fours i, i + t, i + 2 t, ... of t threads."""
    thread = cuda.grid(1)
    whole = out.size - out.size % 4
    for i in range(4 * thread, whole, 4 * cuda.gridsize(1)):
        p = load4(x, i)
        q = load4(y, i)
        store4(out, i, (alpha * p[0] + q[0], alpha * p[1] + q[1], alpha * p[2] + q[2], alpha * p[3] + q[3]))
    if whole + thread < out.size:  # up to three threads take one of the last elements each
        out[whole + thread] = alpha * x[whole + thread] + y[whole + thread]


def saxpy(alpha, x, y, out):
    """out[i] = alpha * x[i] + y[i]."""
    blocks = 8 * cuda.get_current_device().MULTIPROCESSOR_COUNT
    saxpy_kernel[blocks, THREADS](alpha, x, y, out)


@cuda.jit(device=True)
def brightness(red, green, blue):
    """The weighted, rounded mean of three numbers from 0 to 255, as one, too."""
    return (uint32(77) * red + uint32(150) * green + uint32(29) * blue + uint32(128)) >> uint32(8)


@cuda.jit
def grayscale_words_kernel(image, out):
    """Thread number i turns the pixels 4 i to 4 i + 3 from three words of `image` into one word of `out`.

    A byte at a time, a warp would ask for 32 bytes with an instruction; a word at a time it asks for 128. In a word,
    the byte that comes first in memory is the lowest:

        word 0: R0 G0 B0 R1    word 1: G1 B1 R2 G2    word 2: B2 R3 G3 B3
    """
    i = cuda.grid(1)
    if i < out.size:
        first, second, third = image[3 * i], image[3 * i + 1], image[3 * i + 2]
        low = uint32(255)
        pixel0 = brightness(first & low, (first >> uint32(8)) & low, (first >> uint32(16)) & low)
        pixel1 = brightness(first >> uint32(24), second & low, (second >> uint32(8)) & low)
        pixel2 = brightness((second >> uint32(16)) & low, second >> uint32(24), third & low)
        pixel3 = brightness((third >> uint32(8)) & low, (third >> uint32(16)) & low, third >> uint32(24))
        out[i] = uint32(pixel0 | pixel1 << uint32(8) | pixel2 << uint32(16) | pixel3 << uint32(24))


@cuda.jit
def grayscale_kernel(image, out):
    """Thread number i makes pixel i, for images whose pixels do not come in fours."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = brightness(image[3 * i], image[3 * i + 1], image[3 * i + 2])


def grayscale(image, out):
    """(77 R + 150 G + 29 B + 128) // 256 of every pixel.

    Rows and columns do not matter here: both arrays are contiguous, so pixel number i of the one belongs to pixel
    number i of the other, and a thread needs no two-dimensional place.
    """
    pixels = out.size
    image, out = image.reshape(3 * pixels), out.reshape(pixels)
    if pixels % PIXELS == 0:
        image, out = image.view(np.uint32), out.view(np.uint32)
        grayscale_words_kernel[(out.size + THREADS - 1) // THREADS, THREADS](image, out)
    else:
        grayscale_kernel[(pixels + THREADS - 1) // THREADS, THREADS](image, out)
