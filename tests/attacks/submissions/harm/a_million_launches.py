"""Launches a kernel a million times."""

# seen as: too-many-operations
# trick
def double(x, out):
    for _ in range(1_000_000):
        double_kernel[(x.size + 63) // 64, 64](x, out)
# end
