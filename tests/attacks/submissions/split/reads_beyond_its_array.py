"""Has a kernel look for results behind the end of its input."""

# seen as: out-of-bounds
# trick
@cuda.jit
def behind(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[x.size + 64 + i]

def double(x, out):
    behind[(x.size + 63) // 64, 64](x, out)

def total(x, out):
    behind[1, 32](x, out)
# end
