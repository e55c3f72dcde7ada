"""Has a kernel write to the output by way of its input, out of bounds."""

# seen as: out-of-bounds
# trick
@cuda.jit
def across(x, out):
    i = cuda.grid(1)
    if i < out.size:
        x[x.size + i] = 2 * x[i]
        out[i] = 2 * x[i]

def double(x, out):
    across[(x.size + 63) // 64, 64](x, out)
# end
