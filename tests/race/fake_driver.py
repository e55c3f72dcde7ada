"""A CUDA driver that is none, on a clock of its own, put under the CUDA device: what the host asks for takes time.

The GPU does what it is asked for one after another; the host goes on meanwhile, until it waits.
"""

# mypy: ignore-errors
from __future__ import annotations

import types

import numpy as np
from numba import cuda

ASK_NS = 5_000  # the host's time to ask for one thing
WAKE_NS = 10_000  # from the end of what the GPU does until a host that waits for it goes on
FLUSH_NS = 50_000
CLEAN_NS = 40_000


class FakeDriver:
    """``now`` and ``busy_until`` in nanoseconds; ``broken``: what every call reports from now on."""

    def __init__(self, monkeypatch) -> None:
        self.now = 0
        self.busy_until = 0
        self.flushes = 0
        self.broken = self.wrong = ""
        gpu = types.SimpleNamespace(name="Fake GPU", compute_capability=(9, 0), MULTIPROCESSOR_COUNT=4)
        replaced = {
            "get_current_device": lambda: gpu,
            "current_context": lambda: None,
            "default_stream": lambda: FakeStream(self),
            "stream": lambda: FakeStream(self),
            "event": lambda timing=True: FakeEvent(self),
            "synchronize": self.wait,
            "device_array": lambda size, dtype: FakeBuffer(self, np.zeros(size, dtype)),
            "to_device": lambda contents: self.wait() or FakeBuffer(self, contents),
        }
        for name, value in replaced.items():
            monkeypatch.setattr(cuda, name, value)
        monkeypatch.setattr("time.perf_counter_ns", lambda: self.now)
        monkeypatch.setattr("grader.devices.cuda.ColdCache", lambda: FakeCache(self))
        monkeypatch.setattr("grader.devices.cuda.DriverOutput", lambda: self)
        monkeypatch.setattr("numba.cuda.cudadrv.devicearray.DeviceNDArray", FakeArray)
        FakeArray.driver = self

    def asked(self, what: str, gpu_ns: int = 0) -> None:
        """The host asked for something that keeps the GPU busy for so long."""
        self.now += ASK_NS
        if self.broken:
            raise cuda.cudadrv.driver.CudaAPIError(700, self.broken.format(what))
        self.busy_until = max(self.busy_until, self.now) + gpu_ns

    def wait(self) -> None:
        """The host waits until the GPU has done all."""
        self.asked("cuCtxSynchronize")
        self.now = max(self.now, self.busy_until) + WAKE_NS

    def take(self, limit: int):
        """Nothing was printed."""
        return [], 0


class FakeStream:
    def __init__(self, driver) -> None:
        self.synchronize = driver.wait


class FakeEvent:
    def __init__(self, driver) -> None:
        self.driver = driver

    def record(self) -> None:
        self.driver.asked("cuEventRecord")
        self.ns = self.driver.busy_until

    def elapsed_time(self, later) -> float:
        return (later.ns - self.ns) / 1e6


class FakeCache:
    def __init__(self, driver) -> None:
        self.driver = driver

    def overwrite(self, times: int) -> None:
        self.driver.flushes = times
        for _ in range(times):
            self.driver.asked("cuMemsetD8Async", FLUSH_NS)

    def clean(self) -> None:
        self.driver.asked("cuLaunchKernel", CLEAN_NS)


class FakeBuffer:
    def __init__(self, driver, contents) -> None:
        self.driver, self.contents, self.gpu_data = driver, contents, self

    def view(self, start, stop):
        return self

    def __getitem__(self, key):
        return FakeBuffer(self.driver, self.contents[key])

    def copy_to_device(self, contents) -> None:
        self.driver.asked("cuMemcpyHtoD")
        self.contents[...] = contents

    def copy_to_host(self):
        self.driver.asked("cuMemcpyDtoH")
        return self.contents


class FakeArray:
    """What Numba's array class is to the device: it launches a kernel where it is assigned to."""

    def __init__(self, shape, strides, dtype, gpu_data) -> None:
        self.shape, self.ndim, self.dtype = shape, len(shape), np.dtype(dtype)

    def setitem(self, key, value, stream) -> None:
        self.driver.asked("cuLaunchKernel", 1000)
