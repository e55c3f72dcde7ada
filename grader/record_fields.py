"""Arrays of records as one array for each number in them. Pure; any process may import it.

In: arrays of any dtype that a plan knows. Out: their numbers and bools, with how one would write them.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Leaf:
    """A number in each element of an array of ``axes[0]`` axes.

    ``path`` names the fields that lead to it, none where the array has no records; a field that is an array adds axes
    of its own, ``axes[k]`` of them for ``path[k - 1]``.
    """

    path: tuple[str, ...]
    axes: tuple[int, ...]
    dtype: np.dtype[Any]

    def of(self, array: Array) -> Array:
        """The numbers, as a view of ``array``. Raises KeyError, ValueError or IndexError where it has no such field."""
        for name in self.path:
            array = array[name]
        return array

    def element(self, name: str, flat: int, shape: tuple[int, ...]) -> str:
        """One of the numbers as a kernel would write it: ``out[2, 1]``, ``points[3].x``, ``cells[0].corners[2].x``.

        ``flat`` is its position among all of them, of ``shape``.
        """
        index = [str(int(i)) for i in np.unravel_index(flat, shape)]
        text = ""
        for part, axes in zip((name, *self.path), self.axes, strict=True):
            own, index = index[:axes], index[axes:]
            text = f"{text}.{part}" if text else part
            text += f"[{', '.join(own)}]" if own else ""
        return text

    def called(self, name: str) -> str:
        """All the numbers: ``out``, ``points.x``."""
        return ".".join([name, *self.path])


def leaves_of(dtype: np.dtype[Any], ndim: int) -> Iterator[Leaf]:
    """The numbers in each element of an array of ``dtype`` with ``ndim`` axes, in the order of the fields."""
    return _leaves(dtype, Leaf((), (ndim,), dtype))


def _leaves(dtype: np.dtype[Any], so_far: Leaf) -> Iterator[Leaf]:
    if dtype.names is None:
        yield Leaf(so_far.path, so_far.axes, dtype)
        return
    assert dtype.fields is not None
    for name in dtype.names:
        base, shape = dtype.fields[name][0].base, dtype.fields[name][0].shape
        yield from _leaves(base, Leaf((*so_far.path, name), (*so_far.axes, len(shape)), base))


def bytes_of_fields(dtype: np.dtype[Any]) -> npt.NDArray[np.bool_]:
    """Which bytes of an element belong to a field: none of the padding between them."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return np.tile(bytes_of_fields(base), int(np.prod(shape)))
    covered = np.full(dtype.itemsize, dtype.names is None)
    for name in dtype.names or ():
        assert dtype.fields is not None
        of_field, offset = dtype.fields[name][:2]
        covered[offset : offset + of_field.itemsize] = bytes_of_fields(of_field)
    return covered
