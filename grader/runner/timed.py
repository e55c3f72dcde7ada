"""Carries out a launch plan many times and times each. Runs in the runner.

In: a plan, its functions, and for each run inputs of its own and the values that its outputs start with. Out: per run
the outputs and a ``Clock``, and what the GPU said of itself at the end of the last.

All runs use the same buffers, and a run's inputs come to the device right before it: nothing of a later run is where an
earlier one could get at it, and no address, order or number tells a kernel which run it is in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.clocks import Clock
from grader.devices.base import SCRATCH_BYTE, ClockedDevice
from grader.plan import LaunchPlan, Synchronize
from grader.runner.binding import Binder
from grader.runner.carry_out import Answer, allocate, collect, operate, starts_of


@dataclass(frozen=True)
class TimedRun:
    """What came of one run, and how long it took; ``copy_ns`` to fill its buffers before, by the host's clock."""

    answer: Answer
    clock: Clock
    copy_ns: int


@dataclass(frozen=True)
class Enough:
    """When no further run is begun: after so many ``runs``, if they took ``seconds``, of real or of CPU time."""

    runs: int
    seconds: float

    def after(self, runs: int, seconds: float) -> bool:
        """Whether ``runs`` that took ``seconds`` are enough; this process may have been computing before them."""
        return runs >= self.runs and max(seconds, time.process_time()) > self.seconds


def timed_runs(
    plan: LaunchPlan,
    binder: Binder,
    runs: Sequence[tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]],
    device: ClockedDevice,
    state: Callable[[], dict[str, Any]],
    enough: Enough,
) -> tuple[list[TimedRun], dict[str, Any]]:
    """Carry out ``plan`` once per (inputs, fills) in ``runs``, as ``carry_out`` takes them, until it is ``enough``.

    ``state()`` is asked once, right after the last run, while the GPU is still at the clocks that it ran with. The
    first run compiles the kernels as well. Raises Refused (the student's fault) and errors.Fault.
    """
    done: list[TimedRun] = []
    said: dict[str, Any] = {}
    since = time.monotonic()
    timed = _without_last_waits(plan)
    for number, (inputs, fills) in enumerate(runs, 1):
        starts = starts_of(plan, inputs, fills)
        if not done:
            allocate(plan, starts, inputs, device)
        began = time.perf_counter_ns()
        for place, (buffer, contents) in enumerate(zip(plan.buffers, starts, strict=True)):
            # Also scratch memory: results of the run before must not be there.
            device.put(place, np.full(buffer.nbytes, SCRATCH_BYTE, np.uint8) if contents is None else contents)
        copied = time.perf_counter_ns() - began
        clock = device.clocked(lambda inputs=inputs: operate(timed, binder, inputs, device))  # type: ignore[misc]
        is_last = number == len(runs) or enough.after(number, time.monotonic() - since)
        if is_last:
            said = state()
        done.append(TimedRun(collect(plan, starts, inputs, fills, device), clock, copied))
        if is_last:
            break
    return done, said


def _without_last_waits(plan: LaunchPlan) -> LaunchPlan:
    """The plan up to its last work: who waits for the end, as the clock does anyway, is not to be timed waking up."""
    end = len(plan.operations)
    while end and isinstance(plan.operations[end - 1], Synchronize):
        end -= 1
    return plan.model_copy(update={"operations": plan.operations[:end]})
