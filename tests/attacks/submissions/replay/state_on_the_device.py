"""Has a kernel count its runs in memory that it never set, and compute in the first only."""

# seen as: uninitialised-read
# trick
counter = cuda.device_array(1, "int32")

@cuda.jit
def first_only(x, out, counter):
    i = cuda.grid(1)
    if i == 0:
        counter[0] += 1
    if i < out.size and counter[0] < 2:
        out[i] = 2 * x[i]

def double(x, out):
    first_only[(x.size + 63) // 64, 64](x, out, counter)
# end
