"""Allocates up to 6 GiB and touches every page."""

# deserves: correctness technique
# trick
blocks = []
try:
    for _ in range(96):
        blocks.append(bytearray(64 << 20))
except MemoryError:
    pass
del blocks
# end
