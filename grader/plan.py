"""The launch plan: what a student's host function asked a device to do, as plain, validated data.

The recorder writes it, the trusted process validates it (``LaunchPlan.model_validate_json``), the runner
carries it out. Nothing in it is code: kernels are named by their place in the text of kernels.py, and
whatever they captured is numbers, small arrays, and names from a fixed list. Since the recorder has executed
a stranger's Python, every field has a limit, and cross references are checked here, once, for all readers.
"""

from __future__ import annotations

from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from grader.plan_constants import (
    MAX_ARGUMENTS,
    MAX_BUFFER_BYTES,
    MAX_BUFFERS,
    MAX_DIMENSIONS,
    MAX_FUNCTIONS,
    MAX_GRID,
    MAX_NESTING,
    MAX_OPERATIONS,
    MAX_STREAMS,
    MAX_TUPLE,
    MAX_UPLOAD_BYTES,
    MAX_VIEW_BYTES,
    ArrayConstant,
    Base64,
    BoolConstant,
    Captured,
    Constant,
    Count,
    DType,
    FloatConstant,
    FunctionConstant,
    Identifier,
    Index,
    IntConstant,
    Line,
    NamedTupleClassConstant,
    NamedTupleConstant,
    NoneConstant,
    Part,
    Shape,
    Strides,
    TupleConstant,
    bytes_of_all,
    decoded_bytes,
)

# ---------------------------------------------------------------------------- functions


class TypeOf(Part):
    """One type of an explicit signature: a scalar (``ndim`` None) or an array with its layout."""

    dtype: DType
    ndim: Annotated[int, Field(ge=0, le=MAX_DIMENSIONS)] | None = None
    layout: Literal["A", "C", "F"] = "A"


class JitOptions(Part):
    """The options of ``@cuda.jit`` that a submission may set; others are refused by the recorder."""

    debug: bool | None = None
    opt: bool | None = None
    lineinfo: bool | None = None
    fastmath: bool | None = None
    inline: Literal["always", "never"] | None = None
    forceinline: bool | None = None
    max_registers: Annotated[int, Field(ge=1, le=255)] | None = None
    launch_bounds: tuple[Annotated[int, Field(ge=1, le=1024)], ...] | None = None


class Function(Part):
    """One function of kernels.py that a launch needs: where its code is, and what it captured.

    ``code`` is the index of its code object in a pre-order walk over the code objects of the compiled text
    (the module's is 0); ``qualname`` and ``line`` must agree with it. ``role`` says how it was decorated:
    a kernel or device function (``cuda.jit``), an ``njit`` function, or not at all (``plain``).
    """

    code: Index
    qualname: Annotated[str, Field(min_length=1, max_length=500)]
    line: Line
    role: Literal["kernel", "device", "njit", "plain"]
    options: JitOptions = JitOptions()
    signatures: Annotated[tuple[tuple[TypeOf, ...], ...], Field(max_length=16)] = ()
    defaults: Annotated[tuple[Constant, ...], Field(max_length=MAX_ARGUMENTS)] = ()
    names: Captured = Field(default_factory=dict)
    closure: Captured = Field(default_factory=dict)


# ---------------------------------------------------------------------------- memory


class Buffer(Part):
    """A stretch of device memory: an argument of the host function (by its name) or scratch of its own.

    Scratch memory starts with unspecified contents unless ``data`` (base64, exactly ``nbytes``) is given,
    as ``cuda.to_device`` of a host array gives it. ``line`` is where it was allocated (0 for arguments).
    """

    name: Identifier
    origin: Literal["argument", "scratch"]
    nbytes: Annotated[int, Field(ge=0, le=MAX_BUFFER_BYTES)]
    data: Base64 | None = None
    line: Line = 0

    @model_validator(mode="after")
    def _agree(self) -> Buffer:
        if self.data is not None and decoded_bytes(self.data) != self.nbytes:
            raise ValueError(f"a buffer of {self.nbytes} bytes starts with {decoded_bytes(self.data)}")
        return self


class View(Part):
    """An array over a buffer: ``shape`` in elements, ``offset`` and ``strides`` in bytes."""

    kind: Literal["view"] = "view"
    buffer: Index
    dtype: DType
    shape: Shape
    strides: Strides
    offset: Count

    @model_validator(mode="after")
    def _agree(self) -> View:
        if len(self.shape) != len(self.strides):
            raise ValueError(f"a view has {len(self.shape)} dimensions but {len(self.strides)} strides")
        if bytes_of_all(self.shape, self.dtype) > MAX_VIEW_BYTES:
            raise ValueError(f"a view has more than {MAX_VIEW_BYTES} bytes of elements")
        return self

    def extent(self) -> tuple[int, int]:
        """First byte and one past the last byte that the view can reach, relative to its buffer."""
        if 0 in self.shape:
            return self.offset, self.offset
        reach = [(n - 1) * s for n, s in zip(self.shape, self.strides, strict=True)]
        low = self.offset + sum(r for r in reach if r < 0)
        high = self.offset + sum(r for r in reach if r > 0)
        return low, high + np.dtype(self.dtype).itemsize


class DataArgument(Part):
    """A scalar argument of the host function whose value the recorder never saw, by its name."""

    kind: Literal["data"] = "data"
    name: Identifier


class TupleArgument(Part):
    """A tuple of kernel arguments."""

    kind: Literal["arguments"] = "arguments"
    items: Annotated[tuple[Argument, ...], Field(max_length=MAX_TUPLE)]


Argument = Annotated[
    View
    | DataArgument
    | TupleArgument
    | IntConstant
    | BoolConstant
    | FloatConstant
    | NoneConstant
    | ArrayConstant
    | TupleConstant,
    Field(discriminator="kind"),
]


# ---------------------------------------------------------------------------- operations

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
                if isinstance(operation.value, ArrayConstant) and operation.value.shape:
                    raise ValueError("a fill's value is an array")
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
        elif isinstance(argument, ArrayConstant) and not argument.scalar:
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
        elif isinstance(constant, FunctionConstant) and constant.index >= len(self.functions):
            raise ValueError(f"a constant names function {constant.index} of {len(self.functions)}")


# The constants that are data, and may be passed to a kernel.
_DATA = (IntConstant, BoolConstant, FloatConstant, NoneConstant, ArrayConstant, TupleConstant)

TupleArgument.model_rebuild()
