"""Arguments and captured arrays of a launch in the simulator's memory. Runs in the runner.

In: ArrayRefs, scalars, records and tuples as a caller hands them over. Out: values as the machine holds them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from grader.simulator.memory import ArrayRef, GlobalSpace
from grader.simulator.numba_types import convert, dtype_of, plain
from grader.simulator.pointers import is_pointer


def held(argument: Any, numba_type: Any, name: str, memory: GlobalSpace) -> Any:
    """An argument as the machine holds it. Records go to global memory, where all threads share them."""
    if isinstance(argument, enum.Enum):
        argument = argument.value
    if isinstance(argument, ArrayRef) or is_pointer(numba_type):
        return argument
    if isinstance(argument, tuple):
        return tuple(held(item, plain(t), name, memory) for item, t in zip(argument, plain(numba_type), strict=True))
    if isinstance(argument, np.void):
        address = memory.allocate(argument.nbytes)
        memory.bytes[address : address + argument.nbytes] = np.frombuffer(argument.tobytes(), np.uint8)
        return ArrayRef("global", name, dtype_of(numba_type), address, (), (), address)
    return None if argument is None else convert(argument, dtype_of(numba_type))


def copy_back(argument: Any, value: Any, memory: GlobalSpace) -> None:
    """What a kernel wrote into a record argument, as Numba copies it back after the launch. ``value``: of ``held``."""
    if isinstance(argument, tuple):
        for item, part in zip(argument, value, strict=True):
            copy_back(item, part, memory)
    elif isinstance(argument, np.void) and argument.flags.writeable:
        contents = memory.bytes[value.address : value.address + argument.nbytes]
        changed = contents.copy().view(argument.dtype)[0]
        for name in argument.dtype.names or ():
            argument[name] = changed[name]


def in_constant_memory(memory: GlobalSpace, array: Any) -> ArrayRef:
    """A captured array in constant memory, where Numba puts it."""
    address = memory.allocate(array.nbytes)
    memory.bytes[address : address + array.nbytes] = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    return ArrayRef.contiguous("const", "a captured array", array.dtype, address, array.shape)


def arrays_among(values: Iterable[Any]) -> Iterator[ArrayRef]:
    """The arrays among a launch's arguments, those in tuples too."""
    for value in values:
        if isinstance(value, ArrayRef):
            yield value
        elif isinstance(value, tuple):
            yield from arrays_among(value)


def reached(values: Iterable[Any]) -> dict[int, tuple[int, int]]:
    """Where each buffer starts that an argument is a view of, and how many bytes of it the arguments reach."""
    reach: dict[int, int] = {}
    for value in arrays_among(values):
        if value.root >= 0 and 0 not in value.shape:
            last = sum((n - 1) * s for n, s in zip(value.shape, value.strides, strict=True) if s > 0)
            end = value.address + last + value.dtype.itemsize
            reach[value.root] = max(reach.get(value.root, 0), end - value.root)
    return {root: (root, nbytes) for root, nbytes in reach.items()}
