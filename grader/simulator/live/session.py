"""One installed simulator: its memory, its launches, and who traces them. Runs in anybody's own process.

In: launches, as Numba's dispatcher makes them. Out: changed arrays, and a ``LaunchTrace`` for each list in ``traces``.
What a GPU would refuse reaches the script as Numba's exception.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from grader.errors import NotSimulated
from grader.gpu_models import GpuModel
from grader.records import LaunchTrace, Severity
from grader.simulator.configuration import Configuration, LaunchRefused, Triple
from grader.simulator.dimensions import unused_dimension
from grader.simulator.findings import Findings
from grader.simulator.frontend import KernelError
from grader.simulator.launch import SimulatedLaunch, Simulator, deadline_in
from grader.simulator.live.arguments import Arguments
from grader.simulator.live.binding import launch_error
from grader.simulator.live.callers import calling_configuration, calling_place, is_internal
from grader.simulator.live.driver import DriverApi
from grader.simulator.live.heap import Heap
from grader.simulator.live.kernel import SimulatedKernel, numbas_own
from grader.simulator.live.rejected import rejection
from grader.simulator.memory import ArrayRef
from grader.simulator.printing import Raised
from grader.simulator.scheduler import StepLimit
from grader.simulator.sources import AnyFile

# The geometry of what was compiled for no launch.
NONE: Triple = (0, 0, 0)


class Session:
    """A simulated GPU with ``devices`` names for it. A launch may take ``launch_seconds`` of CPU time."""

    def __init__(self, gpu: GpuModel, devices: int, launch_seconds: float) -> None:
        self.gpu = gpu
        self.heap = Heap(gpu.memory_bytes)
        self.api = DriverApi(gpu, self.heap, devices)
        self.sources = AnyFile()
        self.simulator = Simulator(gpu, self.sources, self.heap, 0.0)
        self.traces: list[list[LaunchTrace]] = []
        self._launch_seconds = launch_seconds
        # Launches of several threads: the machine is one.
        self._lock = threading.RLock()

    def launch(
        self, kernel: SimulatedKernel, args: Sequence[Any], griddim: Any, blockdim: Any, shared_bytes: int
    ) -> None:
        """Run a kernel. Raises Numba's CudaAPIError for what a GPU refuses, NotSimulated."""
        grid, block = _triple(griddim), _triple(blockdim)
        trace = LaunchTrace(kernel.py_func.__name__, calling_place(self.sources), grid, block, shared_bytes)
        with self._lock:
            try:
                trace, raised = self._run(kernel, args, trace)
            except LaunchRefused as error:
                advice = f" {error.advice}" if error.advice else ""
                self._note(kernel.py_func, replace(trace, problem=f"A GPU refuses this launch: {error}.{advice}"))
                raise launch_error("INVALID_VALUE", f"{error}.{advice}") from None
            except StepLimit as error:
                what = (
                    f"{kernel.py_func.__name__} did not end within {self._launch_seconds:g} s; it was at {error.place}"
                )
                self._note(kernel.py_func, replace(trace, problem=f"{what}."))
                raise launch_error("LAUNCH_TIMEOUT", what) from None
            except KernelError as error:
                self._note(kernel.py_func, self._rejected(kernel.py_func, error, trace))
                raise numbas_own(error) from None
            except (NotSimulated, TypeError) as error:
                self._note(kernel.py_func, replace(trace, problem=str(error)))
                raise
            self._note(kernel.py_func, trace)
        if raised is not None:
            raise raised.error()

    def _run(
        self, kernel: SimulatedKernel, args: Sequence[Any], trace: LaunchTrace
    ) -> tuple[LaunchTrace, Raised | None]:
        threads = trace.block[0] * trace.block[1] * trace.block[2]
        if kernel.launch_bounds and threads > kernel.max_threads_per_block:
            raise LaunchRefused(
                f"a block of {trace.block} has {threads} threads; the kernel's launch_bounds allow "
                f"{kernel.max_threads_per_block}"
            )
        if len(args) < len(kernel.argtypes):  # Numba asks where it types the kernel for a launch, not later
            raise TypeError(f"{trace.kernel} takes {len(kernel.argtypes)} arguments, and {len(args)} were given")
        self.api.copy_registered(to_host=False)
        arguments = Arguments(self.api)
        names = _names(kernel)
        retr: list[Any] = []
        values, given = [], []
        for numba_type, value, name in zip(kernel.argtypes, args, names, strict=False):
            its_type, its_value = numba_type, value
            for extension in reversed(kernel.extensions):
                its_type, its_value = extension.prepare_args(its_type, its_value, stream=0, retr=retr)
            values.append(arguments.translate(its_type, its_value, name))
            given.append(its_type)
        self.simulator.deadline = deadline_in(self._launch_seconds)
        result = self.simulator.launch_program(
            kernel.program,
            Configuration(trace.grid, trace.block, trace.dynamic_shared_bytes, trace.place),
            values,
            tuple(given),
            kernel.argtypes,
            names,
            debug=kernel.debug,
        )
        for line in result.printed:
            print(line)
        arguments.finish()
        for after in retr:
            after()
        self.api.copy_registered(to_host=True)
        # Warnings and advice on Numba's own kernels, as of cuda.reduce, are for nobody.
        findings = Findings()
        self._look_at_host(kernel, arguments, values, trace, findings)
        self._look_at_outputs(values, result, trace, findings)
        seen = replace(
            trace,
            findings=tuple(
                finding
                for finding in (*result.findings, *findings.all())
                if finding.severity is Severity.ERROR or not is_internal(finding.place.file)
            ),
            counters=result.counters | _by_name(result, values),
            lines=result.lines,
        )
        return seen, result.raised

    def _look_at_outputs(
        self, values: list[Any], result: SimulatedLaunch, trace: LaunchTrace, findings: Findings
    ) -> None:
        """Advice on arrays that the launch wrote to, and that still hold elements that nobody has written.

        Another launch may be meant to write those, so it is no more than advice.
        """
        for array in values:
            if not isinstance(array, ArrayRef) or not result.accesses.get(("stores", array.root)):
                continue
            self.api.heap.look_for_garbage(array.root)
            total = math.prod(array.shape)
            if array.root not in self.api.heap.garbage or not total:
                continue
            whole = ArrayRef.contiguous(array.space, array.name, array.dtype, array.address, array.shape)
            if whole.strides != array.strides:
                continue
            nbytes = total * array.dtype.itemsize
            flags = self.api.heap.unwritten(1)[array.address : array.address + nbytes].reshape(total, -1)
            missing = np.flatnonzero(flags.any(axis=1))
            if not missing.size:
                continue
            first = ", ".join(str(int(i)) for i in np.unravel_index(missing[0], array.shape))
            findings.add(
                "unwritten-elements",
                Severity.ADVICE,
                trace.place,
                f"{missing.size:,} of {total:,} elements of {array.name} have not been written by now, "
                f"{array.name}[{first}] is the first.",
                "Does the grid reach them, and does a guard let their threads through? If another launch writes them, "
                "all is well.",
                array=array.name,
            )

    def _look_at_host(
        self, kernel: SimulatedKernel, arguments: Arguments, values: list[Any], trace: LaunchTrace, findings: Findings
    ) -> None:
        """Findings about how the kernel was launched."""
        if arguments.on_host:
            names = ", ".join(arguments.on_host)
            findings.add(
                "host-array",
                Severity.WARNING,
                trace.place,
                f"The host's {names} went to the GPU and back for this launch.",
                "Copy once with cuda.to_device, launch as often as you like, then copy_to_host what you need.",
            )
        for what in arguments.misread:
            advice = "Convert the array, or leave the signature out and let Numba infer the types."
            findings.add("declared-dtype", Severity.WARNING, trace.place, what, advice, array=what)
        for captured in kernel.captured:
            if captured.has_changed():
                findings.add(
                    "captured-global-changed",
                    Severity.WARNING,
                    self.sources.place_in(captured.file, captured.line, captured.function),
                    f"{captured.name} has changed since this kernel was compiled, which goes on with the old value.",
                    "Hand it to the kernel as an argument, or decorate the function again.",
                    array=captured.name,
                )
        missed = unused_dimension(kernel.typed, trace.grid, trace.block, values)
        if missed:
            findings.add("dimensions", Severity.WARNING, trace.place, missed[0], missed[1])

    def not_compiled(self, function: Callable[..., Any], error: KernelError | NotSimulated) -> None:
        """Tell who traces that a kernel, or a function for kernels, was not compiled: for a launch, or for none."""
        asked = calling_configuration()
        grid, block = (_triple(asked.griddim), _triple(asked.blockdim)) if asked is not None else (NONE, NONE)
        trace = LaunchTrace(function.__name__, calling_place(self.sources), grid, block)
        if isinstance(error, KernelError):
            trace = self._rejected(function, error, trace)
        else:
            trace = replace(trace, problem=str(error))
        with self._lock:
            self._note(function, trace)

    def _rejected(self, function: Callable[..., Any], error: KernelError, trace: LaunchTrace) -> LaunchTrace:
        finding = rejection(function, error, self.sources)
        return replace(trace, problem=f"Numba cannot compile {function.__name__}.", findings=(finding,))

    def _note(self, function: Callable[..., Any], trace: LaunchTrace) -> None:
        """Tell who traces; not of launches that Numba makes on its own, as for ``array.T``."""
        file = function.__code__.co_filename
        if not is_internal(file) or file.endswith("reduction.py"):
            for traced in self.traces:
                traced.append(trace)


def _triple(sizes: Any) -> Triple:
    x, y, z = (*(int(size) for size in sizes), 1, 1)[:3]
    return x, y, z


def _names(kernel: SimulatedKernel) -> list[str]:
    """The parameters' names; those of ``*args`` share one."""
    code = kernel.py_func.__code__
    names = list(code.co_varnames[: code.co_argcount])
    rest = code.co_varnames[code.co_argcount + code.co_kwonlyargcount] if code.co_flags & 4 else "argument"
    return names + [rest] * (len(kernel.argtypes) - len(names))


def _by_name(result: SimulatedLaunch, values: Sequence[Any]) -> dict[str, int]:
    """Accesses of global memory by the name of the parameter, where one buffer is one parameter."""
    names: dict[int, str] = {}
    for value in values:
        if isinstance(value, ArrayRef) and value.root >= 0:
            names[value.root] = "" if value.root in names else value.name
    counted = result.accesses.items()
    return {f"{kind}_of_{names[root]}": count for (kind, root), count in counted if names.get(root)}
