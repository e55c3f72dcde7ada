"""Computes in an njit function with prange on the CPU."""

# seen as: exception
# trick
import numba

@numba.njit(parallel=True)
def twice(x, out):
    for i in numba.prange(x.size):
        out[i] = 2 * x[i]

def double(x, out):
    double_kernel[1, 1](x, out)
    twice(x, out)
# end
