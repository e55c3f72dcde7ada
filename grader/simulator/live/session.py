"""One installed simulator: its memory, its launches, and who traces them. Runs in anybody's own process.

In: launches, as Numba's dispatcher makes them. Out: changed arrays, and a ``LaunchTrace`` for those who trace. What a
GPU would refuse reaches the script as Numba's exception.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from grader.counters import Counted
from grader.errors import NotSimulated
from grader.gpu_models import GpuModel
from grader.records import Severity
from grader.simulator.arguments import arrays_among
from grader.simulator.configuration import Configuration, LaunchRefused, Triple
from grader.simulator.findings import Findings
from grader.simulator.frontend import KernelError
from grader.simulator.launch import SimulatedLaunch, Simulator, deadline_in
from grader.simulator.live.arguments import Arguments
from grader.simulator.live.binding import launch_error, number
from grader.simulator.live.callers import calling_configuration, calling_place, is_internal
from grader.simulator.live.driver import DriverApi
from grader.simulator.live.endings import interrupted, refused, unfinished
from grader.simulator.live.heap import Heap
from grader.simulator.live.host_findings import look_at_host, look_at_outputs, unwritten_copy
from grader.simulator.live.kernel import SimulatedKernel, numbas_own
from grader.simulator.live.rejected import rejection
from grader.simulator.live.telling import Telling
from grader.simulator.memory import ArrayRef
from grader.simulator.raising import Raised
from grader.simulator.sources import AnyFile
from grader.simulator.stops import StepLimit
from grader.simulator.stream_races import race_of
from grader.simulator.streams import Operation, is_default
from grader.simulator.touched import Touched
from grader.traces import LaunchTrace

# The geometry of what was compiled for no launch.
NONE: Triple = (0, 0, 0)


class Session:
    """A simulated GPU with ``devices`` names for it. A launch may take ``launch_seconds`` of CPU time."""

    def __init__(self, gpu: GpuModel, devices: int, launch_seconds: float) -> None:
        self.gpu = gpu
        self.heap = Heap(gpu.memory_bytes)
        self.api = DriverApi(gpu, self.heap, devices)
        self.api.on_copy, self.api.on_garbage = self._copy, self._copied_garbage
        self.api.on_free = lambda start: self._writers.pop(start, None)
        self.sources = AnyFile()
        self.simulator = Simulator(gpu, self.sources, self.heap, 0.0)
        self.telling = Telling()
        self._is_launching = False
        # By where an allocation starts, the last launch that wrote to it.
        self._writers: dict[int, Operation] = {}
        self._launch_seconds = launch_seconds
        # Launches of several threads: the machine is one.
        self._lock = threading.RLock()

    def launch(
        self,
        kernel: SimulatedKernel,
        args: Sequence[Any],
        griddim: Any,
        blockdim: Any,
        stream: Any,
        shared_bytes: int,
    ) -> None:
        """Run a kernel. Raises Numba's CudaAPIError for what a GPU refuses, NotSimulated."""
        grid, block = _triple(griddim), _triple(blockdim)
        trace = self._trace(kernel.py_func, grid, block, shared_bytes)
        with self._lock:
            try:
                trace, raised, operation = self._run(kernel, args, trace, stream)
            except LaunchRefused as error:
                advice = f" {error.advice}" if error.advice else ""
                self._note(kernel.py_func, refused(trace, error))
                raise launch_error("INVALID_VALUE", f"{error}.{advice}") from None
            except StepLimit as error:
                told = unfinished(trace, error, self._launch_seconds)
                self._note(kernel.py_func, told)
                raise launch_error("LAUNCH_TIMEOUT", f"{told.problem[:-1]}; it was at {error.place}") from None
            except KeyboardInterrupt as error:
                self._note(kernel.py_func, interrupted(trace, error))
                raise KeyboardInterrupt from None
            except KernelError as error:
                self._note(kernel.py_func, self._rejected(kernel.py_func, error, trace))
                raise numbas_own(error) from None
            except (NotSimulated, TypeError) as error:
                self._note(kernel.py_func, replace(trace, problem=str(error)))
                raise
            self._note(kernel.py_func, trace, operation)
        if raised is not None:
            raise raised.error()

    def _run(
        self, kernel: SimulatedKernel, args: Sequence[Any], trace: LaunchTrace, stream: Any
    ) -> tuple[LaunchTrace, Raised | None, Operation]:
        threads = trace.block[0] * trace.block[1] * trace.block[2]
        if kernel.launch_bounds and threads > kernel.max_threads_per_block:
            raise LaunchRefused(
                f"a block of {trace.block} has {threads} threads; the kernel's launch_bounds allow "
                f"{kernel.max_threads_per_block}"
            )
        if len(args) < len(kernel.argtypes):  # Numba asks where it types the kernel for a launch, not later
            raise TypeError(f"{trace.kernel} takes {len(kernel.argtypes)} arguments, and {len(args)} were given")
        self.api.copy_registered(to_host=False)
        handle = number(getattr(stream, "handle", stream))
        arguments = Arguments(self.api, stream)
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
            note_touched=not is_default(handle),
        )
        operation = Operation(
            f"the launch of {trace.kernel}", trace.place, handle, result.touched, tuple(arrays_among(values))
        )
        races = [race_of(operation, clash) for clash in self.api.streams.add(operation)]
        for line in result.printed:
            print(line)
        if result.lines_left_out:
            print(f"… and {result.lines_left_out:,} more lines")
        self._writers |= {root: operation for kind, root in result.accesses if kind != "loads"}
        self._is_launching = True
        try:
            arguments.finish()
            for after in retr:
                after()
        finally:
            self._is_launching = False
        self.api.copy_registered(to_host=True)
        # Warnings and advice on Numba's own kernels, as of cuda.reduce, are for nobody.
        findings = Findings()
        look_at_host(kernel, arguments, values, trace, findings, self.sources)
        look_at_outputs(self.heap, values, result, trace, findings)
        seen = replace(
            trace,
            findings=tuple(
                finding
                for finding in (*races, *result.findings, *findings.all())
                if finding.severity is Severity.ERROR or not is_internal(finding.place.file)
            ),
            counters=Counted(result.counters | _by_name(result, values)),
            lines={place: Counted(counted) for place, counted in result.lines.items()},
        )
        return seen, result.raised, operation

    def _copy(self, what: str, stream: int, touched: tuple[Touched, ...]) -> None:
        """A copy on a stream; what it races with is told with the launch that it races with, or the last one."""
        operation = Operation(what, calling_place(self.sources), stream, touched)
        with self._lock:
            for clash in self.api.streams.add(operation):
                launch = clash.earlier if clash.earlier.trace is not None else None
                self.telling.add_to(launch, race_of(operation, clash))

    def _copied_garbage(self, place: int, nbytes: int) -> None:
        """A copy to the host reads memory of which some may never have been written."""
        found = self.heap.allocation(place)
        writer = self._writers.get(found[0]) if found is not None else None
        finding = unwritten_copy(self.heap, place, nbytes, writer, calling_place(self.sources))
        if finding is None:
            return
        with self._lock:
            if self._is_launching:
                self.telling.add_to_next(finding)
            else:
                self.telling.add_to(writer, finding)

    def not_compiled(self, function: Callable[..., Any], error: KernelError | NotSimulated) -> None:
        """Tell who traces that a kernel, or a function for kernels, was not compiled: for a launch, or for none."""
        asked = calling_configuration()
        grid, block = (_triple(asked.griddim), _triple(asked.blockdim)) if asked is not None else (NONE, NONE)
        trace = self._trace(function, grid, block)
        if isinstance(error, KernelError):
            trace = self._rejected(function, error, trace)
        else:
            trace = replace(trace, problem=str(error))
        with self._lock:
            self._note(function, trace)

    def _trace(self, function: Callable[..., Any], grid: Triple, block: Triple, shared_bytes: int = 0) -> LaunchTrace:
        code = function.__code__
        defined = self.sources.place_in(code.co_filename, code.co_firstlineno, function.__qualname__)
        place = calling_place(self.sources)
        return LaunchTrace(function.__name__, place, grid, block, shared_bytes, defined=defined)

    def _rejected(self, function: Callable[..., Any], error: KernelError, trace: LaunchTrace) -> LaunchTrace:
        finding = rejection(function, error, self.sources)
        return replace(trace, problem=f"Numba cannot compile {function.__name__}.", findings=(finding,))

    def _note(self, function: Callable[..., Any], trace: LaunchTrace, operation: Operation | None = None) -> None:
        """Tell who traces; not of launches that Numba makes on its own, as for ``array.T``."""
        file = function.__code__.co_filename
        if not is_internal(file) or file.endswith("reduction.py"):
            self.telling.tell(trace, operation)


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
