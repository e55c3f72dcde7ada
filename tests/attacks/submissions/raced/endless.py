"""Has a kernel that does not end where arrays are large, as they are in a race."""

# deserves: correctness technique
# trick
@cuda.jit
def endless(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]
    # Some 14 seconds, and 28 at most, which is far beyond any limit here (PTX ISA, "nanosleep").
    if i == 0 and x.size > 1 << 20:
        for _ in range(14_000):
            cuda.nanosleep(1_000_000)

def double(x, out):
    endless[(x.size + 255) // 256, 256](x, out)
# end
