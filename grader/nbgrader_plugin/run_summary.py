"""What is said of a run over a class. Pure; nbgrader's process (trusted).

In: students by what became of them, verdicts. Out: sentences for the log.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import timedelta

from grader.export_notes import named
from grader.records import Verdict


def summary(
    assignment: str,
    graded: Collection[str],
    waiting: Collection[str],
    failed: Collection[str],
    refused: Collection[str],
    skipped: Collection[str],
) -> str:
    """How many were autograded, who of them waits for a score, who failed or was refused, how many were skipped."""
    told = [f"{assignment}: {len(graded)} autograded"]
    if waiting:
        told.append(f"{len(waiting)} of them wait for a score ({named(list(waiting))})")
    told += [
        f"{len(who)} {what} ({named(list(who))})" for who, what in ((failed, "failed"), (refused, "refused")) if who
    ]
    if skipped:
        told.append(f"{len(skipped)} skipped")
    return "; ".join(told)


def of_skipped(waiting: Sequence[str], others: Sequence[str], *, scales: bool) -> list[str]:
    """Who of those that were skipped may be judged again: who waits for a score, and who has ``others``' points.

    ``scales``: course.yml scales a total where there is no GPU.
    """
    how = "; without a GPU course.yml scales their totals now" if scales else ", say on a machine with a GPU"
    return [
        f"{len(students)} of those that were skipped {what} ({named(students)}): --force judges them again{more}"
        for students, what, more in (
            (waiting, "wait for a score", how),
            (others, "were judged by other points than course.yml's", ""),
        )
        if students
    ]


def of_late(verdicts: Iterable[Verdict]) -> list[str]:
    """Who was late, by course.yml's dates, and what that costs."""
    return [
        f"{v.student}: {v.late_note or f'{timedelta(seconds=round(v.late_seconds))} late, which costs nothing'}"
        for v in verdicts
        if v.late_seconds
    ]
