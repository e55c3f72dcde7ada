"""What answers of the runner look like, and what is made of them. Trusted process.

In: an answer's header and arrays, or a death. Out: records, or the fault or failure that it is. Nothing is believed
that is not of the agreed form.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from typing import Annotated, Any

import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from grader import errors
from grader.clocks import Clock, GpuState
from grader.device_names import DeviceName
from grader.plan import LaunchPlan
from grader.problem import Inputs, Output
from grader.records import (
    MAX_PRINTED_LINE,
    MAX_PRINTED_LINES,
    Failure,
    Finding,
    KernelPrints,
    LaunchRecord,
    LineCounters,
)
from grader.roofline import Peaks
from grader.sandbox.ends import Death
from grader.sandbox.limits import Limits
from grader.sandbox.protocol import Message

_FAULTS: dict[str, type[errors.Fault]] = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.Fault)
}


class _Gpu(BaseModel):
    """What is known of a GPU: its name, and whatever else its driver says."""

    model_config = ConfigDict(extra="allow")
    name: str


class _Printed(BaseModel):
    """What kernels printed, within the limits that the runner keeps to."""

    model_config = ConfigDict(extra="forbid")
    lines: Annotated[
        tuple[Annotated[str, Field(max_length=MAX_PRINTED_LINE)], ...], Field(max_length=MAX_PRINTED_LINES)
    ]
    left_out: Annotated[int, Field(ge=0)]

    def record(self) -> KernelPrints:
        return KernelPrints(self.lines, self.left_out)


class _Run(BaseModel):
    """One run of a plan."""

    model_config = ConfigDict(extra="forbid")
    findings: tuple[Finding, ...]
    launches: tuple[LaunchRecord, ...]
    lines: tuple[LineCounters, ...]
    changed_inputs: tuple[str, ...]
    printed: _Printed


class _Timed(BaseModel):
    """One timed run of a plan."""

    model_config = ConfigDict(extra="forbid")
    clock: Clock
    copy_ns: int
    changed_inputs: tuple[str, ...]


class Answer(BaseModel):
    """The header of every answer of the runner: one thing that it has to say."""

    model_config = ConfigDict(extra="forbid")
    runs: tuple[_Run, ...] | None = None
    problem: Failure | None = None
    findings: tuple[Finding, ...] = ()  # with a problem: what was seen before it
    printed: _Printed | None = None
    gpu: _Gpu | None = None
    timed: tuple[_Timed, ...] | None = None
    state: GpuState | None = None
    peaks: Peaks | None = None
    fault: str | None = None
    message: str = ""

    @model_validator(mode="after")
    def _says_one_thing(self) -> Answer:
        beside = {"message"} if self.problem is None else {"findings", "printed"}
        beside |= {"state"} if self.timed is not None else set()
        if len(self.model_fields_set - beside) != 1:
            raise ValueError(f"it has {', '.join(sorted(self.model_fields_set)) or 'nothing'}")
        return self


def checked(header: Any) -> Answer:
    """The answer's header. Raises the fault that it reports, and ChildFault for another form."""
    try:
        answer = Answer.model_validate(header)
    except ValidationError as error:
        raise errors.ChildFault(f"the runner's answer is not of the agreed form: {error}") from error
    if answer.fault is not None:
        raise _FAULTS.get(answer.fault, errors.Fault)(answer.message)
    return answer


def outputs_of(answer: Message, number: int, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
    """The outputs of one run. Raises ChildFault where they are not of the announced dtype and shape."""
    outputs = {}
    for name, wanted in inputs.items():
        if isinstance(wanted, Output):
            try:
                contents = answer.arrays[f"output:{number}:{name}"]
                outputs[name] = contents.reshape(-1).view(wanted.dtype).reshape(wanted.shape)
            except (KeyError, TypeError, ValueError) as error:
                raise errors.ChildFault(f"the runner's answer has no output {name!r} as announced: {error}") from error
    return outputs


def failure_of_death(death: Death, device: DeviceName, limits: Limits) -> Failure:
    """Whose fault a runner's end is: it ran no student's Python. Raises ChildFault where no kernel explains it."""
    if death.kind == "starved":
        raise errors.ChildFault(f"the machine was too busy to run the kernels: {death.detail}")
    # A process that waits for a GPU computes nothing: there "stalled" is a kernel that does not end.
    if death.kind == "time-out" or (death.kind == "stalled" and device == "cuda"):
        return Failure(
            "time-out",
            "The kernels did not finish in time.",
            expected=f"an end within {limits.cpu_seconds:g} s",
            found="they were still being compiled or running",
            advice="Look for a loop that never ends, or for work that grows too fast.",
        )
    if death.kind == "memory":
        return Failure(
            "memory",
            "The kernels need more memory than this assignment allows.",
            expected=f"at most {(limits.memory_bytes or 0) >> 20} MiB" if limits.memory_bytes else "",
            advice="Look at the sizes of scratch arrays, and of local and shared arrays.",
        )
    if death.kind == "signal" and device == "cuda" and str(signal.SIGSEGV.name) in death.detail:
        return Failure("crash", "The kernel crashed the process that ran it.", found=death.detail)
    raise errors.ChildFault(f"the runner ended before it answered ({death})")


def bytes_of_arrays(arrays: Mapping[str, npt.NDArray[Any]], plan: LaunchPlan, runs: int) -> int:
    """What a request's arrays take, and at most the arrays of its reply: each run's outputs are buffers of the plan."""
    return sum(array.nbytes for array in arrays.values()) + runs * sum(buffer.nbytes for buffer in plan.buffers)


def fill_arrays(number: int, fill: Mapping[str, npt.NDArray[Any]]) -> dict[str, npt.NDArray[Any]]:
    """What one run's outputs start with, as arrays of a request."""
    return {f"fill:{number}:{name}": element.reshape(()) for name, element in fill.items()}
