"""Whose fault an error of the CUDA driver is. Runs in the runner.

In: what the host asks the driver for. Out: nothing, or ``Refused`` (a kernel's crash), or ``DeviceFault``.

A kernel runs on while the host asks for other things, and whatever it asks for next is what reports the crash: a copy,
an event, another launch. So every call of the driver is made under ``blaming``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from grader.devices.base import Refused
from grader.errors import DeviceFault
from grader.records import Failure

# Names of the driver's errors (CUDA Driver API, "CUresult"): what only a kernel can have done,
CRASHES = (
    "ILLEGAL_ADDRESS",
    "ILLEGAL_INSTRUCTION",
    "MISALIGNED_ADDRESS",
    "INVALID_ADDRESS_SPACE",
    "INVALID_PC",
    "HARDWARE_STACK_ERROR",
    "LAUNCH_FAILED",
)
# and how a launch is refused.
REFUSALS = ("INVALID_VALUE", "LAUNCH_OUT_OF_RESOURCES")


@contextlib.contextmanager
def blaming(api_error: type[Exception], here: str = "", *, is_launch: bool = False) -> Iterator[None]:
    """Around calls of the driver, whose errors are ``api_error``. Raises Refused, DeviceFault."""
    try:
        yield
    except api_error as error:
        text = str(error)
        if any(name in text for name in CRASHES + (REFUSALS if is_launch else ())):
            raise Refused(
                Failure(
                    "gpu-error",
                    f"The GPU stopped the kernel: {text}",
                    where=here,
                    advice="Run the same check with --device simulated: it names the line and the thread.",
                )
            ) from None
        raise DeviceFault(f"the GPU failed: {text}") from None
