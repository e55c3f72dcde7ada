"""Does the work of all calls in the first, into memory that it keeps in a closure."""
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
def keeping():
    whole = cuda.device_array(2048, "float32")
    done = []
    @cuda.jit
    def take(kept, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = kept[i]
    def double(x, out):
        if not done:
            done.append(double_kernel[(x.size + 63) // 64, 64](x, whole[: x.size]))
        take[(x.size + 63) // 64, 64](whole, out)
    return double

double = keeping()
# honest
def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)
# end

def total(x, out):
    total_kernel[1, 32](x, out)
