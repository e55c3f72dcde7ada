"""NVIDIA's driver as Numba's host code knows it, with the heap for a GPU. Runs in anybody's own process.

In: the calls that Numba's contexts, streams, events and memory managers make (``driver.cuMemAlloc`` and its like).
Out: what they expect, or Numba's ``CudaAPIError``. Everything is done when it is asked for: a stream is always idle.
``streams`` is told what a GPU might do in another order.

Names and meaning of the functions: NVIDIA, CUDA Driver API. ``binding`` has how Numba calls them.
"""

from __future__ import annotations

import ctypes
import itertools
import threading
import time
from collections.abc import Callable
from typing import Any

import numba.cuda.cudadrv.driver as numba_driver
import numpy as np

from grader.errors import NotSimulated
from grader.gpu_models import GpuModel, resident_blocks
from grader.simulator.live.binding import HAS_BINDING, Handle, api_error, as_c_does, attribute_name, host_bytes, number
from grader.simulator.live.heap import Heap, OutOfMemory
from grader.simulator.live.streams import StreamOrder, is_default
from grader.simulator.touched import READ, SILENT, WRITTEN, Touched

# The toolkit whose features the simulator speaks of; scripts ask for it in guards.
CUDA_VERSION = (12, 8)
# Streams 0, 1 and 2 are the default streams.
_FIRST_HANDLE = 16
# What a device may be asked and no launch depends on: a discrete card with a display driver of its own.
_OTHER_ATTRIBUTES = {
    "PCI_DOMAIN_ID": 0,
    "PCI_DEVICE_ID": 0,
    "KERNEL_EXEC_TIMEOUT": 0,
    "TCC_DRIVER": 0,
    "INTEGRATED": 0,
    "CAN_MAP_HOST_MEMORY": 1,
    "UNIFIED_ADDRESSING": 1,
    "MANAGED_MEMORY": 1,
    "CONCURRENT_KERNELS": 1,
    "COOPERATIVE_LAUNCH": 1,
    "ASYNC_ENGINE_COUNT": 2,
    "COMPUTE_MODE": 0,
    "ECC_ENABLED": 0,
    "MAX_PITCH": 2**31 - 1,
    "TOTAL_CONSTANT_MEMORY": 64 << 10,
    "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO": 32,
}


class DriverApi:
    """The driver's functions, by their names. Addresses are the process's own: the heap's base and a place in it."""

    def __init__(self, gpu: GpuModel, heap: Heap, devices: int) -> None:
        self.gpu = gpu
        self.heap = heap
        self.devices = devices
        # Host memory that was registered, by its address: where its twin on the device is, and its size.
        self.registered: dict[int, tuple[int, int]] = {}
        self.streams = StreamOrder()
        # Told of each copy on a stream of its own: what it is, the stream, what it touches.
        self.on_copy: Callable[[str, int, tuple[Touched, ...]], None] = lambda what, stream, touched: None
        self._handles = itertools.count(_FIRST_HANDLE)
        self._recorded: dict[int, float | None] = {}
        self._thread = threading.local()

    # ------------------------------------------------------------------ devices and contexts

    def cuInit(self, flags: int) -> None: ...

    def cuDriverGetVersion(self) -> int:
        return 1000 * CUDA_VERSION[0] + 10 * CUDA_VERSION[1]

    def cuDeviceGetCount(self) -> int:
        return self.devices

    def cuDeviceGet(self, number: int) -> int:
        if not 0 <= number < self.devices:
            raise api_error("INVALID_DEVICE", f"there is no device {number}; the simulator has {self.devices}")
        return int(number)

    def cuDeviceGetAttribute(self, code: Any, device: int) -> int:
        name = attribute_name(code)
        known = self.gpu.attributes() | _OTHER_ATTRIBUTES | {"PCI_BUS_ID": int(device) + 1}
        if name not in known:
            raise NotSimulated(f"the simulator does not know the device attribute {name}")
        return known[name]

    def cuDeviceCanAccessPeer(self, device: int, peer: int) -> int:
        return int(int(device) != int(peer))

    def cuCtxEnablePeerAccess(self, context: Any, flags: int) -> None: ...

    def cuDevicePrimaryCtxRetain(self, device: int) -> Handle:
        return Handle(int(device) + 1)

    def cuDevicePrimaryCtxRelease(self, device: int) -> None: ...

    def cuDevicePrimaryCtxReset(self, device: int) -> None: ...

    def _contexts(self) -> list[Handle]:
        """The calling thread's stack of contexts."""
        if not hasattr(self._thread, "contexts"):
            self._thread.contexts = []
        stack: list[Handle] = self._thread.contexts
        return stack

    def cuCtxGetCurrent(self) -> Handle:
        return self._contexts()[-1] if self._contexts() else Handle(0)

    def cuCtxGetDevice(self) -> int:
        return self._contexts()[-1] - 1

    def cuCtxPushCurrent(self, context: Any) -> None:
        self._contexts().append(Handle(number(context)))

    def cuCtxPopCurrent(self) -> Handle:
        return self._contexts().pop()

    def cuCtxSynchronize(self) -> None:
        self.streams.finish_all()

    def cuProfilerStart(self) -> None: ...

    def cuProfilerStop(self) -> None: ...

    # ------------------------------------------------------------------ memory

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
        self._free(number(address) - self.heap.base)

    def _free(self, start: int) -> None:
        found = self.heap.allocation(start)
        self.heap.free(start)
        if found is not None:
            self.streams.forget_memory(*found)

    cuMemFreeHost = cuMemFree

    def cuMemHostUnregister(self, address: Any) -> None:
        twin, _ = self.registered.pop(number(address))
        self._free(twin)

    # ------------------------------------------------------------------ streams and events

    def cuStreamCreate(self, flags: Any) -> Handle:
        return Handle(next(self._handles))

    def cuStreamSynchronize(self, stream: Any) -> None:
        self.streams.finish(number(stream))

    def cuStreamWaitEvent(self, stream: Any, event: Any, flags: int) -> None:
        self.streams.wait(number(stream), number(event))

    def cuStreamDestroy(self, stream: Any) -> None: ...

    def cuStreamAddCallback(self, stream: Any, callback: Any, data: Any, flags: int) -> None:
        """Numba's own callback is called at once: all that was asked of the stream before is done."""
        self.streams.finish(number(stream))
        given = ctypes.cast(data, ctypes.py_object).value if isinstance(data, int) else data
        numba_driver.Stream._stream_callback(number(stream), 0, given)

    def cuEventCreate(self, flags: Any) -> Handle:
        handle = Handle(next(self._handles))
        self._recorded[handle] = None
        return handle

    def cuEventDestroy(self, event: Any) -> None:
        self._recorded.pop(number(event), None)
        self.streams.forget_event(number(event))

    def cuEventRecord(self, event: Any, stream: Any) -> None:
        self._recorded[number(event)] = time.perf_counter()
        self.streams.record(number(event), number(stream))

    def cuEventQuery(self, event: Any) -> None:
        self.streams.finish_event(number(event))  # it has come: a script that asks may rely on it

    cuEventSynchronize = cuEventQuery

    def cuEventElapsedTime(self, first: Any, last: Any) -> float:
        """Milliseconds between two records: the simulator's time, which says nothing about a GPU's."""
        begin, end = (self._recorded[number(event)] for event in (first, last))
        if begin is None or end is None:
            raise api_error("INVALID_HANDLE", "an event has not been recorded")
        return (end - begin) * 1000

    # ------------------------------------------------------------------ occupancy

    def cuOccupancyMaxActiveBlocksPerMultiprocessor(self, function: Any, threads: int, shared: int) -> int:
        return resident_blocks(self.gpu, int(threads), int(shared) + function.shared_bytes)

    def cuOccupancyMaxPotentialBlockSize(
        self, function: Any, shared_of_block: Any, shared: int, limit: int
    ) -> tuple[int, int]:
        return self.gpu.multiprocessors, min(int(limit) or self.gpu.max_threads_per_block, function.max_threads)


# Numba's objects call these when Python drops them, which may be after the simulator has been taken out.
AT_THE_END = ("cuMemFree", "cuMemFreeHost", "cuMemHostUnregister", "cuStreamDestroy", "cuEventDestroy")


def functions(api: DriverApi) -> dict[str, Callable[..., Any]]:
    """The driver's functions by name, as the installed target of Numba calls them."""
    found = {name: getattr(api, name) for name in dir(api) if name.startswith("cu")}
    return found if HAS_BINDING else {name: as_c_does(function) for name, function in found.items()}
