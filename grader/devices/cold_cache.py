"""Empties a GPU's cache before a run is timed. Runs in the runner.

In: how often. Out: nothing; the GPU is kept busy for as long as that takes.

Writing over the cache would be enough to make it cold, but what was written must leave it before anything else comes
in, and the run that is timed would pay for that. So the last thing is to read: what is then in the cache can go.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import cuda, float32

# The buffer is so many times as large as the cache.
OVER = 2
MIN_BYTES = 64 << 20
THREADS = 256
BLOCKS_PER_MULTIPROCESSOR = 8


def _read(buffer: Any, out: Any) -> None:
    """Read all of ``buffer``; the sum is used, so that the reads are made, and never written: it is 0."""
    total = float32(0)
    for i in range(cuda.grid(1), buffer.size, cuda.gridsize(1)):
        total += buffer[i]
    if total != float32(0):
        out[0] = total


class ColdCache:
    """A buffer larger than the current GPU's cache."""

    def __init__(self) -> None:
        device = cuda.get_current_device()
        nbytes = max(OVER * int(device.L2_CACHE_SIZE), MIN_BYTES)
        self._buffer = cuda.device_array(nbytes // 4, np.float32)
        self._out = cuda.device_array(1, np.float32)
        self._read = cuda.jit("void(float32[::1], float32[::1])")(_read)
        self._blocks = BLOCKS_PER_MULTIPROCESSOR * int(device.MULTIPROCESSOR_COUNT)

    def overwrite(self, times: int) -> None:
        """Ask the default stream to write over the cache ``times`` times."""
        for _ in range(times):
            cuda.cudadrv.driver.device_memset(self._buffer, 0, 4 * self._buffer.size, cuda.default_stream())

    def clean(self) -> None:
        """Ask the default stream to read, so that nothing is left that has to be written to memory."""
        self._read[self._blocks, THREADS](self._buffer, self._out)
