"""Copies its input, viewed as wider elements, into memory of such elements, and reads each of them twice."""

# deserves: correctness
# seen as: technique
# trick
import numpy as np

@cuda.jit
def pairs_twice(pairs, out):
    i = cuda.grid(1)
    if i < out.size:
        first = pairs[i]
        cuda.threadfence()
        out[i] = first + pairs[i]

def double(x, out):
    even = x.size // 2 * 2
    if even:
        pairs = cuda.device_array(even // 2, np.complex64)
        pairs.copy_to_device(x[:even].view(np.complex64))
        pairs_twice[(even + 127) // 128, 64](pairs, out[:even].view(np.complex64))
    if even < x.size:
        double_kernel[1, 64](x[even:], out[even:])
# end
