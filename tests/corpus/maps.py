"""Maps: each thread an element of its own."""

from __future__ import annotations

import numpy as np
from numba import cuda, float32


def vector_add(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        # wrong: if i <= out.size: -> out-of-bounds on out at: out[i] = a[i]
        # wrong: if i < out.size - 1: -> unwritten-output
        out[i] = a[i] + b[i]


def run_vector_add(bench):
    a, b = bench.rng.random((2, 1000)).astype(np.float32)
    out = bench.device_array(1000, np.float32)
    bench.launch(vector_add, 8, 128, a, b, out)
    return [(out, a + b)]


def saxpy_in_place(alpha, x, y):
    """A persistent kernel: few blocks, any length."""
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        # wrong: for i in range(cuda.grid(1), x.size, cuda.blockDim.x): -> race on y at: y[i] = alpha
        y[i] = alpha * x[i] + y[i]


def run_saxpy_in_place(bench):
    x, y = bench.rng.random((2, 3001)).astype(np.float32)
    expected = np.float32(2.5) * x + y
    bench.launch(saxpy_in_place, 4, 64, np.float32(2.5), x, y)
    return [(y, expected)]


def reverse_in_place(x):
    i = cuda.grid(1)
    if i < x.size // 2:
        # wrong: if i < x.size: -> race on x at: x[j] = mine
        j = x.size - 1 - i
        mine, theirs = x[i], x[j]
        x[j] = mine
        x[i] = theirs


def run_reverse_in_place(bench):
    x = bench.rng.random(777)
    expected = x[::-1].copy()
    bench.launch(reverse_in_place, 7, 128, x)
    return [(x, expected)]


def clamp(image, low, high, out):
    row, column = cuda.grid(2)
    if row < image.shape[0] and column < image.shape[1]:
        # wrong: if row < image.shape[0]: -> out-of-bounds on image at: value = image
        value = image[row, column]
        out[row, column] = low if value < low else high if value > high else value


def run_clamp(bench):
    image = bench.rng.normal(size=(37, 21))
    out = bench.device_array(image.shape, np.float64)
    bench.launch(clamp, (5, 3), (8, 8), image, -0.5, 0.5, out)
    return [(out, image.clip(-0.5, 0.5))]


def interleave(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        out[2 * i] = a[i]
        out[2 * i + 1] = b[i]
        # wrong: out[2 * i + 2] = b[i] -> race on out
        # wrong: out[2 * i + 2] = b[i] -> out-of-bounds on out
        # wrong: out[2 * i] = b[i] -> unwritten-output


def run_interleave(bench):
    a, b = bench.rng.random((2, 500))
    out = bench.device_array(1000, np.float64)
    bench.launch(interleave, 4, 128, a, b, out)
    return [(out, np.stack([a, b], axis=1).ravel())]


def polynomial(coefficients, x, out):
    """Horner's rule."""
    i = cuda.grid(1)
    if i < x.size:
        out[i] = 0
        # wrong: pass -> uninitialised-read on out at: out[i] = out[i] * x[i]
        for k in range(coefficients.size):
            out[i] = out[i] * x[i] + coefficients[k]


def run_polynomial(bench):
    coefficients, x = bench.rng.random(5), bench.rng.random(300)
    out = bench.device_array(300, np.float64)
    bench.launch(polynomial, 3, 128, coefficients, x, out)
    return [(out, np.polyval(coefficients, x))]


def shift_left(x, out):
    i = cuda.grid(1)
    if i < x.size - 1:
        # wrong: if i < x.size: -> out-of-bounds on x at: out[i] = x[i + 1]
        out[i] = x[i + 1]
    elif i == x.size - 1:
        # wrong: elif i == x.size: -> out-of-bounds on out at: out[i] = 0
        # wrong: elif i == x.size - 2: -> unwritten-output
        out[i] = 0


def run_shift_left(bench):
    x = bench.rng.random(300)
    out = bench.device_array(300, np.float64)
    bench.launch(shift_left, 3, 128, x, out)
    return [(out, np.append(x[1:], 0))]


def rows_of_two_dimensions(x, out):
    """Each thread goes down a column; both axes in steps of the grid."""
    first_row, first_column = cuda.grid(2)
    rows, columns = cuda.gridsize(2)
    for row in range(first_row, x.shape[0], rows):
        for column in range(first_column, x.shape[1], columns):
            # wrong: for column in range(first_column, x.shape[1] + 1, columns): -> out-of-bounds on x at: x[row
            # wrong: for column in range(first_column + 1, x.shape[1], columns): -> unwritten-output
            out[row, column] = float32(2) * x[row, column]


def run_rows_of_two_dimensions(bench):
    x = bench.rng.random((50, 45)).astype(np.float32)
    out = bench.device_array(x.shape, np.float32)
    bench.launch(rows_of_two_dimensions, (2, 2), (8, 4), x, out)
    return [(out, 2 * x)]
