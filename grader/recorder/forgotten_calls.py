"""Barriers and fences that a kernel names without calling them. Runs in the recorder; executes nothing.

Comes in: a function that a launch uses. Goes out: the line of a statement such as ``cuda.syncthreads``, which Python
and Numba accept, and which does nothing.
"""

from __future__ import annotations

import dis
from types import FunctionType, ModuleType
from typing import Any

from grader.recorder.mistakes import is_a
from grader.recorder.names import ROOT, Provided

# What is only ever called for its effect.
_EFFECTS = frozenset(
    f"{ROOT}.{name}"
    for name in (
        *("syncthreads", "syncthreads_and", "syncthreads_or", "syncthreads_count", "syncwarp"),
        *("threadfence", "threadfence_block", "threadfence_system"),
    )
)
_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_DEREF")
_ATTRIBUTE = ("LOAD_ATTR",)


def forgotten_call(function: FunctionType) -> tuple[str, int] | None:
    """The name, as written, and the line of the first barrier or fence that is evaluated and dropped; else None."""
    written: list[str] = []  # the dotted name that the last instructions put on the stack
    line = function.__code__.co_firstlineno
    for instruction in dis.get_instructions(function.__code__):
        positions = instruction.positions
        if positions is not None and positions.lineno is not None:
            line = positions.lineno
        if instruction.opname in _GLOBAL:
            written = [str(instruction.argval)]
        elif instruction.opname in _ATTRIBUTE and written:
            written.append(str(instruction.argval))
        elif instruction.opname == "POP_TOP" and written and _path(function, written) in _EFFECTS:
            return ".".join(written), line
        elif instruction.opname not in ("CACHE", "EXTENDED_ARG", "NOP"):
            written = []
    return None


def _path(function: FunctionType, written: list[str]) -> str:
    """What a dotted name stands for, as a path of numba.cuda; "" for anything else."""
    found: Any = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)).get(written[0])
    try:
        found = function.__globals__[written[0]] if found is None else found.cell_contents
        for name in written[1:]:
            if not (is_a(found, ModuleType) or is_a(found, Provided)):
                return ""
            found = getattr(found, name)
    except (KeyError, AttributeError, ValueError):
        return ""
    return found.path if is_a(found, Provided) else ""
