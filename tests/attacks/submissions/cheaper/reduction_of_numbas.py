"""Uses the reduction that Numba brings."""

# deserves: technique
# seen as: unsupported
# trick
def total(x, out):
    cuda.reduce(lambda a, b: a + b)(x, res=out)

def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)
# end
