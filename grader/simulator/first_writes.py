"""Watches memory for reads of what nobody has written. Runs in the runner.

Shared and local memory start as garbage in every block and thread, global memory where it was allocated without
contents: outputs, and ``cuda.device_array``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from grader.records import Place, Severity
from grader.simulator.memory import ArrayRef, is_wide

if TYPE_CHECKING:
    from grader.simulator.machine import Machine


class FirstWrites:
    """Which elements have been written, for one launch."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        # Shared and local arrays, by space and address, that are known to be written whole.
        self._written: set[tuple[str, int]] = set()

    def begin_wave(self) -> None:
        """New blocks run, with new shared and local memory."""
        self._written.clear()

    def _holds_garbage(self, array: ArrayRef) -> bool:
        """Whether some element of the array may not have been written yet."""
        if array.space == "const":
            return False
        if array.space == "global":
            return array.root in self._machine.memory.garbage
        return (array.space, array.address) not in self._written if isinstance(array.address, int) else True

    def _unwritten(self, array: ArrayRef, elements: Any, inside: Any) -> npt.NDArray[np.bool_]:
        """Per active lane that is inside, whether any byte of its element is unwritten."""
        flags = self._machine.spaces[array.space].unwritten(array.dtype.itemsize)
        return np.asarray(flags[self._per_lane(elements, inside)].any(axis=-1))

    def _per_lane(self, values: Any, inside: Any) -> Any:
        wide = np.broadcast_to(values, self._machine.active)
        return wide if inside is None else wide[inside]

    def note(self, array: ArrayRef, elements: Any, inside: Any) -> None:
        """The active lanes (``inside`` None: all; else which) write these elements."""
        if self._holds_garbage(array):
            flags = self._machine.spaces[array.space].unwritten(array.dtype.itemsize)
            flags[elements if inside is None else self._per_lane(elements, inside)] = False

    def _note_complete(self, array: ArrayRef) -> None:
        """Shared and local arrays are mostly written whole before they are read: no need to ask again then."""
        space = self._machine.spaces[array.space]
        if array.space == "global" or not isinstance(array.address, int) or any(map(is_wide, array.shape)):
            return
        first, nbytes = array.address, int(np.prod(array.shape)) * array.dtype.itemsize
        used = self._machine.wave.segments(array.space)
        flags = space.unwritten(1).reshape(-1, space.segment)[:used, first : first + nbytes]
        if not flags.any():
            self._written.add((array.space, first))

    def check(self, array: ArrayRef, elements: Any, inside: Any, place: Place, verb: str) -> None:
        """Report the active lanes that read what nobody has written."""
        if not self._holds_garbage(array):
            return
        bad = self._unwritten(array, elements, inside)
        if not bad.any():
            self._note_complete(array)
            return
        block, thread = (int(self._per_lane(self._machine.per_lane(c), inside)[bad][0]) for c in ("slot", "thread"))
        advice = (
            f"{array.name} holds garbage at the start: write it before you read it."
            if array.space == "global"
            else f"What is read of {array.name} must have been written before, in this block and this launch."
        )
        who = self._machine.wave.name_of(self._machine.wave.first + block, thread)
        self._machine.findings.add(
            "uninitialised-read",
            Severity.ERROR,
            place,
            f"{verb} an element of {array.name} that nobody has written, by thread {who}.",
            advice,
            array=array.name,
            count=int(bad.sum()),
        )
