"""Has the host copy the input into the output, and launches a kernel that does nothing."""

# seen as: wrong-values
# trick
@cuda.jit
def nothing(out):
    pass

def double(x, out):
    nothing[1, 1](out)
    out.copy_to_device(x)

def total(x, out):
    nothing[1, 1](out)
    out.copy_to_device(x[:1])
# end
