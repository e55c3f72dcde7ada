"""What the simulated device says of a launch that does not end. Runs in the runner.

In: the kernel, and where it was. Out: a ``Failure`` with the line of kernels.py.
"""

from __future__ import annotations

from grader.devices.base import Kernel
from grader.records import Failure, Finding, Place
from grader.simulator.frames import MAX_DEPTH


def endless_recursion(kernel: Kernel, place: Place) -> Failure:
    """The failure of a kernel that calls more functions inside each other than the simulator allows."""
    return Failure(
        "recursion",
        f"The kernel {kernel.name} calls a function that calls itself without end.",
        expected=f"at most {MAX_DEPTH} calls inside each other",
        found="more than that; the stack of a GPU's thread is 1 KiB",
        where=str(place),
        advice="Check the condition that ends the recursion, or write a loop.",
    )


def out_of_time(kernel: Kernel, place: Place, seconds: float) -> Failure:
    """The failure of a launch that took more CPU time than a call has."""
    advice = (
        "Look for a loop whose condition never becomes false, or for work that every thread does again: does each "
        "start at its own index, and step by the threads of the whole grid?"
    )
    expected = f"an end within {seconds:g} s of simulation"
    return _unfinished(kernel, "time-out", expected, "it was still running", place, advice)


def endless_wait(kernel: Kernel, finding: Finding) -> Failure:
    """The failure of a launch in which threads would have waited for ever, as ``finding`` says."""
    return _unfinished(kernel, "endless-wait", "an end", finding.what, finding.place, finding.advice)


def _unfinished(kernel: Kernel, kind: str, expected: str, found: str, place: Place, advice: str) -> Failure:
    return Failure(kind, f"The kernel {kernel.name} did not finish.", expected, found, str(place), advice)
