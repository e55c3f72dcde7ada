"""What leaves for nbgrader's exchange. nbgrader's process (trusted).

In: the course. Out: the exchange's folders, through nbgrader's own code, filled from folders made here.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from nbgrader.exchange.default import ExchangeReleaseAssignment, ExchangeReleaseFeedback

from grader.course import FILE_NAME, load_course
from grader.errors import GraderError
from grader.intake import CARRIED, ordinary_bytes
from grader.nbgrader_plugin.generate import notebooks
from grader.nbgrader_plugin.workplace import attributes, student_folders
from grader.records import Failure
from grader.release import build

MAX_CARRIED = 4096  # bytes; nbgrader writes a line into each


class FreshRelease(ExchangeReleaseAssignment):
    """``nbgrader release_assignment``: a new build, searched, whatever lies in assignments/.

    There a learner's work may lie, or a file that somebody has put there for a moment.
    """

    def start(self) -> None:
        """Release ``coursedir.assignment_id`` to the exchange. Raises ExchangeError."""
        with tempfile.TemporaryDirectory(prefix="grader-release-") as folder:
            self._fresh = Path(folder)
            super().start()

    def init_src(self) -> None:
        """Build into a folder of our own and let nbgrader copy that one."""
        try:
            course = load_course(Path(self.coursedir.root) / FILE_NAME)
            name = course.assignment(self.coursedir.assignment_id).name
            files = build(course, name, notebooks(course, name, self))
        except GraderError as error:
            self.fail(str(error))
        self.src_path = str(self._fresh / name)
        (self._fresh / name).mkdir()
        for file, text in files.items():
            (self._fresh / name / file).write_text(text, encoding="utf-8", newline="\n")
        # Exchange folders are named after the assignment, and "1" is "01".
        self.coursedir.assignment_id = name


class ReleaseFeedback(ExchangeReleaseFeedback):
    """``nbgrader release_feedback``: to whom has handed in through the exchange.

    nbgrader names a page by the secret that a hand-in came with. It ends, for all students, at the first one who has
    none, or an empty one: those whose work came from an LMS, and those who write such a file themselves.
    """

    def start(self) -> None:
        """Release feedback on ``coursedir.assignment_id``. Raises ExchangeError."""
        try:
            course = load_course(Path(self.coursedir.root) / FILE_NAME)
            name = course.assignment(self.coursedir.assignment_id).name
        except GraderError as error:
            self.fail(str(error))
        with attributes(self.coursedir, assignment_id=name):
            super().start()

    def copy_files(self) -> None:
        """Let nbgrader copy the pages of all who have a secret; a sentence says who has none."""
        without = [self.coursedir.student_id_exclude] if self.coursedir.student_id_exclude else []
        coursedir = self.coursedir
        for folder in student_folders(coursedir, coursedir.feedback_directory, coursedir.assignment_id):
            missing = [name for name in CARRIED if not _is_text(folder / name)]
            if missing:
                student = folder.parent.name
                without.append(student)
                self.log.warning(
                    "%s: no feedback is released for %r: there is no %s of nbgrader's exchange; hand the page out by "
                    "the way that the work came",
                    folder,
                    student,
                    " and no ".join(missing),
                )
        with attributes(self.coursedir, student_id_exclude=",".join(without)):
            super().copy_files()


def _is_text(path: Path) -> bool:
    """Whether there is a file with some text that nbgrader can read."""
    content = ordinary_bytes(path, MAX_CARRIED)
    try:
        return not isinstance(content, Failure) and bool(content.decode("utf-8").strip())
    except UnicodeDecodeError:
        return False
