"""Launches more blocks than there can be."""

# seen as: launch-configuration
# trick
def double(x, out):
    double_kernel[1 << 40, 1024](x, out)
# end
