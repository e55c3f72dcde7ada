"""What a function of kernels.py holds: how it was decorated, which globals it loads, what is in its closure.

Runs in the recorder; pure. Comes in: function objects. Goes out: roles and options of the plan, names and objects.
"""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType, FunctionType
from typing import Any

from grader import plan_functions
from grader.recorder.launches import Kernel


def decoration(given: Any) -> tuple[Any, plan_functions.JitOptions, tuple[tuple[plan_functions.TypeOf, ...], ...]]:
    """A function's role in the plan, its options and declared signatures: of a Kernel, an njit or a plain function."""
    if isinstance(given, Kernel):
        return ("device" if given.device else "kernel"), given.options, given.signatures
    if isinstance(given, FunctionType):
        return "plain", plan_functions.JitOptions(), ()
    inline = given.targetoptions.get("inline")
    fastmath = given.targetoptions.get("fastmath")
    options = plan_functions.JitOptions(
        inline=inline if inline in ("always", "never") else None,
        fastmath=fastmath if isinstance(fastmath, bool) else None,
    )
    return "njit", options, ()


def globals_of(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The global names that a function and the functions inside of it load, as far as kernels.py defines
    them.
    """
    seen = set()
    for code in _nested(function.__code__):
        for instruction in dis.get_instructions(code):
            name = instruction.argval
            if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and name not in seen:
                seen.add(name)
                if name in function.__globals__:
                    yield name, function.__globals__[name]


def _nested(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def cells_of(function: FunctionType) -> Iterator[tuple[str, Any]]:
    """The names and contents of a function's closure, as far as it is filled."""
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # a cell that has not been filled yet
            continue
