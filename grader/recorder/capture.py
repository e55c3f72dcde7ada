"""What a kernel captured: globals, closure cells and defaults, as constants of the plan. Runs in the
recorder.

Comes in: function objects of kernels.py. Goes out: ``plan.Function`` entries, each function once, and
constants. Anything that Numba could not use either becomes an ``UnsupportedConstant``, so that the runner
can name it.
"""

from __future__ import annotations

import base64
import dis
import enum
import sys
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher
from pydantic import TypeAdapter, ValidationError

from grader import plan, plan_constants
from grader.recorder.contentless import Contentless
from grader.recorder.forgotten_calls import forgotten_call
from grader.recorder.launches import Kernel
from grader.recorder.mistakes import is_a, readable, type_name
from grader.recorder.named_tuples import defaults_of, fields_of
from grader.recorder.names import Provided

if TYPE_CHECKING:
    from grader.recorder.context import Context

MODULES = ("numba", "math", "cmath", "numpy", "operator", "builtins")
_DTYPE = TypeAdapter(plan_constants.DType)


def numeric(dtype: np.dtype[Any]) -> bool:
    """Whether a plan can hold elements of this dtype."""
    try:
        _DTYPE.validate_python(dtype.str)
    except ValidationError:
        return False
    return dtype.names is None


def scalar_constant(value: Any) -> Any | None:
    """The constant for a bool, int, float, complex, None or NumPy scalar; None for anything else."""
    if isinstance(value, np.generic):
        return array_constant(np.asarray(value), scalar=True) if numeric(value.dtype) else None
    kind = type(value)
    if kind is bool:
        return plan_constants.BoolConstant(value=value)
    if kind is int and -(2**63) <= value < 2**64:
        return plan_constants.IntConstant(value=value)
    if kind is float:
        return plan_constants.FloatConstant(value=value.hex())
    if kind is complex:
        return array_constant(np.asarray(value), scalar=True)
    return plan_constants.NoneConstant() if value is None else None


def array_constant(array: np.ndarray[Any, Any], *, scalar: bool = False) -> plan_constants.ArrayConstant:
    """The constant for a NumPy array or (``scalar``) a NumPy scalar."""
    data = base64.b64encode(np.ascontiguousarray(array).tobytes()).decode("ascii")
    return plan_constants.ArrayConstant(dtype=array.dtype.str, shape=array.shape, scalar=scalar, data=data)


class Capture:
    """Writes functions and what they captured into a context's current recording."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._paths: dict[int, str] = {}
        self._kept: list[Any] = []  # what has a number in function_index must stay alive

    def function(self, given: Any) -> int:
        """The index of a kernel, an njit function or a plain function in the plan."""
        index = self._context.recording.function_index
        known = index.get(id(given))
        if known is not None:
            return known
        function = given if isinstance(given, FunctionType) else given.py_func
        code = self._code_index(function)
        self._refuse_forgotten_call(function)
        functions = self._context.recording.functions
        if len(functions) >= plan_constants.MAX_FUNCTIONS:
            self._context.mistakes.refuse(
                "too-many-functions",
                f"The launched kernels are made of more than {plan_constants.MAX_FUNCTIONS} functions.",
                advice="Make a kernel once and launch it often, rather than making a new one for each launch.",
            )
        self._kept.append(given)
        index[id(given)] = number = len(functions)
        role, options, signatures = _decoration(given)
        bare = plan.Function(
            code=code,
            qualname=function.__code__.co_qualname,
            line=function.__code__.co_firstlineno,
            role=role,
            options=options,
            signatures=signatures,
        )
        functions.append(bare)  # first, since a function may name itself
        functions[number] = bare.model_copy(
            update={
                "defaults": tuple(self.constant(v, "a default argument") for v in function.__defaults__ or ()),
                "names": {name: self.constant(v, name) for name, v in _globals(function)},
                "closure": {name: self.constant(v, name) for name, v in _cells(function)},
            }
        )
        return number

    def _code_index(self, function: Any) -> int:
        found = self._context.text.index_of(function.__code__) if isinstance(function, FunctionType) else None
        return self._refuse_foreign(function) if found is None else found

    def constant(self, value: Any, name: str, depth: int = 0) -> Any:
        """The constant for a captured object. ``name`` is what kernels.py calls it."""
        found = scalar_constant(value)
        if found is not None:
            return found
        if isinstance(value, Contentless):
            self._context.mistakes.refuse(
                "contents-read",
                f"A kernel captures {value._called} from outside, as {name}.",
                expected="arrays and numbers of a call reach a kernel as arguments",
                advice=f"Make {name} a parameter of the kernel and pass it in the launch.",
            )
        if type(value) is str and len(value) <= 10_000 and readable(value) == value:
            return plan_constants.StringConstant(value=value)
        if isinstance(value, np.dtype) and numeric(value):
            return plan_constants.DTypeConstant(dtype=value.str)
        if type(value) is np.ndarray and numeric(value.dtype) and value.ndim <= plan_constants.MAX_DIMENSIONS:
            if value.nbytes > plan_constants.MAX_CONSTANT_BYTES:
                self._context.mistakes.refuse(
                    "constant-too-large",
                    f"A kernel captures the array {name} of {value.nbytes:,} bytes.",
                    expected=f"at most {plan_constants.MAX_CONSTANT_BYTES:,} bytes "
                    "(a GPU has that much constant memory)",
                    advice="Pass the table as an argument, from cuda.to_device.",
                )
            return array_constant(value)
        if type(value) is tuple and len(value) <= plan_constants.MAX_TUPLE and depth < plan_constants.MAX_NESTING:
            return plan_constants.TupleConstant(items=tuple(self.constant(v, name, depth + 1) for v in value))
        if is_a(value, tuple) or (is_a(value, type) and issubclass(value, tuple)):
            named = self._named_tuple(value, name, depth)
            if named is not None:
                return named
        if isinstance(value, (Kernel, Dispatcher)):
            return plan_constants.FunctionConstant(index=self.function(value))
        path = self._path_of(value)
        if path is not None:
            return plan_constants.NameConstant(path=path)
        if isinstance(value, FunctionType):
            return plan_constants.FunctionConstant(index=self.function(value))
        return plan_constants.UnsupportedConstant(type_name=type_name(value, qualified=True), reason=_reason(value))

    def _named_tuple(self, value: Any, name: str, depth: int) -> Any | None:
        """The constant for a named tuple or a class of named tuples; None for what a plan cannot hold."""
        kind = value if is_a(value, type) else type(value)
        fields = fields_of(kind)
        if fields is None or len(fields) > plan_constants.MAX_TUPLE or depth >= plan_constants.MAX_NESTING:
            return None
        if kind is not value and tuple.__len__(value) != len(fields):  # made by tuple.__new__
            return None
        defaults = tuple(self.constant(v, name, depth + 1) for v in defaults_of(kind))
        try:
            made = plan_constants.NamedTupleClassConstant(name=kind.__name__, fields=fields, defaults=defaults)
        except ValidationError:  # a name that is too long
            return None
        if kind is value:
            return made
        return plan_constants.NamedTupleConstant(
            type=made, items=tuple(self.constant(v, name, depth + 1) for v in tuple.__iter__(value))
        )

    def _path_of(self, value: Any) -> str | None:
        """The dotted path of something that Numba, NumPy or Python provides; found by identity, not by
        name.
        """
        if isinstance(value, Provided):
            return value.path
        if value is numba.types:
            return "numba.types"
        if isinstance(value, ModuleType):
            name = getattr(value, "__name__", "")
            known = sys.modules.get(name) is value and name.partition(".")[0] in MODULES
            return name if known else None
        if not self._paths:
            self._paths = dict(_provided())
        try:
            return self._paths.get(id(value))
        except TypeError:
            return None

    def _refuse_forgotten_call(self, function: FunctionType) -> None:
        forgotten = forgotten_call(function)
        if forgotten is not None:
            name, line = forgotten
            self._context.mistakes.refuse(
                "not-called",
                f"{name} without parentheses does nothing.",
                expected=f"{name}()",
                found=name,
                advice=f"Write {name}(): only the parentheses make it a call.",
                line=line,
            )

    def _refuse_foreign(self, function: Any) -> NoReturn:
        name = getattr(function, "__qualname__", type(function).__name__)
        module = getattr(function, "__module__", None)
        self._context.mistakes.refuse(
            "foreign-function",
            f"A kernel uses {name}, whose code is not in the text of kernels.py.",
            expected="kernels and their functions as def or lambda in kernels.py",
            found=f"{type(function).__name__} {name}" + (f" of {module}" if module else ""),
            advice="Write the function out in kernels.py; don't use exec, functools.partial or imported functions.",
        )


def _reason(value: Any) -> Literal["", "enum", "tuple-class"]:
    """Why an object is unsupported that Numba might know."""
    kind = value if is_a(value, type) else type(value)
    if issubclass(kind, enum.Enum):
        return "enum"
    return "tuple-class" if issubclass(kind, tuple) and kind is not tuple else ""


def _decoration(given: Any) -> tuple[Any, plan.JitOptions, tuple[tuple[plan.TypeOf, ...], ...]]:
    if isinstance(given, Kernel):
        return ("device" if given.device else "kernel"), given.options, given.signatures
    if isinstance(given, FunctionType):
        return "plain", plan.JitOptions(), ()
    inline = given.targetoptions.get("inline")
    fastmath = given.targetoptions.get("fastmath")
    options = plan.JitOptions(
        inline=inline if inline in ("always", "never") else None,
        fastmath=fastmath if isinstance(fastmath, bool) else None,
    )
    return "njit", options, ()


def _globals(function: FunctionType) -> Iterator[tuple[str, Any]]:
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


def _cells(function: FunctionType) -> Iterator[tuple[str, Any]]:
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # a cell that has not been filled yet
            continue


def _provided() -> Iterator[tuple[int, str]]:
    """Ids and paths of what the modules in MODULES provide. Later pairs win, so the plainest names come
    last.
    """
    for prefix, module in (
        ("numba.types", numba.types),
        *((name, sys.modules[name]) for name in reversed(MODULES)),
    ):
        canonical: list[tuple[int, str]] = []
        for name, value in vars(module).items():
            if name.startswith("_") or isinstance(
                value, (bool, int, float, complex, str, tuple, ModuleType, type(None))
            ):
                continue
            called = getattr(value, "__name__", None) or str(value)
            (canonical if called == name else []).append((id(value), f"{prefix}.{name}"))
            if called != name:
                yield id(value), f"{prefix}.{name}"
        yield from canonical
