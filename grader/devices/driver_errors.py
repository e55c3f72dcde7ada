"""Whose fault an error of the CUDA driver is. Runs in the runner.

In: what the host asks the driver for. Out: nothing, or ``Refused`` (a kernel's crash), or ``DeviceFault``.

A kernel runs on while the host asks for other things, and whatever it asks for next is what reports the crash: a copy,
an event, another launch. So every call of the driver is made under ``blaming``.
"""

from __future__ import annotations

import contextlib
import re
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
# in words, where they say more,
_WORDS = {
    "ILLEGAL_ADDRESS": "it reads or writes outside of its arrays",
    "MISALIGNED_ADDRESS": "it reads or writes at an address that is no multiple of what it reads or writes",
    "HARDWARE_STACK_ERROR": "its functions call each other too deeply",
    "LAUNCH_OUT_OF_RESOURCES": "a block needs more registers or shared memory than there are",
    "INVALID_VALUE": "its grid, block or shared memory is more than this GPU has",
}
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
                    _sentence(text),
                    where=here,
                    advice="Run the same check with --device simulated: it names the line and the thread.",
                )
            ) from None
        raise DeviceFault(f"the GPU failed: {text}") from None


def _sentence(text: str) -> str:
    """What an error is to a student; without words for it, what the driver says of it."""
    name = re.search(r"CUDA_ERROR_(\w+)", text)
    if name is None or name[1] not in _WORDS:
        return f"The GPU stopped the kernel: {text}"
    return f"The GPU stopped the kernel: {_WORDS[name[1]]} ({name[0]})."
