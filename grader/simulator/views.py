"""Parts of arrays without a copy, and what goes over all elements of one. Runs in the runner.

In: arrays and indices, each the same for all lanes or one per lane. Out: arrays, and values read.

A row, a slice or a record that lies outside of its array can be had, as in compiled code; only reading or writing
it is reported (``access``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from grader.errors import NotSimulated
from grader.records import Place
from grader.simulator import access, addressing
from grader.simulator.frontend import KernelError
from grader.simulator.lane_values import LaneIndex, is_wide, take
from grader.simulator.machine import Machine
from grader.simulator.memory import NOWHERE, ArrayRef, alike


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
        inside, outside = addressing.wrap(item, length)
        addressing.note_negative(machine, array, (item, inside, outside), place)
        address = address + inside * stride
        if outside is not False:
            address = np.where(outside, NOWHERE, address)[()]
            note = note or _example(machine, array, items, outside)
    return replace(array, address=address, shape=tuple(shape), strides=tuple(strides), outside=note)


def _example(machine: Machine, array: ArrayRef, items: tuple[Any, ...], outside: Any) -> str:
    """What a lane's view of an array would have been, had it not been outside."""
    lane = int(np.flatnonzero(np.broadcast_to(outside, machine.active))[0])

    def of_lane(value: Any) -> Any:
        return int(np.broadcast_to(value, machine.active)[lane])

    index = ", ".join(":" if isinstance(i, tuple) else "..." if i is Ellipsis else str(of_lane(i)) for i in items)
    shape = tuple(of_lane(n) for n in array.shape)
    return f"{array.name}[{index}] outside its shape {shape}"


def pick_item(machine: Machine, items: tuple[Any, ...], index: Any, name: str, place: Place) -> Any:
    """``items[index]`` of a tuple whose items have one type; the first one for a lane that is outside."""
    inside, outside = addressing.wrap(index, len(items))
    if outside is not False:
        whole = ArrayRef("local", name, np.dtype(np.int64), 0, (len(items),), (8,))
        addressing.report_outside(machine, whole, (index,), outside, place, "Read of")
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
                access.store(machine, take(target, lanes), index, take(value[int(index[0])], lanes), place)
            continue
        with machine.only(lanes):
            of_lanes = take(value, lanes)
            element = access.load(machine, of_lanes, index, place) if isinstance(of_lanes, ArrayRef) else of_lanes
            access.store(machine, take(target, lanes), index, element, place)


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
    return access.load(machine, array, (position, *reversed(index)), place)


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
