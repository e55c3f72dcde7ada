"""What a device must be able to do, and what a kernel is to it. Runs in the runner.

In: operations of a validated launch plan, one at a time, in order. Out: bytes of buffers, launches, findings.
A device raises ``Refused`` for what is the student's fault and ``errors.Fault`` for what is not.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from grader.clocks import Clock
from grader.device_names import LineInfo
from grader.plan import Launch
from grader.plan_functions import JitOptions, TypeOf
from grader.plan_memory import View
from grader.records import Failure, Finding, KernelPrints, LaunchRecord, LineCounters

# Unwritten memory of a GPU is filled anew for each run that counts, with bytes that are no number of anybody's.
SCRATCH_BYTE = 0xFF
# Options of cuda.jit by which kernels know the lines that they come from.
LINE_OPTIONS: dict[LineInfo, dict[str, bool]] = {
    "": {},
    "optimised": {"lineinfo": True},
    "debug": {"debug": True, "opt": False},
}


class Refused(Exception):
    """The student's code asked for something that cannot be done; ``failure`` says what and why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.what)
        self.failure = failure


@dataclass(frozen=True)
class Kernel:
    """A kernel bound from the text of kernels.py: never called, only compiled."""

    name: str
    line: int
    function: Callable[..., Any]
    options: JitOptions
    signatures: tuple[tuple[TypeOf, ...], ...]


@dataclass(frozen=True)
class ViewArgument:
    """An array argument: a view into a buffer, named as the kernel names its parameter.

    ``unit``: the bytes of an element of the memory below, whatever the view makes of it; 0 where nobody can say.
    """

    view: View
    name: str
    unit: int = 0


def filling(dtype: np.dtype[Any], value: Any) -> npt.NDArray[Any]:
    """An array without axes that holds what ``array[...] = value`` puts into each element.

    A number goes into every field of a record, as in NumPy; a record only comes with the dtype of the array.
    """
    made = np.zeros((), dtype)
    with np.errstate(all="ignore"):
        made[...] = np.asarray(value) if dtype.names is not None else np.asarray(value).astype(dtype)
    return made


class Device(Protocol):
    """Carries out a plan's operations. Buffers are numbered as in the plan."""

    name: str
    findings: list[Finding]
    launches: list[LaunchRecord]

    def lines(self) -> list[LineCounters]:
        """What was counted by line, over all launches since the reset; nothing on a device that cannot tell."""

    def reset(self, nbytes: int) -> None:
        """Forget buffers, findings, launches, prints; what was compiled stays. ``nbytes`` of buffers will follow."""

    def printed(self) -> KernelPrints:
        """What kernels have printed since the last reset, as far as the device has been waited for."""

    def allocate(self, nbytes: int, contents: npt.NDArray[np.uint8] | None, *, garbage: bool, name: str) -> None:
        """Add the next buffer; without ``contents`` its bytes are unspecified.

        ``name`` is the host function's argument, "" for scratch memory. ``garbage``: a kernel that reads it before
        it has written it makes a mistake.
        """

    def launch(self, kernel: Kernel, asked: Launch, arguments: list[Any]) -> None:
        """Launch ``kernel`` as the plan asked for it.

        ``arguments`` are ViewArguments, Python or NumPy scalars, or tuples of those.
        """

    def fill(self, target: View, value: Any, stream: int, line: int) -> None:
        """``target[...] = value``, asked for at a line of kernels.py."""

    def copy(self, source: View, target: View, stream: int, line: int) -> None:
        """``target[...] = source``, asked for at a line of kernels.py."""

    def synchronize(self, stream: int | None) -> None:
        """Wait for one stream, or for all."""

    def read(self, buffer: int) -> npt.NDArray[np.uint8]:
        """A buffer's bytes, after everything before is done."""


class ClockedDevice(Device, Protocol):
    """A device whose operations can be timed, again and again, on the same buffers."""

    def put(self, buffer: int, contents: npt.NDArray[np.uint8]) -> None:
        """Give a buffer new contents."""

    def clocked(self, work: Callable[[], None]) -> Clock:
        """Time ``work``, which asks this device for operations, with no buffer in the device's cache at its start."""
