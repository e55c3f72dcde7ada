"""The CUDA device on a driver that is none: what its clock makes of waits, and whose a kernel's crash is."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from grader.devices.cuda import CudaDevice
from grader.kernels_text import KernelsText
from grader.plan_memory import View

from .fake_driver import ASK_NS, FakeDriver

KERNEL_NS = 50_000
ALL_OF_X = View(buffer=0, offset=0, shape=(16,), strides=(4,), dtype="<f4")


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
