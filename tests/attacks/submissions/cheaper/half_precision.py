"""Computes in float16."""

# seen as: wrong-values
# trick
import numpy as np

@cuda.jit
def half(x, out):
    i = cuda.grid(1)
    mine = cuda.local.array(1, np.float16)
    if i < out.size:
        mine[0] = x[i]
        out[i] = mine[0] + mine[0]

def double(x, out):
    half[(x.size + 63) // 64, 64](x, out)
# end
