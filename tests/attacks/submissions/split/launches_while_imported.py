"""Launches its one kernel while it is imported, on memory of its own, and nothing when it is called."""

# seen as: no-launch
# trick
scratch = cuda.device_array(2048, "float32")
double_kernel[32, 64](scratch, scratch)

def double(x, out):
    out[:] = scratch[: out.size]

def total(x, out):
    out[:] = scratch[:1]
# end
