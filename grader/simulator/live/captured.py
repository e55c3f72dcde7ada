"""Values that a kernel takes from around it, and whether they have changed since it was compiled. Runs in anybody's own
process.

Numba bakes globals and closure variables into the compiled code. A script that changes one afterwards gets the old
value, on a GPU as here, and nobody tells it.

In: a Python function. Out: what it captured, to be asked later whether it has changed.
"""

from __future__ import annotations

import dis
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from types import ModuleType
from typing import Any

import numpy as np

# Larger arrays are compared by identity: a copy would cost more than the hint is worth.
MAX_COPIED_BYTES = 1 << 20
_PLAIN = (bool, int, float, complex, str, np.generic, np.ndarray)
# Python 3.11 has an instruction of its own for attributes that are called.
_LOADS_ATTRIBUTE = ("LOAD_ATTR", "LOAD_METHOD")
_LIBRARIES = ("numba", "numpy", "math", "cmath", "operator")


@dataclass(frozen=True)
class Captured:
    """One value: its name as the kernel writes it, where it is read, what it was, and how to look it up again."""

    name: str
    file: str
    line: int
    function: str
    value: Any
    look_up: Callable[[], Any]

    def has_changed(self) -> bool:
        """Whether the name stands for something else now."""
        try:
            return not _same(self.value, self.look_up())
        except (KeyError, ValueError, AttributeError):  # deleted since; the kernel does not mind
            return False


def captured_by(function: Callable[..., Any]) -> list[Captured]:
    """Numbers, tuples and arrays that a kernel and the functions that it calls take from around them."""
    found: list[Captured] = []
    seen: set[int] = set()
    waiting = [function]
    while waiting:
        current = waiting.pop()
        if id(current) in seen or not hasattr(current, "__code__"):
            continue
        seen.add(id(current))
        for name, line, look_up in _around(current):
            try:
                value = look_up()
            except (KeyError, ValueError, AttributeError):
                continue
            if hasattr(value, "py_func"):
                waiting.append(value.py_func)
            elif _is_plain(value):
                file = current.__code__.co_filename
                found.append(Captured(name, file, line, current.__qualname__, _frozen(value), look_up))
    return found


def _around(function: Any) -> Iterator[tuple[str, int, Callable[[], Any]]]:
    """What a function reads from around it: the name, the first line that reads it, how to look it up.

    ``co_names`` has the names of attributes, too, as ``x`` of ``cuda.threadIdx.x``: the instructions tell them apart.
    """
    code, scope = function.__code__, function.__globals__
    cells = dict(zip(code.co_freevars, function.__closure__ or (), strict=True))
    read: dict[str, tuple[int, Callable[[], Any]]] = {}
    line, module, module_name = code.co_firstlineno, None, ""
    for instruction in dis.get_instructions(code):
        if instruction.opname == "EXTENDED_ARG":
            continue
        name = instruction.argval
        line = (instruction.positions and instruction.positions.lineno) or line
        if module is not None and instruction.opname in _LOADS_ATTRIBUTE and name in vars(module):
            read.setdefault(f"{module_name}.{name}", (line, partial(getattr, module, name)))
        module = None
        if instruction.opname == "LOAD_GLOBAL" and name in scope:
            read.setdefault(name, (line, partial(scope.__getitem__, name)))
            if isinstance(scope[name], ModuleType) and scope[name].__name__.partition(".")[0] not in _LIBRARIES:
                module, module_name = scope[name], name
        elif instruction.opname == "LOAD_DEREF" and name in cells:
            read.setdefault(name, (line, partial(getattr, cells[name], "cell_contents")))
    for name, (first_line, look_up) in read.items():
        yield name, first_line, look_up


def _is_plain(value: Any) -> bool:
    return isinstance(value, _PLAIN) or (isinstance(value, tuple) and all(map(_is_plain, value)))


def _frozen(value: Any) -> Any:
    return value.copy() if isinstance(value, np.ndarray) and value.nbytes <= MAX_COPIED_BYTES else value


def _same(old: Any, new: Any) -> bool:
    if old is new:
        return True
    if isinstance(old, np.ndarray) and isinstance(new, np.ndarray):
        return old.nbytes > MAX_COPIED_BYTES or (
            old.dtype == new.dtype and np.array_equal(old, new, equal_nan=old.dtype.kind in "fc")
        )
    return type(old) is type(new) and bool(np.all(old == new))
