"""The launch plan: what a student's host function asked a device to do, as plain, validated data.

The recorder writes it, the trusted process validates it (``LaunchPlan.model_validate_json``), the runner
carries it out. Nothing in it is code: kernels are named by their place in the text of kernels.py, and
whatever they captured is numbers, small arrays, and names from a fixed list. Since the recorder has executed
a stranger's Python, every field has a limit, and cross references are checked here, once, for all readers.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from grader.plan_constants import (
    Constant,
    EnumClassConstant,
    EnumMemberConstant,
    FunctionConstant,
    NamedTupleClassConstant,
    NamedTupleConstant,
    TupleConstant,
)
from grader.plan_dtypes import RecordDType
from grader.plan_functions import Function
from grader.plan_limits import (
    MAX_ARGUMENTS,
    MAX_BUFFERS,
    MAX_FUNCTIONS,
    MAX_GRID,
    MAX_NESTING,
    MAX_OPERATIONS,
    MAX_STREAMS,
    MAX_UPLOAD_BYTES,
    Count,
    Identifier,
    Index,
    Line,
    Part,
)
from grader.plan_memory import Argument, Buffer, DataArgument, TupleArgument, View
from grader.plan_values import ArrayConstant, BoolConstant, FloatConstant, IntConstant, NoneConstant

Extent = Annotated[int, Field(ge=0, le=MAX_GRID)]
Stream = Annotated[int, Field(ge=0, le=MAX_STREAMS)]


class Launch(Part):
    """One kernel launch. Whether a GPU accepts grid, block and shared bytes is for the device to say."""

    op: Literal["launch"] = "launch"
    kernel: Index
    grid: tuple[Extent, Extent, Extent]
    block: tuple[Extent, Extent, Extent]
    shared_bytes: Count = 0
    stream: Stream = 0
    arguments: Annotated[tuple[Argument, ...], Field(max_length=MAX_ARGUMENTS)]
    line: Line


class Fill(Part):
    """``view[...] = value``."""

    op: Literal["fill"] = "fill"
    target: View
    value: IntConstant | BoolConstant | FloatConstant | ArrayConstant | DataArgument
    stream: Stream = 0
    line: Line


class Copy(Part):
    """``target[...] = source`` between device arrays of one shape (broadcast already done) and dtype."""

    op: Literal["copy"] = "copy"
    source: View
    target: View
    stream: Stream = 0
    line: Line


class Synchronize(Part):
    """Wait for one stream, or for all."""

    op: Literal["synchronize"] = "synchronize"
    stream: Stream | None = None
    line: Line


Operation = Annotated[Launch | Fill | Copy | Synchronize, Field(discriminator="op")]


class LaunchPlan(Part):
    """Everything that one call of an entry point asked for, in order.

    Raises pydantic.ValidationError where a field, a limit or a cross reference is wrong.
    """

    version: Literal[1] = 1
    entry: Identifier
    buffers: Annotated[tuple[Buffer, ...], Field(max_length=MAX_BUFFERS)]
    functions: Annotated[tuple[Function, ...], Field(max_length=MAX_FUNCTIONS)]
    operations: Annotated[tuple[Operation, ...], Field(max_length=MAX_OPERATIONS)]
    returned_value: bool = False

    @model_validator(mode="after")
    def _cross_references(self) -> LaunchPlan:
        for function in self.functions:
            constants = (*function.defaults, *function.names.values(), *function.closure.values())
            for constant in constants:
                self._check_constant(constant, depth=0)
        names = [b.name for b in self.buffers if b.origin == "argument"]
        if len(set(names)) != len(names):
            raise ValueError("two buffers claim to be the same argument")
        uploads = sum(len(b.data) for b in self.buffers if b.data is not None)
        if uploads > MAX_UPLOAD_BYTES * 4 // 3 + 8:
            raise ValueError(f"uploads exceed {MAX_UPLOAD_BYTES} bytes")
        for operation in self.operations:
            if isinstance(operation, Launch):
                if operation.kernel >= len(self.functions) or self.functions[operation.kernel].role != "kernel":
                    raise ValueError(f"a launch names function {operation.kernel}, which is no kernel of this plan")
                for argument in operation.arguments:
                    self._check_argument(argument, depth=0)
            elif isinstance(operation, Fill):
                self._check_view(operation.target)
                if isinstance(operation.value, ArrayConstant):
                    if operation.value.shape:
                        raise ValueError("a fill's value is an array")
                    if (
                        isinstance(operation.value.dtype, RecordDType)
                        and operation.value.dtype != operation.target.dtype
                    ):
                        raise ValueError("a fill's value is a record of another dtype")
            elif isinstance(operation, Copy):
                self._check_view(operation.source)
                self._check_view(operation.target)
                if operation.source.shape != operation.target.shape or operation.source.dtype != operation.target.dtype:
                    raise ValueError("a copy joins arrays of different shape or dtype")
        return self

    def _check_view(self, view: View) -> None:
        if view.buffer >= len(self.buffers):
            raise ValueError(f"a view names buffer {view.buffer} of {len(self.buffers)}")
        low, high = view.extent()
        if low < 0 or high > self.buffers[view.buffer].nbytes:
            raise ValueError(f"a view reaches bytes {low} to {high} of a buffer of {self.buffers[view.buffer].nbytes}")

    def _check_argument(self, argument: Argument, depth: int) -> None:
        if depth > MAX_NESTING:
            raise ValueError(f"arguments nest deeper than {MAX_NESTING}")
        if isinstance(argument, View):
            self._check_view(argument)
        elif isinstance(argument, TupleArgument):
            for item in argument.items:
                self._check_argument(item, depth + 1)
        elif isinstance(argument, TupleConstant):
            for constant in argument.items:
                if not isinstance(constant, _DATA):
                    raise ValueError(f"a constant of kind {constant.kind!r} cannot be a kernel's argument")  # noqa: TRY004
                self._check_argument(constant, depth + 1)
        elif isinstance(argument, EnumMemberConstant) and not isinstance(argument.value, _DATA):
            raise ValueError("a text cannot be a kernel's argument, nor a member of an enum of texts")  # noqa: TRY004
        elif isinstance(argument, ArrayConstant):
            if not argument.scalar:
                raise ValueError("a host array cannot be a kernel's argument")
        elif not isinstance(argument, DataArgument):
            self._check_constant(argument, depth)

    def _check_constant(self, constant: Constant, depth: int) -> None:
        if depth > MAX_NESTING:
            raise ValueError(f"constants nest deeper than {MAX_NESTING}")
        if isinstance(constant, TupleConstant):
            for item in constant.items:
                self._check_constant(item, depth + 1)
        elif isinstance(constant, NamedTupleClassConstant):
            for default in constant.defaults:
                self._check_constant(default, depth + 1)
        elif isinstance(constant, NamedTupleConstant):
            self._check_constant(constant.type, depth)
            for item in constant.items:
                self._check_constant(item, depth + 1)
        elif isinstance(constant, EnumClassConstant):
            for member in constant.members:
                self._check_constant(member.value, depth + 1)
        elif isinstance(constant, EnumMemberConstant):
            self._check_constant(constant.type, depth)
        elif isinstance(constant, ArrayConstant) and constant.scalar and isinstance(constant.dtype, RecordDType):
            raise ValueError("a record by itself cannot be captured")
        elif isinstance(constant, FunctionConstant) and constant.index >= len(self.functions):
            raise ValueError(f"a constant names function {constant.index} of {len(self.functions)}")


# The constants that are data, and may be passed to a kernel.
_DATA = (IntConstant, BoolConstant, FloatConstant, NoneConstant, ArrayConstant, EnumMemberConstant, TupleConstant)
