"""The trusted process's side of the runner: send a plan and its inputs, read back an outcome.

In: a warm child, a plan, inputs. Out: outcomes.

Expected values, thresholds and seeds do not travel. What comes back is held against what was asked for before
anyone uses it: only outputs of the announced dtype and shape, findings and counters of the agreed form.
"""

from __future__ import annotations

import signal
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Annotated, Any

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from grader import errors
from grader.device_names import DeviceName
from grader.gpu_models import GpuModel
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
    Outcome,
)
from grader.sandbox.launch import Death, WarmChild
from grader.sandbox.limits import Limits
from grader.sandbox.protocol import Message

# The runner stops a kernel itself, and says at which line, before the limit on its process does.
SHARE_FOR_KERNELS = 0.85
_FAULTS: dict[str, type[errors.Fault]] = {
    name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, errors.Fault)
}


def run(
    child: WarmChild,
    source: bytes,
    plan: LaunchPlan,
    inputs: Inputs,
    fills: Sequence[Mapping[str, npt.NDArray[Any]]],
    gpu: GpuModel,
    device: DeviceName,
    limits: Limits,
) -> list[Outcome]:
    """Have the runner carry out ``plan``, once per mapping in ``fills``.

    A mapping has one element per output: what it holds before the first launch. Raises errors.Fault where the
    grader or the machine is at fault; a student's fault is the outcome's ``problem``.
    """
    arrays: dict[str, npt.NDArray[Any]] = {"source": np.frombuffer(source, np.uint8)}
    for name, value in inputs.items():
        if isinstance(value, np.ndarray | np.generic):
            arrays[f"input:{name}"] = np.asarray(value)
    for number, fill in enumerate(fills):
        for name, element in fill.items():
            arrays[f"fill:{number}:{name}"] = element.reshape(())
    header = {
        "do": "carry out",
        "plan": plan.model_dump(mode="json"),
        "gpu": asdict(gpu),
        "device": device,
        "runs": len(fills),
        "cpu_seconds": limits.cpu_seconds * SHARE_FOR_KERNELS,
    }
    # A CUDA context reserves far more address space than it uses.
    allowed = replace(limits, memory_bytes=None) if device == "cuda" else limits
    reply = child.call(Message(header, arrays), allowed)
    if isinstance(reply, Death):
        return [Outcome({}, problem=_of_death(reply, device, limits))]
    answer = _checked(reply.message.header)
    if answer.problem is not None:
        printed = KernelPrints() if answer.printed is None else answer.printed.record()
        return [Outcome({}, answer.findings, problem=answer.problem, printed=printed)]
    if answer.runs is None or len(answer.runs) != len(fills):
        raise errors.ChildFault(f"the runner's answer is not of the agreed form: expected {len(fills)} runs")
    return [
        Outcome(
            _outputs(reply.message, number, inputs),
            of_run.findings,
            of_run.launches,
            of_run.changed_inputs,
            lines=of_run.lines,
            printed=of_run.printed.record(),
        )
        for number, of_run in enumerate(answer.runs)
    ]


def describe_gpu(child: WarmChild, limits: Limits) -> dict[str, Any] | None:
    """What the runner says of the machine's GPU; None where there is none. Raises errors.Fault."""
    reply = child.call(Message({"do": "describe"}), limits)
    if isinstance(reply, Death):
        raise errors.DeviceFault(f"asking for the GPU ended the runner ({reply})")
    try:
        answer = _checked(reply.message.header)
    except errors.ChildFault:
        raise
    except errors.Fault as fault:
        raise errors.DeviceFault(str(fault)) from fault
    if "gpu" not in answer.model_fields_set:
        raise errors.ChildFault("the runner's answer is not of the agreed form: it says nothing of a GPU")
    return None if answer.gpu is None else answer.gpu.model_dump()


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


class _Answer(BaseModel):
    """The header of every answer of the runner: one thing that it has to say."""

    model_config = ConfigDict(extra="forbid")
    runs: tuple[_Run, ...] | None = None
    problem: Failure | None = None
    findings: tuple[Finding, ...] = ()  # with a problem: what was seen before it
    printed: _Printed | None = None
    gpu: _Gpu | None = None
    fault: str | None = None
    message: str = ""

    @model_validator(mode="after")
    def _says_one_thing(self) -> _Answer:
        beside = {"message"} if self.problem is None else {"findings", "printed"}
        if len(self.model_fields_set - beside) != 1:
            raise ValueError(f"it has {', '.join(sorted(self.model_fields_set)) or 'nothing'}")
        return self


def _checked(header: Any) -> _Answer:
    """The answer's header. Raises the fault that it reports, and ChildFault for another form."""
    try:
        answer = _Answer.model_validate(header)
    except ValidationError as error:
        raise errors.ChildFault(f"the runner's answer is not of the agreed form: {error}") from error
    if answer.fault is not None:
        raise _FAULTS.get(answer.fault, errors.Fault)(answer.message)
    return answer


def _outputs(answer: Message, number: int, inputs: Inputs) -> dict[str, npt.NDArray[Any]]:
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


def _of_death(death: Death, device: DeviceName, limits: Limits) -> Failure:
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
