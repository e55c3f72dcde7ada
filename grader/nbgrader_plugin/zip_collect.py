"""`nbgrader zip_collect` for whatever an LMS gives: our reader of archives as nbgrader's plugins. nbgrader's process.

In: the archives in ``downloaded/NN/archive``. Out: ``extracted/<student>/`` with kernels.py, notebooks and
timestamp.txt, one of each, which nbgrader then copies to ``submitted/<student>/NN``. Exit code 1 if somebody's work is
not among them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

from nbgrader.plugins.zipcollect import ExtractorPlugin, FileNameCollectorPlugin

from grader.errors import GraderError, UsageError
from grader.handed_in import handed_in
from grader.nbgrader_plugin.late_penalty import course_of_converter
from grader.quiz_folder import notebooks
from grader.release import SOLUTIONS
from grader.reports.text import one_line

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
        name = course.assignment(app.coursedir.assignment_id).name
        names = [path.name for path in notebooks(course.file.parent / SOLUTIONS / name)]
        # nbgrader's own default is a pattern, too, for one LMS: only one that somebody has set is meant.
        pattern = str(self.config.FileNameCollectorPlugin.get("named_regexp", ""))
        try:
            found = handed_in(archives, names, pattern, (*TOP, name))
        except re.error as error:
            raise UsageError(f"FileNameCollectorPlugin.named_regexp is no regular expression: {error}") from error
        for student, files in found.files.items():
            folder = extracted / student
            folder.mkdir()
            for file, content in files.items():
                # New files in a new folder; nothing is there to be followed or overwritten.
                fd = os.open(folder / file, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)
                with os.fdopen(fd, "wb") as out:
                    out.write(content)
        for note in found.notes:
            self.log.warning("%s", one_line(note))
        self.log.info("%d students' files are in %s", len(found.files), extracted)
        if found.lost:
            self._end_with_an_error(found.lost)

    def _end_with_an_error(self, lost: Sequence[str]) -> None:
        """Let nbgrader collect the others; then say it again, since its lines on them stand between."""
        app = self.parent
        collect_the_others = app.process_extracted_files

        def collect() -> None:
            collect_the_others()
            first = one_line(lost[0])
            app.log.error("not everything was collected, see the sentences above (%d): %s", len(lost), first)
            app.exit(1)

        app.process_extracted_files = collect


class ByFolder(FileNameCollectorPlugin):
    """``ZipCollectApp.collector_plugin``: the folder's name is the student's, the file's its own."""

    def collect(self, submitted_file: str) -> dict[str, str]:
        """What nbgrader has to know of a file; the timestamp is in a file beside it."""
        path = Path(submitted_file)
        return {"student_id": path.parent.name, "file_id": path.name}
