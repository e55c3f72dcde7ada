"""Reads and writes far outside of its arrays."""
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
def outside(x, out):
    i = cuda.grid(1)
    out[i * 1_000_003] = 2 * x[i * 1_000_003]

def double(x, out):
    outside[(x.size + 63) // 64, 64](x, out)
# honest
def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)
# end

def total(x, out):
    total_kernel[1, 32](x, out)
