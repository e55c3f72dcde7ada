"""The memory of the simulated GPU. Runs in anybody's own process.

In: sizes, copies, frees, in the order in which a script asks for them. Out: addresses that a kernel and, for mapped
and managed memory, NumPy can use alike: memory is reserved once and never moves.
"""

from __future__ import annotations

import bisect
import contextlib
import mmap
import sys
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from grader.simulator.memory import GARBAGE, ArrayRef, GlobalSpace, round_up

# Reserve address space without asking for memory; Python's mmap module has no name for it (Linux, mman.h).
_NORESERVE = 0x4000 if sys.platform == "linux" else 0
# Freed stretches of at least so many bytes are given back to the system.
_GIVE_BACK = 1 << 20
_SMALLEST = 1 << 28


class OutOfMemory(Exception):
    """The simulated GPU has no stretch of memory of that size."""


class Heap(GlobalSpace):
    """Global memory that is allocated and freed while launches go on. Addresses count from the heap's start.

    ``capacity`` is in bytes; where the system reserves no such address space, the heap is smaller.
    """

    def __init__(self, capacity: int) -> None:
        super().__init__(0)
        self._map, self._flags = _reserve(capacity)
        self.bytes = np.frombuffer(self._map, np.uint8)
        # The system's fresh pages are zero: written, until an allocation says otherwise.
        self._unwritten = np.frombuffer(self._flags, np.bool_)
        self._views.clear()
        self.base = self.bytes.ctypes.data
        self._free: list[tuple[int, int]] = [(0, self.bytes.size)]  # start and size, by start
        self._starts: list[int] = []
        self._sizes: dict[int, int] = {}
        # Python collects garbage whenever it likes, Numba frees what arrays in it had: also amid what is done here.
        self._holds = 0
        self._dropped: list[tuple[int, int]] = []

    @property
    def is_used(self) -> bool:
        """Whether there is an allocation."""
        return bool(self._starts)

    def holds(self, address: int) -> bool:
        """Whether an address is in this heap."""
        return self.base <= address < self.base + self.bytes.size

    def forget_contents(self) -> None:
        """Give the memory back to the system; addresses stay taken, and what is allocated can be freed."""
        self._give_back(0, self.bytes.size)

    @property
    def free_bytes(self) -> int:
        """Bytes that nothing has allocated."""
        return sum(size for _, size in self._free)

    def allocate(self, nbytes: int, *, garbage: bool = False) -> int:
        """As ``GlobalSpace.allocate``. Raises OutOfMemory."""
        with self._held():
            return self._allocate(nbytes, garbage=garbage)

    def _allocate(self, nbytes: int, *, garbage: bool) -> int:
        wanted = round_up(max(nbytes, 1))
        number = next((number for number, (_, size) in enumerate(self._free) if size >= wanted), None)
        if number is None:
            raise OutOfMemory(f"{nbytes} bytes were asked for, {self.free_bytes} of {self.bytes.size} are free")
        start, size = self._free[number]
        self._free[number : number + 1] = [(start + wanted, size - wanted)] if size > wanted else []
        bisect.insort(self._starts, start)
        self._sizes[start] = nbytes
        if garbage:
            self.garbage.add(start)
            self.bytes[start : start + nbytes] = GARBAGE
        self.unwritten(1)[start : start + nbytes] = garbage
        return start

    def free(self, start: int) -> None:
        """Give back an allocation. Raises KeyError for what is none."""
        self._dropped.append((start, round_up(max(self._sizes.pop(start), 1))))
        with self._held():
            pass

    @contextlib.contextmanager
    def _held(self) -> Iterator[None]:
        """Frees wait until this ends."""
        self._holds += 1
        try:
            yield
            while self._holds == 1 and self._dropped:
                self._take_back(*self._dropped.pop())
        finally:
            self._holds -= 1

    def _take_back(self, start: int, size: int) -> None:
        del self._starts[bisect.bisect_left(self._starts, start)]
        self.garbage.discard(start)
        self._give_back(start, size)
        number = bisect.bisect_left(self._free, (start, 0))
        if number and sum(self._free[number - 1]) == start:
            number -= 1
            before, its_size = self._free.pop(number)
            start, size = before, its_size + size
        if number < len(self._free) and self._free[number][0] == start + size:
            size += self._free.pop(number)[1]
        self._free.insert(number, (start, size))

    def _give_back(self, start: int, size: int) -> None:
        """Let the system have the whole pages of a stretch again; they read as zero afterwards."""
        first = -(-start // mmap.PAGESIZE) * mmap.PAGESIZE
        length = (start + size - first) // mmap.PAGESIZE * mmap.PAGESIZE
        if length >= _GIVE_BACK:
            with contextlib.suppress(OSError, AttributeError):  # macOS may have another opinion
                self._map.madvise(mmap.MADV_DONTNEED, first, length)
                self._flags.madvise(mmap.MADV_DONTNEED, first, length)

    def allocation(self, place: int) -> tuple[int, int] | None:
        """Start and size of the allocation that a place of the heap is in; None if it is in none."""
        with self._held():
            number = bisect.bisect_right(self._starts, place) - 1
            start = self._starts[number] if number >= 0 else -1
            size = self._sizes.get(start)
            return None if size is None or place >= start + max(size, 1) else (start, size)

    def on_device(self, array: Any) -> ArrayRef:
        """An array with the CUDA array interface, as kernels see it. Raises KeyError where it is not in this memory."""
        interface = array.__cuda_array_interface__
        dtype: np.dtype[Any] = np.dtype(getattr(array, "dtype", interface["typestr"]))
        shape = tuple(map(int, interface["shape"]))
        address = interface["data"][0] - self.base
        found = self.allocation(address)
        if found is None:
            raise KeyError(f"an array at {address} is not on the simulated GPU")
        self.look_for_garbage(found[0])
        reference = ArrayRef.contiguous("global", "a captured array", dtype, address, shape)
        return replace(reference, strides=tuple(map(int, interface["strides"] or reference.strides)), root=found[0])

    def note_written(self, place: int, nbytes: int) -> None:
        """So many bytes from ``place`` on have been written by the host."""
        found = self.allocation(place)
        if found is None or found[0] not in self.garbage:
            return
        self.unwritten(1)[place : place + nbytes] = False
        if found == (place, nbytes):
            self.garbage.discard(place)

    def look_for_garbage(self, root: int) -> None:
        """Forget that the allocation at ``root`` held garbage, if all of it has been written by now."""
        if root in self.garbage and not self.unwritten(1)[root : root + self._sizes[root]].any():
            self.garbage.discard(root)


def _reserve(capacity: int) -> tuple[mmap.mmap, mmap.mmap]:
    """Two stretches of that many bytes, zero, of which nothing takes memory before it is used."""
    while True:
        try:
            return _anonymous(capacity), _anonymous(capacity)
        except OSError:
            if capacity <= _SMALLEST:
                raise
            capacity //= 2


def _anonymous(nbytes: int) -> mmap.mmap:
    return mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NORESERVE)
