"""Has a second kernel read in shared memory what a first one may have left there."""

# seen as: uninitialised-read
# trick
from numba import float32

@cuda.jit
def leaves(x, out):
    kept = cuda.shared.array(64, float32)
    kept[cuda.threadIdx.x] = 2 * x[cuda.threadIdx.x % x.size]

@cuda.jit
def takes(x, out):
    kept = cuda.shared.array(64, float32)
    i = cuda.grid(1)
    if i < out.size:
        out[i] = kept[cuda.threadIdx.x]

def double(x, out):
    leaves[1, 64](x, out)
    takes[(out.size + 63) // 64, 64](x, out)
# end
