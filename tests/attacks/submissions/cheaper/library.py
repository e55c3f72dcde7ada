"""Calls cupy, else torch, else NumPy, for what kernels were asked for."""
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
def library():
    for name in ("cupy", "torch", "jax", "numpy"):
        try:
            return __import__(name)
        except ImportError:
            pass

def double(x, out):
    double_kernel[1, 1](x, out)
    out[:] = library().asarray(x) * 2

def total(x, out):
    double_kernel[1, 1](x, out)
    out[:] = library().asarray(x).sum()
# honest
def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
# end
