"""From what a check raised to a CheckResult, and to what pytest prints for it. Trusted process.

In: a pytest item with the exception of its call. Out: records, and a report that shows a short block (what,
expected, found, where, try) instead of a traceback through the grader.
"""

from __future__ import annotations

import inspect
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from _pytest._code.code import ReprFileLocation, TerminalRepr
from _pytest._io import TerminalWriter

from grader.assignment_folder import HIDDEN_FILE
from grader.errors import GraderError
from grader.judge import CheckFailed, NoGpu, NotMeasured
from grader.records import CheckResult, Failure, Finding, KernelPrints, State
from grader.reports.text import check_lines, clean, first_lines, last_lines, one_line, wrapped
from grader.technique import TechniqueInDoubt

# How pytest-timeout begins its message: then the grader hung, since a submission's own limits are far below.
_BACKSTOP_MESSAGE = "Timeout ("


@dataclass(frozen=True)
class Outcome:
    """What became of one check: passed, failed, or neither with a reason."""

    state: State
    failure: Failure | None = None
    reason: str = ""
    needs_gpu: bool = False
    missed: str = ""  # of the technique
    doubt: Failure | None = None
    ours_unexpected: bool = False  # pytest's own traceback helps more than a block


def outcome_of(error: BaseException | None, item: pytest.Function, last_file: Path | None) -> Outcome:
    """Whose fault ``error`` is. ``last_file`` is the file that raised it."""
    if error is None:
        return Outcome(State.JUDGED)
    if isinstance(error, CheckFailed):
        return Outcome(State.JUDGED, error.failure, missed=getattr(error, "missed", ""))
    if isinstance(error, TechniqueInDoubt):
        return Outcome(State.NOT_MEASURED, reason=str(error), missed=error.missed, doubt=error.failure)
    if isinstance(error, NotMeasured):
        return Outcome(State.NOT_MEASURED, reason=str(error), needs_gpu=isinstance(error, NoGpu))
    if isinstance(error, pytest.skip.Exception):
        return Outcome(State.NOT_MEASURED, reason=str(error.msg))
    if isinstance(error, pytest.fail.Exception) and not str(error.msg).startswith(_BACKSTOP_MESSAGE):
        return Outcome(State.JUDGED, Failure("check-failed", str(error.msg) or sentence_of(item)))
    if isinstance(error, AssertionError) and last_file == item.path:
        return Outcome(State.JUDGED, failure_of_assert(error, item))
    reason = str(error) if isinstance(error, GraderError) else f"{type(error).__name__}: {error}"
    if isinstance(error, pytest.fail.Exception):
        reason = f"the grader did not finish this check in time: {error.msg}"
    return Outcome(State.NOT_JUDGED, reason=reason, ours_unexpected=not isinstance(error, GraderError))


def failure_of_assert(error: AssertionError, item: pytest.Function) -> Failure:
    """A failing plain ``assert`` of a check, in the form of every other failure."""
    told, _, rest = str(error).partition("\nassert ")
    if not rest and told.startswith("assert "):
        told, rest = "", told.removeprefix("assert ")
    return Failure(
        "check-failed",
        what=told.strip() or sentence_of(item),
        expected=sentence_of(item) if told.strip() else "",
        found="assert " + rest.strip() if rest else "",
    )


def sentence_of(item: pytest.Function) -> str:
    """What the check promises: its docstring's first line, else its name in words."""
    doc = inspect.getdoc(item.function)
    if doc and doc.strip():
        return doc.strip().splitlines()[0].strip()
    return item.originalname.removeprefix("test_").replace("_", " ")


def part_of(item: pytest.Function) -> tuple[str, float]:
    """Part and weight of a check. Raises ValueError with one sentence if its marker is missing or wrong."""
    marker = item.get_closest_marker("part")
    name = f"{item.path}: {item.originalname}"
    if marker is None:
        raise ValueError(f'{name}: expected a marker, say @pytest.mark.part("correctness"), found none')
    if len(marker.args) != 1 or not isinstance(marker.args[0], str) or set(marker.kwargs) - {"weight"}:
        raise ValueError(f'{name}: expected @pytest.mark.part("correctness", weight=1.0), found {marker}')
    weight = marker.kwargs.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, int | float) or not 0 < weight < math.inf:
        raise ValueError(f"{name}: expected a weight above 0, found {weight!r}")
    return marker.args[0], float(weight)


def check_result(item: pytest.Function, outcome: Outcome, seconds: float) -> CheckResult:
    """The record of one check, with what its Candidate saw and measured."""
    part, weight = part_of(item)
    candidate: Any = item.funcargs.get("submission")
    findings: tuple[Finding, ...] = tuple(getattr(candidate, "findings", ()))
    measured: dict[str, float] = dict(getattr(candidate, "measured", {}))
    passed = None if outcome.state is not State.JUDGED else outcome.failure is None
    credit = measured.get("credit", 1.0) if passed else 0.0
    if passed is None:
        measured.pop("credit", None)  # a race may be lost by what comes after it
    elif "credit" in measured:
        measured["credit"] = credit
    hidden = item.path.name == HIDDEN_FILE
    return CheckResult(
        name=item.name,
        part=part,
        weight=weight,
        sentence=sentence_of(item),
        hidden=hidden,
        passed=passed,
        state=outcome.state,
        credit=credit,
        failure=outcome.failure,
        reason=outcome.reason,
        findings=findings,
        measured={key: float(value) for key, value in measured.items() if math.isfinite(value)},
        seconds=round(seconds, 3),
        printed="" if hidden else last_lines("".join(getattr(candidate, "printed", ()))),
        kernels_printed="" if hidden else first_lines(getattr(candidate, "kernels_printed", KernelPrints())),
        needs_gpu=outcome.needs_gpu,
        missed=outcome.missed,
        doubt=outcome.doubt,
    )


class Block(TerminalRepr):
    """What pytest prints under a check's name: a block of a failure, or why it was not judged.

    ``like`` is the name of an earlier check whose block says the same, if there is one.
    """

    def __init__(self, check: CheckResult, path: Path, line: int, like: str = "") -> None:
        self.check, self.like = check, like
        text = check.failure.what if check.failure is not None else f"{check.state.value}: {check.reason}"
        self.reprcrash = ReprFileLocation(str(path), line, one_line(text))

    def toterminal(self, tw: TerminalWriter) -> None:
        """Write the block, its first line in colour."""
        if self.check.failure is None:
            lines = clean(f"{self.check.state.value}: {self.check.reason}").splitlines()
        elif self.like:
            lines = wrapped(f"as {one_line(self.like)}: {one_line(self.check.failure.what)}", tw.fullwidth, "", "  ")
        else:
            lines = check_lines(self.check, tw.fullwidth)
        for number, line in enumerate(lines):
            tw.line(line, red=number == 0, bold=number == 0)


def rewrite(report: pytest.TestReport, item: pytest.Function, outcome: Outcome, check: CheckResult, first: str) -> None:
    """Make pytest's report say what became of the check; ``first`` names the first check with such a failure."""
    line = (item.location[1] or 0) + 1
    if check.state is State.NOT_MEASURED:
        reason = one_line(check.reason)
        reason = reason if reason.startswith("not measured") else f"not measured: {reason}"
        report.outcome = "skipped"
        report.longrepr = (str(item.path), line, f"Skipped: {reason}")
    elif check.failure is not None or (check.state is State.NOT_JUDGED and not outcome.ours_unexpected):
        report.outcome = "failed"
        report.longrepr = Block(check, item.path, line, "" if first == check.name else first)
