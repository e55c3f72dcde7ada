"""Kernels that hang, crash, or are right by chance: texts of kernels.py for assignment 01."""

HANGING = """
from numba import cuda

@cuda.jit
def kernel(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]
    # Some 14 seconds, which is longer than the limit, and 28 at most (PTX ISA, "nanosleep": up to twice as long as
    # asked for): so it ends by itself, too.
    if i == 0:
        for _ in range(14_000):
            cuda.nanosleep(1_000_000)

def vector_add(a, b, out):
    kernel[(a.size + 255) // 256, 256](a, b, out)
"""
ILLEGAL = """
from numba import cuda

@cuda.jit
def kernel(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i + (1 << 42)] = a[i] + b[i]

def vector_add(a, b, out):
    kernel[(a.size + 255) // 256, 256](a, b, out)
"""
# Right in most runs: wrong where the first element of a is large.
SOMETIMES_WRONG = """
from numba import cuda, float32

@cuda.jit
def kernel(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i] + (float32(1) if a[0] > 0 else float32(0))

def vector_add(a, b, out):
    kernel[(a.size + 255) // 256, 256](a, b, out)
"""
# Right, and writes elsewhere as well: {where} is an index behind the end of out.
OUTSIDE = """
from numba import cuda

@cuda.jit
def kernel(a, b, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = a[i] + b[i]
        out[{where}] = 7

def vector_add(a, b, out):
    kernel[(a.size + 255) // 256, 256](a, b, out)
"""
