"""Leaves threads running that would slow down whatever is measured beside it."""
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
threading = __import__("threading")
import time

def busy():
    until = time.monotonic() + 30
    while time.monotonic() < until:
        pass

for _ in range(16):
    try:
        threading.Thread(target=busy, daemon=True).start()
        print("@DONE@")
    except (RuntimeError, OSError):
        pass
# honest
# end

def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
