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
    pageable = _attribute(device, "PAGEABLE_MEMORY_ACCESS")
    reaches_host = None if pageable is None else bool(pageable)
    state = asdict(GpuState(uuid=uuid, total_bytes=int(total), free_bytes=int(free), reaches_host=reaches_host))
    with _library() as nvml:
        if nvml is not None:
            state |= _of_library(nvml, uuid, _bus_id(device))
    return state


def _attribute(device: Any, name: str) -> int | None:
    """An attribute of a device (CUDA Driver API, "CUdevice_attribute"); None where its driver does not know it."""
    try:
        return int(getattr(device, name))
    except Exception:
        return None


def _bus_id(device: Any) -> str:
    """Where a GPU is, as the management library writes it; "" where its driver does not say."""
    domain, bus, number = (_attribute(device, f"PCI_{part}_ID") for part in ("DOMAIN", "BUS", "DEVICE"))
    return "" if domain is None or bus is None or number is None else f"{domain:08x}:{bus:02x}:{number:02x}.0"


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
        return found.decode("utf-8", "replace") if isinstance(found, bytes) else str(found)


def _of_library(nvml: Any, uuid: str, bus_id: str) -> dict[str, Any]:
    """What the library says; a question that this GPU, driver or library does not know is left out."""
    found = _handle(nvml, uuid, bus_id)
    if found is None:
        return {}
    handle, is_part = found
    reasons = nvml.nvmlDeviceGetCurrentClocksThrottleReasons  # the name that older drivers know, too
    questions: dict[str, Callable[[], Any]] = {
        "sm_mhz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM),
        "memory_mhz": lambda: nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_MEM),
        "celsius": lambda: nvml.nvmlDeviceGetTemperature(handle, nvml.NVML_TEMPERATURE_GPU),
        "others": lambda: _others([process.pid for process in nvml.nvmlDeviceGetComputeRunningProcesses(handle)]),
        "is_partition": lambda: is_part or _is_divided(nvml, handle),
        "slowed_by": lambda: [word for bit, word in SLOWED.items() if reasons(handle) & bit],
        "held_by": lambda: [word for bit, word in HELD.items() if reasons(handle) & bit],
    }
    said: dict[str, Any] = {}
    for name, question in questions.items():
        with contextlib.suppress(nvml.NVMLError):
            said[name] = question()
    return said


def _handle(nvml: Any, uuid: str, bus_id: str) -> tuple[Any, bool] | None:
    """The library's handle of a GPU, and whether CUDA shows a part of it; None where the library does not know it.

    CUDA gives the UUID of the part (MIG) that it shows, if it shows one, and Numba writes "GPU-" before any UUID, where
    the library wants "MIG-". Drivers before 470 have other names for parts: then the GPU is found by where it is.
    """
    number = uuid.removeprefix("GPU-").removeprefix("MIG-")
    with contextlib.suppress(nvml.NVMLError):
        part = nvml.nvmlDeviceGetHandleByUUID(f"MIG-{number}".encode())
        return nvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(part), True
    with contextlib.suppress(nvml.NVMLError):
        return nvml.nvmlDeviceGetHandleByUUID(f"GPU-{number}".encode()), False
    if bus_id:
        with contextlib.suppress(nvml.NVMLError):
            return nvml.nvmlDeviceGetHandleByPciBusId(bus_id.encode()), False
    return None


def _is_divided(nvml: Any, handle: Any) -> bool:
    """Whether a GPU is in MIG mode. Raises NVMLError where nobody knows."""
    try:
        return bool(nvml.nvmlDeviceGetMigMode(handle)[0] == nvml.NVML_DEVICE_MIG_ENABLE)
    except nvml.NVMLError as error:
        # Of a GPU or a driver that cannot divide.
        if error.value in (nvml.NVML_ERROR_NOT_SUPPORTED, nvml.NVML_ERROR_FUNCTION_NOT_FOUND):
            return False
        raise


def _others(pids: list[int]) -> int:
    """How many of the processes on a GPU are not this one, which is one of them.

    In a container the library may give the host's numbers, or 0 for whoever has none here.
    """
    others = [pid for pid in pids if pid not in (0, os.getpid())]
    is_seen = len(others) < len(pids)
    return len(others) if is_seen else max(len(others) - 1, 0)
