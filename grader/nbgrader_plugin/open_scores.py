"""What autograde asks of nbgrader's gradebook and does to it, beside single scores. nbgrader's process (trusted).

In: an open Gradebook. Out: rows changed and committed; who waits; who has an extension.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import Any

from nbgrader.api import MissingEntry

from grader.nbgrader_plugin.bonuses import SPEED, is_ours
from grader.nbgrader_plugin.grade_rows import waits


def open_all(
    gradebook: Any, assignment: str, student: str, *, with_timestamp: bool, given: frozenset[float] = frozenset()
) -> None:
    """Leave no score of a submission: each cell waits. Without a timestamp that of an earlier hand-in goes, too.

    ``given``: the bonuses that were, which go as well; extra credit of a person's stays.
    """
    submission = gradebook.find_submission(assignment, student)
    if not with_timestamp:
        submission.timestamp = None
    for notebook in submission.notebooks:
        for grade in notebook.grades:
            grade.auto_score, grade.needs_manual_grade = None, True
            if grade.name == SPEED and is_ours(grade, given):
                grade.extra_credit = None
    gradebook.db.commit()


def waiting_among(gradebook: Any, assignment: str, students: Iterable[str]) -> list[str]:
    """Those of ``students`` whose submissions have a cell that waits for the judge's score, in their order."""
    found = {student: _submission(gradebook, assignment, student) for student in sorted(students)}
    return [
        student
        for student, submission in found.items()
        if submission is not None
        and any(_waits_for_judge(grade) for book in submission.notebooks for grade in book.grades)
    ]


def _waits_for_judge(grade: Any) -> bool:
    return waits(grade) and grade.manual_score is None


def extension_of(gradebook: Any, assignment: str, student: str) -> timedelta | None:
    """By how much a student's due date is later; None if it is not."""
    submission = _submission(gradebook, assignment, student)
    extension: timedelta | None = submission.extension if submission is not None else None
    return extension


def _submission(gradebook: Any, assignment: str, student: str) -> Any:
    try:
        return gradebook.find_submission(assignment, student)
    except MissingEntry:
        return None
