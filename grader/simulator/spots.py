"""Accesses that a loop repeats: the same array, the same indices per lane, moved by what all lanes share.

Runs in the runner. In: an access. Out: where its next turn is and what it costs, if that is sure.

``tile[ty, k]`` for k = 0, 1, 2 … finds its addresses once; later ones are those plus a constant.
What was found out about them then holds again: they are inside, they cost as much, they have been written.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from grader.simulator.lane_values import is_wide
from grader.simulator.memory import ArrayRef


@dataclass
class Bill:
    """What each turn of a repeated read adds to counters, and how many turns have not been added yet."""

    array: ArrayRef
    counts: tuple[tuple[str, int], ...]
    line: Counter[str]
    accesses: int  # by all lanes
    threads: Any  # of the launch: positions, or a slice
    turns: int = 0


@dataclass
class Spot:
    """One access by all lanes of a wave. ``wide`` has its indices per lane, None for those that all lanes share.

    Registers are never changed in place, so that an index is the same as long as it is the same object. With no index
    per lane it is the block's or the lane's own array that makes places differ; that holds until lanes are left behind.
    """

    array: ArrayRef
    wide: list[Any]
    unit: int  # bytes that elements are counted in: those of one
    elements: npt.NDArray[np.int64]  # where the shared indices are 0
    first: int = 0  # of the elements
    moved: int = 0  # bytes, by indices per lane that have all changed by the same
    spread: int = 1  # from an element of an array to its next: of interleaved local arrays, all lanes' lie between
    span: tuple[int, int] | None = None  # of ``elements`` within their block's memory, once asked for: first and last
    costs: dict[int, int] = field(default_factory=dict)  # sectors or bank conflicts, by where in a sector it begins
    written: set[int] = field(default_factory=set)  # shifts at which all elements have been written
    bills: dict[int, Bill] = field(default_factory=dict)  # of a read, by where in a sector it begins
    # By axis, of indices per lane that have been moved: the least and the largest.
    _ranges: dict[int, tuple[int, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, array: ArrayRef, indices: tuple[Any, ...], elements: Any, unit: int, spread: int = 1) -> Spot | None:
        """The spot of an access that was inside, or None where its next turn cannot be told from this one."""
        wide = [index if is_wide(index) else None for index in indices]
        if not is_wide(elements) or unit != array.dtype.itemsize:
            return None
        if any(map(is_wide, array.parts())) or any(stride % unit for stride in array.strides):
            return None
        spot = cls(array, wide, unit, elements, spread=spread)
        shift = spot.shift(array, indices)
        if shift is None:
            return None
        if shift:
            spot.elements = elements - shift
        spot.first = int(spot.elements[0])
        return spot

    def shift(self, array: ArrayRef, indices: tuple[Any, ...]) -> int | None:
        """How far this access is moved, in elements; None if it is another one, or not inside."""
        if array is not self.array:
            return None
        at = 0
        for axis, (known, index) in enumerate(zip(self.wide, indices, strict=True)):
            if known is not None:
                if index is not known and not self._follow(axis, index):
                    return None
            elif isinstance(index, np.ndarray) or not 0 <= index < array.shape[axis]:
                return None
            else:
                at += int(index) * array.strides[axis]
        return (at + self.moved) // self.unit * self.spread

    def _follow(self, axis: int, index: Any) -> bool:
        """Whether an index per lane is the one before, moved by one number for all and inside still; go by it then."""
        known = self.wide[axis]
        if not isinstance(index, np.ndarray) or index.dtype != known.dtype or index.dtype.kind != "i":
            return False
        by = int(index[0]) - int(known[0])
        # The ends first: lanes that move differently mostly do so there.
        if int(index[-1]) - int(known[-1]) != by:
            return False
        least, largest = self._ranges.get(axis) or (int(known.min()), int(known.max()))
        # One from the end would go on at the other end; so would one that its dtype cannot hold.
        last = min(self.array.shape[axis] - 1, np.iinfo(known.dtype).max)
        if least < 0 or least + by < 0 or largest + by > last or not np.array_equal(index, known + by):
            return False
        self._ranges[axis] = least + by, largest + by
        self.wide[axis] = index
        self.moved += by * self.array.strides[axis]
        return True


@dataclass
class Lockstep:
    """An access of a local array by all lanes of a wave, at indices that they share: in interleaved memory those
    elements are one stretch. Of those in ``known`` there is nothing to find out any more; a turn adds to ``bill``.
    """

    array: ArrayRef
    bill: Bill
    first: int  # element, where the indices are 0
    count: int  # of elements
    known: dict[tuple[Any, ...], npt.NDArray[Any]] = field(default_factory=dict)  # by index

    @classmethod
    def of(cls, array: ArrayRef, spot: Spot) -> Lockstep | None:
        """The lockstep of an access that has a spot and whose costs are known, or None where it is none."""
        if array.space != "local" or any(index is not None for index in spot.wide) or not spot.bills:
            return None
        first, last, count = int(spot.elements[0]), int(spot.elements[-1]), spot.elements.size
        # Lanes keep their order: none can be left out between ends that are as far apart as all lanes are.
        if spot.spread == 1 or last - first != count - 1:
            return None
        return cls(array, next(iter(spot.bills.values())), first, count)

    def learn(self, indices: tuple[Any, ...], shift: int, memory: npt.NDArray[Any]) -> None:
        """Keep where in ``memory`` these indices are."""
        first = self.first + shift
        self.known[indices] = memory[first : first + self.count]

    def find(self, array: ArrayRef, indices: tuple[Any, ...]) -> npt.NDArray[Any] | None:
        """The elements at these indices, one per lane; None where that needs a closer look."""
        if array is not self.array:
            return None
        try:
            return self.known.get(indices)
        except TypeError:  # an index per lane
            return None


class Located(NamedTuple):
    """Where the active lanes access an array: element numbers, who is outside, a number's bytes; a spot, if it is one.

    ``bad`` is None where all lanes are inside; else a bool per lane, or True for all of them.
    """

    elements: Any
    bad: Any
    unit: int
    spot: Spot | None = None
    shift: int = 0
