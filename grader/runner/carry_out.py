"""Carries out a launch plan on a device. Runs in the runner.

In: a plan, its functions, the bytes of each input, the value that each output starts with. Out: an
``Answer``: the outputs' raw bytes, findings, launches, and which inputs were changed.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.devices.base import Device, Refused, ViewArgument
from grader.plan import Copy, Fill, Launch, LaunchPlan, Synchronize
from grader.plan_memory import DataArgument, TupleArgument, View
from grader.record_fields import bytes_of_fields
from grader.records import Failure
from grader.runner.binding import Binder
from grader.runner.element_widths import ElementWidths

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True)
class Answer:
    """What came of a plan: outputs' bytes by name, and names of inputs that kernels changed."""

    outputs: dict[str, Bytes]
    changed_inputs: tuple[str, ...]


def carry_out(
    plan: LaunchPlan, binder: Binder, inputs: dict[str, Any], fills: dict[str, npt.NDArray[Any]], device: Device
) -> Answer:
    """Walk the plan, whose functions ``binder`` makes.

    ``inputs`` has arrays and scalars by argument name; ``fills`` one element per output.
    Raises Refused (the student's fault) and errors.Fault.
    """
    starts = starts_of(plan, inputs, fills)
    allocate(plan, starts, inputs, device)
    known = fills | {name: value for name, value in inputs.items() if isinstance(value, np.ndarray)}
    operate(plan, binder, inputs, device, ElementWidths(plan, {name: array.dtype for name, array in known.items()}))
    device.synchronize(None)
    return collect(plan, starts, inputs, fills, device)


def starts_of(plan: LaunchPlan, inputs: dict[str, Any], fills: dict[str, npt.NDArray[Any]]) -> list[Bytes | None]:
    """Per buffer of the plan what it holds before the first operation; None where its bytes are unspecified."""
    starts: list[Bytes | None] = []
    for buffer in plan.buffers:
        if buffer.origin == "argument":
            starts.append(_start(buffer.name, buffer.nbytes, inputs, fills))
        elif buffer.data is not None:
            contents = np.frombuffer(base64.b64decode(buffer.data), np.uint8)
            if contents.size != buffer.nbytes:
                raise _malformed(f"scratch memory of {buffer.nbytes} bytes starts with {contents.size}")
            starts.append(contents)
        else:
            starts.append(None)
    return starts


def allocate(plan: LaunchPlan, starts: list[Bytes | None], inputs: dict[str, Any], device: Device) -> None:
    """Add the plan's buffers to a device that has none."""
    for buffer, contents in zip(plan.buffers, starts, strict=True):
        is_argument = buffer.origin == "argument"
        garbage = buffer.name not in inputs if is_argument else buffer.data is None
        device.allocate(buffer.nbytes, contents, garbage=garbage, name=buffer.name if is_argument else "")


def operate(
    plan: LaunchPlan, binder: Binder, inputs: dict[str, Any], device: Device, widths: ElementWidths | None = None
) -> None:
    """Have a device that has the plan's buffers do its operations, in order; it may still be at it afterwards.

    ``widths``, for a device that counts.
    """
    for operation in plan.operations:
        match operation:
            case Launch():
                kernel = binder.kernel(operation.kernel)
                names = kernel.function.__code__.co_varnames[: kernel.function.__code__.co_argcount]
                arguments = [
                    _argument(argument, names[i] if i < len(names) else f"argument {i}", inputs, binder, widths)
                    for i, argument in enumerate(operation.arguments)
                ]
                device.launch(kernel, operation, arguments)
            case Fill():
                value = _argument(operation.value, "", inputs, binder)
                device.fill(operation.target, value, operation.stream, operation.line)
            case Copy():
                device.copy(operation.source, operation.target, operation.stream, operation.line)
            case Synchronize():
                device.synchronize(operation.stream)


def collect(
    plan: LaunchPlan,
    starts: list[Bytes | None],
    inputs: dict[str, Any],
    fills: dict[str, npt.NDArray[Any]],
    device: Device,
) -> Answer:
    """What came of a plan that is done."""
    outputs: dict[str, Bytes] = {}
    changed = []
    for number, (buffer, started) in enumerate(zip(plan.buffers, starts, strict=True)):
        if buffer.origin != "argument":
            continue
        if buffer.name in fills:
            outputs[buffer.name] = device.read(number)
        elif started is not None and _differ(device.read(number), started, inputs[buffer.name].dtype):
            changed.append(buffer.name)
    return Answer(outputs, tuple(changed))


def _differ(found: Bytes, started: Bytes, dtype: np.dtype[Any]) -> bool:
    """Whether two stretches of memory hold other elements; what lies between the fields of records does not count."""
    if dtype.names is None or not found.size:
        return not np.array_equal(found, started)
    counts = bytes_of_fields(dtype)
    width = dtype.itemsize
    return not np.array_equal(found.reshape(-1, width)[:, counts], started.reshape(-1, width)[:, counts])


def _start(name: str, nbytes: int, inputs: dict[str, Any], fills: dict[str, npt.NDArray[Any]]) -> Bytes:
    """The bytes that an argument's buffer starts with."""
    if name in inputs and isinstance(inputs[name], np.ndarray):
        contents = np.ascontiguousarray(inputs[name]).reshape(-1).view(np.uint8)
    elif name in fills:
        element = fills[name].reshape(1)
        contents = np.repeat(element, nbytes // element.itemsize).view(np.uint8)
    else:
        raise _malformed(f"the plan has an argument {name!r} that the call does not have")
    if contents.size != nbytes:
        raise _malformed(f"argument {name!r} has {contents.size} bytes, the plan says {nbytes}")
    return contents


def _argument(
    argument: Any, name: str, inputs: dict[str, Any], binder: Binder, widths: ElementWidths | None = None
) -> Any:
    if isinstance(argument, View):
        return ViewArgument(argument, name, 0 if widths is None else widths.of(argument))
    if isinstance(argument, DataArgument):
        value = inputs.get(argument.name)
        if value is None or (isinstance(value, np.ndarray) and value.shape):
            raise _malformed(f"the plan passes {argument.name!r}, which is no scalar argument of the call")
        return np.array(value)[()]  # a copy: a kernel may write into a record
    if isinstance(argument, TupleArgument):
        return tuple(_argument(item, name, inputs, binder, widths) for item in argument.items)
    return binder.values.of(argument)


def _malformed(why: str) -> Refused:
    return Refused(Failure("malformed-plan", f"The launch plan does not fit the call: {why}."))
