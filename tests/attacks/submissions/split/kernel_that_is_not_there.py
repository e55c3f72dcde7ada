"""Has the plan name a kernel that kernels.py does not have, by a code object of its own making."""

# seen as: foreign-function
# trick
SOURCE = """
from numba import cuda
@cuda.jit
def elsewhere(x, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = 2 * x[i]
"""
scope = {}
exec(compile(SOURCE, "kernels.py", "exec"), scope)

def double(x, out):
    scope["elsewhere"][(x.size + 63) // 64, 64](x, out)
# end
