"""Teaches Numba what math.sqrt is, by the original of overload that it finds behind the grader's."""

# seen as: wrong-values
# trick
import math
from numba import extending

def mine(x):
    pass

original = getattr(extending.overload, "__wrapped__", extending.overload)
original(mine)(lambda x: lambda x: 2 * x)
original(math.sqrt, target="cuda")(lambda x: lambda x: 2 * x)

@cuda.jit
def uses(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = math.sqrt(x[i])

def double(x, out):
    uses[(x.size + 63) // 64, 64](x, out)
# end
