"""The trusted process's side of the runner: send a plan and its inputs, read back an outcome.

In: a warm child, a plan, inputs. Out: outcomes.

Expected values, thresholds and seeds do not travel. What comes back is held against what was asked for before
anyone uses it: only outputs of the announced dtype and shape, findings and counters of the agreed form.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grader import errors
from grader.device_names import DeviceName, LineInfo
from grader.gpu_models import GpuModel
from grader.plan import LaunchPlan
from grader.problem import Inputs
from grader.records import KernelPrints, Outcome
from grader.sandbox.answers import bytes_of_arrays, checked, failure_of_death, fill_arrays, outputs_of
from grader.sandbox.ends import Death, Reply
from grader.sandbox.limits import Limits, with_cuda
from grader.sandbox.protocol import Message
from grader.sandbox.warm_child import WarmChild

# The runner stops a kernel itself, and says at which line, before the limit on its process does.
SHARE_FOR_KERNELS = 0.85
# Of a sample beside a GPU: devices.beside_gpu has as many moments.
RUNS_BESIDE_GPU = 3


@dataclass(frozen=True)
class Sample:
    """At most so many ``blocks`` of each launch run, chosen by ``seed``.

    ``beside_gpu``: from what memory holds while a GPU carries out the plan; this takes three runs (see
    devices.beside_gpu).
    """

    blocks: int
    seed: int
    beside_gpu: bool = False


def run(
    child: WarmChild,
    source: bytes,
    plan: LaunchPlan,
    inputs: Inputs,
    fills: Sequence[Mapping[str, npt.NDArray[Any]]],
    gpu: GpuModel,
    device: DeviceName,
    limits: Limits,
    sample: Sample | None = None,
    line_info: LineInfo = "",
) -> list[Outcome]:
    """Have the runner carry out ``plan``, once per mapping in ``fills``.

    A mapping has one element per output: what it holds before the first launch. ``sample``, on the simulated device:
    which blocks run; ``line_info``, on a GPU: what compiled kernels know of their lines. Raises errors.Fault where the
    grader or the machine is at fault; a student's fault is the outcome's ``problem``.
    """
    arrays: dict[str, npt.NDArray[Any]] = {"source": np.frombuffer(source, np.uint8)}
    for name, value in inputs.items():
        if isinstance(value, np.ndarray | np.generic):
            arrays[f"input:{name}"] = np.asarray(value)
    for number, fill in enumerate(fills):
        arrays |= fill_arrays(number, fill)
    header = {
        "do": "carry out",
        "plan": plan.model_dump(mode="json"),
        "gpu": asdict(gpu),
        "device": device,
        "runs": len(fills),
        "sample": None if sample is None else asdict(sample),
        "line_info": line_info,
        "cpu_seconds": limits.cpu_seconds * SHARE_FOR_KERNELS,
    }
    on_gpu = device == "cuda" or (sample is not None and sample.beside_gpu)
    allowed = with_cuda(limits, bytes_of_arrays(arrays, plan, len(fills))) if on_gpu else limits
    # No code of a student's runs in the runner, so a job may go on with the same kernels: it has typed them.
    simulated = device == "simulated" and sample is None
    reply = child.call(Message(header, arrays), allowed, keep=hashlib.sha256(source).hexdigest() if simulated else "")
    if isinstance(reply, Reply) and reply.has_stayed and "fault" in reply.message.header:
        reply = child.call(Message(header, arrays), allowed)  # memory that earlier calls have used up, say
    if isinstance(reply, Death):
        return [Outcome({}, problem=failure_of_death(reply, device, limits))]
    answer = checked(reply.message.header)
    if answer.problem is not None:
        printed = KernelPrints() if answer.printed is None else answer.printed.record()
        return [Outcome({}, answer.findings, problem=answer.problem, printed=printed)]
    if answer.runs is None or len(answer.runs) != len(fills):
        raise errors.ChildFault(f"the runner's answer is not of the agreed form: expected {len(fills)} runs")
    return [
        Outcome(
            outputs_of(reply.message, number, inputs),
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
    reply = child.call(Message({"do": "describe"}), with_cuda(limits, 0))
    if isinstance(reply, Death):
        raise errors.DeviceFault(f"asking for the GPU ended the runner ({reply})")
    try:
        answer = checked(reply.message.header)
    except errors.ChildFault:
        raise
    except errors.Fault as fault:
        raise errors.DeviceFault(str(fault)) from fault
    if "gpu" not in answer.model_fields_set:
        raise errors.ChildFault("the runner's answer is not of the agreed form: it says nothing of a GPU")
    return None if answer.gpu is None else answer.gpu.model_dump()
