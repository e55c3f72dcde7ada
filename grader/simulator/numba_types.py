"""From Numba types to NumPy dtypes, and casts between values of two Numba types. Runs in the runner.

In: Numba types, values as the machine holds them. Out: dtypes, values of another type.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.errors import NotSimulated
from grader.simulator.frontend import types
from grader.simulator.lane_values import is_wide
from grader.simulator.memory import NOWHERE, ArrayRef

_SCALARS = {
    name: np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
}
_STATIC_TYPES = ("Module", "Function", "BoundFunction", "Dispatcher", "NumberClass", "DType", "TypeRef", "class")
Cast = Callable[[Any], Any]
# numba-cuda has a numpy_support of its own.
_HAS_OWN = importlib.util.find_spec("numba.cuda.np") is not None
_numpy_support: Any = importlib.import_module(f"numba.{'cuda.' if _HAS_OWN else ''}np.numpy_support")
from_dtype = _numpy_support.from_dtype
ufunc_find_matching_loop = _numpy_support.ufunc_find_matching_loop


def plain(numba_type: Any) -> Any:
    """``numba_type`` without its literal value; a member of an enum is its value, or its position if that is a text."""
    if isinstance(numba_type, types.EnumMember):
        return types.int64 if isinstance(numba_type.dtype, types.UnicodeType) else numba_type.dtype
    return getattr(numba_type, "literal_type", numba_type)


def dtype_of(numba_type: Any) -> np.dtype[Any]:
    """The NumPy dtype of a scalar or record Numba type. Raises NotSimulated where there is none."""
    if isinstance(numba_type, types.Record):
        return record_dtype(numba_type)
    name = str(plain(numba_type))
    if is_time(numba_type) or is_text(numba_type):
        dtype: np.dtype[Any] = _numpy_support.as_dtype(plain(numba_type))
        return dtype
    if name not in _SCALARS:
        raise NotSimulated(f"the simulator does not know values of Numba's type {name}")
    return _SCALARS[name]


def record_dtype(record: Any) -> np.dtype[Any]:
    """The NumPy dtype of a Numba record type; what the simulator does not know in it is bytes."""

    def of_field(field: Any) -> Any:
        if isinstance(field, types.NestedArray):
            return (of_field(field.dtype), tuple(field.shape))
        if isinstance(field, types.Record) or is_scalar(field) or is_text(field):
            return dtype_of(field)
        return np.dtype((np.void, field.bitwidth // 8 if hasattr(field, "bitwidth") else 1))

    names = list(record.fields)
    return np.dtype(
        {
            "names": names,
            "formats": [of_field(record.typeof(name)) for name in names],
            "offsets": [record.offset(name) for name in names],
            "itemsize": record.size,
        }
    )


def is_scalar(numba_type: Any) -> bool:
    """Whether values of this type are numbers, booleans, or dates and times."""
    return str(plain(numba_type)) in _SCALARS or is_time(numba_type)


def is_time(numba_type: Any) -> bool:
    """Whether values of this type are NumPy's dates or differences of such."""
    return isinstance(plain(numba_type), types.NPDatetime | types.NPTimedelta)


def is_text(numba_type: Any) -> bool:
    """Whether values of this type are NumPy's texts of a fixed length, elements of an array of dtype "U8" or "S8"."""
    return isinstance(plain(numba_type), types.UnicodeCharSeq | types.CharSeq)


def is_static(numba_type: Any) -> bool:
    """Whether values of this type exist while compiling only."""
    return type(numba_type).__name__ in _STATIC_TYPES or isinstance(
        numba_type, types.Callable | types.Module | types.DType | types.NumberClass
    )


def has_values(numba_type: Any) -> bool:
    """Whether the machine can hold values of this type; text, say, exists while compiling only."""
    if isinstance(numba_type, types.BaseTuple):
        return all(has_values(plain(item)) for item in numba_type)
    if isinstance(numba_type, types.Optional):
        return has_values(plain(numba_type.type))
    return is_scalar(numba_type) or isinstance(
        numba_type, types.Array | types.Record | types.SliceType | types.EllipsisType
    )


def numba_scalar(dtype: np.dtype[Any]) -> Any:
    """The Numba type of a NumPy scalar or structured dtype."""
    if dtype.names is not None or dtype.kind in "mMUS":
        return from_dtype(dtype)
    return types.boolean if dtype == np.bool_ else getattr(types, dtype.name)


def declared_type(dtype: np.dtype[Any], ndim: int | None, layout: str) -> Any:
    """The Numba type of one argument of a declared signature; ``ndim`` None means a scalar."""
    scalar = numba_scalar(dtype)
    return scalar if ndim is None else types.Array(scalar, ndim, layout)


def numba_array(dtype: np.dtype[Any], shape: tuple[int, ...], strides: tuple[int, ...]) -> Any:
    """The Numba array type of an argument: dtype, dimensions and the layout that Numba would see."""
    return types.Array(numba_scalar(dtype), len(shape), layout_of(dtype.itemsize, shape, strides))


def layout_of(itemsize: int, shape: tuple[int, ...], strides: tuple[int, ...]) -> str:
    """The layout "C", "F" or "A", as NumPy's flags say it (axes of length 1 do not matter)."""

    def dense(axes: list[int]) -> bool:
        step = itemsize
        for axis in axes:
            if shape[axis] != 1 and strides[axis] != step:
                return False
            step *= shape[axis]
        return True

    if 0 in shape:
        return "C"
    axes = list(range(len(shape)))
    return "C" if dense(axes[::-1]) else "F" if dense(axes) else "A"


def convert(value: Any, dtype: np.dtype[Any]) -> Any:
    """A scalar value, one or per lane, as ``dtype``.

    Float to integer truncates; what does not fit 32 (or 64) bits ends at the nearest that does, and NaN is 0
    (PTX ISA, "cvt"); narrower integers take the low bits of that.
    """
    if dtype.kind in "iu" and np.asarray(value).dtype.kind == "f":
        wide_dtype = np.dtype(f"{dtype.kind}{max(dtype.itemsize, 4)}")
        return _truncated(np.asarray(value), wide_dtype).astype(dtype)[()]
    if isinstance(value, np.ndarray) and not value.ndim:
        value = value[()]  # one number that all lanes share
    if is_wide(value):
        wide: npt.NDArray[Any] = value
        return wide if wide.dtype == dtype else wide.astype(dtype)
    if dtype.kind in "iu" and isinstance(value, int | np.integer) and not isinstance(value, np.timedelta64):
        return np.asarray(int(value) & ((1 << 8 * dtype.itemsize) - 1), f"u{dtype.itemsize}").astype(dtype)[()]
    return np.asarray(value).astype(dtype)[()]


def _truncated(value: npt.NDArray[Any], dtype: np.dtype[Any]) -> npt.NDArray[Any]:
    limits = np.iinfo(dtype)
    whole = np.trunc(value.astype(np.float64))
    low, high = whole <= limits.min, whole >= float(limits.max)
    inside = np.where(low | high | np.isnan(whole), 0, whole).astype(dtype)
    return np.where(low, dtype.type(limits.min), np.where(high, dtype.type(limits.max), inside))


def caster(source: Any, target: Any) -> Cast | None:
    """A function that turns a value of type ``source`` into one of type ``target``; None where nothing is to do."""
    source, target = plain(source), plain(target)
    if source == target or isinstance(target, types.NoneType | types.Omitted):
        return None
    if isinstance(target, types.Optional):
        return _caster_to_optional(source, target.type)
    if isinstance(source, types.Optional):
        inner = caster(source.type, target)
        return lambda value: inner(value[1]) if inner else value[1]
    if isinstance(target, types.BaseTuple) and isinstance(source, types.BaseTuple):
        casts = [caster(s, t) for s, t in zip(source, target, strict=True)]
        if not any(casts):
            return None
        return lambda value: tuple(c(v) if c else v for c, v in zip(casts, value, strict=True))
    if is_scalar(target) and is_scalar(source):
        dtype = dtype_of(target)
        if dtype == np.bool_:
            return lambda value: value != 0
        if dtype.kind != "c" and dtype_of(source).kind == "c":
            return lambda value: convert(np.real(value), dtype)
        return lambda value: convert(value, dtype)
    return None


def _caster_to_optional(source: Any, target: Any) -> Cast:
    """Values of Numba's optional types are pairs: whether there is a value, and the value."""
    if isinstance(source, types.NoneType):
        blank = blank_value(target)
        return lambda value: (np.False_, blank)
    inner = caster(source.type if isinstance(source, types.Optional) else source, target)
    if isinstance(source, types.Optional):
        return lambda value: (value[0], inner(value[1]) if inner else value[1])
    return lambda value: (np.True_, inner(value) if inner else value)


def blank_value(numba_type: Any) -> Any:
    """What stands where there is no value of this type: zeros, and arrays that are nowhere."""
    numba_type = plain(numba_type)
    if isinstance(numba_type, types.BaseTuple):
        return tuple(blank_value(item) for item in numba_type)
    if isinstance(numba_type, types.Array | types.Record):
        array = isinstance(numba_type, types.Array)
        zeros = (0,) * (numba_type.ndim if array else 0)
        return ArrayRef("global", "None", dtype_of(numba_type.dtype if array else numba_type), NOWHERE, zeros, zeros)
    if isinstance(numba_type, types.Optional):
        return (np.False_, blank_value(numba_type.type))
    return convert(0, dtype_of(numba_type))
