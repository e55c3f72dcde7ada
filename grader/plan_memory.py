"""A plan's device memory, arrays over it, and what else a kernel may get as an argument.

Any process may import it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from grader.plan_constants import EnumMemberConstant, TupleConstant
from grader.plan_dtypes import DType, bytes_of_all, numpy_dtype
from grader.plan_limits import (
    MAX_BUFFER_BYTES,
    MAX_TUPLE,
    MAX_VIEW_BYTES,
    Base64,
    Count,
    Identifier,
    Index,
    Line,
    Part,
    Shape,
    Strides,
    decoded_bytes,
)
from grader.plan_values import ArrayConstant, BoolConstant, FloatConstant, IntConstant, NoneConstant


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
        return low, high + numpy_dtype(self.dtype).itemsize


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
    | EnumMemberConstant
    | TupleConstant,
    Field(discriminator="kind"),
]

TupleArgument.model_rebuild()
