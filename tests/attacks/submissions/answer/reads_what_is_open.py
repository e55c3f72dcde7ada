"""Reads every descriptor that it has, from its start."""

# deserves: correctness technique
# trick
import os

for descriptor in range(3, 256):
    try:
        os.set_blocking(descriptor, False)
        print(descriptor, os.readlink(f"/proc/self/fd/{descriptor}"))
    except OSError:
        pass
    try:
        print(os.read(descriptor, 1 << 16))
        print(os.pread(descriptor, 1 << 16, 0))
    except OSError:
        pass
# end
