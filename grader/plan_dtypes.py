"""The dtypes of a launch plan: numbers and bools by NumPy's short names, records as a list of their fields.

Any process may import it: the recorder writes dtypes, the trusted process validates them, the runner makes NumPy's of
them. A record is spelled out, with names, offsets and size: nothing of it is parsed or unpickled.
"""

from __future__ import annotations

import math
from typing import Annotated, Any

import numpy as np
from pydantic import Field, TypeAdapter, ValidationError, model_validator

from grader.plan_limits import MAX_DIMENSIONS, MAX_FIELDS, MAX_NESTING, MAX_RECORD_BYTES, Part

NumberDType = Annotated[str, Field(pattern=r"^(\|b1|\|[iu]1|<[iu][248]|<f[248]|<c(8|16))$")]
_Name = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\W\d]\w*$")]
_Bytes = Annotated[int, Field(ge=0, le=MAX_RECORD_BYTES)]
_Extent = Annotated[int, Field(ge=1, le=MAX_RECORD_BYTES)]


class RecordField(Part):
    """A field of a record: a number, a record, or (``shape`` not empty) an array of either; ``offset`` in bytes."""

    name: _Name
    dtype: DType
    offset: _Bytes
    shape: Annotated[tuple[_Extent, ...], Field(max_length=MAX_DIMENSIONS)] = ()


class RecordDType(Part):
    """A structured dtype. ``aligned``: its fields lie as a C compiler puts them (NumPy's ``isalignedstruct``)."""

    fields: Annotated[tuple[RecordField, ...], Field(min_length=1, max_length=MAX_FIELDS)]
    itemsize: _Extent
    aligned: bool = False

    @model_validator(mode="after")
    def _agree(self) -> RecordDType:
        if len({field.name for field in self.fields}) != len(self.fields):
            raise ValueError("a record has two fields of one name")
        if _depth(self) > MAX_NESTING:
            raise ValueError(f"records nest deeper than {MAX_NESTING}")
        end = 0
        for field in sorted(self.fields, key=lambda field: field.offset):
            if field.offset < end:
                raise ValueError(f"the field {field.name} of a record overlaps another one")
            end = field.offset + math.prod(field.shape) * _itemsize(field.dtype)
            if end > self.itemsize:
                raise ValueError(f"the field {field.name} reaches byte {end} of a record of {self.itemsize}")
        try:
            numpy_dtype(self)
        except ValueError as error:  # where it is not as aligned as it says
            raise ValueError(f"no record that NumPy knows: {error}") from None
        return self


DType = NumberDType | RecordDType
RecordField.model_rebuild()
_NUMBER = TypeAdapter(NumberDType)
_NAME = TypeAdapter(_Name)


def _depth(dtype: DType) -> int:
    return 0 if isinstance(dtype, str) else 1 + max(_depth(field.dtype) for field in dtype.fields)


def _itemsize(dtype: DType) -> int:
    return np.dtype(dtype).itemsize if isinstance(dtype, str) else dtype.itemsize


def numpy_dtype(dtype: DType) -> np.dtype[Any]:
    """NumPy's dtype for a plan's. Raises ValueError where an unvalidated one is none."""
    if isinstance(dtype, str):
        return np.dtype(dtype)
    formats = [
        (numpy_dtype(field.dtype), field.shape) if field.shape else numpy_dtype(field.dtype) for field in dtype.fields
    ]
    layout: dict[str, Any] = {
        "names": [field.name for field in dtype.fields],
        "formats": formats,
        "offsets": [field.offset for field in dtype.fields],
        "itemsize": dtype.itemsize,
    }
    make: Any = np.dtype  # not for a type checker: the fields are known only now
    made: np.dtype[Any] = make(layout, align=dtype.aligned)
    return made


def plan_dtype(dtype: np.dtype[Any]) -> DType:
    """A plan's dtype for NumPy's. Raises ValueError with one sentence for a dtype that no plan can hold."""
    if dtype.names is None:
        try:
            return _NUMBER.validate_python(dtype.str)
        except ValidationError:
            raise ValueError(f"{_short(dtype)} is no dtype of numbers or bools in the machine's byte order") from None
    if len(dtype.names) > MAX_FIELDS:
        raise ValueError(f"a record of {len(dtype.names)} fields: at most {MAX_FIELDS} can be used")
    if dtype.itemsize > MAX_RECORD_BYTES:
        raise ValueError(f"a record of {dtype.itemsize:,} bytes: at most {MAX_RECORD_BYTES:,} can be used")
    assert dtype.fields is not None
    fields = []
    for name in dtype.names:
        if not _is_name(name):
            raise ValueError(f"a record has a field {name[:60]!r}: use letters, digits and _ in its name")
        of_field, offset, *title = dtype.fields[name]
        if title:
            raise ValueError(f"the field {name} of a record has a title: leave the title out")
        base, shape = of_field.subdtype or (of_field, ())
        try:
            fields.append(RecordField(name=name, dtype=plan_dtype(base), offset=offset, shape=shape))
        except ValidationError as error:
            raise ValueError(f"the field {name} of a record: {_first(error)}") from None
        except ValueError as error:
            raise ValueError(f"the field {name} of a record: {error}") from None
    try:
        return RecordDType(fields=tuple(fields), itemsize=dtype.itemsize, aligned=dtype.isalignedstruct)
    except ValidationError as error:
        raise ValueError(_first(error)) from None


def bytes_of_all(shape: tuple[int, ...], dtype: DType) -> int:
    """Bytes of all elements of an array; axes without any count as one, since NumPy's own limits do not know them."""
    return math.prod(max(1, n) for n in shape) * _itemsize(dtype)


def _is_name(name: str) -> bool:
    try:
        _NAME.validate_python(name)
    except ValidationError:
        return False
    return True


def _short(dtype: np.dtype[Any]) -> str:
    return str(dtype)[:60]


def _first(error: ValidationError) -> str:
    """The first thing that is wrong, without pydantic's frame."""
    first = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    said = first["msg"].removeprefix("Value error, ")
    return f"{where}: {said}" if where else said
