"""What a student may see of a verdict. Pure; trusted process.

In: a Verdict. Out: a Verdict whose hidden checks show their sentence, whether they passed, and nothing else,
and without the seed, from which the inputs of hidden checks could be made.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import PureWindowsPath

from grader.records import KERNELS_FILE, CheckResult, Failure, Finding, Place, Severity, Verdict

HIDDEN = Failure("hidden", "")
_LINE = re.compile(rf"{re.escape(KERNELS_FILE)}:([0-9]{{1,7}})(?![0-9])")


def for_student(verdict: Verdict) -> Verdict:
    """``verdict`` without its seed and the names, sizes, findings, figures, prints and reasons of hidden checks."""
    return replace(verdict, checks=tuple(check_for_student(check) for check in verdict.checks), seed=None)


def findings_for_student(verdict: Verdict) -> tuple[Finding, ...]:
    """What a student may see at the lines of kernels.py: findings, and failures of which the place is such a line."""
    checks = for_student(verdict).checks
    findings = [finding for check in checks for finding in check.findings]
    told = {finding.what for finding in findings}
    for check in checks:
        failure = check.failure
        line = _LINE.match(failure.where) if failure is not None else None
        if failure is not None and line is not None and failure.what not in told:
            place = Place(int(line[1]))
            findings.append(Finding(failure.kind, Severity.ERROR, place, failure.what, failure.advice))
    return tuple(findings)


def check_for_student(check: CheckResult) -> CheckResult:
    """``check`` as it is, or if it is hidden what a student may see of it."""
    if not check.hidden:
        return check
    return replace(
        check,
        name="hidden check",
        failure=None if check.failure is None else replace(HIDDEN, what=check.sentence),
        reason="" if not check.reason else "see your instructor",
        findings=(),
        measured={},
        seconds=0.0,
        printed="",
        kernels_printed="",
    )


def without_folders(where: str) -> str:
    """A place that is a path, by its name alone: where a class is graded is not for its students."""
    path = PureWindowsPath(where)  # which knows both kinds of slashes
    return path.name if path.root else where
