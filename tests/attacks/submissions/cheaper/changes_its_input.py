"""Writes zeros into the input as well, so that zeros would be right."""
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
@cuda.jit
def both(x, out):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = 0
    if i < out.size:
        out[i] = 0

def double(x, out):
    both[(x.size + 63) // 64, 64](x, out)

total = double
# honest
def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
# end
