"""An array as elements of 16 bytes, which ``load4`` and ``store4`` access. Runs in the runner.

In: an array, and where accesses begin. Out: an array of wider elements, and which of them; where a loop's next turn is.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from grader.simulator.access_costs import WIDE
from grader.simulator.lane_values import is_wide
from grader.simulator.machine import Machine
from grader.simulator.memory import ArrayRef
from grader.simulator.spots import Spot
from grader.vector_access import BYTES, LANES

_ELEMENT = np.dtype(np.float32)
_SHIFT, _ELEMENT_SHIFT = BYTES.bit_length() - 1, _ELEMENT.itemsize.bit_length() - 1
# Under which a place's accesses are remembered: by elements of the array, and by those of 16 bytes.
Keys = tuple[tuple[int, str], tuple[int, str]]


class WideElements:
    """An array as elements of 16 bytes, made once for each array that a place accesses in turn.

    That it is the same object again tells ``spots`` that a loop repeats an access.
    """

    def __init__(self) -> None:
        self._array: ArrayRef | None = None
        self._made: ArrayRef | None = None
        self._starts: ArrayRef | None = None  # the elements at which an access may begin

    def again(
        self, machine: Machine, array: ArrayRef, index: tuple[Any, ...], keys: Keys
    ) -> tuple[ArrayRef, Spot, int] | None:
        """The elements of 16 bytes that all lanes accessed before, moved by what they share; None if it is no such
        access, or not all of it is inside and aligned.
        """
        if machine.lanes is not None or array is not self._array or self._made is None or self._starts is None:
            return None
        spot, whole = machine.spots.get(keys[0]), machine.spots.get(keys[1])
        if spot is None or whole is None or whole.array is not self._made:
            return None
        shift = spot.shift(self._starts, index)
        if shift is None or (spot.first + shift) % LANES:
            return None
        return self._made, whole, (spot.first + shift) // LANES - whole.first

    def keep(self, machine: Machine, array: ArrayRef, index: tuple[Any, ...], at: Any, key: tuple[int, str]) -> None:
        """Remember where all lanes access an array."""
        machine.spots.pop(key, None)
        if array is not self._array or self._starts is None:
            return
        elements = (at >> _ELEMENT_SHIFT) + machine.segment_base(array.space, _ELEMENT.itemsize)
        spot = Spot.of(self._starts, index, elements, _ELEMENT.itemsize)
        if spot is not None:
            machine.spots[key] = spot

    def of(self, array: ArrayRef, at: Any) -> tuple[ArrayRef, Any]:
        """An array of 16-byte elements, and which of them begin at the bytes ``at`` of the array's space."""
        if array is not self._array:
            self._array, self._made, self._starts = array, _as_wide(array), None
            if self._made is not None:
                self._starts = replace(array, shape=(*array.shape[:-1], array.shape[-1] - LANES + 1))
        if self._made is None:  # each lane's own array, or one that begins between two elements: a view for each
            return replace(array, dtype=WIDE, address=at, shape=(1,), strides=(BYTES,)), 0
        return self._made, (at - array.address) >> _SHIFT


def _as_wide(array: ArrayRef) -> ArrayRef | None:
    if any(map(is_wide, array.parts())) or array.address < 0 or array.address % BYTES:
        return None
    whole = int(math.prod(array.shape)) // LANES
    return replace(array, dtype=WIDE, address=int(array.address), shape=(whole,), strides=(BYTES,))
