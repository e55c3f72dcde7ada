"""`nbgrader zip_collect` for whatever an LMS gives: our reader of archives as nbgrader's plugins. nbgrader's process.

In: the archives in ``downloaded/NN/archive``. Out: ``extracted/<student>/`` with kernels.py, notebooks and
timestamp.txt, one of each, which nbgrader then copies to ``submitted/<student>/NN``; for whoever's work cannot be read
a note that says why, in its place. Exit code 1 if somebody's work is not among them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from nbgrader.plugins.zipcollect import ExtractorPlugin, FileNameCollectorPlugin

from grader.chosen_files import HandedIn
from grader.course import Assignment, Late
from grader.errors import GraderError, UsageError
from grader.export_notes import named
from grader.handed_in import handed_in
from grader.late import TIMESTAMP_FILE
from grader.nbgrader_plugin.collected_times import keep_times
from grader.nbgrader_plugin.late_penalty import course_of_converter
from grader.nbgrader_plugin.workplace import without_progress
from grader.quiz_folder import notebooks
from grader.records import KERNELS_FILE
from grader.release import SOLUTIONS
from grader.reports.text import one_line
from grader.submission import NOTE_FILE

# Folders that instructors have around those of students.
TOP = ("submitted", "submissions")


class Unpack(ExtractorPlugin):
    """``ZipCollectApp.extractor_plugin``."""

    def extract(self, archive_path: str, extracted_path: str) -> None:
        """Write each student's files; log a sentence about everything that was left out. Raises OSError."""
        try:
            self._extract(Path(archive_path), Path(extracted_path))
        except GraderError as error:
            self.parent.fail("%s", one_line(str(error)))

    def _extract(self, archives: Path, extracted: Path) -> None:
        app = self.parent
        course = course_of_converter(app)
        assignment = course.assignment(app.coursedir.assignment_id)
        names = [path.name for path in notebooks(course.file.parent / SOLUTIONS / assignment.name)]
        # nbgrader's own default is a pattern, too, for one LMS: only one that somebody has set is meant.
        pattern = str(self.config.FileNameCollectorPlugin.get("named_regexp", ""))
        try:
            found = handed_in(archives, names, pattern, (*TOP, assignment.name))
        except re.error as error:
            raise UsageError(f"FileNameCollectorPlugin.named_regexp is no regular expression: {error}") from error
        files, kept = self._with_notes(found, (KERNELS_FILE, *names))
        places = {student: self._place(student) for student in files}
        told = [*found.notes, *kept, *keep_times(files, places, found.by_lms)]
        told += without_times(found, files, assignment, course.grading.late, datetime.now(UTC))
        for student, of in files.items():
            folder = extracted / student
            folder.mkdir()
            places[student].mkdir(parents=True, exist_ok=True)  # nbgrader warns of each that it makes
            for file, content in of.items():
                # New files in a new folder; nothing is there to be followed or overwritten.
                fd = os.open(folder / file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
                with os.fdopen(fd, "wb") as out:
                    out.write(content)
        collected = sum(any(name in of for name in (KERNELS_FILE, *names)) for of in files.values())
        self._speak_last(told, collected, found.lost)

    def _with_notes(self, found: HandedIn, work: Sequence[str]) -> tuple[dict[str, dict[str, bytes]], list[str]]:
        """What is put into each student's folder, with a note for whoever's kernels.py is not in it; sentences.

        What was collected before is better than a note, and stays.
        """
        files = {student: dict(of) for student, of in found.files.items()}
        told = []
        for student, why in found.unread.items():
            if any(os.path.lexists(self._place(student) / name) for name in work):
                files.pop(student, None)
                told.append(f"{student}: what was collected before stays")
            else:
                files.setdefault(student, {})[NOTE_FILE] = f"{one_line(why)}\n".encode()
        return files, told

    def _place(self, student: str) -> Path:
        directory = self.parent.coursedir
        return Path(directory.format_path(directory.submitted_directory, student, directory.assignment_id))

    def _speak_last(self, told: Sequence[str], collected: int, lost: Sequence[str]) -> None:
        """Let nbgrader copy, without its lines on each file; what there is to say comes below, last what is missing."""
        app = self.parent
        collect = app.process_extracted_files

        def collect_and_tell() -> None:
            try:
                with without_progress(app.log):
                    collect()
            finally:
                for sentence in told:
                    app.log.warning("%s", one_line(sentence))
            app.log.info("%d students' files are in %s", collected, app.coursedir.submitted_directory)
            if lost:
                first = one_line(lost[0])
                app.log.error("not everything was collected, see the sentences above (%d): %s", len(lost), first)
                app.exit(1)

        app.process_extracted_files = collect_and_tell


def without_times(
    found: HandedIn, files: dict[str, dict[str, bytes]], assignment: Assignment, late: Late, now: datetime
) -> list[str]:
    """A sentence about all who may be late for all that anybody knows, where it costs points to be."""
    students = [student for student in found.untimed if TIMESTAMP_FILE not in files.get(student, (TIMESTAMP_FILE,))]
    if not students or not late.per_day or assignment.due is None or now <= assignment.due:
        return []
    return [
        f"{assignment.name} was due {assignment.due.isoformat(' ', 'minutes')}, and nothing says when {len(students)} "
        f"students handed in ({named(students)}): they count as in time; write a {TIMESTAMP_FILE} for who was late"
    ]


class ByFolder(FileNameCollectorPlugin):
    """``ZipCollectApp.collector_plugin``: the folder's name is the student's, the file's its own."""

    def collect(self, submitted_file: str) -> dict[str, str]:
        """What nbgrader has to know of a file; the timestamp is in a file beside it."""
        path = Path(submitted_file)
        return {"student_id": path.parent.name, "file_id": path.name}
