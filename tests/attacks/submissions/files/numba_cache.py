"""Has Numba's cache lie in a place that outlives it, and fills it."""
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
# no twin
# trick
import os

os.environ["NUMBA_CACHE_DIR"] = "/tmp/@MARK@"
import numba

numba.config.CACHE_DIR = numba.core.config.CACHE_DIR = "/tmp/@MARK@"

try:
    @numba.njit(cache=True)
    def on_cpu(a):
        return a + 1

    on_cpu(1)
except Exception as error:
    print(error)
# honest
# end

def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
