"""One recorder job: executes kernels.py once and calls entry points on arrays without contents. Runs in the
recorder.

Comes in: the text of kernels.py, a GPU model, and calls (names, shapes, dtypes, configuration values).
Goes out: one launch plan per call, or one failure for all of them.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import asdict
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
from pydantic import ValidationError

from grader.gpu_models import GpuModel
from grader.kernels_text import KernelsText
from grader.plan import LaunchPlan
from grader.recorder.arrays import DataScalar, DeviceArray
from grader.recorder.context import Context
from grader.recorder.geometry import contiguous
from grader.recorder.launches import Kernel
from grader.recorder.mistakes import Mistakes, message_of
from grader.recorder.recording import Memory
from grader.recorder.standin import install
from grader.records import Failure
from grader.sandbox.frames import MAX_ENVELOPE_BYTES, Message

MODULE = "kernels"


def handle(request: Message) -> Message:
    """Answer a request with ``{"plans": [...]}`` or ``{"problem": {...}}``. Raises MemoryError."""
    source = request.arrays["source"].tobytes()
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in request.header["gpu"].items()}
    gpu = GpuModel(**fields)
    answer = _record(source, request.header["calls"], gpu)
    if isinstance(answer, Failure):
        return Message({"problem": asdict(answer)})
    plans = [plan.model_dump(mode="json") for plan in answer]
    return Message({"plans": plans})


def _record(source: bytes, calls: list[dict[str, Any]], gpu: GpuModel) -> list[LaunchPlan] | Failure:
    text = KernelsText(source)
    mistakes = Mistakes(text)
    try:
        code = text.compile()
    except (SyntaxError, ValueError, RecursionError, OverflowError, MemoryError) as error:
        return mistakes.of_syntax(error)
    context = Context(text, mistakes, gpu)
    install(context)
    module = ModuleType(MODULE)
    module.__file__ = f"{MODULE}.py"
    sys.modules[MODULE] = module
    failure = _guarded(mistakes, "while it was imported", lambda: exec(code, module.__dict__))  # noqa: S102
    if isinstance(failure, Failure):
        return failure
    imported = context.recording
    context.launches_at_import = imported.launches
    plans: list[LaunchPlan] = []
    for number, call in enumerate(calls, 1):
        context.recording = imported.following(number, call["entry"])
        plan = _record_call(module, call, context)
        if isinstance(plan, Failure):
            return plan
        plans.append(plan)
    if sum(len(plan.model_dump_json()) for plan in plans) > MAX_ENVELOPE_BYTES * 3 // 4:
        return Failure(
            "upload-too-large",
            f"The launch plans of {len(plans)} calls are too long to be kept.",
            advice="Upload less data from the host, and launch fewer kernels.",
        )
    return plans


def _guarded(mistakes: Mistakes, when: str, action: Any) -> Any:
    """Run student code. Returns what it returned, or a Failure; a failure that the student caught counts
    too.
    """
    try:
        result = action()
    except MemoryError:
        raise
    except BaseException as error:
        return mistakes.of_exception(error, when)
    return mistakes.first or result


def _record_call(module: ModuleType, call: dict[str, Any], context: Context) -> LaunchPlan | Failure:
    entry, recording, mistakes = call["entry"], context.recording, context.mistakes
    arguments = {spec["name"]: _argument(spec, context) for spec in call["arguments"]}
    function = _entry_point(module, entry, list(arguments), context.text)
    if isinstance(function, Failure):
        return function
    result = _guarded(mistakes, f"when {entry} was called", lambda: function(*arguments.values()))
    if isinstance(result, Failure):
        return result
    outputs = [arguments[spec["name"]] for spec in call["arguments"] if spec["kind"] == "output"]
    names = " and ".join(spec["name"] for spec in call["arguments"] if spec["kind"] == "output")
    if recording.launches == context.launches_at_import and any(output.size for output in outputs):
        if result is not None:
            what = f"{entry} returned a value of type {type(result).__name__} and launched no kernel."
            advice = f"Launch a kernel that writes into {names}; what {entry} returns is not looked at."
            return Failure("returned-a-value", what, f"results in {names}", "a returned value", advice=advice)
        what = f"{entry} launched no kernel."
        advice = f"Call a kernel with its grid and block, as in kernel[blocks, threads](…, {names})."
        return Failure("no-launch", what, f"at least one kernel that writes into {names}", advice=advice)
    try:
        return recording.plan(result is not None)
    except ValidationError as error:
        detail = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3])
        return Failure("malformed-plan", f"What {entry} asked the device for cannot be written down.", found=detail)


def _argument(spec: dict[str, Any], context: Context) -> Any:
    """One argument of the host function. Arrays are contiguous, and known to the plan even if never used."""
    if spec["kind"] == "configuration":
        return spec["value"]
    dtype = np.dtype(spec["dtype"])
    if spec["kind"] == "data":
        return DataScalar(context, spec["name"], dtype)
    geometry = contiguous(tuple(spec["shape"]), dtype.itemsize)
    memory = Memory(spec["name"], "argument", geometry.size * dtype.itemsize, context.recording.call)
    context.recording.index_of(memory)
    return DeviceArray(context, memory, geometry, dtype)


def _is_own(value: Any, text: KernelsText) -> bool:
    """Whether a global of kernels.py is a function or kernel that it defines."""
    function = value.py_func if isinstance(value, Kernel) else value
    return isinstance(function, FunctionType) and text.index_of(function.__code__) is not None


def _entry_point(module: ModuleType, entry: str, names: list[str], text: KernelsText) -> Any:
    """The host function to call, or the Failure that there is none that takes these arguments."""
    wanted = f"def {entry}({', '.join(names)})"
    if entry not in vars(module):
        own = [name for name, value in vars(module).items() if _is_own(value, text)]
        return Failure(
            "no-entry-point",
            f"kernels.py has no function {entry}.",
            wanted,
            f"functions {', '.join(own[:20])}" if own else "no functions at all",
            advice=f"Don't rename {entry}: the checks call it by this name.",
        )
    function = vars(module)[entry]
    if isinstance(function, Kernel):
        return Failure(
            "no-entry-point",
            f"{entry} is a kernel, but has to be the host function that launches kernels.",
            f"{wanted}, without @cuda.jit",
            f"@cuda.jit on {entry}",
            advice=f"Give the kernel another name, and launch it in {entry}: kernel[blocks, threads](…).",
        )
    if not callable(function):
        found = f"{entry} is of type {type(function).__name__}"
        return Failure("no-entry-point", f"{entry} cannot be called.", wanted, found)
    try:
        signature = inspect.signature(function)
        signature.bind(*names)
    except TypeError as error:
        taken = f"def {entry}{signature}"
        advice = f"Change the parameters back; {message_of(error)}."
        return Failure("wrong-arguments", f"{entry} takes other arguments.", wanted, taken, advice=advice)
    except ValueError:
        return function
    return function
