"""The CUDA device: Numba on a GPU. Runs in the runner. The driver is touched when a device is made, not before.

In: a plan's operations. Out: bytes of buffers and launches, or ``Refused``; no findings, a GPU reports none by itself.

Buffers are plain device memory; streams of the plan become streams of the GPU.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.clocks import Clock
from grader.device_names import LineInfo
from grader.devices.base import LINE_OPTIONS, SCRATCH_BYTE, Kernel, Refused, ViewArgument, filling
from grader.devices.cold_cache import ColdCache
from grader.devices.driver_errors import blaming
from grader.devices.driver_output import DriverOutput
from grader.devices.event_clock import EventClock
from grader.devices.gpu_state import driver_version
from grader.devices.prints import Prints
from grader.devices.rejected import launch_refused, rejected
from grader.errors import DeviceFault
from grader.gpu_models import GpuModel
from grader.kernels_text import KernelsText
from grader.plan import Launch
from grader.plan_dtypes import numpy_dtype
from grader.plan_memory import View
from grader.records import (
    MAX_PRINTED_LINE,
    MAX_PRINTED_LINES,
    Finding,
    KernelPrints,
    LaunchRecord,
    LineCounters,
)
from grader.simulator.configuration import LaunchRefused, check_geometry
from grader.simulator.frontend import KernelError, numba_errors
from grader.simulator.numba_types import declared_type
from grader.simulator.rejections import explain

# Of what the driver writes between two waits: enough for all that is kept.
MAX_PRINTED_BYTES = 4 * MAX_PRINTED_LINES * MAX_PRINTED_LINE
# How Numba's host side says which thread raised an exception.
_RAISED_BY_A_THREAD = " ctaid=["
_LINE_WORDS = ("debug", "opt", "lineinfo")


def describe_gpu() -> dict[str, Any] | None:
    """Name, compute capability and memory of the first GPU; None where Numba can use none."""
    from numba import cuda

    if not cuda.is_available():
        return None
    device = cuda.get_current_device()
    name = device.name.decode("utf-8", "replace") if isinstance(device.name, bytes) else str(device.name)
    _, total = cuda.current_context().get_memory_info()
    return {
        "name": name,
        "compute_capability": [int(part) for part in device.compute_capability],
        "multiprocessors": int(device.MULTIPROCESSOR_COUNT),
        "memory_bytes": int(total),
        "driver": _driver_version(),
        "uuid": str(getattr(device, "uuid", "")),
    }


def _driver_version() -> str:
    from numba import cuda

    try:
        major, minor = cuda.cudadrv.driver.driver.get_version()
    except Exception as error:  # a driver that does not say its version is still a driver
        return f"unknown ({error})"
    version = driver_version()
    return f"{version} (CUDA {major}.{minor})" if version else f"CUDA {major}.{minor}"


class CudaDevice:
    """Runs launches on the first GPU. Raises DeviceFault when there is none or it fails by itself."""

    name = "cuda"

    def __init__(self, text: KernelsText, line_info: LineInfo = "") -> None:
        from numba import cuda
        from numba.cuda.cudadrv.devicearray import DeviceNDArray

        self._cuda: Any = cuda
        self._array_class: Any = DeviceNDArray
        try:
            gpu = cuda.get_current_device()
            cuda.current_context()
        except Exception as error:
            raise DeviceFault(f"no GPU can be used: {error}") from error
        self._limits = GpuModel(
            name=gpu.name.decode("utf-8", "replace") if isinstance(gpu.name, bytes) else str(gpu.name),
            compute_capability=tuple(gpu.compute_capability),
            multiprocessors=int(gpu.MULTIPROCESSOR_COUNT),
        )
        self.findings: list[Finding] = []
        self.launches: list[LaunchRecord] = []
        self._prints = Prints()
        self._output = DriverOutput()
        self._text = text
        self._line_info = line_info
        self._buffers: list[Any] = []
        self._sizes: list[int] = []
        self._streams: dict[int, Any] = {0: cuda.default_stream()}
        self._compiled: dict[Any, Any] = {}
        self._elements: dict[tuple[str, bytes], Any] = {}  # what fills put into arrays
        self._clock: EventClock | None = None  # if runs are timed

    def lines(self) -> list[LineCounters]:
        """None: a GPU counts nothing by itself."""
        return []

    def reset(self, nbytes: int) -> None:
        """Forget buffers, findings, launches, prints; what was compiled stays."""
        self._collect()
        self.findings, self.launches, self._prints = [], [], Prints()
        self._buffers, self._sizes = [], []

    def printed(self) -> KernelPrints:
        """What kernels have printed since the last reset, in the order in which the driver wrote it."""
        self._collect()
        return self._prints.kept()

    def _collect(self) -> None:
        """Take what the driver has written so far, lest it pile up."""
        self._prints.add(*self._output.take(MAX_PRINTED_BYTES))

    def _stream(self, number: int) -> Any:
        if number not in self._streams:
            self._streams[number] = self._cuda.stream()
        return self._streams[number]

    def allocate(self, nbytes: int, contents: npt.NDArray[np.uint8] | None, *, garbage: bool, name: str) -> None:
        """Add the next buffer on the GPU. What was in its memory before, of somebody else's maybe, is overwritten."""
        try:
            buffer = self._cuda.device_array(max(nbytes, 1), np.uint8)
        except Exception as error:
            raise DeviceFault(f"the GPU has no {nbytes} bytes left: {error}") from error
        if nbytes:
            known = np.full(nbytes, SCRATCH_BYTE, np.uint8) if contents is None else contents
            with self._blaming():
                buffer[:nbytes].copy_to_device(known)
        self._buffers.append(buffer)
        self._sizes.append(nbytes)

    def _array(self, view: View) -> Any:
        """A device array over a buffer, as ``view`` says."""
        memory = self._buffers[view.buffer].gpu_data
        return self._array_class(
            shape=view.shape,
            strides=view.strides,
            dtype=numpy_dtype(view.dtype),
            gpu_data=memory.view(view.offset, None),
        )

    def _value(self, argument: Any) -> Any:
        if isinstance(argument, tuple):
            return tuple(self._value(item) for item in argument)
        return self._array(argument.view) if isinstance(argument, ViewArgument) else argument

    def launch(self, kernel: Kernel, asked: Launch, arguments: list[Any]) -> None:
        """Compile if needed, and launch. Raises Refused, DeviceFault."""
        place = self._text.place(asked.line)
        try:
            check_geometry(self._limits, asked.grid, asked.block)
            with self._blaming(str(place), is_launch=True):
                self._dispatcher(kernel)[asked.grid, asked.block, self._stream(asked.stream), asked.shared_bytes](
                    *[self._value(argument) for argument in arguments]
                )
        except LaunchRefused as error:
            raise Refused(launch_refused(error, place)) from None
        except numba_errors() as error:
            raise Refused(rejected(kernel, KernelError(*explain(error)), self._text)) from None
        except (Refused, DeviceFault):
            raise
        except Exception as error:
            # Compiled for debugging, a kernel's assert or raise reaches the host, too; else it only ends its thread.
            if self._line_info != "debug" or _RAISED_BY_A_THREAD not in str(error):
                raise
        self._collect()
        self.launches.append(LaunchRecord(kernel.name, asked.line, asked.grid, asked.block, {"launches": 1}))

    def _dispatcher(self, kernel: Kernel) -> Any:
        if kernel.function not in self._compiled:
            options = kernel.options.model_dump(exclude_none=True)
            if self._line_info:
                options = {k: v for k, v in options.items() if k not in _LINE_WORDS} | LINE_OPTIONS[self._line_info]
            signatures = [
                tuple(declared_type(numpy_dtype(t.dtype), t.ndim, t.layout) for t in signature)
                for signature in kernel.signatures
            ]
            declared = {"func_or_sig": signatures} if signatures else {}
            self._compiled[kernel.function] = self._cuda.jit(**declared, **options)(kernel.function)
        return self._compiled[kernel.function]

    def _blaming(self, here: str = "", *, is_launch: bool = False) -> contextlib.AbstractContextManager[None]:
        """Around calls of the driver: says whose fault an error is."""
        return blaming(self._cuda.cudadrv.driver.CudaAPIError, here, is_launch=is_launch)

    def fill(self, target: View, value: Any, stream: int, line: int) -> None:
        """``target[...] = value``, by a kernel of Numba's. The value is on the device after the first time."""
        element = filling(numpy_dtype(target.dtype), value)
        key = element.dtype.str, element.tobytes()
        if key not in self._elements:
            with self._blaming(), self._waiting():  # a copy from the host begins after what was asked for before
                self._elements[key] = self._cuda.to_device(element.reshape(1))
        self._assign(target, self._elements[key], stream)

    def copy(self, source: View, target: View, stream: int, line: int) -> None:
        """``target[...] = source``, by a kernel of Numba's."""
        self._assign(target, self._array(source), stream)

    def _assign(self, target: View, value: Any, stream: int) -> None:
        if 0 in target.shape:
            return
        array = self._array(target)
        with self._blaming():
            if array.ndim:
                array.setitem(slice(None), value, stream=self._stream(stream))
            else:
                self._cuda.cudadrv.driver.device_to_device(array, value, array.dtype.itemsize, self._stream(stream))

    def synchronize(self, stream: int | None) -> None:
        """Wait. Raises Refused for an error that a kernel caused."""
        with self._blaming(), self._waiting():
            if stream is None:
                self._cuda.synchronize()
            else:
                self._stream(stream).synchronize()
        self._collect()

    def read(self, buffer: int) -> npt.NDArray[np.uint8]:
        """A buffer's bytes."""
        with self._blaming():
            contents: npt.NDArray[np.uint8] = self._buffers[buffer].copy_to_host()
        return contents[: self._sizes[buffer]]

    # ------------------------------------------------------------------ the clock

    def put(self, buffer: int, contents: npt.NDArray[np.uint8]) -> None:
        """Give a buffer new contents, from memory that the GPU cannot reach by itself."""
        if contents.size:
            with self._blaming():
                self._buffers[buffer][: contents.size].copy_to_device(contents)

    def clocked(self, work: Callable[[], None]) -> Clock:
        """Time ``work`` with events of the GPU, on a cold cache."""
        with self._blaming():
            self._clock = self._clock or EventClock(self._cuda.event, ColdCache(), lambda: self.synchronize(None))
            return self._clock.time(work)

    def _waiting(self) -> contextlib.AbstractContextManager[None]:
        """What the host does while it waits for the GPU."""
        return contextlib.nullcontext() if self._clock is None else self._clock.waiting()
