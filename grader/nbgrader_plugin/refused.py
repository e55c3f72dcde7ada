"""Whose submission nbgrader's gradebook or its folders cannot take, and why. nbgrader's process (trusted).

In: a student's name, which is a stranger's choice, and the submission's folder. Out: sentences for the log.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grader.class_folder import linked
from grader.intake import student_name_problem
from grader.reports.text import one_line

MAX_ID = 128  # characters of a student's id in nbgrader's gradebook


def why_refused(student: str, folder: Path) -> str | None:
    """Why a student's submission in ``folder`` cannot be graded, and whose; None if it can."""
    problem = _problem(student, folder)
    return None if problem is None else f"{one_line(str(folder.parent))}: not graded: {problem}"


def tell_again(refused: dict[str, str], log: Any) -> None:
    """As a run's last line, since lines on the others stand between, and nbgrader's command shows no exception."""
    if refused:
        log.error("%d not graded, see the sentences above: %s", len(refused), next(iter(refused.values())))


def _problem(student: str, folder: Path) -> str | None:
    if len(student) > MAX_ID:
        return f"a student's name of {len(student)} characters is too long for nbgrader's gradebook: at most {MAX_ID}"
    return linked(folder.parent.parent, student) or student_name_problem(student)
