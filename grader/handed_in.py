"""Submissions out of archives: what an LMS, a browser and a student's own zip make of kernels.py. Trusted process.

In: a folder with what was downloaded, zips and plain files, strangers' work. Out: per student the bytes of kernels.py,
of the assignment's notebooks and of timestamp.txt, and a sentence about everything else. Nothing is unpacked to disk,
links are not followed, and no entry is read further than its bound, whatever the archive says about its size.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from grader.archives import BROKEN, Entry, entries, folders, ignored, nfc, open_ordinary, reason, show
from grader.candidates import Age, Candidate, natural
from grader.chosen_files import ChosenFiles, HandedIn, Student
from grader.intake import printable_name, quoted, student_name_problem
from grader.late import TIMESTAMP_FILE, read_timestamp
from grader.lms_names import LmsName, asked_for, by_lms
from grader.notebook import MAX_NOTEBOOK_BYTES, SUFFIX
from grader.records import KERNELS_FILE

MAX_FILE = 4 << 20  # bytes: of all but notebooks
MAX_NESTED = 64 << 20  # bytes of a zip inside a zip
MAX_STUDENT = 64 << 20  # bytes read of what one student handed in, zips inside included
MAX_ENTRIES = 200_000  # in one archive of a class
MAX_NESTED_ENTRIES = 5_000


def handed_in(folder: Path, notebooks: Collection[str], pattern: str = "", top: Collection[str] = ()) -> HandedIn:
    """What the archives and files in ``folder`` hold for each student.

    ``notebooks`` are the assignment's file names, ``top`` names of folders that are around those of students.
    ``pattern``, a regular expression with groups ``student_id`` and if need be ``file_id`` and ``timestamp``, finds a
    student in a path; without one, the names that Moodle, Canvas and Blackboard give are known, ``<student>/…``, and
    ``<student>.zip`` with the files at its top. Of several files for one name the newest by its date in the archive is
    taken, then as ``Age`` says, and a sentence names them all.

    An LMS's names of people lose what nbgrader has no place for, and a sentence says so.

    Raises OSError if the folder cannot be listed; re.error for a pattern that is none.
    """
    found = ChosenFiles((KERNELS_FILE, *notebooks))
    reader = _Reader(found, re.compile(pattern) if pattern else None, {name.casefold() for name in top})
    loose = []
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if ignored(parts):
            continue
        if path.is_symlink():
            reader.leave_out(f"{show(parts)}: a link, not followed", parts)
        elif path.is_dir():
            reader.see_folder(parts)
        elif path.suffix.lower() == ".zip" and len(parts) == 1 and not reader.is_named_after_a_student(path.name):
            reader.read_class_archive(path)
        else:
            loose.append(Entry(parts, _fields(datetime.fromtimestamp(path.stat().st_mtime, UTC)), path))
    for entry in sorted(loose, key=lambda entry: reader.turn(entry.parts[-1])):
        reader.take(entry)
    return found.result()


@dataclass
class _Reader:
    """Reads archives and files into ``found``. For ``pattern`` and ``top`` see ``handed_in``."""

    found: ChosenFiles
    pattern: re.Pattern[str] | None
    top: Collection[str]
    bytes_read: dict[Student, int] = field(default_factory=dict)
    files_read: int = 0
    archive: str = ""  # the name of the one that is being read

    # ------------------------------------------------------------------ what is read

    def turn(self, name: str) -> int:
        """When a file is read: the assignment's first, so that no bound is reached before them; then zips."""
        return 0 if self._asked_for(name) is not None else 1 if name.lower().endswith(".zip") else 2

    def is_named_after_a_student(self, name: str) -> bool:
        """Whether an archive's own name says whose it is."""
        return (by_lms((name,)) if self.pattern is None else self.pattern.search(name)) is not None

    def read_class_archive(self, path: Path) -> None:
        """A zip of many students, or one that is named after a student and has the files at its top.

        That one is all that student's, whatever names are in it: they are the student's to choose.
        """
        left_out: list[tuple[str, tuple[str, ...]]] = []
        self.archive = path.name
        try:
            with open_ordinary(path) as file, zipfile.ZipFile(file) as archive:
                files = list(entries(archive, path.name, MAX_ENTRIES, lambda *told: left_out.append(told), self.turn))
                wanted = [entry.parts for entry in files if self._asked_for(entry.parts[-1]) is not None]
                at_top = any(len(parts) == 1 for parts in wanted)
                # The assignment's own folder, around all that there is.
                in_folder = bool(wanted) and all(len(self._below_top(parts)) == 1 for parts in wanted)
                owner = Student(nfc(path.stem)) if self.pattern is None and (at_top or in_folder) else None
                for sentence, parts in left_out:
                    self.leave_out(sentence, parts, owner)
                for parts in folders(archive, MAX_ENTRIES) if owner is None else ():
                    self.see_folder(parts)
                for entry in files:
                    self.take(entry, owner)
        except (OSError, *BROKEN) as error:
            self.found.lose(f"{path.name}: cannot be read: {reason(error)}")
        self.archive = ""

    def leave_out(self, sentence: str, parts: tuple[str, ...], owner: Student | None = None) -> None:
        """Tell of an entry that is not read, and whose it was; "" where there are too many for a sentence each."""
        student, rest = (owner, parts) if owner is not None or ".." in parts or not parts else self._whose(parts)
        wanted = self._asked_for(rest[-1]) if rest else None
        if student is not None and parts and student_name_problem(student.name) is None:
            self.found.cannot_read(student, sentence, wanted[0] if wanted is not None else "")
        elif sentence:
            is_work = wanted is not None or (len(parts) == 1 and parts[0].lower().endswith(".zip"))
            (self.found.lose if is_work else self.found.note)(sentence)

    def see_folder(self, parts: tuple[str, ...]) -> None:
        """Know whose a folder is, which may be empty."""
        student, _ = self._whose((*parts, ""))
        if student is not None:
            self.found.see(student)

    def take(self, entry: Entry, owner: Student | None = None, *, inside: str = "") -> None:
        """Read an entry if it is one of the assignment's files, or a zip that may hold some, but for one in a zip.

        ``inside``: the zip in the archive that it is in.
        """
        student, rest = self._whose(entry.parts) if owner is None else (owner, entry.parts)
        if student is None:
            sentence = f"{show(entry.parts)}: no student's name in it, left out"
            (self.found.note if self._asked_for(entry.parts[-1]) is None else self.found.lose)(sentence)
            return
        name = rest[-1]
        wanted = self._asked_for(name)
        self.found.see(student)
        packed = not inside and name.lower().endswith(".zip")
        if wanted is None and not packed:
            self.found.leave(student, name)
            if not self.found.could_be(student, name):
                return
        of_its_kind = MAX_NESTED if packed else MAX_NOTEBOOK_BYTES if name.lower().endswith(SUFFIX) else MAX_FILE
        limit = min(of_its_kind, max(MAX_STUDENT - self.bytes_read.get(student, 0), 0))
        try:
            data = entry.bytes(limit)
        except (OSError, *BROKEN) as error:
            file = wanted[0] if wanted is not None else ""
            self.found.cannot_read(student, f"{show(rest)}: cannot be read: {reason(error)}", file)
            return
        self.bytes_read[student] = self.bytes_read.get(student, 0) + len(data)
        if len(data) > limit:
            if wanted is not None or packed:
                file = wanted[0] if wanted is not None else ""
                self.found.cannot_read(student, f"{show(rest)}: larger than {limit:,} bytes, left out", file)
        elif packed:
            self._read_nested(data, show(rest), student)
        else:
            self._keep(student, entry, (*((inside,) if inside else ()), *rest), data)

    def _read_nested(self, data: bytes, shown: str, student: Student) -> None:
        """A student's own zip, whose entries are all that student's; a zip in it is not opened."""

        def note(sentence: str, parts: tuple[str, ...]) -> None:
            wanted = self._asked_for(parts[-1]) if parts else None
            self.found.cannot_read(student, sentence, wanted[0] if wanted is not None else "")

        try:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                if not archive.infolist():
                    note(f"{shown}: nothing is in it", ())
                for entry in entries(archive, shown, MAX_NESTED_ENTRIES, note, self.turn):
                    self.take(entry, student, inside=shown)
        except (OSError, *BROKEN) as error:
            note(f"{shown}: cannot be read: {reason(error)}", ())

    def _keep(self, student: Student, entry: Entry, rest: tuple[str, ...], data: bytes) -> None:
        wanted = self._asked_for(rest[-1])
        file, number = wanted or (rest[-1], 0)
        kept = _timestamp(data) if file == TIMESTAMP_FILE else data
        if kept is None:
            self.found.cannot_read(student, f"{show(rest)}: names no date and time, left out", file)
            return
        self.files_read += 1
        moment = self.found.time_of(student) if self.pattern is not None else None
        shown = show(rest)
        date = entry.date if moment is None else _fields(moment)
        age = Age(date, number, -len(rest), natural(shown), self.files_read)
        keep = self.found.keep_other if wanted is None else self.found.keep
        keep(student, file, Candidate(age, shown, kept, self.archive))

    # ------------------------------------------------------------------ whose it is

    def _asked_for(self, name: str) -> tuple[str, int] | None:
        """Which of the assignment's files that is by its name, and the number of a copy."""
        return asked_for(name, (*self.found.work, TIMESTAMP_FILE))

    def _whose(self, parts: tuple[str, ...]) -> tuple[Student | None, tuple[str, ...]]:
        """Whose file that is, None if nobody's, and its path within what that student handed in."""
        if self.pattern is not None:
            return self._by_pattern(parts, self.pattern)
        parts = self._below_top(parts)
        lms = by_lms(parts)
        if lms is not None:
            return self._of_lms(lms), (*((lms.rest,) if lms.rest else ()), *parts[1:]) or parts
        return (Student(parts[0]), parts[1:]) if len(parts) > 1 else (None, parts)

    def _by_pattern(self, parts: tuple[str, ...], pattern: re.Pattern[str]) -> tuple[Student | None, tuple[str, ...]]:
        match = pattern.search("/".join(parts))
        groups = match.groupdict(default="") if match is not None else {}
        student = Student(nfc(groups.get("student_id", "")))
        if not student.name:
            return None, parts
        self.found.note_time(student, groups.get("timestamp", ""))
        file = nfc(groups.get("file_id") or parts[-1]).replace("\\", "/").split("/")[-1]
        suffix = Path(parts[-1]).suffix
        return student, (file if file.endswith(suffix) else file + suffix,)

    def _below_top(self, parts: tuple[str, ...]) -> tuple[str, ...]:
        while len(parts) > 1 and parts[0].casefold() in self.top:
            parts = parts[1:]
        return parts

    def _of_lms(self, lms: LmsName) -> Student:
        student = Student(printable_name(lms.name), printable_name(lms.number))
        self.found.meet(student, tells_late=lms.tells_late)
        if student.name != lms.name:
            self.found.note(f"{quoted(lms.name)} is {quoted(student.name)} here")
        self.found.note_time(student, lms.time)
        if lms.late:
            self.found.note(
                f"late, says the LMS, which does not say when: without a {TIMESTAMP_FILE} it counts as in time", student
            )
        return student


def _fields(moment: datetime) -> tuple[int, ...]:
    """A moment as archives have dates: year, month, day, hour, minute, second."""
    return tuple(moment.timetuple()[:6])


def _timestamp(data: bytes) -> bytes | None:
    """The moment of a timestamp.txt in a form that nbgrader reads rightly; it takes a zone ``+0100`` for seconds."""
    moment = read_timestamp(data.decode("utf-8", "replace"))
    return None if moment is None else moment.isoformat().encode()
