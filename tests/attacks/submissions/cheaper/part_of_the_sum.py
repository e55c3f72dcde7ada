"""Sums every second element and doubles the result."""
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

# deserves: technique
# trick
@cuda.jit
def sample(x, out):
    whole = 0.0
    for k in range(0, x.size, 2):
        whole += x[k]
    out[0] = 2 * whole

def total(x, out):
    sample[1, 1](x, out)

def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)
# honest
def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
# end
