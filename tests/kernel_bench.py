"""A small bench for single kernels on the simulator: arrays in, arrays, findings and counters out."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from grader.gpu_models import T4
from grader.kernels_text import KernelsText
from grader.records import Severity
from grader.simulator.block_sample import BlockSample
from grader.simulator.configuration import Configuration
from grader.simulator.launch import SimulatedLaunch, Simulator, deadline_in
from grader.simulator.memory import ArrayRef, GlobalSpace
from grader.simulator.unit import Options


def _triple(size: int | tuple[int, ...]) -> tuple[int, int, int]:
    sizes = (size,) if isinstance(size, int) else size
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


def launch(
    kernel: Callable[..., Any],
    grid: int | tuple[int, ...],
    block: int | tuple[int, ...],
    *arguments: Any,
    shared: int = 0,
    cpu_seconds: float = 60.0,
    debug: bool = False,
    fastmath: bool = False,
    sample: BlockSample | None = None,
) -> SimulatedLaunch:
    """Run a kernel and change the NumPy arguments in place."""
    memory = GlobalSpace(0)
    source = inspect.getsourcefile(kernel) or ""
    text = KernelsText(Path(source).read_bytes(), source)
    simulator = Simulator(T4, text, memory, deadline_in(cpu_seconds), sample)
    names = kernel.__code__.co_varnames
    references: list[tuple[np.ndarray[Any, Any], ArrayRef]] = []

    def placed(argument: Any, name: str) -> Any:
        if isinstance(argument, tuple):
            items = [placed(item, f"{name}[{k}]") for k, item in enumerate(argument)]
            return type(argument)(*items) if hasattr(argument, "_fields") else tuple(items)
        if not isinstance(argument, np.ndarray):
            return argument
        address = memory.allocate(argument.nbytes)
        flat = np.ascontiguousarray(argument).reshape(-1).view(np.uint8)
        memory.bytes[address : address + argument.nbytes] = flat
        array = ArrayRef.contiguous("global", name, argument.dtype, address, argument.shape)
        references.append((argument, replace(array, root=address)))
        return references[-1][1]

    given = [placed(argument, name) for name, argument in zip(names, arguments, strict=False)]
    configuration = Configuration(_triple(grid), _triple(block), shared)
    result = simulator.launch(kernel, configuration, given, options=Options(debug, fastmath))
    for argument, reference in references:
        flat = memory.bytes[reference.address : reference.address + argument.nbytes]
        argument[...] = flat.view(argument.dtype).reshape(argument.shape)
    return result


def errors(launched: SimulatedLaunch) -> list[str]:
    """The kinds of the errors that a launch showed, in their order."""
    return [finding.kind for finding in launched.findings if finding.severity is Severity.ERROR]
