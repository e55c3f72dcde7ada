"""Shapes and strides of views, with no memory behind them. Runs in the recorder; pure.

In: a geometry and an index, a shape, axes. Out: the geometry of the view.

Follows NumPy's rules for basic indexing and contiguity, within what Numba's device arrays support: a reshape
never copies, an index is ints, slices and one Ellipsis. Errors are those that NumPy and Numba raise:
IndexError, TypeError, ValueError, NotImplementedError.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Ints = tuple[int, ...]


@dataclass(frozen=True)
class Geometry:
    """Shape in elements, strides and offset in bytes, and the size of an element."""

    shape: Ints
    strides: Ints
    offset: int
    itemsize: int

    @property
    def size(self) -> int:
        """How many elements."""
        return math.prod(self.shape)

    @property
    def c_contiguous(self) -> bool:
        """Whether elements follow each other, last index fastest."""
        return self._follows(contiguous_strides(self.shape, self.itemsize, "C"))

    @property
    def f_contiguous(self) -> bool:
        """Whether elements follow each other, first index fastest."""
        return self._follows(contiguous_strides(self.shape, self.itemsize, "F"))

    def _follows(self, wanted: Ints) -> bool:
        triples = zip(self.shape, self.strides, wanted, strict=True)
        return self.size == 0 or all(n == 1 or have == want for n, have, want in triples)


def contiguous_strides(shape: Ints, itemsize: int, order: str) -> Ints:
    """Strides in bytes of a contiguous array, order "C" or "F"."""
    strides, step = [], itemsize
    for n in reversed(shape) if order == "C" else shape:
        strides.append(step)
        step *= n
    return tuple(reversed(strides)) if order == "C" else tuple(strides)


def contiguous(shape: Ints, itemsize: int, order: str = "C") -> Geometry:
    """A new array's geometry."""
    return Geometry(shape, contiguous_strides(shape, itemsize, order), 0, itemsize)


def normal_shape(shape: Any) -> Ints:
    """A shape as given to an allocation: an int or a sequence of ints, none negative."""
    items = shape if isinstance(shape, (tuple, list)) else (shape,)
    result = []
    for item in items:
        try:
            n = operator.index(item)
        except TypeError:
            raise TypeError(f"a shape is made of integers, not of {type(item).__name__}: {shape!r}") from None
        if n < 0:
            raise ValueError(f"negative dimensions are not allowed: {shape!r}")
        result.append(n)
    return tuple(result)


def index(view: Geometry, key: Any) -> tuple[Geometry, bool]:
    """``view[key]`` and whether the key names a single element by ints alone."""
    items = list(key) if isinstance(key, tuple) else [key]
    ellipses = sum(1 for item in items if item is Ellipsis)
    if ellipses > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    missing = len(view.shape) - (len(items) - ellipses)
    if missing < 0:
        raise IndexError(f"{-missing} extra indices given: the array has {len(view.shape)} dimensions")
    where = next((i for i, item in enumerate(items) if item is Ellipsis), len(items))
    items[where : where + ellipses] = [slice(None)] * missing
    shape, strides, offset, element = [], [], view.offset, True
    for axis, (item, n, stride) in enumerate(zip(items, view.shape, view.strides, strict=True)):
        if isinstance(item, slice):
            start, stop, step = item.indices(n)
            count = len(range(start, stop, step))
            offset += start * stride if count else 0
            shape.append(count)
            strides.append(stride * step)
            element = False
        else:
            offset += _position(item, n, axis) * stride
    if ellipses:
        element = False
    return Geometry(tuple(shape), tuple(strides), offset, view.itemsize), element


def _position(item: Any, n: int, axis: int) -> int:
    if isinstance(item, bool) or not hasattr(item, "__index__"):
        raise TypeError(f"device arrays take ints, slices and ... as index, not {type(item).__name__}")
    i = operator.index(item)
    if not -n <= i < n:
        raise IndexError(f"index {i} is out of bounds for axis {axis} with size {n}")
    return i + n if i < 0 else i


def reshape(view: Geometry, shape: Sequence[int], order: str) -> Geometry:
    """``view.reshape(shape)`` without copying. One dimension may be -1."""
    wanted = [operator.index(n) for n in shape]
    if order not in ("C", "F", "A"):
        raise ValueError(f"order not C|F|A: {order!r}")
    if wanted.count(-1) > 1:
        raise ValueError("can only specify one unknown dimension")
    if -1 in wanted:
        known = math.prod(n for n in wanted if n != -1)
        if known == 0 or view.size % known:
            raise ValueError("cannot infer valid shape for unknown dimension")
        wanted[wanted.index(-1)] = view.size // known
    if any(n < 0 for n in wanted) or math.prod(wanted) != view.size:
        raise ValueError(f"reshape changes the size of the array: {view.shape} to {tuple(wanted)}")
    target = tuple(wanted)
    if target == view.shape:
        return view
    if order == "A":
        order = "F" if view.f_contiguous and not view.c_contiguous else "C"
    if not (view.c_contiguous if order == "C" else view.f_contiguous):
        raise NotImplementedError("reshape would require copy: the array is not contiguous in this order")
    return Geometry(target, contiguous_strides(target, view.itemsize, order), view.offset, view.itemsize)


def transpose(view: Geometry) -> Geometry:
    """``view`` with its axes reversed."""
    return Geometry(view.shape[::-1], view.strides[::-1], view.offset, view.itemsize)


def squeeze(view: Geometry, axis: int | tuple[int, ...] | None) -> Geometry:
    """``view.squeeze(axis)``: without the axes of size one, or without those named."""
    n = len(view.shape)
    if axis is None:
        drop = {a for a in range(n) if view.shape[a] == 1}
    else:
        drop = {a % max(n, 1) for a in (axis if isinstance(axis, tuple) else (axis,))}
        if any(view.shape[a] != 1 for a in drop):
            raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    keep = [a for a in range(n) if a not in drop]
    return Geometry(
        tuple(view.shape[a] for a in keep), tuple(view.strides[a] for a in keep), view.offset, view.itemsize
    )


def retype(view: Geometry, itemsize: int) -> Geometry:
    """``view.view(dtype)`` for a dtype of ``itemsize`` bytes."""
    if itemsize == view.itemsize:
        return view
    if not view.shape or not view.c_contiguous:
        raise ValueError("To change to a dtype of a different size, the array must be C-contiguous")
    last, rest = divmod(view.shape[-1] * view.itemsize, itemsize)
    if rest:
        raise ValueError("the last axis in bytes must be a multiple of the new dtype's size")
    shape = (*view.shape[:-1], last)
    return Geometry(shape, contiguous_strides(shape, itemsize, "C"), view.offset, itemsize)


def field(view: Geometry, offset: int, itemsize: int, shape: Ints) -> Geometry:
    """A field of every record of ``view``, ``offset`` bytes from its start; ``shape`` where the field is an array."""
    strides = (*view.strides, *contiguous_strides(shape, itemsize, "C"))
    return Geometry((*view.shape, *shape), strides, view.offset + offset, itemsize)


def broadcast(view: Geometry, shape: Ints) -> Geometry:
    """``view`` as seen through ``shape``, by strides of zero, as assignment does it.

    Raises ValueError where the shapes do not fit, in Numba's words.
    """
    extra = len(shape) - len(view.shape)
    if extra < 0:
        raise ValueError(f"Can't assign {len(view.shape)}-D array to {len(shape)}-D self")
    strides = [0] * extra
    for axis, (n, have, stride) in enumerate(zip(shape[extra:], view.shape, view.strides, strict=True)):
        if have not in (1, n):
            raise ValueError(f"Can't copy sequence with size {have} to array axis {axis + extra} with dimension {n}")
        strides.append(stride if have == n else 0)
    return Geometry(shape, tuple(strides), view.offset, view.itemsize)
