"""Functions from the text of kernels.py, without executing a line of it. Runs in the runner.

In: the text, and the functions of a validated plan. Out: function objects that are compiled, never called. The
text is compiled to code objects; each function is one of those, found by its place, with the plan's constants as
its globals and closure and nothing else: ``__builtins__`` is empty, modules and names come from a fixed list. Where
Numba would execute what it has made of a kernel, it may not (``source_text``).
"""

from __future__ import annotations

import builtins
import cmath
import importlib
import math
import operator
from collections.abc import Sequence
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba import cuda

from grader.device_names import LineInfo
from grader.devices.base import LINE_OPTIONS, Kernel, Refused
from grader.kernels_text import KernelsText
from grader.plan_constants import Constant, FunctionConstant, NameConstant, UnsupportedConstant
from grader.plan_functions import Function
from grader.records import Failure
from grader.runner.source_text import execute_numbers_only
from grader.runner.values import Values
from grader.vector_access import OFFERED

# What a captured name may stand for: these modules, and what hangs from them by public attributes.
_ROOTS: dict[str, Any] = {
    "builtins": builtins,
    "cmath": cmath,
    "math": math,
    "numba": numba,
    "numpy": np,
    "operator": operator,
}
# Ways out of typing into code that Numba would run, or that compile something else than the kernel.
_DENIED = (
    "extending",
    "intrinsic",
    "overload",
    "core",
    "objmode",
    "testing",
    "cffi",
    "declare_device",
    "jit_module",
)
# What captures of these kinds are, and what to do instead.
_REASONS = {
    "enum": (
        "an enum, or a member of one, that is more than names for numbers, texts or tuples",
        "Use a class of up to 256 names as enum.Enum or enum.IntEnum makes it: no name that begins with an underscore, "
        "no `value` of its own.",
    ),
    "module": (
        "a module that is nothing to a kernel",
        "Kernels can use the modules numba, numpy, math, cmath and operator. Of grader, import what it offers by name: "
        "`from grader.vector_access import load4, store4`.",
    ),
    "record": (
        "a record by itself, which Numba cannot take over",
        "Capture an array of one record, and use its first element: `ONE = TABLE[:1]`, then `ONE[0].x`.",
    ),
    "record-type": (
        "a dtype or type of records that no kernel here can use",
        "Make records of up to 64 fields of numbers or bools, arrays of them or records: named with letters, digits "
        "and _, not over each other, 16 KiB at most.",
    ),
    "tuple-class": (
        "of a class derived from tuple",
        "Use a class as collections.namedtuple or typing.NamedTuple makes it: nothing derived from it, no "
        "method of tuple replaced.",
    ),
}


def resolve_name(path: str) -> Any:
    """What a dotted path of the fixed list stands for. Raises KeyError for anything else."""
    if path in OFFERED:
        return OFFERED[path]
    first, *rest = path.split(".")
    found = _ROOTS[first]
    for part in rest:
        if part.startswith("_") or part in _DENIED:
            raise KeyError(path)
        if found is numba and part == "cuda":
            found = cuda
        elif hasattr(found, part):
            found = getattr(found, part)
        elif isinstance(found, ModuleType) and found.__name__.partition(".")[0] in ("numba", "numpy"):
            try:
                found = importlib.import_module(f"{found.__name__}.{part}")
            except ImportError:
                raise KeyError(path) from None
        else:
            raise KeyError(path)
    return found


class Binder:
    """Makes the functions of one plan. Raises Refused where plan and text do not fit, or a capture is no data."""

    def __init__(self, text: KernelsText, functions: Sequence[Function], line_info: LineInfo = "") -> None:
        text.compile()
        execute_numbers_only()
        self._line_info = line_info
        self.values = Values()
        self._text = text
        self._of_plan = functions
        self._functions: dict[int, FunctionType] = {}
        self._dispatchers: dict[int, Any] = {}

    def kernel(self, index: int) -> Kernel:
        """The kernel that is the plan's ``functions[index]``."""
        function = self._of_plan[index]
        return Kernel(function.qualname, function.line, self._function(index), function.options, function.signatures)

    def _function(self, index: int) -> FunctionType:
        """The function object of the plan's ``functions[index]``; its captures may lead back to it."""
        if index in self._functions:
            return self._functions[index]
        function = self._of_plan[index]
        code = self._code(function)
        scope: dict[str, Any] = {"__builtins__": {}, "__name__": "kernels"}
        cells = {name: CellType() for name in code.co_freevars}
        made = FunctionType(code, scope, code.co_name, None, tuple(cells[name] for name in code.co_freevars))
        made.__qualname__ = function.qualname
        made.__module__ = "kernels"
        self._functions[index] = made
        made.__defaults__ = tuple(self._value(c, function, "a default argument") for c in function.defaults) or None
        for name, constant in function.names.items():
            scope[name] = self._value(constant, function, name)
        for name, constant in function.closure.items():
            if name in cells:
                cells[name].cell_contents = self._value(constant, function, name)
        return made

    def _code(self, function: Function) -> CodeType:
        if function.code < len(self._text.codes):
            code = self._text.codes[function.code]
            if code.co_qualname == function.qualname and code.co_firstlineno == function.line:
                return code
        raise Refused(
            Failure(
                "malformed-plan",
                f"The launch plan names {function.qualname!r} at line {function.line}: no function of kernels.py.",
            )
        )

    def _dispatcher(self, index: int) -> Any:
        """A function as another function sees it: decorated as it was in kernels.py."""
        if index not in self._dispatchers:
            function = self._of_plan[index]
            made = self._function(index)
            if function.role in ("kernel", "device"):
                options = {k: v for k, v in function.options.model_dump(exclude_none=True).items() if k == "inline"}
                made = cuda.jit(device=True, **options, **LINE_OPTIONS[self._line_info])(made)
            elif function.role == "njit" and self._line_info:
                made = cuda.jit(device=True, **LINE_OPTIONS[self._line_info])(made)  # njit's own would have no lines
            elif function.role == "njit":
                made = numba.njit(made)
            self._dispatchers[index] = made
        return self._dispatchers[index]

    def _value(self, constant: Constant, function: Function, name: str) -> Any:
        """What ``function`` captured under ``name``. Raises Refused for what a kernel cannot use."""

        def otherwise(constant: Constant) -> Any:
            if isinstance(constant, FunctionConstant):
                return self._dispatcher(constant.index)
            if isinstance(constant, NameConstant):
                try:
                    return resolve_name(constant.path)
                except KeyError:
                    raise self._unsupported(function, name, constant.path) from None
            assert isinstance(constant, UnsupportedConstant)
            what, advice = _REASONS.get(constant.reason, (f"a {constant.type_name}", ""))
            raise self._unsupported(function, name, what, advice)

        return self.values.of(constant, otherwise)

    def _unsupported(self, function: Function, name: str, what: str, advice: str = "") -> Refused:
        return Refused(
            Failure(
                "unsupported-capture",
                f"{function.qualname} uses {name}, which is {what}: a kernel cannot use that.",
                expected="numbers, tuples, named tuples, enums, small arrays, dtypes, functions decorated with "
                "cuda.jit, or names of numba and math",
                found=what,
                where=str(self._text.place(function.line)),
                advice=advice or f"Pass what the kernel needs of {name} as arguments.",
            )
        )
