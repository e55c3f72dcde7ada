"""Reading and writing array elements. Runs in the runner.

In: an array, an index per axis (one integer for all active lanes or one per lane), the place. Out: values, memory
changed, what is counted (``traffic``) and looked for (``watch``). An access outside of the array is reported and
suppressed; the launch goes on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.records import Place
from grader.simulator.addressing import elements_of, locate
from grader.simulator.lane_values import LaneIndex, is_wide, take
from grader.simulator.machine import Machine
from grader.simulator.memory import ArrayRef
from grader.simulator.numba_types import convert

READ = "Read of"  # how messages about reads begin


def by_source(machine: Machine, array: ArrayRef) -> Iterator[tuple[ArrayRef, LaneIndex]]:
    """Where lanes hold arrays of different buffers: each of these, and its positions among the active lanes.

    While the caller works on one of them, only its lanes take part.
    """
    which = np.broadcast_to(array.which, machine.active)
    for number in np.unique(which).tolist():
        lanes = np.flatnonzero(which == number)
        with machine.only(lanes):
            yield take(array, lanes).of_source(number), lanes


def load(machine: Machine, array: ArrayRef, indices: tuple[Any, ...], place: Place, *, copied: bool = False) -> Any:
    """The elements at ``indices``, of the array's dtype; 0 for a lane that is outside.

    ``copied``: as part of a record, where what nobody has written may be read.
    """
    if array.which is not None:
        values = np.zeros(machine.active, array.dtype)
        for part, lanes in by_source(machine, array):
            values[lanes] = load(machine, part, take(indices, lanes), place)
        return values
    if machine.lanes is None and not copied:
        values = _load_again(machine, array, indices, place)
        if values is not None:
            return values
    there = locate(machine, array, indices, place, READ)
    elements, bad, unit = there.elements, there.bad, there.unit
    memory = elements_of(machine, array, unit)
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


def _load_again(machine: Machine, array: ArrayRef, indices: tuple[Any, ...], place: Place) -> Any:
    """``load`` where a loop repeats it and nothing has to be found out again; None elsewhere."""
    spot = machine.spots.get((id(place), READ))
    shift = spot.shift(array, indices) if spot is not None else None
    if spot is None or shift is None:
        return None
    bill = machine.traffic.bill(array, spot, shift)
    if bill is None or not machine.watch.read_again(array, spot, shift, place):
        return None
    bill.turns += 1
    memory = elements_of(machine, array, spot.unit)
    return memory[shift:][spot.elements] if shift >= 0 else memory[spot.elements + shift]


def store(machine: Machine, array: ArrayRef, indices: tuple[Any, ...], value: Any, place: Place) -> None:
    """Write ``value``, cast to the array's dtype. Of lanes that write one element, the last wins."""
    if array.which is not None:
        for part, lanes in by_source(machine, array):
            store(machine, part, take(indices, lanes), take(value, lanes), place)
        return
    there = locate(machine, array, indices, place, "Write to")
    elements, bad, unit = there.elements, there.bad, there.unit
    memory = elements_of(machine, array, unit)
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
