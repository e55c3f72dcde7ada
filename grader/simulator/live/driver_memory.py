"""The driver's memory: allocations, copies, host memory that the device sees, too. Runs in anybody's own process.

In: the calls of ``driver`` about memory. Out: addresses, or Numba's ``CudaAPIError``; changed bytes of the heap.
Addresses are the process's own: the heap's base and a place in it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from grader.simulator.live.binding import api_error, host_bytes, number
from grader.simulator.live.heap import Heap, OutOfMemory
from grader.simulator.streams import StreamOrder, is_default
from grader.simulator.touched import READ, SILENT, WRITTEN, Touched


class MemoryCalls:
    """The driver's functions about memory, by their names."""

    def __init__(self, heap: Heap) -> None:
        self.heap = heap
        # Host memory that was registered, by its address: where its twin on the device is, and its size.
        self.registered: dict[int, tuple[int, int]] = {}
        self.streams = StreamOrder()
        # Told of each copy on a stream of its own: what it is, the stream, what it touches.
        self.on_copy: Callable[[str, int, tuple[Touched, ...]], None] = lambda what, stream, touched: None
        # Heaps of simulators before this one, in which somebody still has arrays, to be dropped.
        self.behind: tuple[Heap, ...] = ()
        # Told of copies to the host of memory that may hold garbage (place, bytes), and of memory that is freed.
        self.on_garbage: Callable[[int, int], None] = lambda place, nbytes: None
        self.on_free: Callable[[int], Any] = lambda start: None

    def _new(self, nbytes: int, *, garbage: bool) -> int:
        try:
            return self.heap.base + self.heap.allocate(int(nbytes), garbage=garbage)
        except OutOfMemory as error:
            raise api_error("OUT_OF_MEMORY", str(error)) from None

    def place(self, address: int) -> int:
        """Where in the heap an address is. Raises Numba's CudaAPIError for memory that no device has."""
        place = address - self.heap.base
        if 0 <= place < self.heap.bytes.size:
            return place
        for start, (twin, size) in self.registered.items():
            if start <= address < start + size:
                return twin + address - start
        raise api_error(
            "INVALID_VALUE",
            "this memory is not on the simulated GPU; was the array made before the simulator was installed?",
        )

    def cuMemGetInfo(self) -> tuple[int, int]:
        return self.heap.free_bytes, self.heap.bytes.size

    def cuMemAlloc(self, nbytes: int) -> int:
        return self._new(nbytes, garbage=True)

    def cuMemAllocManaged(self, nbytes: int, flags: Any) -> int:
        return self._new(nbytes, garbage=False)  # the host's writes go unseen

    def cuMemHostAlloc(self, nbytes: int, flags: Any) -> int:
        return self._new(nbytes, garbage=False)

    def cuMemHostRegister(self, address: Any, nbytes: int, flags: Any) -> None:
        twin = self._new(nbytes, garbage=False) - self.heap.base
        self.registered[number(address)] = twin, int(nbytes)
        self.heap.bytes[twin : twin + nbytes] = host_bytes(number(address), nbytes)

    def cuMemHostGetDevicePointer(self, address: Any, flags: int) -> int:
        return self.heap.base + self.place(number(address))

    def cuMemGetAddressRange(self, address: Any) -> tuple[int, int]:
        found = self.heap.allocation(self.place(number(address)))
        if found is None:
            raise api_error("INVALID_VALUE", "this memory has been freed")
        return self.heap.base + found[0], found[1]

    def cuPointerGetAttribute(self, attribute: Any, address: Any) -> int:
        return number(address)

    def _is_pageable(self, address: int) -> bool:
        """Whether memory is the host's own, neither pinned nor registered: a copy to it ends before it returns."""
        mapped = 0 <= address - self.heap.base < self.heap.bytes.size
        return not mapped and not any(s <= address < s + size for s, (_, size) in self.registered.items())

    def _copied(self, what: str, stream: Any, *stretches: tuple[int, int, int]) -> None:
        """A copy on a stream: of each stretch of the heap its start, bytes and what was done to it (``touched``)."""
        handle = number(stream)
        if is_default(handle):
            self.streams.finish_all()
        else:
            self.on_copy(what, handle, tuple(Touched.whole(*stretch) for stretch in stretches if stretch[1]))

    def _write(self, place: int, contents: Any) -> int:
        """Change the heap; whether that was a write or a silent one, of what was there already."""
        here = self.heap.bytes[place : place + contents.size]
        silent = np.array_equal(here, contents)
        here[:] = contents
        self.heap.note_written(place, contents.size)
        return SILENT if silent else WRITTEN

    def cuMemcpyHtoD(self, target: Any, source: Any, nbytes: int, stream: Any = 0) -> None:
        place = self.place(number(target))
        code = self._write(place, host_bytes(number(source), nbytes))
        self.copy_registered(to_host=True)
        self._copied("the copy to the device", stream, (place, nbytes, code))

    def cuMemcpyDtoH(self, target: Any, source: Any, nbytes: int, stream: Any = 0) -> None:
        self.copy_registered(to_host=False)
        place = self.place(number(source))
        host_bytes(number(target), nbytes)[:] = self.heap.bytes[place : place + nbytes]
        self._copied("the copy to the host", stream, (place, nbytes, READ))
        found = self.heap.allocation(place) if self.heap.garbage else None
        if found is not None and found[0] in self.heap.garbage:
            self.on_garbage(place, nbytes)
        if self._is_pageable(number(target)):
            self.streams.finish(number(stream))

    def cuMemcpyDtoD(self, target: Any, source: Any, nbytes: int, stream: Any = 0) -> None:
        to, here = self.place(number(target)), self.place(number(source))
        code = self._write(to, self.heap.bytes[here : here + nbytes].copy())
        self._copied("the copy on the device", stream, (here, nbytes, READ), (to, nbytes, code))

    def cuMemsetD8(self, target: Any, byte: int, nbytes: int, stream: Any = 0) -> None:
        place = self.place(number(target))
        code = self._write(place, np.full(nbytes, byte & 0xFF, np.uint8))
        self._copied("memset", stream, (place, nbytes, code))

    cuMemcpyHtoDAsync = cuMemcpyHtoD
    cuMemcpyDtoHAsync = cuMemcpyDtoH
    cuMemcpyDtoDAsync = cuMemcpyDtoD
    cuMemsetD8Async = cuMemsetD8

    def copy_registered(self, *, to_host: bool) -> None:
        """Registered host memory and its twin on the device are one memory: let the one follow the other."""
        for address, (twin, nbytes) in self.registered.items():
            host, device = host_bytes(address, nbytes), self.heap.bytes[twin : twin + nbytes]
            if to_host:
                host[:] = device
            else:
                device[:] = host

    def cuMemFree(self, address: Any) -> None:
        place = number(address)
        for heap in self.behind:
            if heap.holds(place):
                heap.free(place - heap.base)
                return
        self._free(place - self.heap.base)

    def _free(self, start: int) -> None:
        found = self.heap.allocation(start)
        self.heap.free(start)
        if found is not None:
            self.streams.forget_memory(*found)
            self.on_free(start)

    cuMemFreeHost = cuMemFree

    def cuMemHostUnregister(self, address: Any) -> None:
        twin, _ = self.registered.pop(number(address))
        self._free(twin)
