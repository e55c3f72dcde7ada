"""Whether a page of feedback still says what the gradebook says. nbgrader's process (trusted).

In: course.yml, the gradebook, autograded/<student>/NN, feedback/<student>/NN. Out: a digest, which a page carries; the
students whose pages carry another one than they would today.

nbgrader makes a page once, and again if something newer was handed in: not after a score by hand, a comment or a second
autograde, or a due date in course.yml. The gradebook does not say when any of these was.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from nbgrader.api import Gradebook, MissingEntry

from grader.course import Course
from grader.export_notes import named
from grader.intake import ordinary_bytes
from grader.late import days_late, penalty
from grader.nbgrader_plugin.autograded import MAX_WITH_REPORTS
from grader.nbgrader_plugin.grade_rows import row_of
from grader.nbgrader_plugin.workplace import student_folders
from grader.notebook import SUFFIX
from grader.records import KERNELS_FILE, Failure

PAGE = ".html"
MAX_PAGE = MAX_WITH_REPORTS
# nbconvert parses a page and writes it again, which puts attributes in an order of its own.
_CARRIED = re.compile(rb'<meta (?:name="state" content="([0-9a-f]+)"|content="([0-9a-f]+)" name="state")')


def digest(gradebook: Gradebook, course: Course, assignment: str, student: str, folder: Path) -> str:
    """Of all that a student's feedback is made of; ``folder`` is that of autograded/. Raises MissingEntry."""
    submission = gradebook.find_submission(assignment, student)
    row, late = row_of(gradebook, course, assignment, student), course.grading.late
    parts: list[object] = [row.first_name, row.last_name, row.timestamp, row.score, row.penalty, row.max_score]
    parts += [row.due, row.extension_seconds, late.grace, days_late(late, row.late_seconds)]
    parts += [penalty(late, row.late_seconds, 100)]  # which is told where there is no score yet
    for notebook in sorted(submission.notebooks, key=lambda notebook: str(notebook.name)):
        parts += sorted(
            (grade.name, repr([grade.auto_score, grade.manual_score, grade.extra_credit, grade.needs_manual_grade]))
            for grade in notebook.grades
        )
        parts += sorted((comment.name, comment.comment or "") for comment in notebook.comments)
    made = hashlib.sha256(repr(parts).encode("utf-8", "surrogatepass"))
    for path in (*sorted(folder.glob(f"*{SUFFIX}")), folder / KERNELS_FILE):
        content = ordinary_bytes(path, MAX_WITH_REPORTS)
        made.update(hashlib.sha256(b"" if isinstance(content, Failure) else content).digest())
    return made.hexdigest()


def outdated(coursedir: Any, course: Course, assignment: str) -> list[str]:
    """The students that ``coursedir`` is set to whose pages are not what they would be today."""
    found: list[str] = []
    folders = autograded_folders(coursedir, assignment)
    if not folders:
        return found  # to open a gradebook makes one
    with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
        for student, folder in folders.items():
            pages = Path(coursedir.format_path(coursedir.feedback_directory, student, assignment)).glob(f"*{PAGE}")
            try:
                state = digest(gradebook, course, assignment, student, folder)
            except MissingEntry:
                continue  # there is nothing to compare a page with
            if any(_carried(page) != state for page in pages):
                found.append(student)
    return found


def autograded_folders(coursedir: Any, assignment: str) -> dict[str, Path]:
    """Folders of autograded/ by student, of those that ``coursedir`` is set to."""
    excluded = coursedir.student_id_exclude.split(",")
    found = student_folders(coursedir, coursedir.autograded_directory, assignment)
    return {folder.parent.name: folder for folder in found if folder.parent.name not in excluded}


def sentence(students: list[str]) -> str:
    """What is told of those whose pages are outdated."""
    what = "older than scores, dates, comments or reports"
    return f"{len(students)} of the pages of feedback are {what} ({named(students)})"


def _carried(page: Path) -> str:
    content = ordinary_bytes(page, MAX_PAGE)
    found = None if isinstance(content, Failure) else _CARRIED.search(content)
    return "" if found is None else (found[1] or found[2]).decode()
