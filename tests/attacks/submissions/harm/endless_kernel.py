"""Launches a kernel that never ends."""

# seen as: endless-wait
# trick
@cuda.jit
def endless(x, out):
    i = 0
    while i >= 0:
        i = (i + 1) % 1000

def double(x, out):
    endless[1, 1](x, out)
# end
