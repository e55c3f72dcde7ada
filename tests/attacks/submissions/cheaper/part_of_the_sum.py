"""Sums every second element and doubles the result."""

# deserves: technique
# seen as: wrong-values
# trick
@cuda.jit
def sample(x, out):
    whole = 0.0
    for k in range(0, x.size, 2):
        whole += x[k]
    out[0] = 2 * whole

def total(x, out):
    sample[1, 1](x, out)

def double(x, out):
    double_kernel[(x.size + 63) // 64, 64](x, out)
# end
