"""Submissions out of archives: what an LMS, a browser and a student's own zip make of kernels.py. Trusted process.

In: a folder with what was downloaded, zips and plain files, strangers' work. Out: per student the bytes of kernels.py,
of the assignment's notebooks and of timestamp.txt, and a sentence about everything else. Nothing is unpacked to disk,
links are not followed, and no entry is read further than its bound, whatever the archive says about its size.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from grader.archives import BROKEN, Entry, entries, ignored, nfc, open_ordinary, reason, show
from grader.intake import printable_name, student_name_problem
from grader.late import TIMESTAMP_FILE, read_timestamp
from grader.lms_names import LmsName, asked_for, by_lms
from grader.notebook import MAX_NOTEBOOK_BYTES, SUFFIX
from grader.records import KERNELS_FILE

MAX_FILE = 4 << 20  # bytes: of all but notebooks
MAX_NESTED = 64 << 20  # bytes of a zip inside a zip
MAX_STUDENT = 64 << 20  # bytes read of what one student handed in, zips inside included
MAX_ENTRIES = 200_000  # in one archive of a class
MAX_NESTED_ENTRIES = 5_000
MAX_NOTES_OF_ONE = 5
_KEY = re.compile(r"[^\0]*\0[^\0]*\0")  # a student of an LMS's, see _Found
MAX_OTHERS = 4  # files of other names that are kept until it is known whether they are needed


@dataclass(frozen=True)
class HandedIn:
    """What was found: ``files`` maps student and file name to bytes; ``notes`` are sentences for the instructor."""

    files: Mapping[str, Mapping[str, bytes]]
    notes: tuple[str, ...]


@dataclass(frozen=True, order=True)
class _Age:
    """Which of several files of one name is the newest: by date, then by a copy's number, then the least deep."""

    date: tuple[int, ...]
    number: int
    place: tuple[int, int]


@dataclass
class _Found:
    """Collects. ``best`` maps student and file to the newest so far, ``others`` does for names that nobody asked for.

    A student is a name, of an LMS's with its number, NULs around it, behind; ``names`` has the numbers of a name.
    """

    notebooks: Collection[str]
    pattern: re.Pattern[str] | None
    top: Collection[str]
    best: dict[tuple[str, str], tuple[_Age, bytes]] = field(default_factory=dict)
    read: dict[str, int] = field(default_factory=dict)
    names: dict[str, set[str]] = field(default_factory=dict)
    others: dict[str, dict[str, tuple[_Age, bytes]]] = field(default_factory=dict)
    unused: dict[str, list[str]] = field(default_factory=dict)
    times: dict[str, datetime] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    order: int = 0

    def asked_for(self, name: str) -> tuple[str, int] | None:
        """Which of the assignment's files that is by its name, and the number of a copy."""
        return asked_for(name, (KERNELS_FILE, TIMESTAMP_FILE, *self.notebooks))

    def comes(self, name: str) -> int:
        """When a file is read: the assignment's first, so that no bound is reached before them; then zips."""
        return 0 if self.asked_for(name) is not None else 1 if name.lower().endswith(".zip") else 2

    def could_be(self, student: str, name: str) -> bool:
        """Whether a file of another name may be one that a student still lacks."""
        lacking = (file for file in (KERNELS_FILE, *self.notebooks) if (student, file) not in self.best)
        return Path(name).suffix.lower() in {Path(file).suffix for file in lacking}


def handed_in(folder: Path, notebooks: Collection[str], pattern: str = "", top: Collection[str] = ()) -> HandedIn:
    """What the archives and files in ``folder`` hold for each student.

    ``notebooks`` are the assignment's file names, ``top`` names of folders that are around those of students.
    ``pattern``, a regular expression with groups ``student_id`` and if need be ``file_id``, finds a student in a path;
    without one, the names that Moodle, Canvas and Blackboard give are known, ``<student>/…``, and ``<student>.zip``
    with the files at its top. Of several files for one name the newest by its date in the archive is taken, then
    the copy with the highest number.

    An LMS's names of people lose what nbgrader has no place for, and a sentence says so.

    Raises OSError if the folder cannot be listed; re.error for a pattern that is none.
    """
    found = _Found(notebooks, re.compile(pattern) if pattern else None, {t.casefold() for t in top})
    loose = []
    for path in sorted(folder.rglob("*")):
        parts = path.relative_to(folder).parts
        if path.is_symlink():
            found.notes.append(f"{show(parts)}: a link, not followed")
        elif path.is_dir() or ignored(parts):
            continue
        elif path.suffix.lower() == ".zip" and len(parts) == 1 and not _of_one(found, path.name):
            _read_class_archive(found, path)
        else:
            moment = datetime.fromtimestamp(path.stat().st_mtime, UTC)
            loose.append(Entry(parts, tuple(moment.timetuple()[:6]), path))
    for entry in sorted(loose, key=lambda entry: found.comes(entry.parts[-1])):
        _take(found, entry)
    return _result(found)


def _of_one(found: _Found, name: str) -> bool:
    """Whether an archive's own name says whose it is."""
    return (found.pattern.search(name) if found.pattern is not None else by_lms((name,))) is not None


def _read_class_archive(found: _Found, path: Path) -> None:
    """A zip of many students, or one that is named after a student and has the files at its top.

    That one is all that student's, whatever names are in it: they are the student's to choose.
    """
    try:
        with open_ordinary(path) as file, zipfile.ZipFile(file) as archive:
            files = list(entries(archive, path.name, MAX_ENTRIES, found.notes.append, found.comes))
            wanted = [entry.parts for entry in files if found.asked_for(entry.parts[-1]) is not None]
            at_top = any(len(parts) == 1 for parts in wanted)
            # The assignment's own folder, around all that there is.
            in_folder = bool(wanted) and all(len(_below_top(found, parts)) == 1 for parts in wanted)
            owner = nfc(path.stem) if found.pattern is None and (at_top or in_folder) else ""
            for entry in files:
                _take(found, entry, owner)
    except (OSError, *BROKEN) as error:
        found.notes.append(f"{path.name}: cannot be read: {reason(error)}")


def _take(found: _Found, entry: Entry, owner: str = "", *, nested: bool = False) -> None:
    """Read an entry if it is one of the assignment's files, or a zip that may hold some, but for one in a zip."""
    student, rest = (owner, entry.parts) if owner else _student(found, entry.parts)
    if not student:
        found.notes.append(f"{show(entry.parts)}: no student's name in it, left out")
        return
    name = rest[-1]
    wanted = found.asked_for(name)
    packed = not nested and name.lower().endswith(".zip")
    if wanted is None and not packed:
        found.unused.setdefault(student, []).append(name)
        if not found.could_be(student, name):
            return
    of_its_kind = MAX_NESTED if packed else MAX_NOTEBOOK_BYTES if name.lower().endswith(SUFFIX) else MAX_FILE
    limit = min(of_its_kind, max(MAX_STUDENT - found.read.get(student, 0), 0))
    shown = f"{student}: {show(rest)}"
    try:
        data = entry.bytes(limit)
    except (OSError, *BROKEN) as error:
        found.notes.append(f"{shown}: cannot be read: {reason(error)}")
        return
    found.read[student] = found.read.get(student, 0) + len(data)
    if len(data) > limit:
        if wanted is not None or packed:
            found.notes.append(f"{shown}: larger than {limit:,} bytes, left out")
    elif packed:
        _read_nested(found, data, shown, student)
    else:
        file, number = wanted or (name, 0)
        kept = _timestamp(data) if file == TIMESTAMP_FILE else data
        if kept is None:
            found.notes.append(f"{shown}: names no date and time, left out")
            return
        found.order += 1
        moment = found.times.get(student)
        date = tuple(moment.timetuple()[:6]) if moment and found.pattern else entry.date
        _keep(found, student, file, (_Age(date, number, (-len(rest), -found.order)), kept), asked=wanted is not None)


def _keep(found: _Found, student: str, file: str, one: tuple[_Age, bytes], *, asked: bool) -> None:
    """Keep the newest; of files that nobody asked for enough to know whether there is one alone."""
    if not asked:
        others = found.others.setdefault(student, {})
        if (file in others and others[file][0] < one[0]) or (file not in others and len(others) < MAX_OTHERS):
            others[file] = one
        return
    if (student, file) in found.best:
        found.notes.append(f"{student}: more than one {file}; the newest is taken")
    if (student, file) not in found.best or found.best[student, file][0] < one[0]:
        found.best[student, file] = one


def _read_nested(found: _Found, data: bytes, shown: str, student: str) -> None:
    """A student's own zip, whose entries are all that student's; a zip in it is not opened."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            for entry in entries(archive, shown, MAX_NESTED_ENTRIES, found.notes.append, found.comes):
                _take(found, entry, student, nested=True)
    except (OSError, *BROKEN) as error:
        found.notes.append(f"{shown}: cannot be read: {reason(error)}")


def _student(found: _Found, parts: tuple[str, ...]) -> tuple[str, tuple[str, ...]]:
    """Whose file that is, "" if nobody's, and its path within what that student handed in."""
    if found.pattern is not None:
        match = found.pattern.search("/".join(parts))
        groups = match.groupdict() if match is not None else {}
        student = nfc(groups.get("student_id") or "")
        _note_time(found, student, groups.get("timestamp"))
        file = nfc(groups.get("file_id") or parts[-1]).replace("\\", "/").split("/")[-1]
        suffix = Path(parts[-1]).suffix
        return student, (file if file.endswith(suffix) else file + suffix,)
    parts = _below_top(found, parts)
    lms = by_lms(parts)
    if lms is not None:
        student = _student_of_lms(found, lms)
        return student, (*((lms.rest,) if lms.rest else ()), *parts[1:]) or parts
    return (parts[0], parts[1:]) if len(parts) > 1 else ("", parts)


def _below_top(found: _Found, parts: tuple[str, ...]) -> tuple[str, ...]:
    while len(parts) > 1 and parts[0].casefold() in found.top:
        parts = parts[1:]
    return parts


def _student_of_lms(found: _Found, lms: LmsName) -> str:
    name = printable_name(lms.name)
    if name != lms.name:
        found.notes.append(f"{lms.name!a} is {name!a} here")
    number = printable_name(lms.number)
    found.names.setdefault(name, set()).add(number)
    student = f"{name}\0{number}\0"
    _note_time(found, student, lms.time)
    if lms.late:
        found.notes.append(f"{student}: late, says the LMS, which does not say when")
    return student


def _timestamp(data: bytes) -> bytes | None:
    """The moment of a timestamp.txt in a form that nbgrader reads rightly; it takes a zone ``+0100`` for seconds."""
    moment = read_timestamp(data.decode("utf-8", "replace"))
    return None if moment is None else moment.isoformat().encode()


def _note_time(found: _Found, student: str, text: str | None) -> None:
    moment = read_timestamp(text or "")
    if moment is not None:
        found.times[student] = max(moment, found.times.get(student, moment))


def _result(found: _Found) -> HandedIn:
    """Students by their names alone where those are nobody else's, else with the LMS's number behind."""
    for student, moment in found.times.items():
        text = moment.isoformat().encode()
        found.best[student, TIMESTAMP_FILE] = (_Age((), 0, (0, 0)), text)  # the LMS's word, not the student's
    for student, others in found.others.items():
        _take_the_only_one(found, student, others)

    files: dict[str, dict[str, bytes]] = {}
    ages: dict[tuple[str, str], _Age] = {}
    notes = list(found.notes)
    for (student, file), (age, data) in sorted(found.best.items(), key=lambda item: item[0]):
        name = _named(found, student)
        problem = student_name_problem(name)
        if problem is not None:
            notes.append(f"{problem}; left out")
            continue
        if (name, file) in ages:
            notes.append(f"{name}: more than one {file}; the newest is taken")
        if (name, file) not in ages or ages[name, file] < age:
            ages[name, file] = age
            files.setdefault(name, {})[file] = data
    for student, names in found.unused.items():
        name = _named(found, student)
        if KERNELS_FILE not in files.get(name, {}):
            some = ", ".join(repr(file) for file in names[:MAX_NOTES_OF_ONE])
            notes.append(f"{name}: no {KERNELS_FILE}; found {some}{' …' if len(names) > MAX_NOTES_OF_ONE else ''}")
    named = (_KEY.sub(lambda key: _named(found, key[0]), note) for note in notes)
    return HandedIn(files, tuple(dict.fromkeys(named)))


def _take_the_only_one(found: _Found, student: str, others: Mapping[str, tuple[_Age, bytes]]) -> None:
    """A student's only .py is their kernels.py, whatever they call it, and so with the only notebook."""
    for wanted in (KERNELS_FILE, *found.notebooks):
        suffix = Path(wanted).suffix
        alike = [name for name in others if name.lower().endswith(suffix)]
        same_kind = [name for name in (KERNELS_FILE, *found.notebooks) if name.endswith(suffix)]
        if len(alike) == len(same_kind) == 1 and (student, wanted) not in found.best:
            found.best[student, wanted] = others[alike[0]]
            found.notes.append(f"{student}: {alike[0]!r} is taken for {wanted}, being the only one")


def _named(found: _Found, student: str) -> str:
    name, _, number = student.rstrip("\0").partition("\0")
    return f"{name}_{number}" if number and len(found.names.get(name, ())) > 1 else name
