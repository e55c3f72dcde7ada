"""Launches its one kernel while it is imported, on memory of its own, and nothing when it is called."""
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
scratch = cuda.device_array(2048, "float32")
double_kernel[32, 64](scratch, scratch)

def double(x, out):
    out[:] = scratch[: out.size]

def total(x, out):
    out[:] = scratch[:1]
# honest
def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
# end
