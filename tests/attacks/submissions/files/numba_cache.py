"""Has Numba's cache lie in a place that outlives it, and fills it."""

# deserves: correctness technique
# trick
import os

os.environ["NUMBA_CACHE_DIR"] = "/tmp/@MARK@"
import numba

numba.config.CACHE_DIR = numba.core.config.CACHE_DIR = "/tmp/@MARK@"

try:
    @numba.njit(cache=True)
    def on_cpu(a):
        return a + 1

    on_cpu(1)
except Exception as error:
    print(error)
# end
