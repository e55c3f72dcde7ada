"""The CUDA device on a driver that is none: what its clock makes of waits, and whose a kernel's crash is."""

# mypy: ignore-errors
from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from grader.devices.base import Refused
from grader.devices.cuda import CudaDevice
from grader.errors import DeviceFault
from grader.kernels_text import KernelsText
from grader.plan import Launch
from grader.plan_memory import View

from .fake_driver import ASK_NS, FakeDriver

KERNEL_NS = 50_000
ALL_OF_X = View(buffer=0, offset=0, shape=(16,), strides=(4,), dtype="<f4")
LAUNCH = Launch(kernel=0, grid=(1, 1, 1), block=(32, 1, 1), arguments=(), line=1)


@pytest.fixture
def driver(monkeypatch):
    return FakeDriver(monkeypatch)


@pytest.fixture
def device(driver):
    made = CudaDevice(KernelsText(b""))
    made.allocate(64, np.zeros(64, np.uint8), garbage=False, name="x")
    return made


def launches(driver, count):
    for _ in range(count):
        driver.asked("cuLaunchKernel", KERNEL_NS)


def test_what_the_host_needs_to_launch_is_not_in_the_time(driver, device):
    for _ in range(5):
        clock = device.clocked(lambda: launches(driver, 10))
    assert clock.device_ns == 10 * KERNEL_NS
    assert clock.queued_ns == 11 * ASK_NS  # the end's event, too


@pytest.mark.parametrize("stream", [None, 0, 1])
def test_a_wait_between_launches_is_neither_launching_nor_a_reason_to_flush_more(driver, device, stream):
    def work():
        launches(driver, 5)
        device.synchronize(stream)
        launches(driver, 5)

    flushes = []
    for _ in range(8):
        clock = device.clocked(work)
        flushes.append(driver.flushes)
    assert clock.queued_ns == 11 * ASK_NS
    assert len(set(flushes[2:])) == 1
    assert flushes[-1] < 10
    assert clock.device_ns + clock.before_ns <= clock.wall_ns


def test_the_first_fill_of_a_value_waits_and_is_not_launching(driver, device):
    clocks = [device.clocked(lambda: device.fill(ALL_OF_X, np.float32(0), 0, 1)) for _ in range(3)]
    assert [clock.queued_ns for clock in clocks] == [2 * ASK_NS] * 3


def launched(driver, device):
    """A launch whose kernel is compiled already."""
    device._dispatcher = lambda kernel: Configured(driver)
    device.launch(SimpleNamespace(name="kernel", function=None), LAUNCH, [])


class Configured:
    def __init__(self, driver) -> None:
        self.driver = driver

    def __getitem__(self, configuration):
        return lambda *arguments: self.driver.asked("cuLaunchKernel", KERNEL_NS)


# All that the host asks a GPU for after a kernel was launched.
ASKED = {
    "launch": launched,
    "fill": lambda driver, device: device.fill(ALL_OF_X, np.float32(0), 0, 1),
    "fill of a value that is there": lambda driver, device: device._assign(ALL_OF_X, None, 0),
    "copy": lambda driver, device: device.copy(ALL_OF_X, ALL_OF_X, 0, 1),
    "wait": lambda driver, device: device.synchronize(None),
    "wait for a stream": lambda driver, device: device.synchronize(1),
    "read": lambda driver, device: device.read(0),
    "put": lambda driver, device: device.put(0, np.ones(64, np.uint8)),
    "allocate": lambda driver, device: device.allocate(8, np.ones(8, np.uint8), garbage=False, name="y"),
    "event": lambda driver, device: device.clocked(lambda: None),
    "end of what is timed": lambda driver, device: device.clocked(lambda: setattr(driver, "broken", driver.wrong)),
}
CRASHES = ("ILLEGAL_ADDRESS", "MISALIGNED_ADDRESS", "LAUNCH_FAILED", "ILLEGAL_INSTRUCTION", "INVALID_PC")


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("crash", CRASHES)
def test_a_kernels_crash_is_the_kernels_whatever_the_host_asks_for_next(driver, device, asked, crash):
    driver.wrong = f"Call to {{}} results in CUDA_ERROR_{crash}"
    driver.broken = "" if asked == "end of what is timed" else driver.wrong
    with pytest.raises(Refused) as refused:
        ASKED[asked](driver, device)
    assert refused.value.failure.kind == "gpu-error"
    assert crash in refused.value.failure.what


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (
            "ILLEGAL_ADDRESS",
            "The GPU stopped the kernel: it reads or writes outside of its arrays (CUDA_ERROR_ILLEGAL_",
        ),
        ("MISALIGNED_ADDRESS", "at an address that is no multiple of"),
        ("LAUNCH_OUT_OF_RESOURCES", "a block needs more registers or shared memory than there are"),
        ("INVALID_VALUE", "its grid, block or shared memory is more than this GPU has"),
        ("ILLEGAL_INSTRUCTION", "CUDA_ERROR_ILLEGAL_INSTRUCTION"),
    ],
)
def test_a_crash_is_told_in_words_where_they_say_more_than_the_driver(driver, device, error, told):
    driver.wrong = driver.broken = f"Call to {{}} results in CUDA_ERROR_{error}"
    with pytest.raises(Refused) as refused:
        ASKED["launch"](driver, device)
    assert told in refused.value.failure.what
    assert ("Call to" in refused.value.failure.what) == (error == "ILLEGAL_INSTRUCTION")


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("fault", ["ECC_UNCORRECTABLE", "SYSTEM_DRIVER_MISMATCH", "DEVICE_UNAVAILABLE"])
def test_a_gpu_that_fails_is_nobodys_fault_whatever_the_host_asks_for(driver, device, asked, fault):
    driver.wrong = f"Call to {{}} results in CUDA_ERROR_{fault}"
    driver.broken = "" if asked == "end of what is timed" else driver.wrong
    with pytest.raises(DeviceFault, match=fault):
        ASKED[asked](driver, device)


@pytest.mark.parametrize("asked", sorted(ASKED.keys() - {"launch"}))
def test_a_value_that_only_a_launch_could_get_wrong_is_our_fault_elsewhere(driver, device, asked):
    driver.wrong = "Call to {} results in CUDA_ERROR_INVALID_VALUE"
    driver.broken = "" if asked == "end of what is timed" else driver.wrong
    with pytest.raises(DeviceFault):
        ASKED[asked](driver, device)
