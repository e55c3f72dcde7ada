"""Persuades the recorder that a foreign function is in the text of kernels.py."""

# seen as: malformed-plan
# trick
import grader.kernels_text as kernels_text

scope = {}
exec(compile("from numba import cuda\n@cuda.jit\ndef foreign(x, out):\n    out[0] = x[0]\n", "x", "exec"), scope)
kernels_text.KernelsText.index_of = lambda self, code: 1
foreign = scope["foreign"]
double_kernel = total_kernel = foreign
# end
