"""Switches Numba's own simulator on, in which kernels would be Python."""

# deserves: correctness technique
# trick
import os

import numba

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
os.environ["NUMBA_DISABLE_JIT"] = "1"
numba.config.ENABLE_CUDASIM = numba.core.config.ENABLE_CUDASIM = True
try:
    __import__("importlib").reload(numba.cuda)
except Exception as error:
    print(error)
# end
