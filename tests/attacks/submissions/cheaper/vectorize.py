"""Lets Numba write the kernel: vectorize for the GPU."""

# seen as: kernel-only
# trick
import numba

@numba.vectorize(["float32(float32)"], target="cuda")
def twice(x):
    return 2 * x

def double(x, out):
    twice(x, out=out)
# end
