"""Allocates a terabyte on the device."""

# seen as: memory
# trick
import numpy as np

def double(x, out):
    for _ in range(64):
        cuda.device_array(1 << 32, np.float32)
    double_kernel[(x.size + 63) // 64, 64](x, out)
# end
