"""Assignments to elements and slices of arrays. Runs in the runner.

In: an array's variable, registers and types of an index, the variable that is assigned. Out: steps of a ``Body``.
"""

from __future__ import annotations

from typing import Any

from grader.simulator import access, views
from grader.simulator.body import Body
from grader.simulator.frontend import types
from grader.simulator.machine import Machine
from grader.simulator.numba_types import plain
from grader.simulator.program import Registers
from grader.simulator.structs import copy_record, is_record


def store(body: Body, target: Any, indices: list[tuple[int, Any]], value: Any) -> None:
    """``target[indices] = value``; ``indices`` are registers and types of ``Body.index_registers``."""
    array_type = plain(body.type_of(target))
    if not isinstance(array_type, types.Array):
        raise body.unknown("assigning to this")
    if len(indices) != array_type.ndim or any(not isinstance(t, types.Integer) for _, t in indices):
        _store_slice(body, target, indices, value)
        return
    array, source, place = body.register(target.name), body.register(value.name), body.place()
    value_type = plain(body.type_of(value))
    if isinstance(value_type, types.Array) and value_type.ndim == 0:
        element = body.unit.new_register()
        body.add(lambda m, r: r.__setitem__(element, access.load(m, r[source], (), place)), (source,), (element,))
        _store_element(
            body, array, indices, body.cast_register(element, value_type.dtype, array_type.dtype), array_type
        )
        return
    _store_element(body, array, indices, body.cast_register(source, body.type_of(value), array_type.dtype), array_type)


def _store_element(body: Body, array: int, indices: list[tuple[int, Any]], source: int, array_type: Any) -> None:
    """``array[indices] = source`` for an index of every axis and a value of the array's dtype."""
    place = body.place()
    positions = tuple(register for register, _ in indices)
    if is_record(array_type.dtype):
        body.add(
            lambda m, r: copy_record(
                m, views.view(m, r[array], tuple([r[p] for p in positions]), place), r[source], place
            ),
            (array, source, *positions),
            (),
        )
        return

    put = access.store
    if len(positions) == 2:
        first, second = positions

        def step(m: Machine, r: Registers) -> None:
            put(m, r[array], (r[first], r[second]), r[source], place)
    else:

        def step(m: Machine, r: Registers) -> None:
            put(m, r[array], tuple([r[p] for p in positions]), r[source], place)

    body.add(step, (array, source, *positions), ())


def _store_slice(body: Body, target: Any, indices: list[tuple[int, Any]], value: Any) -> None:
    """``array[slices] = value``, where the value is a number or an array."""
    if any(not isinstance(t, types.Integer | types.SliceType | types.EllipsisType) for _, t in indices):
        raise body.unknown("assigning to this")
    array_type, value_type = plain(body.type_of(target)), plain(body.type_of(value))
    if isinstance(value_type, types.Buffer):
        raise body.needs_memory(
            "Numba cannot compile the assignment of an array to a slice for a GPU: copy element by element."
        )
    array, source, place = body.register(target.name), body.register(value.name), body.place()
    if isinstance(value_type, types.BaseTuple):
        source = body.cast_register(
            source, value_type, types.UniTuple(array_type.dtype, len(value_type)) if len(value_type) else value_type
        )
    elif not isinstance(value_type, types.Array):
        source = body.cast_register(source, value_type, array_type.dtype)
    positions = tuple(register for register, _ in indices)

    def step(m: Machine, r: Registers) -> None:
        rows = views.view(m, r[array], tuple([r[p] for p in positions]), place)
        views.store_view(m, rows, r[source], place)

    body.add(step, (array, source, *positions), ())
