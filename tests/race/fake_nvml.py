"""A management library that is none, for machines that there are not: to be put into ``sys.modules`` as pynvml."""

# mypy: ignore-errors
from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace


class NVMLError(Exception):
    def __init__(self, value: int) -> None:
        super().__init__(value)
        self.value = value


@dataclass
class Gpu:
    """What the library says of a GPU; a question whose answer is an int of ``errors`` raises that error."""

    uuid: str = "GPU-1111"
    bus_id: str = "00000000:3b:00.0"
    parts: tuple[str, ...] = ()  # UUIDs of its MIG instances
    mig_mode: int = 0
    reasons: int = 0
    pids: tuple[int, ...] = ()
    errors: dict[str, int] = field(default_factory=dict)


class FakeNvml:
    NVMLError = NVMLError
    NVML_ERROR_NOT_SUPPORTED, NVML_ERROR_NOT_FOUND, NVML_ERROR_FUNCTION_NOT_FOUND, NVML_ERROR_UNKNOWN = 3, 6, 13, 999
    NVML_CLOCK_SM, NVML_CLOCK_MEM, NVML_TEMPERATURE_GPU, NVML_DEVICE_MIG_ENABLE = 1, 2, 0, 1

    def __init__(self, *gpus: Gpu) -> None:
        self.gpus = gpus

    def nvmlInit(self):
        pass

    def nvmlShutdown(self):
        pass

    def nvmlDeviceGetHandleByUUID(self, uuid):
        for gpu in self.gpus:
            if uuid.decode() == gpu.uuid:
                return gpu
            if uuid.decode() in gpu.parts:
                return SimpleNamespace(parent=gpu)
        raise NVMLError(self.NVML_ERROR_NOT_FOUND)

    def nvmlDeviceGetHandleByPciBusId(self, bus_id):
        for gpu in self.gpus:
            if bus_id.decode().lower() == gpu.bus_id:
                return gpu
        raise NVMLError(self.NVML_ERROR_NOT_FOUND)

    def nvmlDeviceGetDeviceHandleFromMigDeviceHandle(self, part):
        return part.parent

    def _answer(self, gpu, question, answer):
        if question in gpu.errors:
            raise NVMLError(gpu.errors[question])
        return answer

    def nvmlDeviceGetMigMode(self, gpu):
        return self._answer(gpu, "mig", [gpu.mig_mode, gpu.mig_mode])

    def nvmlDeviceGetCurrentClocksThrottleReasons(self, gpu):
        return self._answer(gpu, "reasons", gpu.reasons)

    def nvmlDeviceGetClockInfo(self, gpu, which):
        return self._answer(gpu, "clocks", 1980 if which == self.NVML_CLOCK_SM else 2619)

    def nvmlDeviceGetTemperature(self, gpu, sensor):
        return self._answer(gpu, "celsius", 41)

    def nvmlDeviceGetComputeRunningProcesses(self, gpu):
        return self._answer(gpu, "processes", [SimpleNamespace(pid=pid) for pid in gpu.pids])
