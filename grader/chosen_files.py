"""Of all that was found for each student the files that count: the newest of each name. Pure; trusted process.

In: files with their student, name and age, one by one. Out: ``HandedIn``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from grader.intake import quoted, student_name_problem
from grader.late import TIMESTAMP_FILE, read_timestamp
from grader.records import KERNELS_FILE
from grader.release import HANDED_OUT

MAX_NOTES_OF_ONE = 5
MAX_OTHERS = 4  # files of other names that are kept until it is known whether they are needed


@dataclass(frozen=True)
class HandedIn:
    """What was found: ``files`` maps student and file name to bytes; ``notes`` are sentences for the instructor.

    ``lost`` are those of the notes by which somebody's work is not in ``files``.
    """

    files: Mapping[str, Mapping[str, bytes]]
    notes: tuple[str, ...]
    lost: tuple[str, ...] = ()


@dataclass(frozen=True, order=True)
class Student:
    """Whose file it is: a name, and what an LMS tells two of that name apart by, "" where no LMS has named it."""

    name: str
    number: str = ""


@dataclass(frozen=True, order=True)
class Age:
    """Which of several files of one name is the newest: by date, then by a copy's number, then the least deep."""

    date: tuple[int, ...]
    number: int
    place: tuple[int, int]


@dataclass
class ChosenFiles:
    """Collects. ``work`` are the names of the files that students write, kernels.py first."""

    work: Collection[str]
    _best: dict[tuple[Student, str], tuple[Age, bytes]] = field(default_factory=dict)
    _others: dict[Student, dict[str, tuple[Age, bytes]]] = field(default_factory=dict)  # that nobody asked for
    _unused: dict[Student, list[str]] = field(default_factory=dict)  # names of files
    _times: dict[Student, datetime] = field(default_factory=dict)  # by the LMS's word
    _numbers: dict[str, set[str]] = field(default_factory=dict)  # an LMS's, by student's name
    # About a student, if about one: what students are called is known when all have been met.
    _notes: list[tuple[Student | None, str]] = field(default_factory=list)
    _lost: list[str] = field(default_factory=list)

    def note(self, sentence: str, student: Student | None = None) -> None:
        """Tell the instructor something, about a student's files if one is given."""
        self._notes.append((student, sentence))

    def lose(self, sentence: str) -> None:
        """Tell the instructor of work that reaches nobody."""
        self.note(sentence)
        self._lost.append(sentence)

    def meet(self, student: Student) -> None:
        """Know of a student by an LMS's word."""
        self._numbers.setdefault(student.name, set()).add(student.number)

    def note_time(self, student: Student, text: str) -> None:
        """When an LMS says that something was handed in, as a timestamp.txt would say it. The latest counts."""
        moment = read_timestamp(text)
        if moment is not None:
            self._times[student] = max(moment, self._times.get(student, moment))

    def time_of(self, student: Student) -> datetime | None:
        """The latest that an LMS says so far, if it says anything."""
        return self._times.get(student)

    def could_be(self, student: Student, name: str) -> bool:
        """Whether a file of another name may be one that a student still lacks."""
        if name in HANDED_OUT:
            return False
        lacking = (file for file in self.work if (student, file) not in self._best)
        return Path(name).suffix.lower() in {Path(file).suffix for file in lacking}

    def leave(self, student: Student, name: str) -> None:
        """Remember a file that nobody asked for, to be named where a student has no kernels.py."""
        self._unused.setdefault(student, []).append(name)

    def keep(self, student: Student, file: str, age: Age, data: bytes) -> None:
        """Keep the newest of a file that is asked for."""
        if (student, file) in self._best:
            self.note(f"more than one {file}; the newest is taken", student)
        if (student, file) not in self._best or self._best[student, file][0] < age:
            self._best[student, file] = age, data

    def keep_other(self, student: Student, name: str, age: Age, data: bytes) -> None:
        """Keep a file that nobody asked for, of these enough to know whether there is one alone."""
        others = self._others.setdefault(student, {})
        if (name in others and others[name][0] < age) or (name not in others and len(others) < MAX_OTHERS):
            others[name] = age, data

    def result(self) -> HandedIn:
        """Students by their names alone where those are nobody else's, else with the LMS's number behind."""
        for student, moment in self._times.items():
            text = moment.isoformat().encode()
            self._best[student, TIMESTAMP_FILE] = (Age((), 0, (0, 0)), text)  # the LMS's word, not the student's
        # Before the notes are read: it adds some.
        for student, others in self._others.items():
            self._take_the_only_one(student, others)
        self._tell_of_one_name()

        files: dict[str, dict[str, bytes]] = {}
        ages: dict[tuple[str, str], Age] = {}
        notes = [text if student is None else f"{self._called(student)}: {text}" for student, text in self._notes]
        for (student, file), (age, data) in sorted(self._best.items(), key=lambda item: item[0]):
            name = self._called(student)
            problem = student_name_problem(name)
            if problem is not None:
                notes.append(f"{problem}; left out")
                self._lost.append(notes[-1])
                continue
            if (name, file) in ages:
                notes.append(f"{name}: more than one {file}; the newest is taken")
            if (name, file) not in ages or ages[name, file] < age:
                ages[name, file] = age
                files.setdefault(name, {})[file] = data
        notes += self._left_out(files)
        return HandedIn(files, tuple(dict.fromkeys(notes)), tuple(dict.fromkeys(self._lost)))

    def _left_out(self, files: Mapping[str, Mapping[str, bytes]]) -> Iterator[str]:
        """What nobody asked for, in a line for each student; a name that is refused has its own."""
        for student, names in self._unused.items():
            name = self._called(student)
            if student_name_problem(name) is not None:
                continue
            if KERNELS_FILE in files.get(name, {}):
                names = [file for file in names if file not in HANDED_OUT]  # noqa: PLW2901
            some = ", ".join(map(quoted, names[:MAX_NOTES_OF_ONE]))
            more = f" and {len(names) - MAX_NOTES_OF_ONE} more" if len(names) > MAX_NOTES_OF_ONE else ""
            if KERNELS_FILE not in files.get(name, {}):
                yield f"{name}: no {KERNELS_FILE}; found {some}{more}"
            elif names:
                yield f"{name}: left out: {some}{more}"

    def _take_the_only_one(self, student: Student, others: Mapping[str, tuple[Age, bytes]]) -> None:
        """A student's only .py is their kernels.py, whatever they call it, and so with the only notebook."""
        for wanted in self.work:
            suffix = Path(wanted).suffix
            alike = [name for name in others if name.lower().endswith(suffix)]
            same_kind = [name for name in self.work if name.endswith(suffix)]
            if len(alike) == len(same_kind) == 1 and (student, wanted) not in self._best:
                self._best[student, wanted] = others[alike[0]]
                self.note(f"{quoted(alike[0])} is taken for {wanted}, being the only one", student)
                self._unused[student] = [name for name in self._unused[student] if name != alike[0]]

    def _tell_of_one_name(self) -> None:
        for name, numbers in sorted(self._numbers.items()):
            if len(numbers) > 1:
                called = " and ".join(quoted(f"{name}_{number}") for number in sorted(numbers))
                self.note(
                    f"{len(numbers)} students are called {quoted(name)}: they are {called} here; look whether they are "
                    "in other assignments, too, where the LMS may have other numbers, or only one of them handed in"
                )

    def _called(self, student: Student) -> str:
        alone = len(self._numbers.get(student.name, ())) <= 1
        return student.name if alone or not student.number else f"{student.name}_{student.number}"
