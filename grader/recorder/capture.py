"""What a kernel captured: globals, closure cells and defaults, as constants of the plan. Runs in the
recorder.

Comes in: function objects of kernels.py. Goes out: ``plan_functions.Function`` entries, each function once, and
constants. Anything that Numba could not use either becomes an ``UnsupportedConstant``, so that the runner
can name it.
"""

from __future__ import annotations

import enum
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Literal, NoReturn

import numba
import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError
from numba.np import numpy_support
from pydantic import ValidationError

from grader import plan_constants, plan_functions, plan_limits, plan_values
from grader.plan_dtypes import plan_dtype
from grader.recorder.constants import array_constant, is_known, scalar_constant
from grader.recorder.contentless import Contentless
from grader.recorder.enums import is_int_enum, members_of, name_of, plain
from grader.recorder.forgotten_calls import forgotten_call
from grader.recorder.function_parts import cells_of, decoration, globals_of
from grader.recorder.launches import Kernel
from grader.recorder.mistakes import is_a, readable, type_name
from grader.recorder.named_tuples import defaults_of, fields_of
from grader.recorder.provided_paths import ProvidedPaths

if TYPE_CHECKING:
    from grader.recorder.context import Context


class Capture:
    """Writes functions and what they captured into a context's current recording."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._paths = ProvidedPaths()
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
        if len(functions) >= plan_limits.MAX_FUNCTIONS:
            self._context.mistakes.refuse(
                "too-many-functions",
                f"The launched kernels are made of more than {plan_limits.MAX_FUNCTIONS} functions.",
                advice="Make a kernel once and launch it often, rather than making a new one for each launch.",
            )
        self._kept.append(given)
        index[id(given)] = number = len(functions)
        role, options, signatures = decoration(given)
        bare = plan_functions.Function(
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
                "names": {name: self.constant(v, name) for name, v in globals_of(function)},
                "closure": {name: self.constant(v, name) for name, v in cells_of(function)},
            }
        )
        return number

    def _code_index(self, function: Any) -> int:
        found = self._context.text.index_of(function.__code__) if isinstance(function, FunctionType) else None
        return self._refuse_foreign(function) if found is None else found

    def constant(self, value: Any, name: str, depth: int = 0) -> Any:
        """The constant for a captured object. ``name`` is what kernels.py calls it."""
        if is_a(value, np.void):
            return plan_constants.UnsupportedConstant(type_name=type_name(value, qualified=True), reason="record")
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
            return plan_values.StringConstant(value=value)
        if isinstance(value, np.dtype) and is_known(value):
            return plan_values.DTypeConstant(dtype=plan_dtype(value))
        if is_a(value, numba.types.Record):
            return _record_type(value)
        if type(value) is np.ndarray and is_known(value.dtype) and value.ndim <= plan_limits.MAX_DIMENSIONS:
            if value.nbytes > plan_limits.MAX_CONSTANT_BYTES:
                self._context.mistakes.refuse(
                    "constant-too-large",
                    f"A kernel captures the array {name} of {value.nbytes:,} bytes.",
                    expected=f"at most {plan_limits.MAX_CONSTANT_BYTES:,} bytes (a GPU has that much constant memory)",
                    advice="Pass the table as an argument, from cuda.to_device.",
                )
            return array_constant(value)
        if type(value) is tuple and len(value) <= plan_limits.MAX_TUPLE and depth < plan_limits.MAX_NESTING:
            return plan_constants.TupleConstant(items=tuple(self.constant(v, name, depth + 1) for v in value))
        if is_a(value, enum.Enum) or is_a(value, enum.EnumType):
            made = self._enum(value, name, depth)
            if made is not None:
                return made
        if is_a(value, tuple) or (is_a(value, type) and issubclass(value, tuple)):
            named = self._named_tuple(value, name, depth)
            if named is not None:
                return named
        if isinstance(value, (Kernel, Dispatcher)):
            return plan_constants.FunctionConstant(index=self.function(value))
        path = self._paths.of(value)
        if path is not None:
            return plan_constants.NameConstant(path=path)
        if isinstance(value, FunctionType):
            return plan_constants.FunctionConstant(index=self.function(value))
        return plan_constants.UnsupportedConstant(type_name=type_name(value, qualified=True), reason=_reason(value))

    def _named_tuple(self, value: Any, name: str, depth: int) -> Any | None:
        """The constant for a named tuple or a class of named tuples; None for what a plan cannot hold."""
        kind = value if is_a(value, type) else type(value)
        fields = fields_of(kind)
        if fields is None or len(fields) > plan_limits.MAX_TUPLE or depth >= plan_limits.MAX_NESTING:
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

    def _enum(self, value: Any, name: str, depth: int) -> Any | None:
        """The constant for an enum or a member of one, as Numba types it; None for what a plan cannot hold."""
        kind = value if is_a(value, type) else type(value)
        members = members_of(kind)
        if members is None or depth >= plan_limits.MAX_NESTING:
            return None
        if kind is not value and plain(value) is not None:
            return self.constant(plain(value), name, depth)
        try:
            made = plan_constants.EnumClassConstant(
                name=kind.__name__,
                base="IntEnum" if is_int_enum(kind) else "Enum",
                members=tuple(
                    plan_constants.EnumMember(name=member, value=self.constant(number, name, depth + 1))
                    for member, number in members.items()
                ),
            )
            if kind is value:
                return made
            member = name_of(value)
            return None if member is None else plan_constants.EnumMemberConstant(type=made, member=member)
        except ValidationError:  # a name, a value or a number of members that no plan has
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


def _reason(value: Any) -> Literal["", "enum", "module", "record-type", "tuple-class"]:
    """Why an object is unsupported that Numba might know."""
    kind = value if is_a(value, type) else type(value)
    if issubclass(kind, enum.Enum):
        return "enum"
    if issubclass(kind, ModuleType):
        return "module"
    if kind is numba.types.Record or (issubclass(kind, np.dtype) and is_a(value, np.dtype) and value.names is not None):
        return "record-type"
    return "tuple-class" if issubclass(kind, tuple) and kind is not tuple else ""


def _record_type(record: Any) -> Any:
    """The constant for Numba's type of a record."""
    try:
        dtype: Any = plan_dtype(np.dtype(numpy_support.as_dtype(record)))
        return plan_values.RecordTypeConstant(dtype=dtype)
    except (NumbaError, NotImplementedError, ValueError):
        return plan_constants.UnsupportedConstant(type_name=type_name(record, qualified=True), reason="record-type")
