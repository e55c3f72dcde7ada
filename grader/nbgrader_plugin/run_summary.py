"""What a run over a class comes to, in one line. Pure; nbgrader's process (trusted).

In: students by what became of them. Out: words for the log.
"""

from __future__ import annotations

from collections.abc import Collection

from grader.export_notes import named


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
