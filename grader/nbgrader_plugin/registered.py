"""What the gradebook takes over of course.yml, due date and points, and what that does to scores. nbgrader's process.

In: an open Gradebook, the assignment's policy, a log (trusted process). Out: the gradebook's rows; lines in the log.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import Any

from nbgrader.api import Gradebook, MissingEntry
from sqlalchemy.exc import SQLAlchemyError

from grader.course import Assignment
from grader.errors import ReleaseError
from grader.export_notes import some
from grader.nbgrader_plugin.database import shown
from grader.nbgrader_plugin.grade_rows import above_text, in_utc, is_above_by_hand
from grader.reports.text import one_line


@contextlib.contextmanager
def opened(coursedir: Any) -> Iterator[Gradebook]:
    """The gradebook of ``coursedir``. Raises ReleaseError where it is locked, or none."""
    try:
        with Gradebook(coursedir.db_url, coursedir.course_id) as gradebook:
            yield gradebook
    except SQLAlchemyError as error:
        why = next(iter(str(error).splitlines()), type(error).__name__)
        raise ReleaseError(f"the gradebook cannot be used, and is as it was: {why}") from error


def points_of(gradebook: Gradebook, name: str) -> dict[str, float]:
    """The points of an assignment's cells by the cells' names: none where the gradebook has no such assignment."""
    try:
        books = gradebook.find_assignment(name).notebooks
    except MissingEntry:
        return {}
    return {cell.name: float(cell.max_score) for book in books for cell in book.grade_cells}


def set_due(gradebook: Gradebook, assignment: Assignment, log: Any) -> None:
    """course.yml's due date; a line tells which one it takes the place of."""
    before = in_utc(gradebook.find_assignment(assignment.name).duedate)
    due = assignment.due.isoformat() if assignment.due else None
    gradebook.update_or_create_assignment(assignment.name, duedate=due)
    if before is not None and before != assignment.due:
        log.warning(
            "%s: the gradebook's due date %s, of Formgrader or an older course.yml, is set to course.yml's %s",
            assignment.name,
            shown(before, assignment.due),
            shown(assignment.due),
        )


def tell_of_points(
    gradebook: Gradebook, name: str, before: dict[str, float], log: Any, anew: Collection[str] = ()
) -> None:
    """Whose scores stay as they were although cells have other points than ``before``: all but who is judged ``anew``.

    Scores by hand that are above their cell's points now are marked, for Formgrader to show "needs manual grade".
    """
    now = points_of(gradebook, name)
    others = [f"{cell} {before[cell]:g} to {now[cell]:g}" for cell in now if before.get(cell, now[cell]) != now[cell]]
    submissions = gradebook.assignment_submissions(name)
    if not others:
        return
    for submission in submissions:
        for grade in filter(is_above_by_hand, _grades(submission)):
            grade.needs_manual_grade = True
    gradebook.db.commit()
    stay = sorted({str(submission.student.id) for submission in submissions} - set(anew))
    if stay:
        line = (
            f"{name}: the gradebook has course.yml's new points now, for everybody ({', '.join(others)}). Scores stay "
            f"as they were judged, of {some(stay)}, until `nbgrader autograde {name} --force`"
        )
        log.warning("%s", one_line(line))


def tell_of_scores_above(gradebook: Gradebook, name: str, log: Any) -> None:
    """Whose scores by hand are above their cells' points, in which cells: a line for each student."""
    for submission in sorted(gradebook.assignment_submissions(name), key=lambda submission: str(submission.student.id)):
        cells = [above_text(grade) for grade in _grades(submission) if is_above_by_hand(grade)]
        if cells:
            log.warning("%s", one_line(f"{submission.student.id}: {', '.join(cells)}"))


def _grades(submission: Any) -> list[Any]:
    return [grade for notebook in submission.notebooks for grade in notebook.grades]
