"""What both devices say of a kernel that Numba cannot compile and of a launch that a GPU refuses. Runs in the runner.

In: the exception. Out: a ``Failure`` with the line of kernels.py.
"""

from __future__ import annotations

from grader.devices.base import Kernel
from grader.kernels_text import KernelsText
from grader.records import Failure, Place
from grader.simulator.advice import advice_for
from grader.simulator.configuration import LaunchRefused
from grader.simulator.frontend import KernelError


def rejected(kernel: Kernel, error: KernelError, text: KernelsText) -> Failure:
    """The failure of a kernel that Numba cannot compile."""
    return Failure(
        "kernel-rejected",
        f"Numba cannot compile the kernel {kernel.name}.",
        found=str(error),
        where=str(text.place(error.line or kernel.line)),
        advice=advice_for(str(error), error.line, text),
    )


def launch_refused(error: LaunchRefused, place: Place) -> Failure:
    """The failure of a launch at ``place`` that a GPU refuses."""
    return Failure("launch-refused", f"A GPU refuses this launch: {error}.", where=str(place), advice=error.advice)
