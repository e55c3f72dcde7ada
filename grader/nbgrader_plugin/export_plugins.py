"""`nbgrader export` with blanks where nothing was judged: CSV as nbgrader has it, Canvas, Moodle. nbgrader's process.

In: nbgrader's gradebook, the course. Out: a file, written whole or not at all.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from typing import ClassVar

from nbgrader.api import Gradebook
from nbgrader.plugins import CsvExportPlugin

from grader.class_folder import submissions, timestamp_of
from grader.course import Course
from grader.export import WRITERS
from grader.export_row import Row
from grader.gradebook import write_atomically
from grader.nbgrader_plugin.grade_rows import HandedInAt, HandedInBy, rows
from grader.nbgrader_plugin.late_penalty import course_of_converter


class CsvExport(CsvExportPlugin):
    """``ExportApp.plugin_class``, and what ``--exporter=nbgrader.plugins.CsvExportPlugin`` gets in this course."""

    writer: ClassVar[str] = "csv"

    def export(self, gradebook: Gradebook) -> None:
        """Write ``--to``, or the file that the writer names. Raises CourseError, OSError."""
        course = course_of_converter(self.parent)
        submitted = course.file.parent / "submitted"
        if self.parent is not None:
            submitted = Path(self.parent.coursedir.root) / self.parent.coursedir.submitted_directory
        found = rows(
            gradebook,
            course.grading.late,
            submitted_in(submitted),
            students_in(submitted),
            assignments=[str(name) for name in self.assignment],
            students=[str(name) for name in self.student],
        )
        for name, text in WRITERS[self.writer](found).items():
            file = Path(self.to or name)
            write_atomically(file, text)
            self.log.info("Exported grades to %s", file)
        waiting = [row for row in found if row.score is None]
        for row in waiting:
            self.log.warning("%s, %s: left blank: %s", ascii(row.student), row.assignment, row.why)


class CanvasExport(CsvExport):
    """``--exporter=grader.nbgrader_plugin.CanvasExport``: for "Import Grades" in Canvas's gradebook."""

    writer = "canvas"


class MoodleExport(CsvExport):
    """``--exporter=grader.nbgrader_plugin.MoodleExport``: for "Import > CSV file" in Moodle's gradebook."""

    writer = "moodle"


def rows_of_database(url: str, course: Course, submitted: Path, assignments: Collection[str]) -> tuple[Row, ...]:
    """The rows of the gradebook at a database's URL. nbgrader makes the database where there is none."""
    with Gradebook(url, course.course.id) as gradebook:
        return rows(
            gradebook, course.grading.late, submitted_in(submitted), students_in(submitted), assignments=assignments
        )


def submitted_in(folder: Path) -> HandedInAt:
    """When something was handed in, by ``<folder>/<student>/<assignment>`` and its timestamp.txt."""

    def handed_in_at(assignment: str, student: str) -> datetime | bool | None:
        place = folder / student / assignment
        if not os.path.lexists(place):
            return None
        moment = timestamp_of(place)
        return moment if isinstance(moment, datetime) else True

    return handed_in_at


def students_in(folder: Path) -> HandedInBy:
    """Who has a ``<folder>/<student>/<assignment>``."""

    def handed_in_by(assignment: str) -> Collection[str]:
        return submissions(folder, assignment)[0] if folder.is_dir() else ()

    return handed_in_by
