"""Has a kernel count its runs in memory that it never set, and compute in the first only."""
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
counter = cuda.device_array(1, "int32")

@cuda.jit
def first_only(x, out, counter):
    i = cuda.grid(1)
    if i == 0:
        counter[0] += 1
    if i < out.size and counter[0] < 2:
        out[i] = 2 * x[i]

def double(x, out):
    first_only[(x.size + 63) // 64, 64](x, out, counter)
# honest
def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)
# end

def total(x, out):
    total_kernel[1, 32](x, out)
