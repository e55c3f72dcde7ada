"""Has a kernel that computes in small grids and writes zeros in larger ones."""

# seen as: wrong-values
# trick
@cuda.jit
def sometimes(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i] if cuda.gridDim.x < 8 else 0

def double(x, out):
    sometimes[(x.size + 63) // 64, 64](x, out)
# end
