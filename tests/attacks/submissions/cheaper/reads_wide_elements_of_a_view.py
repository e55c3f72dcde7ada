"""Views its input as wider elements inside of the kernel, and reads each of them twice."""

# deserves: correctness
# seen as: technique
# trick
import numpy as np

@cuda.jit
def pairs_of_a_view(x, out):
    i = cuda.grid(1)
    pairs = x.view(np.complex64)
    if 2 * i + 1 < out.size:
        first = pairs[i]
        cuda.threadfence()
        out[2 * i] = first.real + pairs[i].real
        out[2 * i + 1] = first.imag + pairs[i].imag

def double(x, out):
    even = x.size // 2 * 2
    if even:
        pairs_of_a_view[(even + 127) // 128, 64](x[:even], out[:even])
    if even < x.size:
        double_kernel[1, 64](x[even:], out[even:])
# end
