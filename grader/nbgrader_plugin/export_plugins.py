"""`nbgrader export` with blanks where nothing was judged: CSV as nbgrader has it, Canvas, Moodle. nbgrader's process.

In: nbgrader's gradebook, the course, results/NN.json. Out: a file, written whole or not at all.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import ClassVar

from nbgrader.api import Gradebook, InvalidEntry
from nbgrader.plugins import CsvExportPlugin
from sqlalchemy.exc import SQLAlchemyError

from grader.class_folder import is_handed_in, submissions, timestamp_of
from grader.course import Course
from grader.errors import UsageError
from grader.export import WRITERS, rows_of
from grader.export_notes import notes, of_other_points, other_points_note, shortened, unknown_extensions
from grader.export_row import Row
from grader.gradebook import RESULTS, known_results, write_atomically
from grader.nbgrader_plugin.database import differences, without_password
from grader.nbgrader_plugin.grade_rows import HandedInAt, HandedInBy, due_dates, extensions_in, rows
from grader.nbgrader_plugin.late_penalty import course_of_converter
from grader.submission import not_collected


class CsvExport(CsvExportPlugin):
    """``ExportApp.plugin_class``, and what ``--exporter=nbgrader.plugins.CsvExportPlugin`` gets in this course."""

    writer: ClassVar[str] = "csv"

    def export(self, gradebook: Gradebook) -> None:
        """Write ``--to``, or the file that the writer names. Raises CourseError, OSError."""
        course = course_of_converter(self.parent)
        submitted = course.file.parent / "submitted"
        if self.parent is not None:
            submitted = Path(self.parent.coursedir.root) / self.parent.coursedir.submitted_directory
        students = [str(name) for name in self.student]
        names = [str(name) for name in self.assignment]
        found = rows(
            gradebook,
            course.grading.late,
            submitted_in(submitted),
            students_in(submitted),
            assignments=names,
            students=students,
            due=due_dates(course),
            extensions=extensions_in(course),
        )
        graded = {row.assignment for row in found}
        told = differences(gradebook, course)
        for policy in course.assignments.values():
            verdicts = (known_results(course.file.parent / RESULTS, policy.name) or {}).values()
            if policy.name in graded and not students:
                told += unknown_extensions(policy, {row.student for row in found if row.assignment == policy.name})
            if policy.name in graded:
                told += [other_points_note(policy.name, of) for of in (of_other_points(verdicts, policy),) if of]
            elif not names or policy.name in names:  # graded by `grader grade`
                own = [verdict for verdict in verdicts if not students or verdict.student in students]
                found += rows_of(own, policy, course.grading.late, datetime.now(UTC))
        for name, text in WRITERS[self.writer](found).items():
            file = Path(self.to or name)
            write_atomically(file, text)
            self.log.info("Exported grades to %s", file)
        for line in shortened([*told, *notes(found)], "lines like these"):
            self.log.warning("%s", line)


class CanvasExport(CsvExport):
    """``--exporter=grader.nbgrader_plugin.CanvasExport``: for "Import Grades" in Canvas's gradebook."""

    writer = "canvas"


class MoodleExport(CsvExport):
    """``--exporter=grader.nbgrader_plugin.MoodleExport``: for "Import > CSV file" in Moodle's gradebook."""

    writer = "moodle"


def rows_of_database(
    url: str, course: Course, submitted: Path, assignments: Collection[str]
) -> tuple[tuple[Row, ...], list[str]]:
    """The rows of the gradebook at a database's URL, and where it differs from course.yml.

    nbgrader makes the database where there is none. Raises UsageError where it cannot be read.
    """
    try:
        with Gradebook(url, course.course.id) as gradebook:
            found = rows(
                gradebook,
                course.grading.late,
                submitted_in(submitted),
                students_in(submitted),
                assignments=assignments,
                due=due_dates(course),
                extensions=extensions_in(course),
            )
            return found, differences(gradebook, course, assignments)
    except (SQLAlchemyError, InvalidEntry, ImportError) as error:
        raise _unreadable(url, error) from error


def extensions_of_database(url: str, course: Course, assignment: str) -> dict[str, timedelta]:
    """The extensions in the gradebook at a database's URL, by student. Raises UsageError where it cannot be read."""
    try:
        with Gradebook(url, course.course.id) as gradebook:
            found = {str(s.student.id): s.extension for s in gradebook.assignment_submissions(assignment)}
            return {student: found[student] for student in sorted(found) if found[student]}
    except (SQLAlchemyError, InvalidEntry, ImportError) as error:
        raise _unreadable(url, error) from error


def _unreadable(url: str, error: Exception) -> UsageError:
    why = next(iter(str(error).splitlines()), type(error).__name__)
    return UsageError(f"the gradebook at {without_password(url)} cannot be read: {why}")


def submitted_in(folder: Path) -> HandedInAt:
    """When something was handed in, by ``<folder>/<student>/<assignment>`` and what is in it, or why it is not."""

    def handed_in_at(assignment: str, student: str) -> datetime | bool | str | None:
        place = folder / student / assignment
        if not is_handed_in(place):
            return None
        if why := not_collected(place):
            return why
        moment = timestamp_of(place)
        return moment if isinstance(moment, datetime) else True

    return handed_in_at


def students_in(folder: Path) -> HandedInBy:
    """Who has a ``<folder>/<student>/<assignment>``."""

    def handed_in_by(assignment: str) -> Collection[str]:
        return submissions(folder, assignment)[0] if folder.is_dir() else ()

    return handed_in_by
