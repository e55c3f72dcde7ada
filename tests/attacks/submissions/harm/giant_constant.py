"""A module whose constant takes a gigabyte when it is compiled."""
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

# deserves: correctness technique
# trick
GIANT = (0,) * (1 << 27) and b"x" * (1 << 30)
# honest
# end

def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
