"""What a plan holds by itself: numbers, texts, arrays and dtypes, as plain, validated data.

Any process may import it.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from grader.plan_dtypes import DType, RecordDType, bytes_of_all, numpy_dtype
from grader.plan_limits import MAX_CONSTANT_BYTES, MAX_VIEW_BYTES, Part, Shape, decoded_bytes


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
        if math.prod(self.shape) * numpy_dtype(self.dtype).itemsize != decoded_bytes(self.data):
            raise ValueError("a constant's bytes do not fit its shape and dtype")
        if bytes_of_all(self.shape, self.dtype) > MAX_VIEW_BYTES:
            raise ValueError("a constant's shape is too large")
        return self


class DTypeConstant(Part):
    """A ``numpy.dtype`` object."""

    kind: Literal["dtype"] = "dtype"
    dtype: DType


class RecordTypeConstant(Part):
    """Numba's type of a record, as ``numba.from_dtype`` makes it of a structured dtype."""

    kind: Literal["record-type"] = "record-type"
    dtype: RecordDType
