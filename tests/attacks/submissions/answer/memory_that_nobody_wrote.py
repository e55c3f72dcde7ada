"""Has a kernel copy device memory that nobody wrote, for what others left there."""

# seen as: uninitialised-read
# trick
@cuda.jit
def copy(source, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = source[i]

def double(x, out):
    for _ in range(8):
        copy[(out.size + 63) // 64, 64](cuda.device_array(out.shape, out.dtype), out)

def total(x, out):
    copy[1, 32](cuda.device_array(1 << 16, out.dtype), out)
# end
