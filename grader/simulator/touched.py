"""What an operation did to each piece of global memory: read, wrote, changed atomically. Runs in the runner, or in
anybody's own process.

In: the marks that a launch left, or a copy's bytes. Out: ``Touched``, and where two of them clash if nothing orders
them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

# What may have been done to a granule; a silent write is one of the value that was there already.
READ, SILENT, WRITTEN, ATOMIC = 1, 2, 4, 8
# For one thing that the later operation did: what of the earlier one's it clashes with. A silent write is what a GPU
# may do first or last, with the same outcome; atomic operations are made for it.
_CLASHES = {
    READ: WRITTEN | ATOMIC,
    SILENT: 0,
    WRITTEN: READ | SILENT | WRITTEN | ATOMIC,
    ATOMIC: READ | SILENT | WRITTEN,
}
_ALL = READ | SILENT | WRITTEN | ATOMIC
# By both codes, the earlier one's first.
_CLASH: npt.NDArray[np.bool_] = np.array(
    [
        [any(later & bit and earlier & others for bit, others in _CLASHES.items()) for later in range(_ALL + 1)]
        for earlier in range(_ALL + 1)
    ]
)


@dataclass(frozen=True, eq=False)
class Touched:
    """Codes of a stretch of memory from address ``start`` on, one per ``granule`` bytes; one code may stand for all."""

    start: int
    granule: int
    codes: npt.NDArray[np.uint8]

    @classmethod
    def whole(cls, start: int, nbytes: int, code: int) -> Touched:
        """A stretch of which every byte had the same done to it."""
        return cls(start, nbytes, np.full(1, code, np.uint8))

    @classmethod
    def of(cls, start: int, granule: int, codes: npt.NDArray[np.uint8]) -> Touched | None:
        """The part that was touched, from the first granule to the last; None where none was."""
        there = codes != 0
        if not there.any():
            return None
        first, last = int(np.argmax(there)), codes.size - 1 - int(np.argmax(there[::-1]))
        start, codes = start + first * granule, codes[first : last + 1]
        if codes[0] and (codes == codes[0]).all():
            return cls.whole(start, codes.size * granule, int(codes[0]))
        return cls(start, granule, codes.copy())

    @classmethod
    def of_array(
        cls, start: int, shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int, code: int
    ) -> Touched | None:
        """The elements of an array at ``start``, to all of which the same was done; gaps between them were not."""
        if 0 in shape:
            return None
        steps = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
        first, last = sum(min(step, 0) for step in steps), sum(max(step, 0) for step in steps) + itemsize
        if last - first == math.prod(shape) * itemsize and 0 not in strides:
            return cls.whole(start + first, last - first, code)
        codes = np.zeros(last - first, np.uint8)
        np.ndarray((*shape, itemsize), np.uint8, codes, -first, (*strides, 1))[...] = code
        return cls.of(start + first, 1, codes)

    @property
    def stop(self) -> int:
        """The first address behind it."""
        return self.start + self.codes.size * self.granule

    def covers(self, other: Touched) -> bool:
        """Whether all that ``other`` did, this did, too: what clashes with the one clashes with the other."""
        if (self.start, self.stop) != (other.start, other.stop):
            return False
        if self.granule != other.granule and 1 not in (self.codes.size, other.codes.size):
            return False
        return not (other.codes & ~self.codes).any()

    def code_at(self, address: int) -> int:
        """What was done there."""
        return int(self.codes[(address - self.start) // self.granule])

    def _codes(self, low: int, high: int, unit: int) -> npt.NDArray[np.uint8]:
        """The codes from ``low`` to ``high``, in pieces of ``unit`` bytes; one where it is one for all."""
        if self.codes.size == 1:
            return self.codes
        first, last = (low - self.start) // self.granule, -(-(high - self.start) // self.granule)
        codes = self.codes[first:last]
        if unit == self.granule:
            return codes
        inside = (low - self.start - first * self.granule) // unit
        return np.repeat(codes, self.granule // unit)[inside : inside + (high - low) // unit]

    def clash_with(self, earlier: Touched) -> int | None:
        """The first address where this and ``earlier`` must not be done in any order; None where there is none."""
        low, high = max(self.start, earlier.start), min(self.stop, earlier.stop)
        if low >= high:
            return None
        sizes = [each.granule for each in (self, earlier) if each.codes.size > 1]
        unit = math.gcd(*sizes, self.start - earlier.start if len(sizes) > 1 else 0) or high - low
        if len(sizes) == 1:  # pieces from one on, whether the other's edge is between two or not
            low -= (low - (self if self.codes.size > 1 else earlier).start) % unit
            high += -(high - low) % unit
        clash = _CLASH[earlier._codes(low, high, unit), self._codes(low, high, unit)]
        return max(low + int(np.argmax(clash)) * unit, self.start, earlier.start) if clash.any() else None
