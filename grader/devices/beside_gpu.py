"""A sample of a plan's blocks, simulated from what memory really holds when they run. Runs in the runner.

In: a plan's operations, a simulated device that runs some blocks of each launch, a GPU that carries the plan out whole.
Out: launches with counters; buffers as the GPU left them. No findings: what some blocks see by themselves is none.

Blocks that run by themselves could see that: flags that an earlier launch's blocks have not set, tickets that nobody
else has drawn. So memory before a launch is the GPU's, and the plan is carried out three times. Where a launch reads
what it changes, its blocks run from memory as it is before the launch, as it is after it, and as it may be meanwhile.
Whatever a block of the real launch finds is like one of these.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from grader.devices.base import SCRATCH_BYTE, ClockedDevice, Kernel, ViewArgument
from grader.devices.simulated import SimulatedDevice
from grader.plan import Launch
from grader.plan_dtypes import numpy_dtype
from grader.plan_memory import View
from grader.records import Finding, KernelPrints, LaunchRecord, LineCounters

Bytes = npt.NDArray[np.uint8]
Moment = Literal["before", "after", "meanwhile"]
# One for each time that the plan is carried out.
MOMENTS: tuple[Moment, ...] = ("before", "after", "meanwhile")
# Of a launch that runs thrice, the second and third time so many blocks fewer: it is the way they take that matters.
FEWER = 4
# Numbers of 64 bits that change and are taken for counters; of more, each has changed or not.
MOST_COUNTERS = 1 << 16


@dataclass(frozen=True)
class _Counted:
    """What the sample of a launch counted the first time, and whether it read what the launch changes."""

    launch: LaunchRecord
    lines: list[LineCounters]
    reads_changes: bool


class SampleBesideGpu:
    """A device for ``len(MOMENTS)`` runs of one plan; ``seed`` draws what memory holds meanwhile."""

    name = "simulated"

    def __init__(self, simulated: SimulatedDevice, gpu: ClockedDevice, seed: int) -> None:
        self.findings: list[Finding] = []
        self.launches: list[LaunchRecord] = []
        self._simulated, self._gpu = simulated, gpu
        self._rng = np.random.default_rng([seed, len(MOMENTS)])
        self._moments: Iterator[Moment] = iter(MOMENTS)
        self._moment: Moment = "before"
        self._first: list[_Counted] = []
        self._lines: list[LineCounters] = []

    def lines(self) -> list[LineCounters]:
        """What was counted by line, launch by launch."""
        return list(self._lines)

    def reset(self, nbytes: int) -> None:
        """Begin the next run."""
        self._moment = next(self._moments)
        if self._moment == "after":
            self._simulated.sample_fewer(FEWER)
        # How far the launch has come meanwhile: one number for all that it changes.
        self._progress = float(self._rng.uniform(0.2, 0.8))
        self.launches, self._lines = [], []
        self._simulated.reset(nbytes)
        self._gpu.reset(nbytes)

    def printed(self) -> KernelPrints:
        """Nothing: some blocks' prints are nobody's."""
        return KernelPrints()

    def allocate(self, nbytes: int, contents: Bytes | None, *, garbage: bool, name: str) -> None:
        """Add the next buffer. Garbage is that of a race: nothing tells a kernel that it is in none."""
        known = np.full(nbytes, SCRATCH_BYTE, np.uint8) if contents is None else contents
        self._gpu.allocate(nbytes, known, garbage=garbage, name=name)
        self._simulated.allocate(nbytes, None, garbage=garbage, name=name)

    def launch(self, kernel: Kernel, asked: Launch, arguments: list[Any]) -> None:
        """Launch on the GPU, and simulate some blocks, of this launch or of the first run's. Raises as both do."""
        views = {view.buffer: view for view in _views_among(arguments)}
        number = len(self.launches)
        before = {buffer: self._gpu.read(buffer) for buffer in views}
        if self._moment == "before":
            self._simulate(before, kernel, asked, arguments)
        self._gpu.launch(kernel, asked, copy.deepcopy(arguments))
        self._gpu.synchronize(None)
        if self._moment == "before":
            read = self._simulated.read_by_last & before.keys()
            changes = any(not np.array_equal(before[buffer], self._gpu.read(buffer)) for buffer in read)
            self._first.append(_Counted(self.launches[-1], self._simulated.lines_of_last(), changes))
        elif not self._first[number].reads_changes:
            self.launches.append(self._first[number].launch)
            self._lines += self._first[number].lines
        else:
            memory = {buffer: self._gpu.read(buffer) for buffer in views}
            if self._moment == "meanwhile":
                memory = {
                    buffer: _between(before[buffer], memory[buffer], view, self._progress, self._rng)
                    for buffer, view in views.items()
                }
            self._simulate(memory, kernel, asked, arguments)

    def _simulate(self, memory: dict[int, Bytes], kernel: Kernel, asked: Launch, arguments: list[Any]) -> None:
        for buffer, contents in memory.items():
            self._simulated.put(buffer, contents)
        self._simulated.launch(kernel, asked, copy.deepcopy(arguments))
        self.launches.append(self._simulated.launches[-1])
        self._lines += self._simulated.lines_of_last()

    def fill(self, target: View, value: Any, stream: int, line: int) -> None:
        """``target[...] = value``."""
        self._gpu.fill(target, value, stream, line)

    def copy(self, source: View, target: View, stream: int, line: int) -> None:
        """``target[...] = source``."""
        self._gpu.copy(source, target, stream, line)

    def synchronize(self, stream: int | None) -> None:
        """Wait for the GPU."""
        self._gpu.synchronize(stream)

    def read(self, buffer: int) -> Bytes:
        """A buffer's bytes, on the GPU."""
        return self._gpu.read(buffer)


def _views_among(arguments: Any) -> Iterator[View]:
    for argument in arguments:
        if isinstance(argument, ViewArgument):
            yield argument.view
        elif isinstance(argument, tuple):
            yield from _views_among(argument)


def _between(before: Bytes, after: Bytes, view: View, progress: float, rng: np.random.Generator) -> Bytes:
    """What a buffer may hold while a launch changes it: counters have come so far, of the rest so much is done."""
    dtype = numpy_dtype(view.dtype)
    whole = before.size // dtype.itemsize * dtype.itemsize
    old, new = before[:whole].view(dtype), after[:whole].view(dtype)
    if dtype.kind in "iu" and dtype.itemsize < np.dtype(np.int64).itemsize:
        steps = np.rint((new.astype(np.int64) - old) * progress).astype(np.int64)
        made = (old + steps).astype(dtype)
    elif dtype.kind in "iu" and (changed := np.flatnonzero(old != new)).size <= MOST_COUNTERS:
        made = old.copy()
        for place in changed:  # in Python's numbers, which do not overflow
            start, end = int(old[place]), int(new[place])
            made[place] = start + round((end - start) * progress)
    else:
        made = np.where(rng.random(old.size) < progress, new, old)
    return np.concatenate([made.view(np.uint8), after[whole:]])
