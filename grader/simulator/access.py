"""Reading and writing array elements: addresses, bounds, counters, findings. Runs in the runner.

An index is one integer for all active lanes or one per lane. As in compiled Numba code, a negative signed index
counts from the end, once. An access outside of the array is reported and suppressed; the launch goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.errors import NotSimulated
from grader.records import Place, Severity
from grader.simulator.frontend import KernelError
from grader.simulator.machine import LaneIndex, Machine
from grader.simulator.memory import NOWHERE, ArrayRef, alike, is_wide, take
from grader.simulator.numba_types import convert
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
        spot = Spot.of(array, indices, elements, unit)
        if spot is not None:
            machine.spots[key] = spot
            return Located(elements, None, unit, spot, spot.shift(array, indices) or 0)
    return Located(elements, bad, unit)


def _locate(
    machine: Machine, array: ArrayRef, indices: tuple[Any, ...], place: Place, verb: str
) -> tuple[Any, Bad, int]:
    offset, bad = 0, None
    for index, length, stride in zip(indices, array.shape, array.strides, strict=True):
        inside, outside = _wrap(index, length)
        if inside is not index:
            _note_negative(machine, array, (index, inside, outside), place)
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


def _wrap(index: Any, length: Any) -> tuple[Any, Any]:
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


def _note_negative(machine: Machine, array: ArrayRef, wrapped: tuple[Any, Any, Any], place: Place) -> None:
    """Note computed negative indices that found an element, from the end. ``wrapped``: index, and ``_wrap`` of it.

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
        "so the boundary became periodic.",
        "Guard the access with an if; if you mean a periodic boundary, write % and the length.",
        array=array.name,
        threads=machine.wave.threads(lanes[:1] if machine.lanes is None else machine.lanes[lanes[:1]]),
        count=lanes.size,
    )


def _elements(machine: Machine, array: ArrayRef, at: Any) -> tuple[Any, int]:
    """Numbers of the elements at byte addresses, and what they count: elements, or bytes in odd places."""
    itemsize = array.dtype.itemsize
    if itemsize & (itemsize - 1) or _is_odd(array, at, itemsize):
        return at + machine.segment_base(array.space, 1), 1
    return (at >> (itemsize.bit_length() - 1)) + machine.segment_base(array.space, itemsize), itemsize


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


def _memory(machine: Machine, array: ArrayRef, unit: int) -> npt.NDArray[Any]:
    """The array's space, to be indexed with what ``locate`` gave."""
    space = machine.spaces[array.space]
    return space.view(array.dtype) if unit == array.dtype.itemsize else space.view_at_bytes(array.dtype)


def _report_nowhere(machine: Machine, array: ArrayRef, nowhere: Bad, place: Place, verb: str) -> None:
    """Note an access through a row, slice or record that does not exist."""
    lanes = np.flatnonzero(np.broadcast_to(nowhere, machine.active))
    threads = machine.wave.threads(lanes[:1] if machine.lanes is None else machine.lanes[lanes[:1]])
    block, thread = threads[0]
    machine.findings.add(
        "out-of-bounds",
        Severity.ERROR,
        place,
        f"{verb} {array.name} through {array.outside or 'a view outside of it'}, by thread {thread} of block {block}.",
        f"Let only threads whose index is inside {array.name} get here: guard the access with an if.",
        array=array.name,
        threads=threads,
        count=len(lanes),
    )


def by_source(machine: Machine, array: ArrayRef) -> Iterator[tuple[ArrayRef, LaneIndex]]:
    """Where lanes hold arrays of different buffers: each of these, and its positions among the active lanes.

    While the caller works on one of them, only its lanes take part.
    """
    which = np.broadcast_to(array.which, machine.active)
    for number in np.unique(which).tolist():
        lanes = np.flatnonzero(which == number)
        with machine.only(lanes):
            yield take(array, lanes).of_source(number), lanes


def report_outside(
    machine: Machine, array: ArrayRef, indices: tuple[Any, ...], bad: Bad, place: Place, verb: str
) -> None:
    """Note an access outside of an array, with an example."""
    lanes = np.flatnonzero(np.broadcast_to(bad, machine.active))
    example = lanes[0]
    position = ", ".join(str(int(np.broadcast_to(i, machine.active)[example])) for i in indices)
    shape = ", ".join(str(int(np.broadcast_to(n, machine.active)[example])) for n in array.shape)
    where = lanes[:1] if machine.lanes is None else machine.lanes[lanes[:1]]
    threads = machine.wave.threads(where)
    block, thread = threads[0]
    comma = "," if len(array.shape) == 1 else ""
    machine.findings.add(
        "out-of-bounds",
        Severity.ERROR,
        place,
        f"{verb} {array.name}[{position}] outside its shape ({shape}{comma}), by thread {thread} of block {block}.",
        f"Let only threads whose index is inside {array.name} get here: guard the access with an if.",
        array=array.name,
        threads=threads,
        count=len(lanes),
    )


def load(machine: Machine, array: ArrayRef, indices: tuple[Any, ...], place: Place, *, copied: bool = False) -> Any:
    """The elements at ``indices``, of the array's dtype; 0 for a lane that is outside.

    ``copied``: as part of a record, where what nobody has written may be read.
    """
    if array.which is not None:
        values = np.zeros(machine.active, array.dtype)
        for part, lanes in by_source(machine, array):
            values[lanes] = load(machine, part, take(indices, lanes), place)
        return values
    there = locate(machine, array, indices, place, "Read of")
    elements, bad, unit = there.elements, there.bad, there.unit
    memory = _memory(machine, array, unit)
    if bad is None:
        machine.traffic.note("load", array, there, None, place)
        machine.watch.read(array, there, None, place, copied=copied)
        return memory[elements]
    inside = ~np.broadcast_to(bad, machine.active)
    machine.traffic.note("load", array, there, inside, place)
    machine.watch.read(array, there, inside, place, copied=copied)
    values = np.zeros(machine.active, array.dtype)
    values[inside] = memory[np.broadcast_to(elements, machine.active)[inside]]
    return values


def store(machine: Machine, array: ArrayRef, indices: tuple[Any, ...], value: Any, place: Place) -> None:
    """Write ``value``, cast to the array's dtype. Of lanes that write one element, the last wins."""
    if array.which is not None:
        for part, lanes in by_source(machine, array):
            store(machine, part, take(indices, lanes), take(value, lanes), place)
        return
    there = locate(machine, array, indices, place, "Write to")
    elements, bad, unit = there.elements, there.bad, there.unit
    memory = _memory(machine, array, unit)
    value = convert(value, array.dtype)
    if bad is not None:
        inside = ~np.broadcast_to(bad, machine.active)
        machine.traffic.note("store", array, there, inside, place)
        value = value[inside] if is_wide(value) else value
        machine.watch.write(array, there, inside, place, value)
        elements = np.broadcast_to(elements, machine.active)[inside]
        _put(machine, memory, elements, value)
        return
    machine.traffic.note("store", array, there, None, place)
    machine.watch.write(array, there, None, place, value)
    if is_wide(value) and not is_wide(elements):
        value = value[-1]
    _put(machine, memory, elements, value)


def _put(machine: Machine, memory: npt.NDArray[Any], elements: Any, value: Any) -> None:
    """Write, and say so to those that wait for a change."""
    if machine.waits.looking and np.any(memory[elements] != value):
        machine.waits.progress()
    memory[elements] = value


def atomic(
    machine: Machine,
    array: ArrayRef,
    indices: tuple[Any, ...],
    place: Place,
    combine: Any,
    operands: tuple[Any, ...],
    direct: np.ufunc | None,
    need_old: bool,
) -> Any:
    """A read-modify-write per lane, one after another where lanes meet: ``new = combine(old, *operands)``.

    Returns the old values. ``direct`` is a ufunc whose ``at`` does the same when nobody wants them.
    """
    if array.which is not None:
        old = np.zeros(machine.active, array.dtype)
        for part, lanes in by_source(machine, array):
            of_lanes = take(operands, lanes)
            before = atomic(machine, part, take(indices, lanes), place, combine, of_lanes, direct, need_old)
            old[lanes] = before if need_old else 0
        return old
    there = locate(machine, array, indices, place, "Atomic operation on")
    elements, bad, unit = there.elements, there.bad, there.unit
    memory = _memory(machine, array, unit)
    everyone = np.arange(machine.active) if bad is None else np.flatnonzero(~np.broadcast_to(bad, machine.active))
    where = np.broadcast_to(elements, machine.active)[everyone]
    machine.traffic.note("atomic", array, there, None if bad is None else everyone, place)
    machine.watch.atomic(array, there, None if bad is None else everyone, place)
    values = [np.broadcast_to(convert(operand, array.dtype), machine.active)[everyone] for operand in operands]
    before_all = memory[where] if machine.waits.looking else None
    returned = None
    if direct is not None and not need_old:
        direct.at(memory, where, values[0])
    else:
        returned = _by_turns(machine, memory, where, everyone, combine, values)
    if before_all is not None and np.any(before_all != memory[where]):
        machine.waits.progress()
    return returned


def _by_turns(
    machine: Machine,
    memory: npt.NDArray[Any],
    where: npt.NDArray[np.intp],
    everyone: npt.NDArray[np.intp],
    combine: Any,
    values: list[npt.NDArray[Any]],
) -> npt.NDArray[Any]:
    """Lanes that meet at one element change it one after another; the old values, one per active lane."""
    old = np.zeros(machine.active, memory.dtype)
    for turn in turns(where):
        before = memory[where[turn]]
        old[everyone[turn]] = before
        memory[where[turn]] = combine(before, *(operand[turn] for operand in values))
    return old


def turns(where: npt.NDArray[np.intp]) -> list[npt.NDArray[np.intp]]:
    """Positions in ``where`` by turns: equal elements never share a turn, and keep their order."""
    order = np.argsort(where, kind="stable")
    ranked = where[order]
    starts = np.flatnonzero(np.r_[True, ranked[1:] != ranked[:-1]]) if ranked.size else np.zeros(0, np.intp)
    rank = np.arange(ranked.size) - np.repeat(starts, np.diff(np.r_[starts, ranked.size]))
    by_turn = np.argsort(rank, kind="stable")
    ends: npt.NDArray[np.intp] = np.cumsum(np.bincount(rank)) if rank.size else np.zeros(0, np.intp)
    return np.split(order[by_turn], ends[:-1]) if rank.size else []


def view(machine: Machine, array: ArrayRef, items: tuple[Any, ...], place: Place) -> ArrayRef:
    """Basic indexing with integers, ``slice`` values (start, stop, step) and missing trailing axes.

    A row or record that is outside can be had, but not read or written: only that is reported.
    """
    address, note = array.address, array.outside
    shape: list[Any] = []
    strides: list[Any] = []
    everything = ("slice", None, None, None)
    given = sum(item is not None and item is not Ellipsis for item in items)
    missing = [everything] * (len(array.shape) - given)
    at = next((i for i, item in enumerate(items) if item is Ellipsis), len(items))
    axes = iter(zip(array.shape, array.strides, strict=True))
    for item in (*items[:at], *missing, *items[at + 1 :]):
        if item is None:  # a new axis
            shape.append(1)
            strides.append(0)
            continue
        length, stride = next(axes)
        if isinstance(item, tuple):
            start, count, step = _slice(item, length)
            address = address + start * stride
            shape.append(count)
            strides.append(stride * step)
            continue
        inside, outside = _wrap(item, length)
        _note_negative(machine, array, (item, inside, outside), place)
        address = address + inside * stride
        if outside is not False:
            address = np.where(outside, NOWHERE, address)[()]
            note = note or _example(machine, array, items, outside)
    return replace(array, address=address, shape=tuple(shape), strides=tuple(strides), outside=note)


def _example(machine: Machine, array: ArrayRef, items: tuple[Any, ...], outside: Bad) -> str:
    """What a lane's view of an array would have been, had it not been outside."""
    lane = int(np.flatnonzero(np.broadcast_to(outside, machine.active))[0])

    def of_lane(value: Any) -> Any:
        return int(np.broadcast_to(value, machine.active)[lane])

    index = ", ".join(":" if isinstance(i, tuple) else "..." if i is Ellipsis else str(of_lane(i)) for i in items)
    shape = tuple(of_lane(n) for n in array.shape)
    return f"{array.name}[{index}] outside its shape {shape}"


def pick_item(machine: Machine, items: tuple[Any, ...], index: Any, name: str, place: Place) -> Any:
    """``items[index]`` of a tuple whose items have one type; the first one for a lane that is outside."""
    inside, outside = _wrap(index, len(items))
    if outside is not False:
        whole = ArrayRef("local", name, np.dtype(np.int64), 0, (len(items),), (8,))
        report_outside(machine, whole, (index,), outside, place, "Read of")
        inside = np.where(outside, 0, inside)[()]
    return pick(items, inside)


def pick(items: tuple[Any, ...], index: Any) -> Any:
    """One item of a tuple, by an index that may differ by lane; items may be tuples or arrays themselves."""
    if not is_wide(index):
        return items[int(index)]
    if isinstance(items[0], tuple):
        return tuple(pick(parts, index) for parts in zip(*items, strict=True))
    if isinstance(items[0], ArrayRef):
        arrays = alike(list(items))
        whole = [item.parts() for item in arrays]
        return arrays[0].with_parts(tuple(pick(parts, index) for parts in zip(*whole, strict=True)))
    stacked = np.stack([np.broadcast_to(item, index.shape) for item in items])
    return stacked[index, np.arange(index.size)]


def store_view(machine: Machine, target: ArrayRef, value: Any, place: Place) -> None:
    """``target[...] = value``, element by element: a number, a tuple of numbers, or an array of the same shape."""
    if isinstance(value, ArrayRef):
        lengths = [np.broadcast_to(n, machine.active) for n in target.shape]
        theirs = [np.broadcast_to(n, machine.active) for n in value.shape]
        if len(theirs) != len(lengths) or any((a != b).any() for a, b in zip(lengths, theirs, strict=True)):
            raise NotSimulated(f"the simulator does not know assigning an array of another shape (line {place.line})")
    if isinstance(value, tuple) and (len(target.shape) != 1 or np.any(np.not_equal(target.shape[0], len(value)))):
        raise KernelError(f"A tuple of {len(value)} numbers does not fit into this slice.", place.line)
    for lanes, index in positions(machine, target.shape):
        if isinstance(value, tuple):
            with machine.only(lanes):
                store(machine, take(target, lanes), index, take(value[int(index[0])], lanes), place)
            continue
        with machine.only(lanes):
            of_lanes = take(value, lanes)
            element = load(machine, of_lanes, index, place) if isinstance(of_lanes, ArrayRef) else of_lanes
            store(machine, take(target, lanes), index, element, place)


def positions(machine: Machine, shape: tuple[Any, ...]) -> Iterator[tuple[LaneIndex, tuple[Any, ...]]]:
    """Every index of a shape, last axis fastest, and the active lanes whose array has it."""
    lengths = [np.broadcast_to(n, machine.active) for n in shape]
    for position in np.ndindex(*(int(n.max(initial=0)) for n in lengths)):
        there = np.logical_and.reduce([p < n for p, n in zip(position, lengths, strict=True)], axis=0)
        lanes = np.flatnonzero(np.broadcast_to(there, machine.active))
        if lanes.size:
            yield lanes, tuple(np.int64(p) for p in position)


def load_flat(machine: Machine, array: ArrayRef, position: Any, place: Place) -> Any:
    """``array.flat[position]``."""
    index: list[Any] = []
    for length in reversed(array.shape[1:]):
        index.append(position % length)
        position = position // length
    return load(machine, array, (position, *reversed(index)), place)


def _slice(item: tuple[Any, ...], length: Any) -> tuple[Any, Any, Any]:
    """First index, count and step of a slice over an axis, as Python clips it."""
    _, start, stop, step = item
    step = 1 if step is None else step
    if not is_wide(step) and int(step) == 0:
        raise KernelError("The step of a slice cannot be zero.", 0)
    if not any(is_wide(part) for part in (start, stop, step, length)):
        number = range(int(length))[slice(*(None if part is None else int(part) for part in (start, stop, step)))]
        return number.start, len(number), number.step
    if not np.all(step):
        raise KernelError("The step of a slice cannot be zero.", 0)
    back = np.less(step, 0)
    low, high = np.where(back, -1, 0), np.where(back, np.subtract(length, 1), length)

    def clipped(part: Any, default: Any) -> Any:
        return default if part is None else np.clip(np.where(np.less(part, 0), part + length, part), low, high)

    start, stop = clipped(start, np.where(back, high, low)), clipped(stop, np.where(back, low, high))
    count = np.maximum((stop - start + step - np.sign(step)) // step, 0)
    return start, count, step
