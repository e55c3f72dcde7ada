"""What a student may see of a verdict. Pure; trusted process.

In: a Verdict. Out: a Verdict whose hidden checks show their sentence, whether they passed, and nothing else,
and without the seed, from which the inputs of hidden checks could be made.
"""

from __future__ import annotations

from dataclasses import replace

from grader.records import CheckResult, Failure, Verdict

HIDDEN = Failure("hidden", "")


def for_student(verdict: Verdict) -> Verdict:
    """``verdict`` without its seed and the names, sizes, findings, figures, prints and reasons of hidden checks."""
    return replace(verdict, checks=tuple(_shown(check) for check in verdict.checks), seed=None)


def _shown(check: CheckResult) -> CheckResult:
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
