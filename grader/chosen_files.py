"""Of all that was found for each student the files that count: the newest of each name. Pure; trusted process.

In: files with their student, name and age, one by one, and what could not be read. Out: ``HandedIn``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path

from grader.candidates import MAX_NOTES_OF_ONE, Age, Candidate, best_first, choices, some
from grader.intake import quoted, student_name_problem
from grader.late import TIMESTAMP_FILE, read_timestamp
from grader.records import KERNELS_FILE
from grader.release import HANDED_OUT

MAX_OTHERS = 4  # files of other names that are kept until it is known whether they are needed
EMPTY = "an empty folder"


@dataclass(frozen=True)
class HandedIn:
    """What was found: ``files`` maps student and file name to bytes; ``notes`` are sentences for the instructor.

    ``lost`` are those of the notes by which somebody's work, or a file of it, is not in ``files``, one for each
    student. ``unread`` says why, by student, where all or kernels.py is not. ``untimed`` are students in ``files`` of
    whom nothing says whether they were late; of ``by_lms`` the timestamp.txt is the LMS's word, not their own.
    """

    files: Mapping[str, Mapping[str, bytes]]
    notes: tuple[str, ...]
    lost: tuple[str, ...] = ()
    unread: Mapping[str, str] = field(default_factory=dict)
    untimed: tuple[str, ...] = ()
    by_lms: frozenset[str] = frozenset()


@dataclass(frozen=True, order=True)
class Student:
    """Whose file it is: a name, and what an LMS tells two of that name apart by, "" where no LMS has named it."""

    name: str
    number: str = ""


@dataclass
class ChosenFiles:
    """Collects. ``work`` are the names of the files that students write, kernels.py first."""

    work: Collection[str]
    _kept: dict[tuple[Student, str], list[Candidate]] = field(default_factory=dict)  # only the best has its data
    _others: dict[Student, dict[str, Candidate]] = field(default_factory=dict)  # that nobody asked for
    _unused: dict[Student, list[str]] = field(default_factory=dict)  # names of files
    _unread: dict[Student, list[tuple[str, str]]] = field(default_factory=dict)  # a sentence, the file's name or ""
    _times: dict[Student, datetime] = field(default_factory=dict)  # by the LMS's word
    _numbers: dict[str, set[str]] = field(default_factory=dict)  # an LMS's, by student's name
    _met: dict[Student, bool] = field(default_factory=dict)  # and whether it would be known if they had been late
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

    def cannot_read(self, student: Student, sentence: str, file: str = "") -> None:
        """Know of something of a student's that is not taken; "" where there are too many for a sentence each.

        ``file``: the name of the file that it would have been, if that is known.
        """
        self.see(student)
        self._unread.setdefault(student, []).append((sentence, file))

    def see(self, student: Student) -> None:
        """Know that something of a student's is there, be it an empty folder."""
        self._met.setdefault(student, False)

    def meet(self, student: Student, *, tells_late: bool) -> None:
        """Know of a student by an LMS's word, and whether that LMS tells who was late."""
        self._numbers.setdefault(student.name, set()).add(student.number)
        self._met[student] = self._met.get(student, False) or tells_late

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
        lacking = (file for file in self.work if (student, file) not in self._kept)
        return Path(name).suffix.lower() in {Path(file).suffix for file in lacking}

    def leave(self, student: Student, name: str) -> None:
        """Remember a file that nobody asked for, to be named where a student has no kernels.py."""
        self._unused.setdefault(student, []).append(name)

    def keep(self, student: Student, file: str, found: Candidate) -> None:
        """Keep the newest of a file that is asked for, and of the others that they were there."""
        self._kept[student, file] = best_first([*self._kept.get((student, file), ()), found])

    def keep_other(self, student: Student, name: str, found: Candidate) -> None:
        """Keep a file that nobody asked for, of these enough to know whether there is one alone."""
        others = self._others.setdefault(student, {})
        if (name in others and others[name].age < found.age) or (name not in others and len(others) < MAX_OTHERS):
            others[name] = found

    def result(self) -> HandedIn:
        """Students by their names alone where those are nobody else's, else with the LMS's number behind."""
        for student, moment in self._times.items():
            text = moment.isoformat().encode()  # the LMS's word, not the student's
            self._kept[student, TIMESTAMP_FILE] = [Candidate(Age((), 0, 0, (), 0), TIMESTAMP_FILE, text)]
        # Before the notes are read: it adds some.
        for student, others in self._others.items():
            self._take_the_only_one(student, others)
        self._tell_of_one_name()
        notes = [text if student is None else f"{self._called(student)}: {text}" for student, text in self._notes]

        refused = {student: student_name_problem(self._called(student)) for student in sorted(self._met)}
        kept: dict[str, dict[str, list[Candidate]]] = {}
        for (student, file), found in sorted(self._kept.items(), key=lambda item: item[0]):
            if refused[student] is None:
                of_name = kept.setdefault(self._called(student), {})
                of_name[file] = best_first([*of_name.get(file, ()), *found])
        files = {name: {file: found[0].data for file, found in of.items()} for name, of in kept.items()}
        for problem in filter(None, refused.values()):
            notes.append(f"{problem}; left out")
            self._lost.append(notes[-1])
        unread: dict[str, str] = {}
        for student in (student for student, problem in refused.items() if problem is None):
            notes += self._left_out(student, files.get(self._called(student), {}), unread)
        notes += choices(kept)
        timed = {self._called(student) for student, tells_late in self._met.items() if tells_late}
        untimed = tuple(name for name, of in files.items() if TIMESTAMP_FILE not in of and name not in timed)
        by_lms = frozenset(map(self._called, self._times))
        return HandedIn(files, tuple(dict.fromkeys(notes)), tuple(dict.fromkeys(self._lost)), unread, untimed, by_lms)

    def _left_out(self, student: Student, files: Mapping[str, bytes], unread: dict[str, str]) -> Iterator[str]:
        """What was not read or nobody asked for, in a line for a student who has no kernels.py, and who is so lost."""
        name = self._called(student)
        names = self._unused.get(student, [])
        problems = self._unread.get(student, [])
        if KERNELS_FILE in files:
            for sentence, file in problems:
                if sentence:
                    yield f"{name}: {sentence}"
                    if file in self.work and file not in files:
                        self._lost.append(f"{name}: {sentence}")
            if names := [file for file in names if file not in HANDED_OUT]:
                yield f"{name}: left out: {some(list(map(quoted, names)))}"
            return
        has_work = any(file in files for file in self.work)
        if has_work and not problems and student not in self._unused:
            return
        told = list(dict.fromkeys(sentence for sentence, _ in problems if sentence))
        more = len(told) > MAX_NOTES_OF_ONE or (not told and bool(problems))
        told = [*told[:MAX_NOTES_OF_ONE], *(["other files left out"] if more else [])]
        if names:
            told.append(f"found {some(list(map(quoted, names)))}")
        elif not has_work and not told:
            told = [f"only {TIMESTAMP_FILE}" if files else EMPTY]
        why = "; ".join([f"no {KERNELS_FILE}", *told])
        if not has_work or any(file != TIMESTAMP_FILE for _, file in problems):
            self._lost.append(f"{name}: {why}")
            unread[name] = why
        yield f"{name}: {why}"

    def _take_the_only_one(self, student: Student, others: Mapping[str, Candidate]) -> None:
        """A student's only .py is their kernels.py, whatever they call it, and so with the only notebook."""
        for wanted in self.work:
            suffix = Path(wanted).suffix
            alike = [name for name in others if name.lower().endswith(suffix)]
            same_kind = [name for name in self.work if name.endswith(suffix)]
            if len(alike) == len(same_kind) == 1 and (student, wanted) not in self._kept:
                self._kept[student, wanted] = [replace(others[alike[0]], told=True)]
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
