"""Replaces a kernel's code by one with other constants, after it was decorated."""
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

# no twin
# trick
function = double_kernel.py_func
function.__code__ = function.__code__.replace(co_consts=(None, 1, 2.0))
total_kernel.py_func.__code__ = function.__code__
# honest
# end

def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
