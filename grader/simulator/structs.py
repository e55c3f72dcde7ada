"""Records: fields of structured values and of arrays of them. Runs in the runner.

In: expressions and statements of typed IR. Out: steps of a body.

As in compiled Numba code, a record is a reference into the memory where it lies: reading a field loads from there,
assigning one stores there, and ``b = a[i]`` copies nothing. Only ``a[i] = b`` copies, field by field here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from grader.records import Place
from grader.simulator import access, views
from grader.simulator.body import Body
from grader.simulator.frontend import KernelError, types
from grader.simulator.index_loops import count_of
from grader.simulator.lane_values import take
from grader.simulator.machine import Machine
from grader.simulator.memory import ArrayRef
from grader.simulator.numba_types import dtype_of, plain
from grader.simulator.program import Registers


def is_record(numba_type: Any) -> bool:
    """Whether values of this type are records."""
    return isinstance(plain(numba_type), types.Record)


def field_name(body: Body, record_type: Any, index: Any, index_var: Any) -> str:
    """The field that a constant subscript of a record names, by its name or its position."""
    if not isinstance(index, str | int) or isinstance(index, bool):
        index = getattr(body.type_of(index_var), "literal_value", None) if index_var is not None else None
    if isinstance(index, int):
        return str(list(record_type.fields)[index])
    if not isinstance(index, str):
        raise body.unknown("a field of a record that is no constant")
    return index


def get_field(body: Body, target: Any, value: Any, name: str) -> None:
    """``target = value.name`` of a record."""
    record_type = plain(body.type_of(value))
    check_alignment(body, record_type, name)
    register, source, place = body.register(target.name), body.register(value.name), body.place()
    scalar = not isinstance(record_type.typeof(name), types.Record | types.NestedArray)
    field = _field(record_type, name)

    def step(m: Machine, r: Registers) -> None:
        r[register] = access.load(m, field(r[source]), (), place) if scalar else field(r[source])

    body.add(step, (source,), (register,))


def set_field(body: Body, record: Any, name: str, value: Any, *, subscript: bool = True) -> None:
    """``record[name] = value``, or ``record.name = value`` where it is no ``subscript``."""
    record_type = plain(body.type_of(record))
    check_alignment(body, record_type, name)
    target, place, field_type = body.register(record.name), body.place(), record_type.typeof(name)
    value_type = plain(body.type_of(value))
    if isinstance(field_type, types.NestedArray) and not isinstance(value_type, types.NestedArray):
        if not subscript:
            raise KernelError(
                f'Numba cannot assign an array to the attribute {name}: write record["{name}"] = array.', body.line
            )
        _fill_nested(body, record, name, value)
        return
    source = body.cast_register(body.register(value.name), body.type_of(value), field_type)
    field = _field(record_type, name)
    put = (
        copy_record
        if isinstance(field_type, types.Record)
        else views.store_view
        if isinstance(field_type, types.NestedArray)
        else _store
    )
    body.add(lambda m, r: put(m, field(r[target]), r[source], place), (target, source), ())


def _fill_nested(body: Body, record: Any, name: str, value: Any) -> None:
    """``record[name] = array`` for a field that is an array: as many elements as it has, as they lie in memory.

    Numba copies them without a look at the array's shape; it takes none that is not contiguous.
    """
    record_type = plain(body.type_of(record))
    field_type = record_type.typeof(name)
    target, source = body.register(record.name), body.register(value.name)
    field, count, place = _field(record_type, name), int(np.prod(field_type.shape)), body.place()
    places = replace(place), replace(place)

    def in_line(array: ArrayRef, length: Any) -> ArrayRef:
        return replace(array, shape=(length,), strides=(array.dtype.itemsize,))

    def step(m: Machine, r: Registers) -> None:
        given, filled = in_line(r[source], count_of(r[source].shape)), in_line(field(r[target]), count)
        for k in range(count):
            element = access.load(m, given, (np.int64(k),), places[0])
            access.store(m, filled, (np.int64(k),), element, places[1])

    body.add(step, (target, source), ())


def _store(machine: Machine, target: ArrayRef, value: Any, place: Place) -> None:
    access.store(machine, target, (), value, place)


def get_field_of_array(body: Body, target: Any, value: Any, name: str) -> None:
    """``target = array.name`` of an array of records: an array of that field."""
    field = _field(plain(body.type_of(value)).dtype, name)

    def of_array(array: ArrayRef) -> ArrayRef:
        part = field(array)
        shape, strides = (*array.shape, *part.shape), (*array.strides, *part.strides)
        return replace(part, shape=shape, strides=strides, loose=False)

    body.compute(body.register(target.name), of_array, (body.register(value.name),))


def check_alignment(body: Body, record_type: Any, name: str) -> None:
    """Raise KernelError where Numba refuses a field of a packed record that its offset leaves unaligned."""
    field_type = record_type.typeof(name)
    element = field_type.dtype if isinstance(field_type, types.NestedArray) else field_type
    align = 1 if isinstance(element, types.Record) else dtype_of(element).alignment
    offset = record_type.offset(name)
    if offset % align:
        raise KernelError(
            f"The field {name} is at byte {offset} of its record, no multiple of {align}: there, type {element} is not "
            "aligned, and Numba cannot compile that. Make the dtype with align=True, or put the larger fields first.",
            body.line,
        )


def _field(record_type: Any, name: str) -> Callable[[ArrayRef], ArrayRef]:
    """A function from a record to the memory of its field: an array without axes, or a nested array."""
    field_type, offset = record_type.typeof(name), record_type.offset(name)
    nested = isinstance(field_type, types.NestedArray)
    dtype = dtype_of(field_type.dtype if nested else field_type)
    shape = tuple(field_type.shape) if nested else ()
    strides = tuple(field_type.strides) if nested else ()
    # Numba loads the fields of a packed record byte by byte, wherever it lies, but not those of arrays in it.
    loose = not nested and not record_type.aligned

    def field(record: ArrayRef) -> ArrayRef:
        return replace(
            record,
            name=f"{record.name}.{name}",
            dtype=dtype,
            address=record.address + offset,
            shape=shape,
            strides=strides,
            loose=loose,
            sources=tuple((space, f"{known}.{name}", root) for space, known, root in record.sources),
        )

    return field


def leaves(dtype: np.dtype[Any], offset: int = 0) -> list[tuple[int, np.dtype[Any]]]:
    """Offset and dtype of every number in a record, nested ones too."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        count = int(np.prod(shape))
        return [leaf for k in range(count) for leaf in leaves(base, offset + k * base.itemsize)]
    if dtype.names is None:
        return [(offset, dtype)]
    assert dtype.fields is not None
    return [leaf for name in dtype.names for leaf in leaves(dtype.fields[name][0], offset + dtype.fields[name][1])]


def copy_record(machine: Machine, target: ArrayRef, source: ArrayRef, place: Place) -> None:
    """``target[...] = source`` for records, each lane its own."""
    if target.which is not None:
        for part, lanes in access.by_source(machine, target):
            copy_record(machine, part, take(source, lanes), place)
        return
    if source.which is not None:
        for part, lanes in access.by_source(machine, source):
            copy_record(machine, take(target, lanes), part, place)
        return
    parts = leaves(target.dtype)
    # Part of a record may well have no value yet: what nobody wrote stays so in the copy.
    unwritten = machine.watch.first_writes.of_record(source, parts, place)
    for offset, dtype in parts:
        value = access.load(machine, _leaf(source, offset, dtype), (), place, copied=True)
        access.store(machine, _leaf(target, offset, dtype), (), value, place)
    machine.watch.first_writes.copied(target, parts, unwritten)


def _leaf(record: ArrayRef, offset: int, dtype: np.dtype[Any]) -> ArrayRef:
    return replace(record, dtype=dtype, address=record.address + offset, loose=True)
