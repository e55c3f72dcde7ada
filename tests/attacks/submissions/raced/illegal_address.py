"""Writes to an address that is nobody's where arrays are large, so that the GPU's context is lost."""

# deserves: correctness technique
# trick
@cuda.jit
def illegal(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]
        if x.size > 1 << 20:
            out[i + (1 << 42)] = 1

def double(x, out):
    illegal[(x.size + 255) // 256, 256](x, out)
# end
