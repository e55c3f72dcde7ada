"""What a plan's functions captured, as plain, validated data; and the limits and fields that all of a plan shares.

Any process may import it: the recorder writes it, the trusted process validates it, the runner makes values of it.
"""

from __future__ import annotations

import keyword
import math
from typing import Annotated, Literal

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

# What one call of a host function may ask for. Far above what any assignment needs, low enough that
# validating and carrying out a plan stays cheap.
MAX_OPERATIONS = 4096
MAX_BUFFERS = 1024
MAX_FUNCTIONS = 256
MAX_ARGUMENTS = 64
MAX_DIMENSIONS = 8
MAX_BUFFER_BYTES = 1 << 36
MAX_VIEW_BYTES = 1 << 36  # of all elements, also where strides of 0 lay them over each other: each takes time
MAX_UPLOAD_BYTES = 8 << 20
MAX_CONSTANT_BYTES = 64 << 10
MAX_CONSTANTS = 256
MAX_TUPLE = 64
MAX_NESTING = 4
MAX_STREAMS = 64
MAX_GRID = 2**31 - 1

Count = Annotated[int, Field(ge=0, le=2**62)]
Line = Annotated[int, Field(ge=0, le=10_000_000)]
Index = Annotated[int, Field(ge=0, le=1_000_000)]
Identifier = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\W\d]\w*$")]


def _checked_name(name: str) -> str:
    if not name.isidentifier() or keyword.iskeyword(name):
        raise ValueError("not a name that Python can use")
    return name


# What the runner puts into Python's own code for a named tuple, hence a name by Python's own rules.
ClassName = Annotated[Identifier, AfterValidator(_checked_name)]
FieldName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\W\d_]\w*$"), AfterValidator(_checked_name)]
DType = Annotated[str, Field(pattern=r"^(\|b1|\|[iu]1|<[iu][248]|<f[248]|<c(8|16))$")]
Path = Annotated[str, Field(max_length=100, pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")]
Base64 = Annotated[str, Field(max_length=MAX_UPLOAD_BYTES * 4 // 3 + 8, pattern=r"^[A-Za-z0-9+/]*={0,2}$")]
Shape = Annotated[tuple[Count, ...], Field(max_length=MAX_DIMENSIONS)]
Strides = Annotated[tuple[Annotated[int, Field(ge=-(2**62), le=2**62)], ...], Field(max_length=MAX_DIMENSIONS)]


def decoded_bytes(data: str) -> int:
    """How many bytes base64 stands for. Raises ValueError where its length or padding is wrong."""
    if len(data) % 4:
        raise ValueError("base64 comes in groups of four characters")
    return len(data) // 4 * 3 - data.count("=")


def bytes_of_all(shape: tuple[int, ...], dtype: str) -> int:
    """Bytes of all elements of an array; axes without any count as one, since NumPy's own limits do not know them."""
    return math.prod(max(1, n) for n in shape) * np.dtype(dtype).itemsize


class Part(BaseModel):
    """Base of every piece of a plan: frozen, strict, no unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


# ---------------------------------------------------------------------------- constants


class IntConstant(Part):
    """A Python int, as Numba would type it (int64, or uint64 above its range)."""

    kind: Literal["int"] = "int"
    value: Annotated[int, Field(ge=-(2**63), lt=2**64)]


class BoolConstant(Part):
    """A Python bool."""

    kind: Literal["bool"] = "bool"
    value: bool


class FloatConstant(Part):
    """A Python float, written as ``float.hex()`` writes it, or ``inf``, ``-inf``, ``nan``."""

    kind: Literal["float"] = "float"
    value: Annotated[str, Field(max_length=40, pattern=r"^(-?0x[01]\.[0-9a-f]+p[+-][0-9]+|-?inf|nan)$")]

    @model_validator(mode="after")
    def _fits(self) -> FloatConstant:
        try:
            float.fromhex(self.value)
        except OverflowError as error:
            raise ValueError("a float is too large") from error
        return self


class NoneConstant(Part):
    """``None``."""

    kind: Literal["none"] = "none"


class StringConstant(Part):
    """A str; kernels can hardly use one, but may have captured one."""

    kind: Literal["str"] = "str"
    value: Annotated[str, Field(max_length=10_000)]


class ArrayConstant(Part):
    """A NumPy array (C order) or, with an empty shape, a NumPy scalar: raw little-endian bytes in base64."""

    kind: Literal["array"] = "array"
    dtype: DType
    shape: Shape
    scalar: bool
    data: Annotated[str, Field(max_length=MAX_CONSTANT_BYTES * 4 // 3 + 8, pattern=r"^[A-Za-z0-9+/]*={0,2}$")]

    @model_validator(mode="after")
    def _agree(self) -> ArrayConstant:
        if self.scalar and self.shape:
            raise ValueError("a scalar has no shape")
        if math.prod(self.shape) * np.dtype(self.dtype).itemsize != decoded_bytes(self.data):
            raise ValueError("a constant's bytes do not fit its shape and dtype")
        if bytes_of_all(self.shape, self.dtype) > MAX_VIEW_BYTES:
            raise ValueError("a constant's shape is too large")
        return self


class DTypeConstant(Part):
    """A ``numpy.dtype`` object."""

    kind: Literal["dtype"] = "dtype"
    dtype: DType


class NameConstant(Part):
    """Something that Numba or Python provides, by dotted path: ``numba.cuda``, ``math.sqrt``, ``numba.float32``.

    The runner binds only paths of its fixed list.
    """

    kind: Literal["name"] = "name"
    path: Path


class FunctionConstant(Part):
    """Another function of kernels.py, by its index in ``LaunchPlan.functions``."""

    kind: Literal["function"] = "function"
    index: Index


class TupleConstant(Part):
    """A tuple of constants."""

    kind: Literal["tuple"] = "tuple"
    items: Annotated[tuple[Constant, ...], Field(max_length=MAX_TUPLE)]


class NamedTupleClassConstant(Part):
    """A class that ``collections.namedtuple`` made; ``defaults`` are those of its last fields."""

    kind: Literal["namedtuple-class"] = "namedtuple-class"
    name: ClassName
    fields: Annotated[tuple[FieldName, ...], Field(max_length=MAX_TUPLE)]
    defaults: Annotated[tuple[Constant, ...], Field(max_length=MAX_TUPLE)] = ()

    @model_validator(mode="after")
    def _agree(self) -> NamedTupleClassConstant:
        if len(set(self.fields)) != len(self.fields):
            raise ValueError("a named tuple has two fields of one name")
        if len(self.defaults) > len(self.fields):
            raise ValueError("a named tuple has more defaults than fields")
        return self


class NamedTupleConstant(Part):
    """A named tuple of constants."""

    kind: Literal["namedtuple"] = "namedtuple"
    type: NamedTupleClassConstant
    items: Annotated[tuple[Constant, ...], Field(max_length=MAX_TUPLE)]

    @model_validator(mode="after")
    def _agree(self) -> NamedTupleConstant:
        if len(self.items) != len(self.type.fields):
            raise ValueError(f"a named tuple has {len(self.items)} items for {len(self.type.fields)} fields")
        return self


class UnsupportedConstant(Part):
    """A captured object that is no plain data, or none that a plan can hold; kept to say so by name.

    ``reason`` is set where Numba could use some such objects: "enum" for an enum or a member of one,
    "tuple-class" for a class derived from tuple that is more than a named tuple, or an object of one.
    """

    kind: Literal["unsupported"] = "unsupported"
    type_name: Annotated[str, Field(max_length=200)]
    reason: Literal["", "enum", "tuple-class"] = ""


Constant = Annotated[
    IntConstant
    | BoolConstant
    | FloatConstant
    | NoneConstant
    | StringConstant
    | ArrayConstant
    | DTypeConstant
    | NameConstant
    | FunctionConstant
    | TupleConstant
    | NamedTupleClassConstant
    | NamedTupleConstant
    | UnsupportedConstant,
    Field(discriminator="kind"),
]
Captured = Annotated[dict[Identifier, Constant], Field(max_length=MAX_CONSTANTS)]

TupleConstant.model_rebuild()
NamedTupleClassConstant.model_rebuild()
NamedTupleConstant.model_rebuild()
