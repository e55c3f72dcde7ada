"""Uses the reduction that Numba brings."""
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
def total(x, out):
    cuda.reduce(lambda a, b: a + b)(x, res=out)

def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)
# honest
def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
# end
