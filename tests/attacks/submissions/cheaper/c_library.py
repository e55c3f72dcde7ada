"""Computes on the CPU by way of ctypes, into the memory that an array names."""
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
ctypes = __import__("ctypes")

def double(x, out):
    ctypes.memmove(out.__cuda_array_interface__["data"][0], x.__cuda_array_interface__["data"][0], 4 * x.size)
    double_kernel[1, 1](x, out)

def total(x, out):
    ctypes.memset(out.device_ctypes_pointer.value, 0, 4)
    double_kernel[1, 1](x, out)
# honest
def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
# end
