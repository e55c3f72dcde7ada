"""What leaves for nbgrader's exchange. nbgrader's process (trusted).

In: the course. Out: the exchange's folders, through nbgrader's own code, filled from folders made here.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from nbgrader.exchange.default import ExchangeReleaseAssignment

from grader.course import FILE_NAME, load_course
from grader.errors import GraderError
from grader.nbgrader_plugin.generate import notebooks
from grader.release import build


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
