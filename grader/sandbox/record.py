"""The recorder, seen from the trusted process: calls in, launch plans or a failure out.

In: a warm child, the text of kernels.py, calls. Out: plans, or a failure.

Only names, shapes, dtypes and configuration values of the inputs leave this process. What comes back was
written by a process that has executed a stranger's Python: it is parsed within limits, validated, and held
against the calls. Whether a plan's functions exist in the text of kernels.py is checked by the runner, which
compiles the text anyway; compiling a stranger's text here would let it use this process's time and memory.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from pydantic import ValidationError

from grader.errors import AuthoringError, ChildFault
from grader.gpu_models import GpuModel
from grader.plan import Fill, Launch, LaunchPlan
from grader.plan_dtypes import RecordDType, plan_dtype
from grader.plan_memory import Argument, DataArgument, TupleArgument
from grader.problem import Inputs, Output
from grader.records import Failure
from grader.sandbox.ends import Death
from grader.sandbox.frames import MAX_WITHOUT_ARRAYS
from grader.sandbox.limits import Limits
from grader.sandbox.no_plan import changed_python, failure_of, first_error, malformed, no_launch, problem
from grader.sandbox.protocol import Message
from grader.sandbox.warm_child import WarmChild


@dataclass(frozen=True)
class Call:
    """One call of an entry point. The inputs' values stay in this process."""

    entry: str
    inputs: Inputs


def record(
    child: WarmChild,
    source: bytes,
    calls: Sequence[Call],
    gpu: GpuModel,
    limits: Limits,
    hear: Callable[[str], None] = lambda printed: None,
    imports: Sequence[str] | None = None,
) -> tuple[LaunchPlan, ...] | Failure:
    """The launch plans of ``calls``, made in one process that executes kernels.py once; or why there are none.

    ``imports``: modules that kernels.py may import besides those that any may (``grader.imports``); None: all.
    ``hear`` gets what host code printed, a stranger's text, unless its process ended without an answer: then the
    failure tells the end of it.
    Raises ChildFault when the recorder cannot do its work or gets no core to do it on, AuthoringError for
    inputs of a kind that no plan knows.
    """
    # A plan is no array: nobody takes this process's memory by announcing some.
    answer = child.call(request_for(source, calls, gpu, imports), replace(limits, reply_bytes=MAX_WITHOUT_ARRAYS))
    if isinstance(answer, Death):
        if answer.kind == "starved":
            raise ChildFault(f"the machine was too busy to run kernels.py ({answer})")
        return failure_of(answer, limits)
    hear(answer.printed)
    header = answer.message.header
    if answer.message.arrays:
        return malformed("the answer brings arrays")
    if set(header) == {"problem"}:
        return problem(header["problem"])
    if set(header) == {"broken"} and isinstance(header["broken"], str):
        return changed_python(header["broken"])
    plans = header.get("plans")
    if set(header) != {"plans"} or not isinstance(plans, list) or len(plans) != len(calls):
        return malformed("the answer is no list with one plan per call")
    checked = []
    for data, call in zip(plans, calls, strict=True):
        try:
            plan = LaunchPlan.model_validate_json(json.dumps(data))
        except (ValidationError, ValueError, RecursionError) as error:
            return malformed(first_error(error))
        wrong = _disagreement(plan, call)
        if wrong:
            return malformed(wrong)
        if _writes_something(call) and not any(isinstance(operation, Launch) for operation in plan.operations):
            return no_launch(plan.entry)
        checked.append(plan)
    return tuple(checked)


def request_for(source: bytes, calls: Sequence[Call], gpu: GpuModel, imports: Sequence[str] | None = None) -> Message:
    """The recorder's request: no value of an array or of a data scalar is in it."""
    described = [
        {"entry": call.entry, "arguments": [_describe(name, value) for name, value in call.inputs.items()]}
        for call in calls
    ]
    text = np.frombuffer(source, np.uint8)
    allowed = None if imports is None else list(imports)
    return Message({"calls": described, "gpu": asdict(gpu), "imports": allowed}, {"source": text})


def _describe(name: str, value: Any) -> dict[str, Any]:
    if isinstance(value, np.ndarray):
        return {"name": name, "kind": "array", "dtype": _dtype(name, value.dtype), "shape": list(value.shape)}
    if isinstance(value, Output):
        return {
            "name": name,
            "kind": "output",
            "dtype": _dtype(name, np.dtype(value.dtype)),
            "shape": list(value.shape),
        }
    if isinstance(value, np.generic):
        return {"name": name, "kind": "data", "dtype": _dtype(name, value.dtype)}
    if isinstance(value, (bool, int)):
        return {"name": name, "kind": "configuration", "value": value}
    raise AuthoringError(f"the input {name!r} is a {type(value).__name__}; make it a NumPy array or scalar, or an int")


def _dtype(name: str, dtype: np.dtype[Any]) -> Any:
    """A dtype as it travels. Raises AuthoringError where kernels cannot use it."""
    try:
        found = plan_dtype(dtype)
    except ValueError as error:
        raise AuthoringError(f"the input {name!r} has a dtype that no kernel can use: {error}") from None
    return found if isinstance(found, str) else found.model_dump(mode="json")


def _writes_something(call: Call) -> bool:
    return any(isinstance(value, Output) and math.prod(value.shape) > 0 for value in call.inputs.values())


def _disagreement(plan: LaunchPlan, call: Call) -> str:
    """Why a plan cannot be the answer to a call; empty if it can."""
    if plan.entry != call.entry:
        return f"the plan is for {plan.entry}, the call was of {call.entry}"
    wanted = {name: _nbytes(v) for name, v in call.inputs.items() if isinstance(v, (np.ndarray, Output))}
    found = {b.name: b.nbytes for b in plan.buffers if b.origin == "argument"}
    if wanted != found:
        return f"the plan's arrays are {found}, the call's {wanted}"
    if any(b.data is not None for b in plan.buffers if b.origin == "argument"):
        return "the plan brings contents for an argument"
    scalars = {name for name, v in call.inputs.items() if isinstance(v, np.generic)}
    strange = _data_names(plan) - scalars
    if strange:
        return f"the plan uses numbers {sorted(strange)} that the call does not have"
    for operation in plan.operations:
        if isinstance(operation, Fill) and isinstance(operation.value, DataArgument):
            scalar: Any = call.inputs[operation.value.name]
            dtype = plan_dtype(scalar.dtype)
            if isinstance(dtype, RecordDType) and dtype != operation.target.dtype:
                return f"the plan fills an array with {operation.value.name}, a record of another dtype"
    return ""


def _nbytes(value: np.ndarray[Any, Any] | Output) -> int:
    return math.prod(value.shape) * np.dtype(value.dtype).itemsize


def _data_names(plan: LaunchPlan) -> set[str]:
    names: set[str] = set()
    pending: list[Argument] = []
    for operation in plan.operations:
        if isinstance(operation, Launch):
            pending += operation.arguments
        elif isinstance(operation, Fill) and isinstance(operation.value, DataArgument):
            names.add(operation.value.name)
    while pending:
        argument = pending.pop()
        if isinstance(argument, DataArgument):
            names.add(argument.name)
        elif isinstance(argument, TupleArgument):
            pending += argument.items
    return names
