"""The runner's process: ``python -m grader.runner``, started warm by the trusted process.

In: requests. Out: replies.

A request says what to do: "carry out" a plan, or "time" it on a GPU; "describe" the machine's GPU, tell the "state"
that it is in, or "measure peaks" of it. The reply is an outcome, ``{"problem": …}`` (the student's fault, with
``findings`` from before it) or ``{"fault": …}`` (ours or the machine's).
"""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import asdict
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import TypeAdapter

from grader.devices.base import ClockedDevice, Device, Refused
from grader.errors import Fault
from grader.gpu_models import DEFAULT, GpuModel
from grader.kernels_text import KernelsText
from grader.plan import LaunchPlan
from grader.plan_functions import Function
from grader.records import Failure
from grader.runner.binding import Binder
from grader.runner.carry_out import carry_out
from grader.runner.timed import Enough, timed_runs
from grader.runner.warm_up_kernel import warm_up_kernel
from grader.sandbox.protocol import Message, serve

if TYPE_CHECKING:
    from grader.devices.simulated import SimulatedDevice

# Numba's front end recurses with the depth of the student's expressions, the block order with the depth of
# the control flow.
RECURSION_LIMIT = 10_000
# Every buffer starts at a multiple of this, as on a GPU.
ALIGNMENT = 256


def handle(request: Message) -> Message:
    """Answer one request."""
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(RECURSION_LIMIT)
    try:
        if request.header["do"] == "describe":
            return Message({"gpu": describe()})
        if request.header["do"] == "state":
            return Message({"state": state()})
        if request.header["do"] == "measure peaks":
            return Message({"peaks": peaks()})
        return _time(request) if request.header["do"] == "time" else _carry_out(request)
    except Refused as refused:
        return Message({"problem": asdict(refused.failure)})
    except Fault as fault:
        return Message({"fault": type(fault).__name__, "message": str(fault)})
    except RecursionError:
        return Message(
            {"problem": asdict(Failure("too-deep", "kernels.py nests expressions or functions too deeply to compile"))}
        )


def describe() -> dict[str, Any] | None:
    """The machine's GPU: name, driver, compute capability; None where there is none that Numba can use."""
    from grader.devices.cuda import describe_gpu

    return describe_gpu()


def state() -> dict[str, Any]:
    """What the machine's GPU is doing: clocks, who else uses it, whether it holds its speed."""
    from grader.devices.gpu_state import gpu_state

    return gpu_state()


def peaks() -> dict[str, float]:
    """What the machine's GPU reaches."""
    from grader.devices.peaks import measure_peaks

    return measure_peaks()


def clocked_device(text: KernelsText) -> ClockedDevice:
    """The device that races are run on."""
    from grader.devices.cuda import CudaDevice

    return CudaDevice(text)


def _time(request: Message) -> Message:
    header = request.header
    plan = LaunchPlan.model_validate(header["plan"], strict=False)
    text = KernelsText(request.arrays["source"].tobytes())
    runs = [
        (_named(request, f"input:{number}:"), _named(request, f"fill:{number}:")) for number in range(header["runs"])
    ]
    device = clocked_device(text)
    device.reset(sum(buffer.nbytes + ALIGNMENT for buffer in plan.buffers))
    enough = Enough(header["at_least"], header["seconds"])
    timed, said = timed_runs(plan, Binder(text, plan.functions), runs, device, state, enough)
    return Message(
        {
            "timed": [
                {"clock": asdict(t.clock), "copy_ns": t.copy_ns, "changed_inputs": list(t.answer.changed_inputs)}
                for t in timed
            ],
            "state": said,
        },
        {
            f"output:{number}:{name}": contents
            for number, t in enumerate(timed)
            for name, contents in t.answer.outputs.items()
        },
    )


def _named(request: Message, prefix: str) -> dict[str, Any]:
    """The arrays of a request whose names begin with ``prefix``, by the rest of their names."""
    return {name.removeprefix(prefix): a for name, a in request.arrays.items() if name.startswith(prefix)}


@lru_cache(maxsize=4)
def _typed(source: bytes, functions: str, gpu: GpuModel) -> tuple[Binder, SimulatedDevice]:
    """The binder of a plan with these ``functions``, in JSON, and a simulated device that keeps what it has typed.

    A job that goes on with the same kernels need not type them again, which takes longer than to simulate a call.
    """
    from grader.devices.simulated import SimulatedDevice

    text = KernelsText(source)
    made = TypeAdapter(tuple[Function, ...]).validate_json(functions, strict=False)
    return Binder(text, made), SimulatedDevice(gpu, text, 0.0)


def _carry_out(request: Message) -> Message:
    try:
        return _carried_out(request)
    except BaseException:
        _typed.cache_clear()  # functions may be half made
        raise


def _carried_out(request: Message) -> Message:
    header = request.header
    plan = LaunchPlan.model_validate(header["plan"], strict=False)
    text = KernelsText(request.arrays["source"].tobytes())
    gpu = TypeAdapter(GpuModel).validate_python(header["gpu"], strict=False)
    inputs = _named(request, "input:")
    device: Device
    if header["device"] == "cuda":
        from grader.devices.cuda import CudaDevice

        binder, device = Binder(text, plan.functions, header["line_info"]), CudaDevice(text, header["line_info"])
    elif header["sample"] is None:
        functions = json.dumps(header["plan"]["functions"])
        binder, simulated = _typed(request.arrays["source"].tobytes(), functions, gpu)
        simulated.allow(header["cpu_seconds"])
        device = simulated
    else:
        from grader.devices.simulated import SimulatedDevice
        from grader.simulator.block_sample import BlockSample

        asked = header["sample"]
        sample = BlockSample(asked["blocks"], asked["seed"])
        binder, device = Binder(text, plan.functions), SimulatedDevice(gpu, text, header["cpu_seconds"], sample)
        if asked["beside_gpu"]:
            from grader.devices.beside_gpu import SampleBesideGpu

            device = SampleBesideGpu(device, clocked_device(text), asked["seed"])
    runs: list[dict[str, Any]] = []
    outputs: dict[str, Any] = {}
    for number in range(header["runs"]):
        fills = _named(request, f"fill:{number}:")
        device.reset(sum(buffer.nbytes + ALIGNMENT for buffer in plan.buffers))
        try:
            answer = carry_out(plan, binder, inputs, fills, device)
        except Refused as refused:
            _typed.cache_clear()
            # What had been seen by then may say why.
            findings = [asdict(finding) for finding in device.findings]
            return Message(
                {"problem": asdict(refused.failure), "findings": findings, "printed": asdict(device.printed())}
            )
        runs.append(
            {
                "changed_inputs": list(answer.changed_inputs),
                "printed": asdict(device.printed()),
                "findings": [asdict(finding) for finding in device.findings],
                "launches": [asdict(launch) for launch in device.launches],
                "lines": [asdict(line) for line in device.lines()],
            }
        )
        outputs |= {f"output:{number}:{name}": contents for name, contents in answer.outputs.items()}
    return Message({"runs": runs}, outputs)


def warm_up() -> None:
    """Import and type once what every job needs, so that a job begins in milliseconds."""
    from grader.simulator.configuration import Configuration
    from grader.simulator.launch import Simulator, deadline_in
    from grader.simulator.memory import ArrayRef, GlobalSpace

    warnings.simplefilter("ignore")
    memory = GlobalSpace(0)
    array = ArrayRef.contiguous("global", "a", np.dtype(np.float32), memory.allocate(256), (8, 8))
    simulator = Simulator(DEFAULT, KernelsText(b""), memory, deadline_in(60.0))
    simulator.launch(warm_up_kernel, Configuration((1, 1, 1), (8, 8, 1)), [array])


if __name__ == "__main__":
    serve(handle, warm_up)
