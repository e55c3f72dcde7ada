"""What all of a launch plan shares: how much one call may ask for, and the fields that its parts are made of.

Any process may import it.
"""

from __future__ import annotations

import keyword
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

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
MAX_FIELDS = 64  # of one record
MAX_RECORD_BYTES = 16 << 10
MAX_MEMBERS = 256  # of an enum
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


def _checked_member(name: str) -> str:
    if name == "mro":  # the one name without underscores that Python keeps for itself
        raise ValueError("not a name that a member of an enum can have")
    return name


# What the runner puts into Python's own code for a named tuple or an enum, hence a name by Python's own rules.
ClassName = Annotated[Identifier, AfterValidator(_checked_name)]
FieldName = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\W\d_]\w*$"), AfterValidator(_checked_name)]
MemberName = Annotated[FieldName, AfterValidator(_checked_member)]
Path = Annotated[str, Field(max_length=100, pattern=r"^[A-Za-z_]\w*(\.[A-Za-z_]\w*)*$")]
Base64 = Annotated[str, Field(max_length=MAX_UPLOAD_BYTES * 4 // 3 + 8, pattern=r"^[A-Za-z0-9+/]*={0,2}$")]
Shape = Annotated[tuple[Count, ...], Field(max_length=MAX_DIMENSIONS)]
Strides = Annotated[tuple[Annotated[int, Field(ge=-(2**62), le=2**62)], ...], Field(max_length=MAX_DIMENSIONS)]


def decoded_bytes(data: str) -> int:
    """How many bytes base64 stands for. Raises ValueError where its length or padding is wrong."""
    if len(data) % 4:
        raise ValueError("base64 comes in groups of four characters")
    return len(data) // 4 * 3 - data.count("=")


class Part(BaseModel):
    """Base of every piece of a plan: frozen, strict, no unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
