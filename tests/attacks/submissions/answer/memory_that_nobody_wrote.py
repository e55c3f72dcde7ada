"""Has a kernel copy device memory that nobody wrote, for what others left there."""
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
def copy(source, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = source[i]

def double(x, out):
    for _ in range(8):
        copy[(out.size + 63) // 64, 64](cuda.device_array(out.shape, out.dtype), out)

def total(x, out):
    copy[1, 32](cuda.device_array(1 << 16, out.dtype), out)
# honest
def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
# end
