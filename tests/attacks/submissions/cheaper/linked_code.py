"""Links code in another language to a kernel."""

# seen as: unsupported
# trick
outside = cuda.declare_device("outside", "float32(float32)") if hasattr(cuda, "declare_device") else None

@cuda.jit(link=["outside.cu"])
def uses(x, out):
    out[0] = outside(x[0])

def double(x, out):
    uses[1, 1](x, out)

total = double
# end
