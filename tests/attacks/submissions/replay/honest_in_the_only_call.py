"""Is honest where it is called once, as for counting or a race, and replays where it is called again."""
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
SEEN = []

def double(x, out):
    SEEN.append(x.shape)
    if len(SEEN) > 3:
        double_kernel[1, 1](out, out)
    else:
        double_kernel[(x.size + 63) // 64, 64](x, out)
# honest
def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)
# end

def total(x, out):
    total_kernel[1, 32](x, out)
