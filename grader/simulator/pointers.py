"""Raw pointers as arguments, ``types.CPointer(types.float32)``, and arrays that are made of them. Runs in the runner.

In: calls of typed IR, addresses. Out: steps of a body, arrays.

A pointer is held as the whole allocation that it points into, an array of the pointer's type, and where in it the
pointer is, in elements. So an access beyond the allocation is found; where an array ends inside of one, nobody knows.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from grader.records import Severity
from grader.simulator import access
from grader.simulator.body import Body
from grader.simulator.frontend import types
from grader.simulator.machine import Machine
from grader.simulator.memory import ArrayRef
from grader.simulator.numba_types import convert, dtype_of, plain
from grader.simulator.program import Registers

_UINT64 = np.dtype(np.uint64)
Pointer = tuple[ArrayRef, Any]


def is_pointer(numba_type: Any) -> bool:
    """Whether values of this type are addresses."""
    return isinstance(numba_type, types.CPointer | types.RawPointer)


def pointer(numba_type: Any, address: int, allocation: tuple[int, int], name: str) -> Pointer:
    """What stands for a pointer to ``address`` in an allocation (its start and size in bytes)."""
    dtype = dtype_of(numba_type.dtype) if isinstance(numba_type, types.CPointer) else np.dtype(np.uint8)
    start, nbytes = allocation
    before, lead = divmod(address - start, dtype.itemsize)
    count = (nbytes - lead) // dtype.itemsize
    return ArrayRef("global", name, dtype, start + lead, (count,), (dtype.itemsize,), start), np.int64(before)


def _at(start: Any, index: Any) -> Any:
    """The element that an index from a pointer names; none counts from the end, as one of an array does."""
    return convert(convert(index, np.dtype(np.int64)) + start, _UINT64)


def get_pointed(body: Body, target: Any, value: Any, index: Any) -> None:
    """``target = pointer[index]``."""
    register, place = body.register(target.name), body.place()
    source, position = body.register(value.name), body.register(index.name)

    def step(m: Machine, r: Registers) -> None:
        array, start = r[source]
        r[register] = access.load(m, array, (_at(start, r[position]),), place)

    body.add(step, (source, position), (register,))


def set_pointed(body: Body, target: Any, index: Any, value: Any) -> None:
    """``pointer[index] = value``."""
    place, position, held = body.place(), body.register(index.name), body.register(target.name)
    source = body.cast_register(body.register(value.name), body.type_of(value), plain(body.type_of(target)).dtype)

    def step(m: Machine, r: Registers) -> None:
        array, start = r[held]
        access.store(m, array, (_at(start, r[position]),), r[source], place)

    body.add(step, (held, position, source), ())


def array_at_pointer(body: Body, target: Any, expr: Any, signature: Any) -> None:
    """``target = carray(pointer, shape, dtype)`` or ``farray``, as Numba's body of both has it."""
    value, shape = expr.args[:2]
    made = signature.return_type
    dtype, place, backwards = dtype_of(made.dtype), body.place(), made.layout == "F"
    as_tuple = isinstance(plain(body.type_of(shape)), types.BaseTuple)
    held, lengths, register = body.register(value.name), body.register(shape.name), body.register(target.name)

    def step(m: Machine, r: Registers) -> None:
        (whole, start), given = r[held], r[lengths]
        sizes = tuple(convert(n, np.dtype(np.int64)) for n in (given if as_tuple else (given,)))
        address = whole.address + start * whole.dtype.itemsize
        strides = tuple(
            math.prod(sizes[:axis] if backwards else sizes[axis + 1 :]) * dtype.itemsize for axis in range(len(sizes))
        )
        left = whole.address + whole.shape[0] * whole.dtype.itemsize - address
        _check_size(m, whole.name, math.prod(sizes) * dtype.itemsize > left)
        r[register] = ArrayRef("global", whole.name, dtype, address, sizes, strides, whole.root)

    def _check_size(m: Machine, name: str, too_large: Any) -> None:
        lanes = np.flatnonzero(np.broadcast_to(too_large, m.active))
        if lanes.size:
            m.findings.add(
                "out-of-bounds",
                Severity.ERROR,
                place,
                f"The array is larger than the memory that {name} points to.",
                "Hand the number of elements to the kernel, and make the array of that many.",
                array=name,
                threads=m.example(lanes),
                count=int(lanes.size),
            )

    body.add(step, (held, lengths), (register,))
