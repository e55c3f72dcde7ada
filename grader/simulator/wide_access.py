"""Four elements in one access of 16 bytes: ``load4`` and ``store4`` of ``grader.vector_access``. Runs in the runner.

In: calls of typed IR. Out: steps of a body.

Where all four elements are inside and aligned, the access is one of a single element of 16 bytes, so all that looks at
accesses looks at this one, too: costs, races, first writes. Lanes for which that is not so are reported and left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from grader.errors import NotSimulated
from grader.records import Place, Severity
from grader.simulator import access
from grader.simulator.access_costs import WIDE
from grader.simulator.body import Body
from grader.simulator.frontend import types
from grader.simulator.lane_values import is_wide, take
from grader.simulator.machine import Machine
from grader.simulator.memory import ArrayRef
from grader.simulator.numba_types import plain
from grader.simulator.program import Registers
from grader.simulator.registry import DEVICE_CALLS, named_arguments
from grader.simulator.spots import Located
from grader.simulator.wide_elements import WideElements
from grader.vector_access import BYTES, LANES, load4, store4

_FLOAT32 = np.dtype(np.float32)
Index = tuple[Any, ...]


def _positions(body: Body, index: Any) -> tuple[int, ...]:
    return tuple(body.cast_register(r, t, types.int64) for r, t in body.index_registers(index))


def _load(body: Body, target: Any, expr: Any, signature: Any) -> None:
    arguments = named_arguments(expr, "array", "index")
    register, array, place = body.register(target.name), body.register(arguments["array"].name), body.place()
    positions, wide = _positions(body, arguments["index"]), WideElements()

    def step(m: Machine, r: Registers) -> None:
        r[register] = _load_four(m, r[array], tuple([r[p] for p in positions]), wide, place)

    body.add(step, (array, *positions), (register,))


def _store(body: Body, target: Any, expr: Any, signature: Any) -> None:
    arguments = named_arguments(expr, "array", "index", "values")
    array, place = body.register(arguments["array"].name), body.place()
    given = arguments["values"]
    values = body.cast_register(
        body.register(given.name), plain(body.type_of(given)), types.UniTuple(types.float32, LANES)
    )
    positions, wide = _positions(body, arguments["index"]), WideElements()

    def step(m: Machine, r: Registers) -> None:
        _store_four(m, r[array], tuple([r[p] for p in positions]), r[values], wide, place)

    body.add(step, (array, values, *positions), ())


def _load_four(machine: Machine, array: ArrayRef, index: Index, wide: WideElements, place: Place) -> tuple[Any, ...]:
    keys = (id(place), "load4"), (id(place), access.READ)
    again = wide.again(machine, array, index, keys)
    if again is not None:
        whole, spot, shift = again
        packed = access.load_moved(machine, whole, spot, shift, place)
        if packed is None:
            there = Located(spot.elements + shift, None, BYTES, spot, shift)
            packed = access.load_at(machine, whole, there, place)
        return _apart(packed)
    at, good = _located(machine, array, index, (place, "load4", access.READ))
    if good is None:
        whole, element = wide.of(array, at)
        packed = access.load(machine, whole, (element,), place)
        if machine.lanes is None:
            wide.keep(machine, array, index, at, keys[0])
        return _apart(packed)
    found = np.zeros((LANES, machine.active), _FLOAT32)
    if good.size:
        with machine.only(good):
            whole, element = wide.of(take(array, good), take(at, good))
            found[:, good] = np.reshape(_apart(access.load(machine, whole, (element,), place)), (LANES, -1))
    return tuple(found)


def _store_four(
    machine: Machine, array: ArrayRef, index: Index, values: tuple[Any, ...], wide: WideElements, place: Place
) -> None:
    keys = (id(place), "store4"), (id(place), access.WRITE)
    again = wide.again(machine, array, index, keys)
    if again is None:
        at, good = _located(machine, array, index, (place, "store4", access.WRITE))
    together = np.empty((machine.active, LANES), _FLOAT32)
    for lane, value in enumerate(values):
        together[:, lane] = value
    packed = together.view(WIDE)[:, 0]
    if again is not None:
        whole, spot, shift = again
        access.store_at(machine, whole, Located(spot.elements + shift, None, BYTES, spot, shift), packed, place)
    elif good is None:
        whole, element = wide.of(array, at)
        access.store(machine, whole, (element,), packed, place)
        if machine.lanes is None:
            wide.keep(machine, array, index, at, keys[0])
    elif good.size:
        with machine.only(good):
            whole, element = wide.of(take(array, good), take(at, good))
            access.store(machine, whole, (element,), packed[good], place)


def _apart(packed: Any) -> tuple[Any, ...]:
    """The four numbers of each element, one array of lanes each; numbers where all lanes have the same."""
    if not is_wide(packed):
        return tuple(np.frombuffer(packed.tobytes(), _FLOAT32))
    return tuple(np.ascontiguousarray(packed.view(_FLOAT32).reshape(-1, LANES).T))


def _located(
    machine: Machine, array: ArrayRef, index: Index, call: tuple[Place, str, str]
) -> tuple[Any, npt.NDArray[np.intp] | None]:
    """Where in its space each lane's access begins, in bytes; and the lanes that may make it, None for all of them.

    ``call``: the place, what is called there, and how messages about it begin.
    """
    if array.space not in ("global", "shared", "several"):
        raise NotSimulated(f"the simulator does not know {call[1]} of an array in {array.space} memory")
    outside: Any = False
    at = array.address
    for axis, (position, length, stride) in enumerate(zip(index, array.shape, array.strides, strict=True)):
        beyond = _is_beyond(position, length - (LANES if axis == len(index) - 1 else 1))
        outside = beyond if outside is False else outside | beyond
        at = at + position * stride
    if is_wide(array.address) and (array.address < 0).any():  # of a view that is outside of its array
        outside = outside | (array.address < 0)
    odd = (at & (BYTES - 1)) != 0
    if outside is False and not (odd.any() if is_wide(odd) else odd):
        return at, None
    gone = np.broadcast_to(outside, machine.active)
    askew = np.broadcast_to(odd, machine.active) & ~gone
    if gone.any():
        _report_outside(machine, array, index, gone, call)
    if askew.any():
        _report_odd(machine, array, index, askew, call)
    return at, np.flatnonzero(~(gone | askew))


def _is_beyond(position: Any, last: Any) -> Any:
    """Where a position is below zero or behind the last one: False, True or a bool per lane."""
    if not is_wide(position) and not is_wide(last):
        return not 0 <= int(position) <= int(last)
    # A negative position is a huge unsigned one: mostly one comparison finds that there is none.
    if is_wide(position) and not is_wide(last) and last >= 0 and not (position.view(np.uint64) > np.uint64(last)).any():
        return False
    beyond = np.less(position, 0) | np.greater(position, last)
    return beyond if beyond.any() else False


def _report_outside(machine: Machine, array: ArrayRef, index: Index, gone: Any, call: tuple[Place, str, str]) -> None:
    place, called, verb = call
    lanes = np.flatnonzero(gone)
    first = _of_lane(machine, index, lanes[0])
    last = (*first[:-1], first[-1] + LANES - 1)
    shape = _of_lane(machine, array.shape, lanes[0])
    threads = machine.example(lanes)
    machine.findings.add(
        "out-of-bounds",
        Severity.ERROR,
        place,
        f"{verb} {array.name}[{_written(first)}] to [{_written(last)}] outside its shape "
        f"({_written(shape)}{',' if len(shape) == 1 else ''}), by thread {machine.wave.say(*threads[0])}.",
        f"{called} takes four elements: let only threads get here for which the last of them is inside too, and treat "
        "what is left one by one.",
        array=array.name,
        threads=threads,
        count=len(lanes),
    )


def _report_odd(machine: Machine, array: ArrayRef, index: Index, askew: Any, call: tuple[Place, str, str]) -> None:
    place, called, verb = call
    lanes = np.flatnonzero(askew)
    first = _of_lane(machine, index, lanes[0])
    threads = machine.example(lanes)
    machine.findings.add(
        "misaligned-access",
        Severity.ERROR,
        place,
        f"{verb} {array.name}[{_written(first)}] and the three after it by {called}, at an address that is no multiple "
        f"of {BYTES}, by thread {machine.wave.say(*threads[0])}.",
        "A GPU stops there. Begin at an index that is a multiple of 4, of an array whose rows are multiples of 4 long; "
        "take other rows element by element.",
        array=array.name,
        threads=threads,
        count=len(lanes),
    )


def _of_lane(machine: Machine, parts: tuple[Any, ...], lane: Any) -> tuple[int, ...]:
    return tuple(int(np.broadcast_to(part, machine.active)[lane]) for part in parts)


def _written(index: tuple[int, ...]) -> str:
    return ", ".join(map(str, index))


DEVICE_CALLS[load4] = _load
DEVICE_CALLS[store4] = _store
