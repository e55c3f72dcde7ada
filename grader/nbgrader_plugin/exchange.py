"""What leaves for nbgrader's exchange, and what is taken from it. nbgrader's process (trusted).

In: the course; folders of the exchange, which are students' to change. Out: the exchange's folders, through nbgrader's
own code, filled from folders made here; submitted/<student>/NN with ordinary files of known names.
"""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.exchange.default import ExchangeCollect, ExchangeReleaseAssignment, ExchangeReleaseFeedback
from nbgrader.utils import parse_utc

from grader import quiz_folder
from grader.course import FILE_NAME, load_course
from grader.errors import GraderError
from grader.intake import CARRIED, MAX_CARRIED, NO_FILE, ordinary_bytes, quoted, student_name_problem
from grader.late import TIMESTAMP_FILE, read_timestamp
from grader.lms_names import recognised
from grader.nbgrader_plugin import feedback_state
from grader.nbgrader_plugin.generate import notebooks, require_notebooks
from grader.nbgrader_plugin.staging import limits_of
from grader.nbgrader_plugin.workplace import attributes, student_folders, without_progress, working_in
from grader.records import Failure
from grader.release import HANDED_OUT, SOLUTIONS, build

MAX_NAMED = 5  # of files that may be meant, in a sentence


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
            require_notebooks(course, name)
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
            if stale := feedback_state.outdated(self.coursedir, course, name):
                command = f"nbgrader generate_feedback {name} --force"
                self.log.warning("%s, and go out as they are: `%s` first", feedback_state.sentence(stale), command)
            super().start()

    def copy_files(self) -> None:
        """Let nbgrader copy the pages of all who have a secret; sentences say who has none, and how many went out.

        Each who has none is named: somebody has to send these pages.
        """
        excluded = self.coursedir.student_id_exclude.split(",")
        coursedir = self.coursedir
        released = 0
        without: dict[str, list[str]] = {}
        for folder in student_folders(coursedir, coursedir.feedback_directory, coursedir.assignment_id):
            if folder.parent.name in excluded or not any(folder.glob(f"*{feedback_state.PAGE}")):
                continue
            missing = " and no ".join(name for name in CARRIED if not _is_text(folder / name))
            if missing:
                without.setdefault(missing, []).append(folder.parent.name)
            released += not missing
        kept = [student for students in without.values() for student in students]
        with (
            attributes(coursedir, student_id_exclude=",".join([*filter(None, excluded), *kept])),
            without_progress(self.log),
        ):
            super().copy_files()
        for missing, students in without.items():
            self.log.warning(
                "no feedback is released for %d (%s): there is no %s of nbgrader's exchange; hand their pages in %s "
                "out by the way that the work came",
                len(students),
                ", ".join(map(quoted, students)),
                missing,
                coursedir.feedback_directory,
            )
        self.log.info("%s: feedback of %d released, of %d not", coursedir.assignment_id, released, len(kept))


def _is_text(path: Path) -> bool:
    """Whether there is a file with some text that nbgrader can read."""
    content = ordinary_bytes(path, MAX_CARRIED)
    try:
        return not isinstance(content, Failure) and bool(content.decode("utf-8").strip())
    except UnicodeDecodeError:
        return False


def owner_of(path: str) -> str:
    """Whom a folder belongs to, "" if that has no name."""
    try:
        return pwd.getpwuid(os.lstat(path).st_uid).pw_name
    except (OSError, KeyError):
        return ""


class SafeCollect(ExchangeCollect):
    """``nbgrader collect``, which by itself reads whatever a link in a submission points to.

    A folder in the exchange that is no submission, or of a name that no student has, is left where it is.
    """

    def _path_to_record(self, path: str) -> dict[str, Any]:
        """As nbgrader's; one without a ``username`` for what is none. nbgrader's ends the run there, for everyone."""
        parts = Path(path).name.rsplit("+", 3)
        try:
            moment = parse_utc(parts[2])
        except Exception as error:  # of whichever kind: a student has written it
            return self._none(path, f"no submission: {error}")
        if parts[1] != self.coursedir.assignment_id:
            return self._none(path, "no submission, or of a student whose name holds '+'")
        problem = student_name_problem(parts[0])
        if problem is not None:
            return self._none(path, problem)
        return {"username": parts[0], "filename": Path(path).name, "timestamp": moment}

    def _sort_by_timestamp(self, records: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """As nbgrader's, of one student's folders; those of another owner count only where none is the student's own.

        Anybody can make a folder that is named after somebody else; nbgrader warns, and takes the newest.
        """
        if self.check_owner:
            theirs = [record for record in records if owner_of(self._place(record)) == record["username"]]
            if theirs:
                for record in records:
                    if record not in theirs:
                        self.log.error("%s: not collected: it belongs to another user", ascii(self._place(record)))
                records = theirs
        newest_first: list[dict[str, Any]] = super()._sort_by_timestamp(records)
        return newest_first

    def _place(self, record: dict[str, Any]) -> str:
        return str(Path(self.inbound_path) / record["filename"])

    def _none(self, path: str, why: str) -> dict[str, Any]:
        self.log.error("%s: not collected: %s", ascii(path), why)
        return {"username": "", "filename": "", "timestamp": datetime.min}

    def init_src(self) -> None:
        """As nbgrader's, without what has no student. Raises ExchangeError."""
        try:
            course = load_course(Path(self.coursedir.root) / FILE_NAME)
            self.coursedir.assignment_id = course.assignment(self.coursedir.assignment_id).name
        except GraderError as error:
            self.fail(str(error))
        super().init_src()
        self.src_records: list[dict[str, Any]] = [record for record in self.src_records if record["username"]]

    def start(self) -> None:
        """Collect ``coursedir.assignment_id``. Raises ExchangeError."""
        with working_in(Path(self.coursedir.root).resolve()):
            super().start()

    def do_copy(self, src: str, dest: str, log: Any = None) -> None:
        """Copy the files of a submission that have a part in it, each if it is an ordinary one.

        They come to their place all at once: nbgrader takes a folder there for a submission that has been collected.
        """
        there = Path(dest)
        beside = there.with_name(f".{there.name}.collected")
        if beside.is_dir():
            shutil.rmtree(beside)  # of a run that was killed: another one cannot be here
        beside.mkdir(parents=True)
        for name, content in self._files_of(Path(src)).items():
            (beside / name).write_bytes(content)
        if self.coursedir.groupshared:
            beside.chmod(0o2770 | beside.stat().st_mode)
            for path in beside.iterdir():
                path.chmod(0o664)
        beside.rename(there)

    def _called(self, src: Path, work: list[str]) -> dict[str, str]:
        """What the files ``work`` are called in a submission; a sentence for each that has another name, or none."""
        try:
            # Names alone: whatever becomes of the folder meanwhile, each file is looked at when it is opened.
            there = [] if src.is_symlink() else sorted(path.name for path in src.iterdir())
        except OSError:
            there = []
        others = [name for name in there if name not in (*CARRIED, *HANDED_OUT) and not name.startswith(".")]
        called = recognised(others, work)
        for name in work:
            kind = [other for other in others if Path(other).suffix == Path(name).suffix and other not in work]
            if called.get(name, name) != name:
                self.log.warning("%s: %s is taken for %s", ascii(str(src)), quoted(called[name]), name)
            elif name not in called and kind:
                some = ", ".join(map(quoted, kind[:MAX_NAMED]))
                self.log.warning("%s: no %s; found %s", ascii(str(src)), name, some)
        return called

    def _files_of(self, src: Path) -> dict[str, bytes]:
        """What is taken of a folder in the exchange, by name."""
        source = Path(self.coursedir.root) / SOLUTIONS / self.coursedir.assignment_id
        files = {}
        limits = limits_of(path.name for path in quiz_folder.notebooks(source))
        called = self._called(src, [name for name in limits if name not in CARRIED])
        for name, limit in limits.items():
            content = ordinary_bytes(src / called.get(name, name), limit)
            if not isinstance(content, Failure):
                files[name] = content
            elif content.kind != NO_FILE:
                self.log.error("%s: not collected: %s", ascii(str(src)), content.what)
        if read_timestamp(files.get(TIMESTAMP_FILE, b"").decode("utf-8", "replace")) is None:
            # Without one nobody is late, and nbgrader writes one into each: who has removed it has the folder's moment.
            moment = self._path_to_record(str(src))["timestamp"].isoformat(sep=" ")
            self.log.warning("%s: %s names no moment; that of the folder counts", ascii(str(src)), TIMESTAMP_FILE)
            files[TIMESTAMP_FILE] = f"{moment} UTC".encode()
        return files
