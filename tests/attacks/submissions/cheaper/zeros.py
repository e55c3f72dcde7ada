"""Launches a kernel that writes zeros."""

# seen as: wrong-values
# trick
@cuda.jit
def zeros(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 0

def double(x, out):
    zeros[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    zeros[1, 32](x, out)
# end
