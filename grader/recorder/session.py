"""One recorder job: executes kernels.py once and calls entry points on arrays without contents. Runs in the
recorder.

Comes in: the text of kernels.py, a GPU model, and calls (names, shapes, dtypes, configuration values).
Goes out: one launch plan per call, or one failure for all of them.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from dataclasses import asdict
from types import FunctionType, ModuleType
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from grader.gpu_models import GpuModel
from grader.imports import FOR_KERNELS, not_allowed
from grader.kernels_text import KernelsText
from grader.plan import LaunchPlan
from grader.plan_dtypes import DType, numpy_dtype
from grader.recorder.arrays import DeviceArray
from grader.recorder.contentless import DataScalar
from grader.recorder.context import Context
from grader.recorder.geometry import contiguous
from grader.recorder.launches import Kernel
from grader.recorder.mistakes import Mistakes, is_a, message_of, readable, type_name
from grader.recorder.recording import Memory
from grader.recorder.standin import install
from grader.records import MAX_FIELD, Failure
from grader.sandbox.frames import MAX_ENVELOPE_BYTES, Message

MODULE = "kernels"
_T = TypeVar("_T")
_DTYPE: TypeAdapter[DType] = TypeAdapter(DType)


class _Ended(Exception):
    """Student code came to its end with a failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.what)
        self.failure = failure


def handle(request: Message) -> Message:
    """Answer a request with ``{"plans": [...]}`` or ``{"problem": {...}}``.

    Raises MemoryError; and anything at all, once student code has changed what this module is made of.
    """
    source = request.arrays["source"].tobytes()
    fields: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in request.header["gpu"].items()}
    gpu = GpuModel(**fields)
    try:
        plans = [plan.model_dump(mode="json") for plan in _record(source, request.header, gpu)]
    except _Ended as ended:
        return Message({"problem": {name: _cut(text) for name, text in asdict(ended.failure).items()}})
    return Message({"plans": plans})


def _cut(text: Any) -> Any:
    """A failure's text as it may travel; what is no text, the other side refuses."""
    return readable(text)[:MAX_FIELD] if type(text) is str else text


def _record(source: bytes, asked: dict[str, Any], gpu: GpuModel) -> list[LaunchPlan]:
    text = KernelsText(source)
    mistakes = Mistakes(text)
    try:
        code = text.compile()
    except (SyntaxError, ValueError, RecursionError, OverflowError, MemoryError) as error:
        raise _Ended(mistakes.of_syntax(error)) from None
    if asked["imports"] is not None:
        _look_at_imports(text, asked["imports"])
    context = Context(text, mistakes, gpu)
    install(context)
    module = ModuleType(MODULE)
    module.__file__ = f"{MODULE}.py"
    sys.modules[MODULE] = module
    scope = module.__dict__  # now: student code may give its module another class
    _guarded(mistakes, "while it was imported", lambda: exec(code, scope))  # noqa: S102
    imported = context.recording
    context.launches_at_import = imported.launches
    plans: list[LaunchPlan] = []
    for number, call in enumerate(asked["calls"], 1):
        context.recording = imported.following(number, call["entry"])
        plans.append(_record_call(scope, call, context))
    if sum(len(plan.model_dump_json()) for plan in plans) > MAX_ENVELOPE_BYTES * 3 // 4:
        raise _Ended(
            Failure(
                "upload-too-large",
                f"The launch plans of {len(plans)} calls are too long to be kept.",
                advice="Upload less data from the host, and launch fewer kernels.",
            )
        )
    return plans


def _look_at_imports(text: KernelsText, added: list[str]) -> None:
    """Raise _Ended where kernels.py imports what the assignment does not allow."""
    found = not_allowed(text.tree(), added)
    if found is not None:
        module, line = found
        raise _Ended(
            Failure(
                "forbidden-import",
                f"kernels.py imports {module}, which this assignment does not allow.",
                f"imports of {', '.join([*FOR_KERNELS[:-1], *added])}, or of the standard library's simple modules",
                where=str(text.place(line)),
                advice="What is judged runs in your kernels: write it there. For tests of your own, import under "
                'if __name__ == "__main__".',
            )
        )


def _guarded(mistakes: Mistakes, when: str, action: Callable[[], _T]) -> _T:
    """Run student code. Raises _Ended where it fails; a failure that the student caught counts too."""
    try:
        result = action()
    except MemoryError:
        raise
    except BaseException as error:
        raise _Ended(mistakes.of_exception(error, when)) from None
    if mistakes.first is not None:
        raise _Ended(mistakes.first)
    return result


def _record_call(scope: dict[str, Any], call: dict[str, Any], context: Context) -> LaunchPlan:
    entry, recording, mistakes = call["entry"], context.recording, context.mistakes
    arguments = {spec["name"]: _argument(spec, context) for spec in call["arguments"]}
    function = _entry_point(scope, entry, list(arguments), context)
    result = _guarded(mistakes, f"when {entry} was called", lambda: function(*arguments.values()))
    outputs = [arguments[spec["name"]] for spec in call["arguments"] if spec["kind"] == "output"]
    names = " and ".join(spec["name"] for spec in call["arguments"] if spec["kind"] == "output")
    if recording.launches == context.launches_at_import and any(output.size for output in outputs):
        if result is not None:
            what = f"{entry} returned a value of type {type_name(result)} and launched no kernel."
            advice = f"Launch a kernel that writes into {names}; what {entry} returns is not looked at."
            raise _Ended(Failure("returned-a-value", what, f"results in {names}", "a returned value", advice=advice))
        what = f"{entry} launched no kernel."
        advice = f"Call a kernel with its grid and block, as in kernel[blocks, threads](…, {names})."
        raise _Ended(Failure("no-launch", what, f"at least one kernel that writes into {names}", advice=advice))
    try:
        return recording.plan(result is not None)
    except ValidationError as error:
        detail = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors()[:3])
        what = f"What {entry} asked the device for cannot be written down."
        raise _Ended(Failure("malformed-plan", what, found=detail)) from None


def _argument(spec: dict[str, Any], context: Context) -> Any:
    """One argument of the host function. Arrays are contiguous, and known to the plan even if never used."""
    if spec["kind"] == "configuration":
        return spec["value"]
    dtype = numpy_dtype(_DTYPE.validate_python(spec["dtype"], strict=False))
    if spec["kind"] == "data":
        return DataScalar(context, spec["name"], dtype)
    geometry = contiguous(tuple(spec["shape"]), dtype.itemsize)
    memory = Memory(spec["name"], "argument", geometry.size * dtype.itemsize, context.recording.call)
    context.recording.index_of(memory)
    return DeviceArray(context, memory, geometry, dtype)


def _is_own(value: Any, text: KernelsText) -> bool:
    """Whether a global of kernels.py is a function or kernel that it defines."""
    function = value.py_func if is_a(value, Kernel) else value
    return is_a(function, FunctionType) and text.index_of(function.__code__) is not None


def _entry_point(scope: dict[str, Any], entry: str, names: list[str], context: Context) -> Callable[..., Any]:
    """The host function to call. Raises _Ended where there is none that takes these arguments."""
    wanted = f"def {entry}({', '.join(names)})"
    if entry not in scope:
        own = [name for name, value in scope.items() if type(name) is str and _is_own(value, context.text)]
        raise _Ended(
            Failure(
                "no-entry-point",
                f"kernels.py has no function {entry}.",
                wanted,
                f"functions {', '.join(own[:20])}" if own else "no functions at all",
                advice=f"Don't rename {entry}: the checks call it by this name.",
            )
        )
    function = scope[entry]
    if is_a(function, Kernel):
        raise _Ended(
            Failure(
                "no-entry-point",
                f"{entry} is a kernel, but has to be the host function that launches kernels.",
                f"{wanted}, without @cuda.jit",
                f"@cuda.jit on {entry}",
                advice=f"Give the kernel another name, and launch it in {entry}: kernel[blocks, threads](…).",
            )
        )
    if not callable(function):
        found = f"{entry} is of type {type_name(function)}"
        raise _Ended(Failure("no-entry-point", f"{entry} cannot be called.", wanted, found))
    when = f"when {entry} was looked at"
    wrong = _guarded(context.mistakes, when, lambda: _other_arguments(function, names))
    if wrong is not None:
        parameters, why = wrong
        taken, advice = f"def {entry}{parameters}", f"Change the parameters back; {why}."
        raise _Ended(Failure("wrong-arguments", f"{entry} takes other arguments.", wanted, taken, advice=advice))
    return function  # type: ignore[no-any-return]


def _other_arguments(function: Any, names: list[str]) -> tuple[str, str] | None:
    """The parameters of a function that cannot be called with these arguments, and why; None if it can, or may.

    Executes what student code put in the place of a signature and of its parts.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # none to be had: the call will show
        return None
    try:
        signature.bind(*names)
    except TypeError as error:
        return readable(str(signature)), message_of(error)
    return None
