"""Where an access to an array goes: bounds, alignment, element numbers. Runs in the runner.

In: an array and an index per axis, one integer for all active lanes or one per lane. Out: ``Located``, findings. As in
compiled Numba code, a negative signed index counts from the end, once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from grader.records import Place, Severity
from grader.simulator.lane_values import is_wide
from grader.simulator.machine import Machine
from grader.simulator.memory import ArrayRef
from grader.simulator.spots import Located, Spot

Bad = Any  # None: all lanes inside; else a bool per lane, or True for all of them


def locate(machine: Machine, array: ArrayRef, indices: tuple[Any, ...], place: Place, verb: str) -> Located:
    """Where the active lanes access an array. Numbers count elements, or bytes where an element may start anywhere."""
    if machine.lanes is not None:
        return Located(*_locate(machine, array, indices, place, verb))
    key = id(place), verb
    spot = machine.spots.get(key)
    if spot is not None:
        shift = spot.shift(array, indices)
        if shift is not None:
            return Located(spot.elements + shift if shift else spot.elements, None, spot.unit, spot, shift)
    elements, bad, unit = _locate(machine, array, indices, place, verb)
    if bad is None:
        spread = machine.wave.launched if array.space == "local" and machine.program.interleaved else 1
        spot = Spot.of(array, indices, elements, unit, spread)
        if spot is not None:
            if key in machine.spots:
                machine.traffic.settle((machine.spots[key],))
                machine.locksteps.pop(key, None)
            machine.spots[key] = spot
            return Located(elements, None, unit, spot, spot.shift(array, indices) or 0)
    return Located(elements, bad, unit)


def _locate(
    machine: Machine, array: ArrayRef, indices: tuple[Any, ...], place: Place, verb: str
) -> tuple[Any, Bad, int]:
    offset, bad = 0, None
    for index, length, stride in zip(indices, array.shape, array.strides, strict=True):
        inside, outside = wrap(index, length)
        if inside is not index:
            note_negative(machine, array, (index, inside, outside), place)
        offset = offset + inside * stride
        if outside is not False:
            bad = outside if bad is None else bad | outside
    address = array.address
    if (bool((address < 0).any()) if is_wide(address) else address < 0) and array.space != "several":
        nowhere = address < 0
        _report_nowhere(machine, array, nowhere, place, verb)
        bad, reported = (nowhere if bad is None else bad | nowhere), bad
        address = np.where(nowhere, 0, address)
        if reported is not None:
            report_outside(machine, array, indices, reported, place, verb)
    elif bad is not None:
        report_outside(machine, array, indices, bad, place, verb)
    elements, unit = _elements(machine, array, address + offset)
    if unit == 1 and not array.loose:
        _check_alignment(machine, array, elements, bad, place, verb)
    return elements, bad, unit


def wrap(index: Any, length: Any) -> tuple[Any, Any]:
    """The index from the start of its axis, and where it is outside: False, True or a bool per lane."""
    if not is_wide(index) and not is_wide(length):
        number = int(index)
        if number < 0:
            number += int(length)
        return number, not 0 <= number < length
    if np.asarray(index).dtype.kind == "u":
        outside = np.asarray(index, np.uint64) >= np.asarray(length, np.uint64)
        return np.where(outside, 0, index).astype(np.int64), outside if outside.any() else False
    if is_wide(index) and index.dtype != np.int64:
        index = index.astype(np.int64)
    # A negative index is a huge unsigned one: one comparison finds all that need a second look.
    if is_wide(index) and not is_wide(length) and not (index.view(np.uint64) >= np.uint64(length)).any():
        return index, False
    index = np.where(index < 0, index + length, index)
    outside = (index < 0) | (index >= length)
    return index, outside if outside.any() else False


def note_negative(machine: Machine, array: ArrayRef, wrapped: tuple[Any, Any, Any], place: Place) -> None:
    """Note computed negative indices that found an element, from the end. ``wrapped``: index, and ``wrap`` of it.

    A negative number written as such is a Python int here, and meant.
    """
    index, inside, outside = wrapped
    if isinstance(index, int) or not np.any(index < 0):
        return
    lanes = np.flatnonzero(np.broadcast_to((index < 0) & ~np.asarray(outside, bool), machine.active))
    if not lanes.size:
        return
    from_start, from_end = (int(np.broadcast_to(i, machine.active)[lanes[0]]) for i in (inside, index))
    machine.findings.add(
        "negative-index",
        Severity.WARNING,
        place,
        f"An index of {array.name} came out as {from_end}, which counts from the end: element {from_start} is taken, "
        "at the other end.",
        "Guard the access with an if; if the two ends are to be neighbours, write % and the length.",
        array=array.name,
        threads=machine.example(lanes),
        count=lanes.size,
    )


def _elements(machine: Machine, array: ArrayRef, at: Any) -> tuple[Any, int]:
    """Numbers of the elements at byte addresses, and what they count: elements, or bytes in odd places."""
    itemsize = array.dtype.itemsize
    if itemsize & (itemsize - 1) or _is_odd(array, at, itemsize):
        return at + machine.segment_base(array.space, 1), 1
    number = at >> (itemsize.bit_length() - 1)
    if array.space == "local" and machine.program.interleaved:
        return number * machine.wave.launched + machine.per_lane("position"), itemsize
    return number + machine.segment_base(array.space, itemsize), itemsize


def _is_odd(array: ArrayRef, at: Any, itemsize: int) -> bool:
    """Whether some element does not start at a multiple of its size (which is a power of two)."""
    if is_wide(array.address) or any(map(is_wide, array.strides)):
        return bool((at & (itemsize - 1)).any())
    return any(part % itemsize for part in (array.address, *array.strides))


def _check_alignment(machine: Machine, array: ArrayRef, at: Any, bad: Bad, place: Place, verb: str) -> None:
    """Note accesses that a GPU does not make: of numbers at addresses that are no multiple of their alignment."""
    odd = np.broadcast_to(np.asarray(at) % array.dtype.alignment != 0, machine.active)
    if bad is not None:
        odd = odd & ~np.broadcast_to(bad, machine.active)
    lanes = np.flatnonzero(odd)
    if not lanes.size:
        return
    machine.findings.add(
        "misaligned-access",
        Severity.ERROR,
        place,
        f"{verb} an element of {array.name} at an address that is no multiple of {array.dtype.alignment}.",
        "A GPU stops there. Make the dtype with align=True, or view bytes at aligned offsets only.",
        array=array.name,
        count=int(lanes.size),
    )


def elements_of(machine: Machine, array: ArrayRef, unit: int) -> npt.NDArray[Any]:
    """The array's space, to be indexed with what ``locate`` gave."""
    space = machine.spaces[array.space]
    return space.view(array.dtype) if unit == array.dtype.itemsize else space.view_at_bytes(array.dtype)


def _report_nowhere(machine: Machine, array: ArrayRef, nowhere: Bad, place: Place, verb: str) -> None:
    """Note an access through a row, slice or record that does not exist."""
    lanes = np.flatnonzero(np.broadcast_to(nowhere, machine.active))
    threads = machine.example(lanes)
    who = machine.wave.say(*threads[0])
    machine.findings.add(
        "out-of-bounds",
        Severity.ERROR,
        place,
        f"{verb} {array.name} through {array.outside or 'a view outside of it'}, by thread {who}.",
        f"Let only threads whose index is inside {array.name} get here: guard the access with an if.",
        array=array.name,
        threads=threads,
        count=len(lanes),
    )


def report_outside(
    machine: Machine, array: ArrayRef, indices: tuple[Any, ...], bad: Bad, place: Place, verb: str
) -> None:
    """Note an access outside of an array, with an example."""
    lanes = np.flatnonzero(np.broadcast_to(bad, machine.active))
    example = lanes[0]
    position = ", ".join(str(int(np.broadcast_to(i, machine.active)[example])) for i in indices)
    shape = ", ".join(str(int(np.broadcast_to(n, machine.active)[example])) for n in array.shape)
    threads = machine.example(lanes)
    who = machine.wave.say(*threads[0])
    if array.dynamic:
        advice = _more_dynamic(machine, array, indices, lanes)
    else:
        advice = f"Let only threads whose index is inside {array.name} get here: guard the access with an if."
        advice += " Are its indices in the right order?" if len(array.shape) > 1 else ""
    comma = "," if len(array.shape) == 1 else ""
    machine.findings.add(
        "out-of-bounds",
        Severity.ERROR,
        place,
        f"{verb} {array.name}[{position}] outside its shape ({shape}{comma}), by thread {who}.",
        advice,
        array=array.name,
        threads=threads,
        count=len(lanes),
    )


def _more_dynamic(machine: Machine, array: ArrayRef, indices: tuple[Any, ...], lanes: npt.NDArray[np.intp]) -> str:
    """What to try where dynamic shared memory ends before an index does."""
    given, itemsize = machine.dynamic_shared_bytes, array.dtype.itemsize
    size = (
        f"{array.name} is as large as the launch says in its fourth place, kernel[blocks, threads, stream, bytes], in "
        f"bytes: {given:,} here" + ("." if given else ", as it is left out.")
    )
    if len(indices) != 1 or is_wide(array.address) or is_wide(array.strides[0]):
        return f"{size} Is that too small?"
    needed = int(np.broadcast_to(indices[0], machine.active)[lanes].max()) + 1
    if needed <= 0:
        return f"{size} Guard the access with an if."
    before = array.address - array.root if array.root >= 0 else 0  # a part of it may begin later
    return (
        f"{size} This access needs {before + needed * itemsize:,}, {itemsize} for each element; or guard it with an if."
    )
