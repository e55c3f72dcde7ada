"""Has a kernel call a C function, by ctypes and by cffi's address."""

# seen as: unsupported-capture
# trick
ctypes = __import__("ctypes")
sqrt = ctypes.CDLL(None).labs
sqrt.argtypes, sqrt.restype = [ctypes.c_long], ctypes.c_long

@cuda.jit
def calls(x, out):
    out[0] = sqrt(1)

def double(x, out):
    calls[1, 1](x, out)

total = double
# end
