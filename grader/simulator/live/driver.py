"""NVIDIA's driver as Numba's host code knows it, with the heap for a GPU. Runs in anybody's own process.

In: the calls that Numba's contexts, streams, events and memory managers make (``driver.cuMemAlloc`` and its like).
Out: what they expect, or Numba's ``CudaAPIError``. Everything is done when it is asked for: a stream is always idle.
``streams`` is told what a GPU might do in another order; ``driver_memory`` has the calls about memory.

Names and meaning of the functions: NVIDIA, CUDA Driver API. ``binding`` has how Numba calls them.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
import time
from collections.abc import Callable
from typing import Any

import numba.cuda.cudadrv.driver as numba_driver

from grader.errors import NotSimulated
from grader.gpu_models import GpuModel, resident_blocks
from grader.simulator.live.binding import HAS_BINDING, Handle, api_error, as_c_does, attribute_name, number
from grader.simulator.live.driver_memory import MemoryCalls
from grader.simulator.live.heap import Heap

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


class DriverApi(MemoryCalls):
    """The driver's functions, by their names."""

    def __init__(self, gpu: GpuModel, heap: Heap, devices: int) -> None:
        super().__init__(heap)
        self.gpu = gpu
        self.devices = devices
        self._handles = itertools.count(_FIRST_HANDLE)
        self._recorded: dict[int, float | None] = {}
        self._thread = threading.local()
        self.pid: int | None = None  # of the process that has used the GPU

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


def _in_one_process(api: DriverApi, function: Callable[..., Any]) -> Callable[..., Any]:
    """The same, and Numba's own error where a process asks whose parent has used the GPU before it forked."""

    def call(*arguments: Any) -> Any:
        here = os.getpid()
        if api.pid is None:
            api.pid = here
        elif api.pid != here:
            raise numba_driver.CudaDriverError("CUDA initialized before forking")
        return function(*arguments)

    return call


def functions(api: DriverApi) -> dict[str, Callable[..., Any]]:
    """The driver's functions by name, as the installed target of Numba calls them."""
    found = {name: getattr(api, name) for name in dir(api) if name.startswith("cu")}
    found = {name: f if name in AT_THE_END else _in_one_process(api, f) for name, f in found.items()}
    return found if HAS_BINDING else {name: as_c_does(function) for name, function in found.items()}
