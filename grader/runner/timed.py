"""Carries out a launch plan many times and times each. Runs in the runner.

In: a plan, its functions, and for each run inputs of its own and the values that its outputs start with. Out: per run
the outputs and a ``Clock``.

All runs use the same buffers, and a run's inputs come to the device right before it: nothing of a later run is where an
earlier one could get at it, and no address, order or number tells a kernel which run it is in.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.clocks import Clock
from grader.devices.base import ClockedDevice
from grader.plan import LaunchPlan, Synchronize
from grader.runner.binding import Binder
from grader.runner.carry_out import Answer, allocate, collect, operate, starts_of

# Unwritten memory is filled anew for each run, with bytes that are no number of anybody's.
SCRATCH_BYTE = 0xFF


@dataclass(frozen=True)
class TimedRun:
    """What came of one run, and how long it took; ``copy_ns`` to fill its buffers before, by the host's clock."""

    answer: Answer
    clock: Clock
    copy_ns: int


def timed_runs(
    plan: LaunchPlan,
    binder: Binder,
    runs: Sequence[tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]],
    device: ClockedDevice,
) -> list[TimedRun]:
    """Carry out ``plan`` once per (inputs, fills) in ``runs``, as ``carry_out`` takes them.

    The first run compiles the kernels as well. Raises Refused (the student's fault) and errors.Fault.
    """
    done: list[TimedRun] = []
    timed = _without_last_waits(plan)
    for inputs, fills in runs:
        starts = starts_of(plan, inputs, fills)
        if not done:
            allocate(plan, starts, inputs, device)
        began = time.perf_counter_ns()
        for number, (buffer, contents) in enumerate(zip(plan.buffers, starts, strict=True)):
            # Also scratch memory: results of the run before must not be there.
            device.put(number, np.full(buffer.nbytes, SCRATCH_BYTE, np.uint8) if contents is None else contents)
        copied = time.perf_counter_ns() - began
        clock = device.clocked(lambda inputs=inputs: operate(timed, binder, inputs, device))  # type: ignore[misc]
        done.append(TimedRun(collect(plan, starts, inputs, fills, device), clock, copied))
    return done


def _without_last_waits(plan: LaunchPlan) -> LaunchPlan:
    """The plan up to its last work: who waits for the end, as the clock does anyway, is not to be timed waking up."""
    end = len(plan.operations)
    while end and isinstance(plan.operations[end - 1], Synchronize):
        end -= 1
    return plan.model_copy(update={"operations": plan.operations[:end]})
