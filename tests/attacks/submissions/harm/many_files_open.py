"""Opens files until there are no descriptors left."""

# deserves: correctness technique
# trick
import os

opened = []
try:
    for _ in range(100_000):
        opened.append(os.open("/dev/null", os.O_RDONLY))
except OSError:
    pass
for descriptor in opened:
    os.close(descriptor)
# end
