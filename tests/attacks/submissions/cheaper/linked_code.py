"""Links code in another language to a kernel."""
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
outside = cuda.declare_device("outside", "float32(float32)") if hasattr(cuda, "declare_device") else None

@cuda.jit(link=["outside.cu"])
def uses(x, out):
    out[0] = outside(x[0])

def double(x, out):
    uses[1, 1](x, out)

total = double
# honest
def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    total_kernel[1, 32](x, out)
# end
