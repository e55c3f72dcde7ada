"""``device_array[...] = value``, which Numba does with a kernel of its own. Runs in anybody's own process.

In: a device array, what stands in the brackets, a value. Out: the heap changed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.simulator.live.binding import number
from grader.simulator.live.driver import DriverApi
from grader.simulator.streams import is_default
from grader.simulator.touched import READ, WRITTEN, Touched


class Assignment:
    """Takes the place of Numba's kernel for assignments: ``forall(n, stream)(target, source)``, by NumPy."""

    def __init__(self, api: DriverApi, stream: Any = 0) -> None:
        self._api = api
        self._stream = stream

    def forall(self, ntasks: int, tpb: int = 0, stream: Any = 0, sharedmem: int = 0) -> Assignment:
        """As Numba's dispatcher has it; there is nothing to choose but the stream."""
        return Assignment(self._api, stream)

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
        self._note(target, source)

    def _note(self, target: Any, source: Any) -> None:
        """Tell what was touched on a stream of its own; what the gaps of a strided array hold was not."""
        handle = number(getattr(self._stream, "handle", self._stream))
        if is_default(handle):
            self._api.streams.finish_all()
            return
        touched = [
            Touched.of_array(
                self._api.place(number(array.device_ctypes_pointer)),
                array.shape,
                array.strides,
                array.dtype.itemsize,
                code,
            )
            for array, code in ((source, READ), (target, WRITTEN))
        ]
        self._api.on_copy("the assignment", handle, tuple(each for each in touched if each is not None))

    def _elements(self, array: Any) -> np.ndarray[Any, Any]:
        place = self._api.place(number(array.device_ctypes_pointer))
        return np.ndarray(array.shape, array.dtype, self._api.heap.bytes, place, array.strides)
