"""Computes on the CPU and launches a kernel that does nothing."""

# seen as: contents-read
# trick
import numpy as np

@cuda.jit
def nothing(out):
    pass

def double(x, out):
    nothing[1, 1](out)
    out[:] = 2 * np.asarray(x)

def total(x, out):
    nothing[1, 1](out)
    out[0] = np.asarray(x).sum()
# end
