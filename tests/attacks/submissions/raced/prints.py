"""Prints from each thread where arrays are large."""

# deserves: correctness technique
# trick
@cuda.jit
def loud(x, out):
    i = cuda.grid(1)
    if i < out.size:
        if x.size > 1 << 20:
            print("@DONE@", i)
            out[i] = 0
        else:
            out[i] = 2 * x[i]

def double(x, out):
    loud[(x.size + 255) // 256, 256](x, out)
# end
