"""Watches memory for reads of what nobody has written. Runs in the runner.

In: accesses. Out: findings.

Shared and local memory start as garbage in every block and thread, global memory where it was allocated without
contents: outputs, and ``cuda.device_array``.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from grader.records import Place, Severity
from grader.simulator.lane_values import is_wide
from grader.simulator.memory import ArrayRef
from grader.simulator.spots import Located

if TYPE_CHECKING:
    from grader.simulator.machine import Machine


def _is_known(there: Located) -> bool:
    """Whether all of it was found to be written, in an earlier turn of a loop."""
    return there.spot is not None and there.shift in there.spot.written


def _remember(there: Located) -> None:
    if there.spot is not None:
        there.spot.written.add(there.shift)


# Integers that hold as many flags, a byte each, as an element has bytes.
_WORDS = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


class FirstWrites:
    """Which elements have been written, for one launch."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        # Shared and local arrays that are known to be written whole.
        self._written: set[Any] = set()

    def begin_wave(self) -> None:
        """New blocks run, with new shared and local memory."""
        self._written.clear()

    def _holds_garbage(self, array: ArrayRef) -> bool:
        """Whether some element of the array may not have been written yet."""
        if array.space == "const":
            return False
        if array.space == "global":
            return array.root in self._machine.memory.garbage
        return not isinstance(array.address, int) or _extent(array) not in self._written

    def _flags(self, array: ArrayRef, elements: Any, inside: Any, unit: int) -> tuple[npt.NDArray[np.bool_], Any]:
        """The flags of an array's space, and an index that gives, per lane that is inside, those of its bytes."""
        flags = self._machine.spaces[array.space].unwritten(unit)
        index = elements if inside is None else self._per_lane(elements, inside)
        if unit == array.dtype.itemsize:
            return flags, index
        return flags.reshape(-1), np.asarray(index)[..., None] + np.arange(array.dtype.itemsize)

    def _unwritten(self, array: ArrayRef, elements: Any, inside: Any, unit: int) -> npt.NDArray[np.bool_]:
        """Per active lane that is inside, whether any byte of its element is unwritten."""
        flags, index = self._flags(array, self._per_lane(elements, None), inside, unit)
        if flags.ndim == 2 and unit in _WORDS:
            return np.asarray(flags.view(_WORDS[unit])[index, 0] != 0)  # a word's flags at once
        return np.asarray(flags[index].any(axis=-1))

    def _per_lane(self, values: Any, inside: Any) -> Any:
        wide = np.broadcast_to(values, self._machine.active)
        return wide if inside is None else wide[inside]

    def of_record(
        self, record: ArrayRef, leaves: list[tuple[int, np.dtype[Any]]], place: Place
    ) -> list[npt.NDArray[np.bool_]]:
        """Per leaf of a copied record and per lane, which bytes nobody wrote; reports it if they wrote none."""
        if not self._holds_garbage(record):
            return []
        found = []
        for offset, dtype in leaves:
            flags, index = self._bytes(record, offset, dtype)
            found.append(flags[index])
        empty = np.logical_and.reduce([flags.any(axis=-1) for flags in found], axis=0) if found else np.zeros(0, bool)
        if empty.any():
            self._report(record, np.flatnonzero(np.broadcast_to(empty, self._machine.active)), place, "Copy of")
        return found

    def copied(
        self, record: ArrayRef, leaves: list[tuple[int, np.dtype[Any]]], unwritten: list[npt.NDArray[np.bool_]]
    ) -> None:
        """A record now has what a copied one had: some bytes without a value."""
        if not unwritten or not self._holds_garbage(record):
            return
        for (offset, dtype), bad in zip(leaves, unwritten, strict=True):
            flags, index = self._bytes(record, offset, dtype)
            flags[index] = bad
        self._machine.forget_spots()  # what had been written may not be any more

    def _bytes(self, record: ArrayRef, offset: int, dtype: np.dtype[Any]) -> tuple[npt.NDArray[np.bool_], Any]:
        """The flags of a record's space, and per lane where those of one of its leaves are."""
        at = np.broadcast_to(record.address, self._machine.active) + self._machine.segment_base(record.space, 1)
        flags = self._machine.spaces[record.space].unwritten(1).reshape(-1)
        return flags, np.maximum(at, 0)[:, None] + offset + np.arange(dtype.itemsize)

    def note(self, array: ArrayRef, there: Located, inside: Any) -> None:
        """The active lanes (``inside`` None: all; else which) write what is there."""
        if not self._holds_garbage(array) or _is_known(there):
            return
        flags, index = self._flags(array, there.elements, inside, there.unit)
        flags[index] = False
        _remember(there)

    def _note_complete(self, array: ArrayRef) -> None:
        """Shared and local arrays are mostly written whole before they are read: no need to ask again then."""
        space = self._machine.spaces[array.space]
        extent = _extent(array)
        if array.space == "global" or not isinstance(array.address, int) or extent is None:
            return
        nbytes = math.prod(array.shape) * array.dtype.itemsize
        if array.strides[:1] != (nbytes // max(array.shape[0], 1),) or array.strides[-1] != array.dtype.itemsize:
            return  # a column, a field: not one stretch of bytes
        first, wave = array.address, self._machine.wave
        flags = space.unwritten(1).reshape(-1)
        if array.space == "local" and self._machine.program.interleaved:
            flags = flags[first * wave.launched : (first + nbytes) * wave.launched]
        else:
            flags = flags.reshape(-1, space.segment)[: wave.segments(array.space), first : first + nbytes]
        if not flags.any():
            self._written.add(extent)

    def knows(self, array: ArrayRef, there: Located) -> bool:
        """Whether what is there is known to have been written."""
        return _is_known(there) or not self._holds_garbage(array)

    def vouches_for(self, array: ArrayRef) -> bool:
        """Whether all of an array is known to have been written."""
        return not self._holds_garbage(array)

    def check(self, array: ArrayRef, there: Located, inside: Any, place: Place, verb: str) -> None:
        """Report the active lanes that read what nobody has written."""
        if not self._holds_garbage(array) or _is_known(there):
            return
        bad = self._unwritten(array, there.elements, inside, there.unit)
        if not bad.any():
            _remember(there)
            self._note_complete(array)
            return
        lanes = np.flatnonzero(bad) if inside is None else self._per_lane(np.arange(self._machine.active), inside)[bad]
        self._report(array, lanes, place, f"{verb} an element of")

    def _report(self, array: ArrayRef, lanes: npt.NDArray[np.intp], place: Place, verb: str) -> None:
        """Report an access of these active lanes."""
        block, thread = (
            int(np.broadcast_to(self._machine.per_lane(c), self._machine.active)[lanes[0]]) for c in ("slot", "thread")
        )
        advice = (
            f"{array.name} holds garbage at the start: write it before you read it."
            if array.space == "global"
            else f"What is read of {array.name} must have been written before, in this block and this launch. "
            "Which threads leave their elements out: by a guard, an early return, a loop that ends too soon?"
        )
        who = self._machine.wave.name_of(int(self._machine.wave.numbers[block]), thread)
        self._machine.findings.add(
            "uninitialised-read",
            Severity.ERROR,
            place,
            f"{verb} {array.name} that nobody has written, by thread {who}.",
            advice,
            array=array.name,
            # An atomic operation writes, too: how many come before there is a value depends on their order.
            count=1 if verb.startswith("Atomic") else lanes.size,
        )


def _extent(array: ArrayRef) -> Any:
    """What tells the memory of arrays apart that are the same for all lanes; None for others."""
    if not array.shape or any(map(is_wide, array.shape)) or any(map(is_wide, array.strides)):
        return None
    return array.space, array.address, array.shape, array.strides
