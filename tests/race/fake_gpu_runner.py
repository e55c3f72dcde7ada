"""The runner with a GPU that is none: kernels are simulated, and times come from a script. A warm child's module.

The script is JSON in the file that FAKE_GPU names:
``ns``, nanoseconds by the name of a kernel; ``factors``, by kernel a factor per job; ``first``, a factor for the first
run of a job; ``wrong``, ``dies``, ``hangs``, ``crashes``, [kernel, job, run] where an output is changed, the process
ends or does not, or the GPU stops the kernel; ``states``, what the GPU says of itself, question by question, or
{"fault": …} where it does not answer; ``peaks``, what it reaches, or a list of it; ``wall``, what the host sees as a
multiple of what the device says; ``wait_ns``, what each wait in what is timed costs; ``sleeps``, seconds that a run of
a kernel takes in earnest. Jobs are counted in a file beside the script.

Its clocks are at ``BUSY_MHZ`` from a run's end until somebody looks at what came of it, else at ``IDLE_MHZ``.
"""

from __future__ import annotations

import json
import os
import signal
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from grader.clocks import Clock
from grader.devices.base import Refused
from grader.devices.simulated import SimulatedDevice
from grader.errors import DeviceFault
from grader.gpu_models import DEFAULT
from grader.records import Failure
from grader.runner import __main__ as runner
from grader.sandbox.protocol import serve

SCRIPT = Path(os.environ["FAKE_GPU"])
FLUSH_NS = 100_000
BUSY_MHZ, IDLE_MHZ = 1980, 210
last: list[str] = []  # what this process did with the GPU
PEAKS = {"bytes_per_second": 1e12, "operations_per_second": 1e13, "cache_bytes": 0}


def script() -> dict[str, Any]:
    return json.loads(SCRIPT.read_text())


def count(what: str) -> int:
    """How often this has been asked before, in all processes."""
    file = SCRIPT.with_suffix(f".{what}")
    with file.open("a") as lines:
        lines.write("x\n")
    return len(file.read_text().splitlines()) - 1


class FakeGpu(SimulatedDevice):
    """Simulates, with a settable clock."""

    name = "cuda"

    def __init__(self, text) -> None:
        super().__init__(DEFAULT, text, 20.0)
        self.script = script()
        self.run = -1
        self.job = -1
        self.kernel = ""
        self.waits = 0

    def launch(self, kernel, asked, arguments) -> None:
        self.kernel = kernel.name
        super().launch(kernel, asked, arguments)

    def synchronize(self, stream) -> None:
        self.waits += 1
        super().synchronize(stream)

    def clocked(self, work) -> Clock:
        self.run += 1
        self.waits = 0
        work()
        waits = self.waits
        if self.job < 0:
            self.job = count(self.kernel)
        here = [self.kernel, self.job, self.run]
        if self.script.get("dies") == here:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.script.get("hangs") == here:
            time.sleep(60)
        if self.script.get("crashes") == here:
            raise Refused(Failure("gpu-error", "The GPU stopped the kernel."))
        time.sleep(self.script.get("sleeps", {}).get(self.kernel, 0))
        last.append("run")
        ns = self.script["ns"][self.kernel]
        factors = self.script.get("factors", {}).get(self.kernel, [1.0])
        ns *= factors[min(self.job, len(factors) - 1)]
        ns *= 1 + 0.001 * (self.run % 3)
        if self.run == 0:
            ns *= self.script.get("first", 1.0)
        ns += waits * self.script.get("wait_ns", 0)
        return Clock(int(ns), 20_000, int((ns + FLUSH_NS) * self.script.get("wall", 1.0)) + 30_000, FLUSH_NS)

    def read(self, buffer):
        last.append("read")
        contents = super().read(buffer)
        name = self._names[self._buffers[buffer][0]]
        if name == "out" and self.script.get("wrong") == [self.kernel, self.job, self.run]:
            contents = np.array(contents)
            contents[:4].view(np.float32)[0] += 1
        return contents


def state() -> dict[str, Any]:
    states = script().get("states", [{}])
    now = states[min(count("state"), len(states) - 1)]
    if "fault" in now:
        raise DeviceFault(now["fault"])
    return {"sm_mhz": BUSY_MHZ if last[-1:] == ["run"] else IDLE_MHZ} | now


def peaks() -> dict[str, Any]:
    given = script().get("peaks", PEAKS)
    return given[min(count("peaks"), len(given) - 1)] if isinstance(given, list) else given


runner.clocked_device = FakeGpu
runner.describe = lambda: {"name": "Fake GPU"}
runner.state = state
runner.peaks = peaks


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    serve(runner.handle, runner.warm_up)
