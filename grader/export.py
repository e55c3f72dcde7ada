"""Scores for other systems: rows to CSV, Canvas, Moodle, Gradescope and JUnit. Pure; trusted process.

In: one Row per student and assignment, from a gradebook or from verdicts. Out: the texts of files, by name. A score
that waits to be judged is blank, never 0: a system that has one keeps it. No cell is a formula for a spreadsheet, and
hidden checks show what a student may see of them.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from grader.course import Assignment, Late
from grader.export_checks import gradescope_files, junit_files
from grader.export_row import Row, points_text
from grader.gradebook import cell
from grader.late import not_due, read_timestamp, with_penalty
from grader.records import NOTHING_HANDED_IN, PARTS, Verdict
from grader.reports.text import encodable
from grader.reports.view import for_student
from grader.scoring import open_notes

# Columns and order of nbgrader's own CSV (nbgrader.plugins.CsvExportPlugin); ours follow them.
NBGRADER_COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)


Writer = Callable[[Sequence[Row]], Mapping[str, str]]


def rows_of(verdicts: Iterable[Verdict], assignment: Assignment, late: Late, now: datetime) -> tuple[Row, ...]:
    """The rows of an assignment's verdicts, the points off being those of today's policy and due date.

    Who has handed in nothing has no score before that date, whenever the class was judged.
    """
    return tuple(_row_of(for_student(verdict), assignment, late, now) for verdict in verdicts)


def _row_of(verdict: Verdict, assignment: Assignment, late: Late, now: datetime) -> Row:
    due = assignment.due_for(verdict.student)
    extended = verdict.student in assignment.extensions  # which counts, then, and no gradebook's
    extension = timedelta(seconds=0 if extended else verdict.extension_seconds)
    verdict = with_penalty(verdict, late, due, read_timestamp(verdict.handed_in_at), extension)
    parts = {p.part: p.earned if p.judged == p.points else None for p in verdict.parts}
    raw, score, why = verdict.earned, verdict.final, verdict.summary
    points = {p.part: p.points for p in verdict.parts}
    now_worth = assignment.ordered_parts()
    above = tuple(p.part for p in verdict.parts if p.earned > now_worth.get(p.part, 0.0))
    waits = "" if raw is not None else "; ".join(open_notes(verdict.checks, points) if verdict.checks else ()) or why
    if not verdict.handed_in:
        until = not_due(due, now)
        raw = score = None if until else 0.0
        parts, above = dict.fromkeys(parts, raw), ()
        why = f"{NOTHING_HANDED_IN}, {until}" if until else NOTHING_HANDED_IN
        waits = why if until else ""
    return Row(
        assignment=verdict.assignment,
        student=verdict.student,
        parts=parts,
        raw=raw,
        penalty=None if raw is None else verdict.penalty,
        score=score,
        max_score=verdict.points,
        due=assignment.due.isoformat() if assignment.due else "",
        timestamp=verdict.handed_in_at,
        why=why,
        checks=verdict.checks,
        part_points=points,
        waits=waits,
        above=above,
        late_seconds=verdict.late_seconds,
        extension_seconds=assignment.extensions.get(verdict.student, verdict.extension_seconds),
    )


def with_checks(rows: Iterable[Row], verdicts: Iterable[Verdict]) -> tuple[Row, ...]:
    """``rows``, each with the checks of the verdict of its student and assignment, as far as a student may see them."""
    known = {(v.assignment, v.student): for_student(v).checks for v in verdicts}
    return tuple(replace(row, checks=known.get((row.assignment, row.student), row.checks)) for row in rows)


def csv_files(rows: Sequence[Row]) -> Mapping[str, str]:
    """``grades.csv``: nbgrader's columns, then each part and why the score is as it is."""
    parts = [part for part in PARTS if any(part in row.parts for row in rows)]
    table: list[list[object]] = [[*NBGRADER_COLUMNS, *parts, "why"]]
    for row in rows:
        names = (row.student, row.last_name, row.first_name, row.email)
        table.append(
            [
                *map(_text, (row.assignment, row.due, row.timestamp, *names)),
                *map(points_text, (row.raw, row.penalty, row.score, row.max_score)),
                *(points_text(row.parts.get(part)) for part in parts),
                _text(row.why),
            ]
        )
    return {"grades.csv": _csv(table)}


def canvas_files(rows: Sequence[Row]) -> Mapping[str, str]:
    """``canvas.csv`` for Canvas's "Import Grades": a line per student, a column per assignment, points possible first.

    Canvas finds students by "SIS Login ID" where "ID" is empty, and leaves a grade as it is where a cell is blank
    (Canvas Instructor Guide, "How do I import grades in the Gradebook?").
    """
    points = {row.assignment: row.max_score for row in rows}
    names = list(points)
    table: list[list[object]] = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *map(_text, names)]]
    table.append(["    Points Possible", "", "", "", "", *(points_text(points[name]) for name in names)])
    for student, found in _by_student(rows).items():
        one = next(iter(found.values()))
        shown = ", ".join(name for name in (one.last_name, one.first_name) if name) or student
        scores = (points_text(found[name].score) if name in found else "" for name in names)
        table.append([_text(shown), _text(one.lms_user_id), "", _text(student), "", *scores])
    return {"canvas.csv": _csv(table)}


def moodle_files(rows: Sequence[Row]) -> Mapping[str, str]:
    """``moodle.csv`` for Moodle's "Import > CSV file": a line per student, a column of scores per assignment.

    Map "Username" or "Email address" to the user, the columns to grade items and feedback; a blank grade changes none.
    """
    names = list(dict.fromkeys(row.assignment for row in rows))
    scores = [column for name in names for column in (name, f"{name} (feedback)")]
    table: list[list[object]] = [["Username", "First name", "Last name", "Email address", *map(_text, scores)]]
    for student, found in _by_student(rows).items():
        one = next(iter(found.values()))
        line: list[object] = [*map(_text, (student, one.first_name, one.last_name, one.email))]
        for name in names:
            row = found.get(name)
            line += [points_text(row.score), _text(row.why)] if row is not None else ["", ""]
        table.append(line)
    return {"moodle.csv": _csv(table)}


WRITERS: Mapping[str, Writer] = {
    "csv": csv_files,
    "canvas": canvas_files,
    "moodle": moodle_files,
    "gradescope": gradescope_files,
    "junit": junit_files,
}


def _by_student(rows: Iterable[Row]) -> dict[str, dict[str, Row]]:
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(row.student, {})[row.assignment] = row
    return found


def _text(text: str) -> str:
    return encodable(cell(text, len(text)))  # not cut: it may be a key


def _csv(table: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    return text.getvalue()
