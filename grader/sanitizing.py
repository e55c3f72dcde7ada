"""The calls that a submission is judged by, under NVIDIA's compute-sanitizer and on the simulator. Trusted process.

In: calls, as ``judge.Candidate`` lets them be seen. Out: an ``Examination`` for each, for an instructor who holds the
one against the other. Nothing here is part of a verdict.

A tool that does not work says "0 errors", too, on some machines (Windows' subsystem for Linux, containers). So each is
first given a mistake that was made for it to find, and nothing of it is believed where it does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.children import Children, need_gpu
from grader.correctness import told_once
from grader.device_names import LineInfo
from grader.errors import Fault, UsageError
from grader.examinations import SIMULATOR, TOOLS, Examination, ToolReport
from grader.gpu_models import GpuModel
from grader.kernels_text import KernelsText
from grader.plan import LaunchPlan
from grader.problem import Inputs, Output
from grader.records import Failure, Outcome, Severity
from grader.sandbox.limits import Limits
from grader.sandbox.record import Call, record
from grader.sandbox.run import run
from grader.sandbox.sanitized import PROGRAM, TOOLKIT, find_program, run_sanitized, version_of
from grader.sanitizer_log import SanitizerLog, read_log

# A kernel that is looked at, and not optimised, needs 10 to 100 times its time, but of a check's time that is little.
SLOWER = 10
# Both the kernel's process and the checker's threads in it compute.
CORES = 4
OPEN_FILES = 4096
MAX_SAID = 3  # lines that are not understood, for a reader to see
# One mistake for each tool: 64 threads write one element further; a tile is read with no barrier after it was written.
PLANTED_ELEMENTS = 64
PLANTED = b"""from numba import cuda, float32

@cuda.jit
def one_further(out):
    i = cuda.grid(1)
    out[i + 1] = i

@cuda.jit
def no_barrier(out):
    tile = cuda.shared.array(64, float32)
    i = cuda.threadIdx.x
    tile[i] = i
    out[i] = tile[63 - i]

def memcheck(out):
    one_further[1, 64](out)

def racecheck(out):
    no_barrier[1, 64](out)
"""
OPTIMISED = "kernels were compiled with optimisation: without it they do not run"
PLANTED_KINDS = {"memcheck": "out-of-bounds", "racecheck": "race"}


@dataclass(frozen=True)
class SeenCall:
    """A call that a check judges: as a student reads it, and all that a device needs to carry it out.

    ``fill`` has what outputs hold before the first launch, an element each.
    """

    text: str
    source: bytes
    plan: LaunchPlan
    inputs: Inputs
    fill: Mapping[str, npt.NDArray[Any]]


@dataclass(frozen=True)
class Sanitizer:
    """A compute-sanitizer that works on this machine."""

    program: Path
    version: str

    def examine(
        self, calls: Iterable[SeenCall], children: Children, gpu: GpuModel, limits: Limits
    ) -> Iterator[Examination]:
        """What each of its tools and the simulator say of each call; of equal calls once. ``limits`` are a check's."""
        seen: set[str] = set()
        hung: set[str] = set()
        for call in calls:
            if call.text in seen:
                continue
            seen.add(call.text)
            reports = []
            for tool in TOOLS:
                if tool in hung:
                    reports.append(ToolReport(tool, problem="not run: an earlier call did not end"))
                    continue
                report, ended = self._report(tool, call, gpu, limits)
                reports.append(report)
                if not ended:
                    hung.add(tool)
            yield Examination(call.text, (*reports, _simulated(call, children, gpu, limits)))

    def _report(self, tool: str, call: SeenCall, gpu: GpuModel, limits: Limits) -> tuple[ToolReport, bool]:
        """What a tool says of a call, and whether the call ended."""
        told = self._run(tool, call, gpu, limits, "debug")
        if told.nothing_known and not told.hung:
            # Without optimisation a kernel may need more registers than there are, or not compile.
            optimised = self._run(tool, call, gpu, limits, "optimised")
            if not optimised.nothing_known:
                report = optimised.report(tool)
                return replace(report, note="\n".join(filter(None, [OPTIMISED, report.note]))), True
        return told.report(tool), not told.hung

    def _run(self, tool: str, call: SeenCall, gpu: GpuModel, limits: Limits, line_info: LineInfo) -> _Told:
        try:
            outcome, log = run_sanitized(
                self.program, tool, call.source, call.plan, call.inputs, call.fill, gpu, slower(limits), line_info
            )
        except Fault as fault:
            return _Told(SanitizerLog(), None, str(fault))
        return _Told(read_log(log, KernelsText(call.source)), outcome)


@dataclass(frozen=True)
class _Told:
    """One run of a tool: its log, what came of the plan, or why that is not known."""

    log: SanitizerLog
    outcome: Outcome | None
    fault: str = ""

    @property
    def failure(self) -> Failure | None:
        return None if self.outcome is None else self.outcome.problem

    @property
    def nothing_known(self) -> bool:
        """Whether the plan did not come to its end, and the tool does not say why."""
        return (bool(self.fault) or self.failure is not None) and not any(f.place.line for f in self.log.findings)

    @property
    def hung(self) -> bool:
        return self.failure is not None and self.failure.kind == "time-out"

    def report(self, tool: str) -> ToolReport:
        """What a reader is told."""
        problem = self.fault
        if self.hung:
            problem = "the call did not end in the time that it had"
        elif self.nothing_known and self.failure is not None:
            problem = self.failure.what
        elif not problem and not self.log.complete:
            problem = f"{tool} did not write its log to the end"
        notes = [f"it says: {each}" for each in self.log.said[:MAX_SAID]]
        if self.log.left_out:
            notes.append(f"{self.log.left_out:,} more records were left out")
        return ToolReport(tool, self.log.findings, problem, "\n".join(notes))


def sanitizer(children: Children, gpu: GpuModel, limits: Limits) -> Sanitizer:
    """The compute-sanitizer of this machine, seen to work. Raises UsageError where there is none, or no GPU."""
    need_gpu(children, "--sanitize")
    program = find_program()
    if program is None:
        raise UsageError(
            f"--sanitize: found no {PROGRAM}, which comes with NVIDIA's CUDA toolkit, on the PATH or in {TOOLKIT}"
        )
    made = Sanitizer(program, version_of(program))
    calls = [Call(tool, {"out": Output((PLANTED_ELEMENTS,), np.float32)}) for tool in TOOLS]
    plans = record(children.recorder, PLANTED, calls, gpu, limits)
    if isinstance(plans, Failure):
        raise Fault(f"the recorder refused a call of the grader's own: {plans.what}")
    for tool, call, plan in zip(TOOLS, calls, plans, strict=True):
        fill = {"out": np.zeros((), np.float32)}
        told = made._run(tool, SeenCall(tool, PLANTED, plan, call.inputs, fill), gpu, limits, "debug")
        if not any(finding.kind == PLANTED_KINDS[tool] for finding in told.log.findings):
            raise UsageError(_does_not_work(made, tool, told))
    return made


def _does_not_work(made: Sanitizer, tool: str, told: _Told) -> str:
    why = "; ".join(told.log.said[:3]) or told.fault or (told.failure.what if told.failure is not None else "")
    return (
        f"--sanitize: {PROGRAM} {made.version} does not work on this machine: {tool} did not find a mistake that "
        f"was made for it to find{f' ({why})' if why else ''}"
    )


def slower(limits: Limits) -> Limits:
    """A check's limits, for kernels that are looked at while they run."""
    seconds = limits.cpu_seconds * SLOWER
    return replace(limits, cpu_seconds=seconds * CORES, wall_seconds=seconds, memory_bytes=None, open_files=OPEN_FILES)


def _simulated(call: SeenCall, children: Children, gpu: GpuModel, limits: Limits) -> ToolReport:
    try:
        (outcome,) = run(children.runner, call.source, call.plan, call.inputs, [call.fill], gpu, "simulated", limits)
    except Fault as fault:
        return ToolReport(SIMULATOR, problem=str(fault))
    # Advice is on speed, of which compute-sanitizer says nothing.
    findings = tuple(f for f in told_once(outcome.findings) if f.severity is not Severity.ADVICE)
    return ToolReport(SIMULATOR, findings, "" if outcome.problem is None else outcome.problem.what)
