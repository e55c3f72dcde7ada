"""Has the host copy the input into the output, and launches a kernel that does nothing."""
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
def nothing(out):
    pass

def double(x, out):
    nothing[1, 1](out)
    out.copy_to_device(x)

def total(x, out):
    nothing[1, 1](out)
    out.copy_to_device(x[:1])
# honest
def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
# end
