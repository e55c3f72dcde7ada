"""``device_array[...] = value``, which Numba does with a kernel of its own. Runs in anybody's own process.

In: a device array, what stands in the brackets, a value. Out: the heap changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.simulator.live.binding import number
from grader.simulator.live.driver import DriverApi


class Assignment:
    """Takes the place of Numba's kernel for assignments: ``forall(n, stream)(target, source)``, by NumPy."""

    def __init__(self, api: DriverApi) -> None:
        self._api = api

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Assignment:
        """As Numba's dispatcher has it; there is nothing to choose."""
        return self

    def __call__(self, target: Any, source: Any) -> None:
        """``target[...] = source`` for device arrays of one number of dimensions."""
        if target.size == 0:
            return
        with np.errstate(all="ignore"):
            self._elements(target)[...] = self._elements(source).astype(target.dtype)
        place = self._api.place(number(target.device_ctypes_pointer))
        flags = self._api.heap.unwritten(1)
        shape, strides = (*target.shape, target.dtype.itemsize), (*target.strides, 1)
        np.ndarray(shape, np.bool_, flags, place, strides)[...] = False

    def _elements(self, array: Any) -> np.ndarray[Any, Any]:
        place = self._api.place(number(array.device_ctypes_pointer))
        return np.ndarray(array.shape, array.dtype, self._api.heap.bytes, place, array.strides)
