"""Has a kernel look for results behind the end of its input."""
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
def behind(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[x.size + 64 + i]

def double(x, out):
    behind[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    behind[1, 32](x, out)
# honest
def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
# end
