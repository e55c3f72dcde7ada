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
from grader.simulator.spots import Located, Lockstep, Spot

READ, WRITE = "Read of", "Write to"  # how messages begin


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
        lockstep = machine.locksteps.get((id(place), READ))
        elements = None if lockstep is None else lockstep.find(array, indices)
        if lockstep is not None and elements is not None:
            lockstep.bill.turns += 1
            return elements.copy()
        values = _load_again(machine, array, indices, place)
        if values is not None:
            return values
    there = locate(machine, array, indices, place, READ)
    values = load_at(machine, array, there, place, copied=copied)
    if array.space == "local" and machine.watch.first_writes.knows(array, there):
        _keep_in_step(machine, (id(place), READ), array, indices, there)
    return values


def load_at(machine: Machine, array: ArrayRef, there: Located, place: Place, *, copied: bool = False) -> Any:
    """``load`` of what has been located."""
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
    key = id(place), READ
    spot = machine.spots.get(key)
    shift = spot.shift(array, indices) if spot is not None else None
    if spot is None or shift is None:
        return None
    values = load_moved(machine, array, spot, shift, place)
    if array.space == "local" and values is not None:
        _keep_in_step(machine, key, array, indices, Located(None, None, spot.unit, spot, shift))
    return values


def load_moved(machine: Machine, array: ArrayRef, spot: Spot, shift: int, place: Place) -> Any:
    """``load`` of what was read before, moved, if nothing has to be found out about it; else None."""
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
    if machine.lanes is None and _store_again(machine, array, indices, value, place):
        return
    there = locate(machine, array, indices, place, WRITE)
    store_at(machine, array, there, value, place)
    _keep_in_step(machine, (id(place), WRITE), array, indices, there)


def store_at(machine: Machine, array: ArrayRef, there: Located, value: Any, place: Place) -> None:
    """``store`` to what has been located."""
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


def _store_again(machine: Machine, array: ArrayRef, indices: tuple[Any, ...], value: Any, place: Place) -> bool:
    """``store`` where a loop repeats it and nothing has to be found out again; elsewhere False, and nothing is done."""
    lockstep = machine.locksteps.get((id(place), WRITE))
    elements = None if lockstep is None else lockstep.find(array, indices)
    if lockstep is None or elements is None or getattr(value, "dtype", None) is not elements.dtype:
        return False
    lockstep.bill.turns += 1
    if machine.waits.looking and np.any(elements != value):
        machine.waits.progress()
    elements[...] = value
    return True


def _keep_in_step(
    machine: Machine, key: tuple[int, str], array: ArrayRef, indices: tuple[Any, ...], there: Located
) -> None:
    """Remember an access of a local array by all lanes that there is nothing to find out about any more."""
    if array.space != "local" or there.spot is None:
        return
    lockstep = machine.locksteps.get(key)
    if lockstep is None:
        lockstep = Lockstep.of(array, there.spot)
        if lockstep is None:
            return
        machine.locksteps[key] = lockstep
    lockstep.learn(indices, there.shift, elements_of(machine, array, there.unit))


def _put(machine: Machine, memory: npt.NDArray[Any], elements: Any, value: Any) -> None:
    """Write, and say so to those that wait for a change."""
    if machine.waits.looking and np.any(memory[elements] != value):
        machine.waits.progress()
    memory[elements] = value
