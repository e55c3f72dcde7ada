"""The three address spaces of a launch, and arrays over them. Runs in the runner.

In: sizes, and bytes of the host's arrays. Out: addresses, ``ArrayRef``s.

A space is one flat stretch of bytes: global memory is one segment that all lanes share, shared memory has a
segment per block of the wave, local memory one per lane; mostly these are interleaved, as on a GPU: an element of one
lane lies beside that of the next lane at the same address. An array is an address, a shape and strides, each the
same for all lanes (a Python int) or one value per lane (an int64 array): views differ by lane in
``for row in a`` and ``b = a if c else a[1:]``. Lanes may even hold arrays of different buffers or spaces
(``b = a if c else s``): then ``which`` says for each lane which of ``sources`` its array belongs to.

A record, as Numba has it, is a reference into memory: an array without axes of a structured dtype.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.errors import NotSimulated

Bytes = npt.NDArray[np.uint8]
# One number per lane, or one for all lanes.
Lanes = Any
SEGMENT = 256  # bytes: every allocation and segment is a multiple, so that every dtype is aligned
# What memory holds before anyone writes it: NaN as a float, -1 as a signed integer, so that using it shows.
GARBAGE = 0xFF


def round_up(nbytes: int) -> int:
    """``nbytes`` rounded up to whole segments."""
    return -(-nbytes // SEGMENT) * SEGMENT


class Space:
    """An address space: ``name`` is "global", "shared" or "local"; ``segment`` is bytes per block or lane."""

    def __init__(self, name: str, nbytes: int, segment: int = 0) -> None:
        self.name = name
        self.segment = segment
        self.bytes: Bytes = np.full(max(round_up(nbytes), SEGMENT), GARBAGE, np.uint8)
        self._views: dict[np.dtype[Any], npt.NDArray[Any]] = {}
        self._views_at_bytes: dict[np.dtype[Any], npt.NDArray[Any]] = {}
        # Bytes that hold garbage until somebody writes them; made when first asked for.
        self._unwritten: npt.NDArray[np.bool_] | None = None

    def view(self, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """The whole space as elements of ``dtype``."""
        if dtype not in self._views:
            self._views[dtype] = self.bytes.view(dtype)
        return self._views[dtype]

    def view_at_bytes(self, dtype: np.dtype[Any]) -> npt.NDArray[Any]:
        """An element of ``dtype`` at every byte, whatever its alignment."""
        if dtype not in self._views_at_bytes:
            count = self.bytes.size - dtype.itemsize + 1
            self._views_at_bytes[dtype] = np.ndarray((count,), dtype, self.bytes, 0, (1,))
        return self._views_at_bytes[dtype]

    def scrub(self) -> None:
        """Garbage everywhere, as before the first write."""
        self.bytes.fill(GARBAGE)
        self._unwritten = None

    def unwritten(self, itemsize: int) -> npt.NDArray[np.bool_]:
        """Per element of ``itemsize`` bytes, a row of its bytes: whether nobody has written it yet."""
        if self._unwritten is None:
            self._unwritten = np.ones(self.bytes.size, bool)
        return self._unwritten.reshape(-1, itemsize)


class GlobalSpace(Space):
    """Global memory, filled up front: ``allocate`` before the first launch, then it stays where it is."""

    def __init__(self, capacity: int) -> None:
        super().__init__("global", capacity)
        self._used = 0
        self.base = 0  # of addresses that the host knows
        # Where buffers start that were allocated without contents.
        self.garbage: set[int] = set()

    def on_device(self, array: Any) -> ArrayRef:
        """An array of a script that is in this memory. A judged kernel has none: the recorder refuses to capture it."""
        raise NotSimulated("the simulator does not know a device array that a kernel captures")

    def allocate(self, nbytes: int, *, garbage: bool = False) -> int:
        """Address of ``nbytes`` new bytes, aligned to a segment. ``garbage``: they have no contents yet."""
        address = self._used
        if garbage:
            self.garbage.add(address)
        self._used += round_up(max(nbytes, 1))
        if self._used > self.bytes.size:
            grown = np.full(round_up(max(self._used, 2 * self.bytes.size)), GARBAGE, np.uint8)
            grown[: self.bytes.size] = self.bytes
            if self._unwritten is not None:
                self._unwritten = np.concatenate([self._unwritten, np.ones(grown.size - self.bytes.size, bool)])
            self.bytes = grown
            self._views.clear()
            self._views_at_bytes.clear()
        return address


# The address of a view that lies outside of its array: nothing can be read or written through it.
NOWHERE = -(1 << 62)
Source = tuple[str, str, int]  # space, name, root


@dataclass(frozen=True, eq=False)
class ArrayRef:
    """An array in a space: ``address`` and ``strides`` in bytes, ``shape`` in elements.

    Where lanes hold arrays of different buffers, ``which`` is a position in ``sources`` and ``space`` is "several".
    """

    space: str
    name: str
    dtype: np.dtype[Any]
    address: Lanes
    shape: tuple[Lanes, ...]
    strides: tuple[Lanes, ...]
    root: int = -1  # where the buffer or array starts that it is a view of; -1 where that is not known
    which: Lanes = None
    sources: tuple[Source, ...] = ()
    loose: bool = False  # elements may be at any address; else a GPU wants them aligned
    dynamic: bool = False  # shared memory whose size the launch says
    outside: str = ""  # of a view that is NOWHERE for some lanes: an example of what it would have been
    unit: int = 0  # bytes of an element of the buffer, whatever a view makes of it; 0 where that is not known

    @classmethod
    def contiguous(
        cls, space: str, name: str, dtype: np.dtype[Any], address: Lanes, shape: tuple[int, ...]
    ) -> ArrayRef:
        """A C-contiguous array at ``address``."""
        strides = tuple(math.prod(shape[axis + 1 :]) * dtype.itemsize for axis in range(len(shape)))
        return cls(space, name, dtype, address, shape, strides)

    def parts(self) -> tuple[Lanes, ...]:
        """Every component that may differ by lane."""
        parts = (self.address, *self.shape, *self.strides)
        return parts if self.which is None else (*parts, self.which)

    def with_parts(self, parts: tuple[Lanes, ...]) -> ArrayRef:
        """The same array with other components, in the order of ``parts``."""
        ndim = len(self.shape)
        shape, strides = tuple(parts[1 : 1 + ndim]), tuple(parts[1 + ndim : 1 + 2 * ndim])
        which = None if self.which is None else parts[-1]
        return replace(self, address=parts[0], shape=shape, strides=strides, which=which)

    def with_sources(self, sources: tuple[Source, ...]) -> ArrayRef:
        """The same array, told apart from others by its position in ``sources``."""
        own = self.sources or ((self.space, self.name, self.root),)
        position = np.array([sources.index(source) for source in own])
        which = int(position[0]) if self.which is None else position[self.which]
        names = " or ".join(dict.fromkeys(name for _, name, _ in sources))
        return replace(self, space="several", name=names, root=-1, which=which, sources=sources)

    def of_source(self, number: int) -> ArrayRef:
        """The array of those lanes whose ``which`` is ``number``."""
        space, name, root = self.sources[number]
        return replace(self, space=space, name=name, root=root, which=None, sources=())


def alike(arrays: list[ArrayRef]) -> list[ArrayRef]:
    """Arrays that one variable may hold, so that they differ in their parts alone."""
    first = arrays[0]
    if any(array.dtype != first.dtype for array in arrays):
        raise NotSimulated(f"the simulator does not know a variable of dtypes {[str(a.dtype) for a in arrays]}")
    if all((a.space, a.root, a.sources) == (first.space, first.root, first.sources) for a in arrays):
        return arrays
    sources = tuple(dict.fromkeys(s for a in arrays for s in a.sources or ((a.space, a.name, a.root),)))
    return [array.with_sources(sources) for array in arrays]
