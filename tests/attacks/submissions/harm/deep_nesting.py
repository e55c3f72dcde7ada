"""A kernel whose expression nests thousands of times, for the compiler to drown in."""
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
text = "x[i]"
for _ in range(5_000):
    text = f"({text} + 0)"
scope = {"cuda": cuda}
exec(compile(f"@cuda.jit\ndef nested(x, out):\n    i = cuda.grid(1)\n    if i < out.size:\n        out[i] = 2 * {text}\n", "kernels.py", "exec"), scope)

def double(x, out):
    scope["nested"][(x.size + 63) // 64, 64](x, out)
# honest
def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)
# end

def total(x, out):
    total_kernel[1, 32](x, out)
