"""Reads and writes far outside of its arrays."""

# seen as: out-of-bounds
# trick
@cuda.jit
def outside(x, out):
    i = cuda.grid(1)
    out[i * 1_000_003] = 2 * x[i * 1_000_003]

def double(x, out):
    outside[(x.size + 63) // 64, 64](x, out)
# end
