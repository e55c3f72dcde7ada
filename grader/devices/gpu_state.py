"""What the GPU is doing: from NVIDIA's management library. Runs in the runner.

In: nothing. Out: a ``GpuState`` as plain data; where the library is missing, what CUDA itself says.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from grader.clocks import HELD_BY, GpuState

# Bits of nvmlDeviceGetCurrentClocksEventReasons (NVML API reference, "nvmlClocksEventReasons").
SLOWED = {
    0x8: "a hardware slowdown",
    0x20: "its temperature (software)",
    0x40: "its temperature (hardware)",
    0x80: "the power supply's brake",
}
HELD = {
    0x2: HELD_BY["held_by_set_clocks"],
    0x4: HELD_BY["held_by_power"],
    0x10: HELD_BY["held_by_another_gpu"],
}


def gpu_state() -> dict[str, Any]:
    """The state of the first GPU that CUDA shows."""
    from numba import cuda

    device = cuda.get_current_device()
    free, total = cuda.current_context().get_memory_info()
    uuid = str(getattr(device, "uuid", ""))
    state = asdict(GpuState(uuid=uuid, total_bytes=int(total), free_bytes=int(free)))
    with _library() as nvml:
        if nvml is not None:
            state |= _of_library(nvml, uuid)
    return state


@contextlib.contextmanager
def _library() -> Iterator[Any]:
    """The management library, or None where it is not installed or finds no driver."""
    try:
        import pynvml

        pynvml.nvmlInit()
    except Exception:
        yield None
        return
    try:
        yield pynvml
    finally:
        pynvml.nvmlShutdown()


def driver_version() -> str:
    """The version of NVIDIA's driver, as the library says it; "" where it does not."""
    with _library() as nvml:
        if nvml is None:
            return ""
        try:
            found = nvml.nvmlSystemGetDriverVersion()
        except nvml.NVMLError:
            return ""
        return found.decode() if isinstance(found, bytes) else str(found)


def _of_library(nvml: Any, uuid: str) -> dict[str, Any]:
    """What the library says; a question that this GPU or driver does not know is left out."""
    said: dict[str, Any] = {}
    is_part = uuid.startswith("MIG-")
    said["is_partition"] = is_part
    try:
        handle = nvml.nvmlDeviceGetHandleByUUID(uuid.encode())
    except nvml.NVMLError:
        return said
    reasons = nvml.nvmlDeviceGetCurrentClocksThrottleReasons  # the name that older drivers know, too
    questions: dict[str, Callable[[], Any]] = {
        "sm_mhz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        "memory_mhz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
        "celsius": lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
        "others": lambda: _others(nvml.nvmlDeviceGetComputeRunningProcesses(handle)),
        "is_partition": lambda: is_part or nvml.nvmlDeviceGetMigMode(handle)[0] == nvml.NVML_DEVICE_MIG_ENABLE,
        "slowed_by": lambda: [word for bit, word in SLOWED.items() if reasons(handle) & bit],
        "held_by": lambda: [word for bit, word in HELD.items() if reasons(handle) & bit],
    }
    for name, question in questions.items():
        with contextlib.suppress(nvml.NVMLError):
            said[name] = question()
    return said


def _others(processes: Any) -> int:
    """How many processes are not this one. In a container the library may give the host's numbers, or 0."""
    return sum(process.pid not in (0, os.getpid()) for process in processes) if len(processes) > 1 else 0
