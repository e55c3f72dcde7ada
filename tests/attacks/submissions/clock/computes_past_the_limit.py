"""Ignores the signal of its time limit, and computes for a minute."""
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
import time

signal = __import__("signal")
signal.signal(signal.SIGXCPU, signal.SIG_IGN)

def double(x, out):
    until = time.monotonic() + 60
    while time.monotonic() < until:
        pass
    double_kernel[(x.size + 63) // 64, 64](x, out)
# honest
def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)
# end

def total(x, out):
    total_kernel[1, 32](x, out)
