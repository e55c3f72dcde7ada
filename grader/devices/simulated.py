"""The simulated device: our simulator behind the interface of a device. Runs in the runner.

In: a plan's operations. Out: bytes of buffers, launches with counters, findings, or ``Refused``.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.devices.base import Kernel, Refused, ViewArgument, filling
from grader.devices.prints import Prints
from grader.devices.rejected import launch_refused, rejected
from grader.devices.unfinished import endless_recursion, endless_wait, out_of_time
from grader.gpu_models import GpuModel
from grader.kernels_text import KernelsText
from grader.plan import Launch
from grader.plan_dtypes import numpy_dtype
from grader.plan_memory import View
from grader.records import Finding, KernelPrints, LaunchRecord, LineCounters, Place, Severity
from grader.simulator.arguments import arrays_among
from grader.simulator.block_sample import BlockSample
from grader.simulator.configuration import Configuration, LaunchRefused
from grader.simulator.frontend import KernelError
from grader.simulator.launch import Simulator, deadline_in
from grader.simulator.memory import ArrayRef, GlobalSpace
from grader.simulator.numba_types import declared_type
from grader.simulator.stops import DepthLimit, StepLimit
from grader.simulator.stream_races import race_of
from grader.simulator.streams import Operation, StreamOrder
from grader.simulator.touched import READ, WRITTEN, Touched
from grader.simulator.unit import Options


class SimulatedDevice:
    """Runs launches on the CPU, in order; what a GPU may do in another order, on several streams, is a finding."""

    name = "simulated"

    def __init__(self, gpu: GpuModel, text: KernelsText, cpu_seconds: float, sample: BlockSample | None = None) -> None:
        self.findings: list[Finding] = []
        self.launches: list[LaunchRecord] = []
        self._lines: defaultdict[Place, Counter[str]] = defaultdict(Counter)
        self._prints = Prints()
        self._memory = GlobalSpace(0)
        self._buffers: list[tuple[int, int]] = []
        self._names: dict[int, str] = {}
        self._cpu_seconds = cpu_seconds
        self._text = text
        self._sampled = sample is not None
        self.read_by_last: frozenset[int] = frozenset()  # buffers that the last launch read or changed atomically
        self._lines_of_last: list[LineCounters] = []
        self._simulator = Simulator(gpu, text, self._memory, deadline_in(cpu_seconds), sample)

    def lines(self) -> list[LineCounters]:
        """What was counted by line, over all launches since the reset."""
        return [LineCounters(place, dict(counters)) for place, counters in self._lines.items()]

    def allow(self, cpu_seconds: float) -> None:
        """From now on, launches have so much CPU time together."""
        self._cpu_seconds = cpu_seconds
        self._simulator.deadline = deadline_in(cpu_seconds)

    def lines_of_last(self) -> list[LineCounters]:
        """What was counted by line in the last launch."""
        return self._lines_of_last

    def sample_fewer(self, times: int) -> None:
        """Run so many times fewer blocks of each launch from now on, and others. Only where some run at all."""
        sample = self._simulator.sample
        assert sample is not None
        self._simulator.sample = BlockSample(max(sample.blocks // times, 1), sample.seed + 1)

    def reset(self, nbytes: int) -> None:
        """Forget buffers, findings, launches, prints; what was typed stays. ``nbytes`` of buffers will follow."""
        self.findings, self.launches, self._prints = [], [], Prints()
        self._lines.clear()
        self._memory = self._simulator.memory = GlobalSpace(nbytes)
        self._buffers = []
        self._names = {}
        self._streams = StreamOrder()

    def printed(self) -> KernelPrints:
        """What kernels have printed since the last reset, by launch and thread."""
        return self._prints.kept()

    def allocate(self, nbytes: int, contents: npt.NDArray[np.uint8] | None, *, garbage: bool, name: str) -> None:
        """Add the next buffer. ``garbage``: what it holds, ``contents`` or not, is nobody's to read."""
        address = self._memory.allocate(nbytes, garbage=garbage)
        self._names[address] = name
        self._buffers.append((address, nbytes))
        if contents is not None:
            self._memory.bytes[address : address + nbytes] = contents

    def _array(self, view: View) -> npt.NDArray[Any]:
        address, _ = self._buffers[view.buffer]
        return np.ndarray(view.shape, numpy_dtype(view.dtype), self._memory.bytes, address + view.offset, view.strides)

    def _note_written(self, view: View) -> None:
        """All elements of a view are about to be written."""
        address, _ = self._buffers[view.buffer]
        itemsize = numpy_dtype(view.dtype).itemsize
        unwritten = self._memory.unwritten(1)
        flags = np.ndarray((*view.shape, itemsize), bool, unwritten, address + view.offset, (*view.strides, 1))
        flags[...] = False

    def _reference(self, argument: Any) -> Any:
        if isinstance(argument, tuple):
            return tuple(self._reference(item) for item in argument)
        if not isinstance(argument, ViewArgument):
            return argument
        view = argument.view
        root = self._buffers[view.buffer][0]
        dtype, address = numpy_dtype(view.dtype), root + view.offset
        return ArrayRef("global", argument.name, dtype, address, view.shape, view.strides, root, unit=argument.unit)

    def launch(self, kernel: Kernel, asked: Launch, arguments: list[Any]) -> None:
        """Simulate a launch. Raises Refused, NotSimulated."""
        place = self._text.place(asked.line)
        signatures = [
            tuple(declared_type(numpy_dtype(t.dtype), t.ndim, t.layout) for t in signature)
            for signature in kernel.signatures
        ]
        given = [self._reference(argument) for argument in arguments]
        try:
            result = self._simulator.launch(
                kernel.function,
                Configuration(asked.grid, asked.block, asked.shared_bytes, place),
                given,
                signatures=signatures,
                options=Options(bool(kernel.options.debug), bool(kernel.options.fastmath)),
                note_touched=asked.stream != 0,
            )
        except KernelError as error:
            raise Refused(rejected(kernel, error, self._text)) from None
        except LaunchRefused as error:
            raise Refused(launch_refused(error, place)) from None
        except DepthLimit as error:
            self.findings += error.findings
            self._prints.add(error.printed.lines(), error.printed.left_out)
            raise Refused(endless_recursion(kernel, error.place)) from None
        except StepLimit as error:
            self.findings += error.findings
            self._prints.add(error.printed.lines(), error.printed.left_out)
            raise Refused(out_of_time(kernel, error.place, self._cpu_seconds)) from None
        endless = None if result.finished else _endless(result.findings)
        if not self._sampled:  # what other blocks would have written looks as if nobody had
            self.findings += [finding for finding in result.findings if finding is not endless]
        for line, counters in result.lines.items():
            self._lines[line].update(counters)
        self._lines_of_last = [LineCounters(line, dict(counters)) for line, counters in result.lines.items()]
        roots = {root for (kind, root), count in result.accesses.items() if kind != "stores" and count}
        self.read_by_last = frozenset(n for n, (address, _) in enumerate(self._buffers) if address in roots)
        self._prints.add(result.printed, result.lines_left_out)
        arrays = tuple(arrays_among(given))
        self._note(Operation(f"the launch of {kernel.name}", place, _handle(asked.stream), result.touched, arrays))
        if endless is not None:
            raise Refused(endless_wait(kernel, endless))
        by_name = {
            f"{kind}_of_{self._names[root]}": n for (kind, root), n in result.accesses.items() if self._names.get(root)
        }
        self.launches.append(LaunchRecord(kernel.name, asked.line, asked.grid, asked.block, result.counters | by_name))

    def fill(self, target: View, value: Any, stream: int, line: int) -> None:
        """``target[...] = value``."""
        self._note_written(target)
        array = self._array(target)
        array[...] = filling(array.dtype, value)
        self._note_elements("the assignment", stream, line, (target, WRITTEN))

    def copy(self, source: View, target: View, stream: int, line: int) -> None:
        """``target[...] = source``."""
        self._note_written(target)
        self._array(target)[...] = self._array(source).copy()
        self._note_elements("the copy", stream, line, (source, READ), (target, WRITTEN))

    def _note_elements(self, what: str, stream: int, line: int, *views: tuple[View, int]) -> None:
        """Something was done (``touched``) to all elements of some views."""
        touched = []
        for view, code in views if stream else ():
            start = self._buffers[view.buffer][0] + view.offset
            itemsize = numpy_dtype(view.dtype).itemsize
            touched.append(Touched.of_array(start, view.shape, view.strides, itemsize, code))
        there = tuple(each for each in touched if each is not None)
        self._note(Operation(what, self._text.place(line), _handle(stream), there))

    def _note(self, operation: Operation) -> None:
        """What nothing orders behind what other streams do is a race."""
        self.findings += [race_of(operation, clash) for clash in self._streams.add(operation)]

    def synchronize(self, stream: int | None) -> None:
        """Everything is done as soon as it is asked for."""
        if stream is None:
            self._streams.finish_all()
        else:
            self._streams.finish(_handle(stream))

    def put(self, buffer: int, contents: npt.NDArray[np.uint8]) -> None:
        """Give a buffer new contents."""
        address, nbytes = self._buffers[buffer]
        assert contents.size == nbytes
        self._memory.bytes[address : address + nbytes] = contents

    def read(self, buffer: int) -> npt.NDArray[np.uint8]:
        """A buffer's bytes."""
        address, nbytes = self._buffers[buffer]
        return self._memory.bytes[address : address + nbytes].copy()


def _handle(stream: int) -> int:
    """A plan's stream as CUDA numbers streams: 0 and 1 are both the default one."""
    return stream + 1 if stream else 0


def _endless(findings: Sequence[Finding]) -> Finding | None:
    """Which of the findings of a launch that hung says so."""
    kinds = ("endless-wait", "divergent-barrier")
    errors = [finding for finding in findings if finding.severity is Severity.ERROR]
    return min(errors, key=lambda each: (*kinds, each.kind).index(each.kind), default=None)
