"""Whether a class was raced against one CPU time. Pure; trusted process.

In: verdicts. Out: sentences. Speed is a multiple of the CPU baseline's, so two students are held to one measure only as
far as its times agree: another machine, or one that was busy, gives others.
"""

from __future__ import annotations

from collections.abc import Iterable

from grader.records import Verdict
from grader.reports.text import one_line

# A race's own median is known as well as that (speed.md).
MOST_APART = 1.02


def differing_baselines(verdicts: Iterable[Verdict]) -> list[str]:
    """For each check that was raced against times further apart than that, which students to grade again.

    They are those outside of the largest group of times that agree; of two as large, the later in the order of times.
    """
    times: dict[str, list[tuple[float, str]]] = {}
    for verdict in verdicts:
        for check in verdict.checks:
            if "baseline_ms" in check.measured:
                times.setdefault(check.name, []).append((check.measured["baseline_ms"], verdict.student))
    found = []
    for name, measured in times.items():
        low, high = min(measured)[0], max(measured)[0]
        if high > low * MOST_APART:
            begin = max(measured, key=lambda one: (sum(_agrees(ms, one[0]) for ms, _ in measured), one[0]))[0]
            others = [student for ms, student in measured if not _agrees(ms, begin)]
            found.append(
                one_line(
                    f"{name}: raced against CPU baselines of {low:.4g} to {high:.4g} ms, more than 2 % apart; on this "
                    f"machine, and quiet, grade again: {', '.join(others)}"
                )
            )
    return found


def _agrees(ms: float, begin: float) -> bool:
    return begin <= ms <= begin * MOST_APART
