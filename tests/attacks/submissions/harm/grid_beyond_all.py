"""Launches more blocks than there can be."""

# trick
def double(x, out):
    double_kernel[1 << 40, 1024](x, out)
# end
