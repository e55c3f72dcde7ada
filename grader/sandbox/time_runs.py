"""The trusted process's side of a race: have the runner carry out a plan many times on the GPU, each timed.

In: a warm child, a plan, inputs of each run. Out: an outcome and a clock per run; the state of the GPU.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grader import errors
from grader.clocks import Clock, GpuState
from grader.plan import LaunchPlan
from grader.problem import Inputs
from grader.records import Failure, Outcome
from grader.roofline import Peaks
from grader.sandbox.answers import bytes_of_arrays, checked, failure_of_death, fill_arrays, outputs_of
from grader.sandbox.ends import Death
from grader.sandbox.limits import Limits, with_cuda
from grader.sandbox.protocol import Message
from grader.sandbox.warm_child import WarmChild

# A kernel of which no more than two runs fit into a check's time is slow, not endless: one that counts is enough to say
# how slow. The rest of the time is for the run that was begun last, and for bringing back what came of all.
LEAST_RUNS = 2
SHARE_FOR_RUNS = 0.4


@dataclass(frozen=True)
class TimedOutcome:
    """What one timed run of a plan brought back."""

    outcome: Outcome
    clock: Clock
    copy_ns: int


@dataclass(frozen=True)
class TimedRuns:
    """What the runs of one process brought back, and the GPU's state right after the last of them.

    There may be fewer than were asked for, and then they are the first.
    """

    outcomes: list[TimedOutcome]
    state: GpuState


def time_runs(
    child: WarmChild,
    source: bytes,
    plan: LaunchPlan,
    runs: Sequence[tuple[Inputs, Mapping[str, npt.NDArray[Any]]]],
    limits: Limits,
) -> TimedRuns | Failure:
    """Have a fresh process carry out ``plan`` on the GPU once per (inputs, fills), each timed; the first compiles.

    Slow kernels get as many of the runs as there is time for, in their order, and two at least. Raises errors.Fault
    where the grader or the machine is at fault.
    """
    arrays: dict[str, npt.NDArray[Any]] = {"source": np.frombuffer(source, np.uint8)}
    for number, (inputs, fill) in enumerate(runs):
        for name, value in inputs.items():
            if isinstance(value, np.ndarray | np.generic):
                arrays[f"input:{number}:{name}"] = np.asarray(value)
        arrays |= fill_arrays(number, fill)
    header = {"do": "time", "plan": plan.model_dump(mode="json"), "runs": len(runs)}
    header |= {"at_least": LEAST_RUNS, "seconds": SHARE_FOR_RUNS * min(limits.cpu_seconds, limits.wall_seconds)}
    reply = child.call(Message(header, arrays), with_cuda(limits, bytes_of_arrays(arrays, plan, len(runs))))
    if isinstance(reply, Death):
        return failure_of_death(reply, "cuda", limits)
    answer = checked(reply.message.header)
    if answer.problem is not None:
        return answer.problem
    least = min(LEAST_RUNS, len(runs))
    if answer.timed is None or answer.state is None or not least <= len(answer.timed) <= len(runs):
        raise errors.ChildFault(
            f"the runner's answer is not of the agreed form: expected {least} to {len(runs)} timed runs"
        )
    outcomes = [
        TimedOutcome(
            Outcome(outputs_of(reply.message, number, inputs), changed_inputs=timed.changed_inputs),
            timed.clock,
            timed.copy_ns,
        )
        for number, (timed, (inputs, _)) in enumerate(zip(answer.timed, runs, strict=False))
    ]
    return TimedRuns(outcomes, answer.state)


def measure_peaks(child: WarmChild, limits: Limits) -> Peaks:
    """Have the runner measure what the GPU reaches. Raises errors.Fault."""
    reply = child.call(Message({"do": "measure peaks"}), with_cuda(limits, 0))
    if isinstance(reply, Death):
        raise errors.DeviceFault(f"measuring the GPU ended the runner ({reply})")
    answer = checked(reply.message.header)
    if answer.peaks is None or min(answer.peaks.bytes_per_second, answer.peaks.operations_per_second) <= 0:
        raise errors.ChildFault("the runner's answer is not of the agreed form: it says nothing of the GPU's peaks")
    return answer.peaks


def gpu_state(child: WarmChild, limits: Limits) -> GpuState:
    """What the machine's GPU is doing now. Raises errors.Fault."""
    reply = child.call(Message({"do": "state"}), with_cuda(limits, 0))
    if isinstance(reply, Death):
        raise errors.DeviceFault(f"asking for the GPU's state ended the runner ({reply})")
    answer = checked(reply.message.header)
    if answer.state is None:
        raise errors.ChildFault("the runner's answer is not of the agreed form: it says nothing of the GPU's state")
    return answer.state
