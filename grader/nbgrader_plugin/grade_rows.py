"""nbgrader's gradebook as rows for exports. nbgrader's process, or that of `grader export`.

In: an open Gradebook, the course, its folder of submissions. Out: a Row for each assignment and student. nbgrader's own
scores count what was not judged as 0; here it is None: cells that wait for a person or a GPU, submissions that nobody
has autograded yet, and what is not due yet. Points off for being late are those of today's policy, due date and score.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from nbgrader.api import Gradebook, MissingEntry

from grader.course import Course, Late
from grader.export_row import Row
from grader.late import not_due, penalty, seconds_late
from grader.records import NOTHING_HANDED_IN, PARTS

NOT_AUTOGRADED = "handed in, not autograded yet"
NEWER = "handed in again, not autograded since"
WAITS = "waits for a score: "
# Of two timestamps of one moment, one from a text and one from a database, in seconds.
SAME_MOMENT = 1.0

# When an assignment was handed in by a student: None if not at all, True if at a time that is not known; a str says why
# it was and could not be collected.
HandedInAt = Callable[[str, str], datetime | bool | str | None]
# Who has handed in an assignment, known to the gradebook or not.
HandedInBy = Callable[[str], Collection[str]]


@dataclass(frozen=True)
class _Unknown:
    """A student as the gradebook has one, of whom only the name is known."""

    id: str
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_user_id: str = ""


def rows(
    gradebook: Gradebook,
    late: Late,
    handed_in_at: HandedInAt = lambda assignment, student: None,
    handed_in_by: HandedInBy = lambda assignment: (),
    *,
    assignments: Collection[str] = (),
    students: Collection[str] = (),
    due: Mapping[str, datetime | None] | None = None,
    extensions: Mapping[str, Mapping[str, float]] | None = None,
    now: datetime | None = None,
) -> tuple[Row, ...]:
    """Rows in the gradebook's order of assignments, then students; of those given only, if any are given.

    ``due``: course.yml's dates by assignment, None where there is none; the gradebook's counts for others alone.
    ``extensions``: course.yml's, in seconds, by assignment and student; the gradebook's count for others alone.
    An assignment without cells has no rows: nbgrader has not graded it, and no score is to be had from it.
    Last come those who have handed in and are in no gradebook: nobody has autograded them, or their names are refused.
    """
    made = []
    for assignment in gradebook.assignments:
        if (assignments and assignment.name not in assignments) or not has_cells(assignment):
            continue
        due_at = (due or {}).get(assignment.name, in_utc(assignment.duedate))
        extended = (extensions or {}).get(assignment.name, {})
        known = list(gradebook.students)
        others = sorted(set(handed_in_by(assignment.name)) - {student.id for student in known})
        for student in (*known, *map(_Unknown, others)):
            if students and student.id not in students:
                continue
            try:
                submission = gradebook.find_submission(assignment.name, student.id)
            except MissingEntry:
                submission = None
            moment = handed_in_at(assignment.name, student.id)
            extension = timedelta(seconds=extended.get(student.id, _seconds_more(submission)))
            row = _row(assignment, student, submission, moment, late, due_at, extension)
            waits_until = not_due(None if due_at is None else due_at + extension, now or datetime.now(UTC))
            if row.why == NOTHING_HANDED_IN and waits_until:
                why = f"{NOTHING_HANDED_IN}, {waits_until}"
                parts = dict.fromkeys(row.parts)
                row = replace(row, parts=parts, raw=None, penalty=None, score=None, why=why, waits=why)
            made.append(row)
    return tuple(made)


def row_of(gradebook: Gradebook, course: Course, assignment: str, student: str) -> Row:
    """The row of one who is in the gradebook, by course.yml's dates and policy, as in exports."""
    late, due, extensions = course.grading.late, due_dates(course), extensions_in(course)
    (row,) = rows(gradebook, late, assignments=(assignment,), students=(student,), due=due, extensions=extensions)
    return row


def due_dates(course: Course) -> dict[str, datetime | None]:
    """When each assignment is due, by course.yml."""
    return {name: assignment.due for name, assignment in course.assignments.items()}


def extensions_in(course: Course) -> dict[str, Mapping[str, float]]:
    """By how many seconds each assignment is due later for whom, by course.yml."""
    return {name: assignment.extensions for name, assignment in course.assignments.items()}


def has_cells(assignment: Any) -> bool:
    """Whether the gradebook has a cell of the assignment that can have a score."""
    return any(notebook.grade_cells for notebook in assignment.notebooks)


def _seconds_more(submission: Any) -> float:
    """The gradebook's extension."""
    extension: timedelta | None = submission.extension if submission is not None else None
    return extension.total_seconds() if extension is not None else 0.0


def _row(
    assignment: Any,
    student: Any,
    submission: Any,
    moment: datetime | bool | str | None,
    late: Late,
    due: datetime | None,
    extension: timedelta,
) -> Row:
    grades = [grade for notebook in submission.notebooks for grade in notebook.grades] if submission is not None else []
    parts: dict[str, float | None] = {}
    points: dict[str, float] = {}
    for cell in (cell for notebook in assignment.notebooks for cell in notebook.grade_cells):
        if cell.name in PARTS:
            parts[cell.name], points[cell.name] = 0.0, cell.max_score
    for grade in grades:
        if grade.name in parts:
            parts[grade.name] = None if waits(grade) else grade.score
    why = _why(submission, grades, moment)
    handed_in = in_utc(submission.timestamp) if submission is not None else None
    after = seconds_late(None if due is None else due + extension, handed_in)
    raw = off = score = None
    if not why or why == NOTHING_HANDED_IN:
        raw = round(float(sum(grade.score for grade in grades)), 2)
        off = penalty(late, after, raw)
        score = round(max(0.0, raw - off), 2)
    elif not why.startswith(WAITS):
        parts = dict.fromkeys(parts)  # what an older hand-in earned says nothing about this one
    return Row(
        assignment=assignment.name,
        student=student.id,
        parts=parts,
        raw=raw,
        penalty=off,
        score=score,
        max_score=assignment.max_score,
        first_name=student.first_name or "",
        last_name=student.last_name or "",
        email=student.email or "",
        lms_user_id=student.lms_user_id or "",
        due=due.isoformat() if due is not None else "",
        timestamp=handed_in.isoformat() if handed_in is not None else "",
        why=why,
        part_points=points,
        waits=why if score is None else "",
        to_look_at=tuple(grade.name for grade in grades if grade.manual_score is not None and grade.needs_manual_grade),
        above=tuple(grade.name for grade in grades if parts.get(grade.name) is not None and _is_above(grade)),
        late_seconds=after,
        extension_seconds=extension.total_seconds(),
    )


def waits(grade: Any) -> bool:
    """Whether a cell has no score yet. A score by hand is one, also where a later run asks to look at it again.

    Not one that is above the cell's points, which have been lowered since: a total above the maximum is none.
    """
    if grade.manual_score is not None:
        return is_above_by_hand(grade)
    return bool(grade.needs_manual_grade) or grade.auto_score is None


def is_above_by_hand(grade: Any) -> bool:
    """Whether a person has given more than the cell's points are now. Formgrader takes no such score."""
    return grade.manual_score is not None and float(grade.manual_score) > float(grade.max_score)


def above_text(grade: Any) -> str:
    """A cell of which ``is_above_by_hand`` is true, and what is to be done."""
    given, points = float(grade.manual_score), float(grade.max_score)
    return f"{grade.name} ({given:g} by hand are above its {points:g} points: give others in Manual Grading)"


def _is_above(grade: Any) -> bool:
    """Whether the judge has given more than the cell's points are now."""
    return grade.manual_score is None and float(grade.auto_score or 0.0) > float(grade.max_score)


def _why(submission: Any, grades: list[Any], moment: datetime | bool | str | None) -> str:
    """Why there is no score, or it is 0; "" where there is one."""
    not_collected = moment if isinstance(moment, str) else ""
    if submission is None:
        return not_collected or (NOT_AUTOGRADED if moment else NOTHING_HANDED_IN)
    if not grades:
        return not_collected or NOT_AUTOGRADED
    if isinstance(moment, datetime):
        known = in_utc(submission.timestamp)
        if known is None or (moment - known).total_seconds() > SAME_MOMENT:
            return NEWER
    waiting = [above_text(grade) if is_above_by_hand(grade) else grade.name for grade in grades if waits(grade)]
    return (not_collected or WAITS + ", ".join(waiting)) if waiting else ""


def in_utc(moment: datetime | None) -> datetime | None:
    """A moment as the gradebook has it, in UTC without saying so."""
    return None if moment is None else moment.replace(tzinfo=UTC)
