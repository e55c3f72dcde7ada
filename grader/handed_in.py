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
from grader.intake import student_name_problem
from grader.late import TIMESTAMP_FILE, read_timestamp
from grader.records import KERNELS_FILE

MAX_FILE = 4 << 20  # bytes: of a kernels.py or a notebook with its figures
MAX_NESTED = 64 << 20  # bytes of a zip inside a zip
MAX_STUDENT = 64 << 20  # bytes read of what one student handed in, zips inside included
MAX_ENTRIES = 200_000  # in one archive of a class
MAX_NESTED_ENTRIES = 5_000
MAX_NOTES_OF_ONE = 5
MAX_OTHERS = 4  # files of other names that are kept until it is known whether they are needed
# Moodle: a folder "Ada King_123456_assignsubmission_file_" per student, or files with that in front of their name.
_MOODLE = re.compile(r"(?P<name>.+?)_(?P<number>\d+)_assignsubmission_(?:file|onlinetext)_?(?P<rest>.*)", re.DOTALL)
# Canvas: "kingada_123_456_kernels.py", "kingada_LATE_123_456_kernels-1.py" (user's and submission's numbers).
_CANVAS = re.compile(r"(?P<name>[^_]+?)(?:_LATE)?_(?P<number>\d+)_\d+_(?P<rest>.+)", re.DOTALL)
# Blackboard: "HW_ada_attempt_2027-03-01-22-10-05_kernels.py"; nbgrader's default has these times as UTC, too.
_BLACKBOARD = re.compile(r".*_(?P<name>[^_]+)_attempt_(?P<time>\d[\d-]+)_(?P<rest>.+)", re.DOTALL)
# What browsers, Canvas and file managers put behind the name of a second copy.
_COPY = re.compile(
    r"(?:[ _]*\((?P<a>\d{1,6})\)|[-_ ](?P<b>\d{1,6})|[-_ ]+(?:copy|kopie|copie|copia)(?: (?P<c>\d{1,6}))?)"
)


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

    A student is a name, with an LMS's number behind a NUL where there is one; ``names`` has the numbers of a name.
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


def handed_in(folder: Path, notebooks: Collection[str], pattern: str = "", top: Collection[str] = ()) -> HandedIn:
    """What the archives and files in ``folder`` hold for each student.

    ``notebooks`` are the assignment's file names, ``top`` names of folders that are around those of students.
    ``pattern``, a regular expression with groups ``student_id`` and if need be ``file_id``, finds a student in a path;
    without one, the names that Moodle, Canvas and Blackboard give are known, ``<student>/…``, and ``<student>.zip``
    with the files at its top. Of several files for one name the newest by its date in the archive is taken, then
    the copy with the highest number.

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
    for entry in loose:
        _take(found, entry, stem="")
    return _result(found)


def _of_one(found: _Found, name: str) -> bool:
    """Whether an archive's own name says whose it is."""
    return (found.pattern.search(name) if found.pattern is not None else _by_lms((name,))) is not None


def _read_class_archive(found: _Found, path: Path) -> None:
    """A zip of many students, or one that is named after a student and has the files at its top."""
    try:
        with open_ordinary(path) as file, zipfile.ZipFile(file) as archive:
            files = list(entries(archive, path.name, MAX_ENTRIES, found.notes.append))
            at_top = any(len(e.parts) == 1 and _wanted(e.parts[0], found.notebooks) for e in files)
            for entry in files:
                _take(found, entry, nfc(path.stem) if at_top else "")
    except (OSError, *BROKEN) as error:
        found.notes.append(f"{path.name}: cannot be read: {reason(error)}")


def _take(found: _Found, entry: Entry, stem: str, owner: str = "") -> None:
    """Read an entry if it is one of the assignment's files, or a zip that may hold some."""
    student, rest = (owner, entry.parts) if owner else _student(found, entry.parts, stem)
    if not student:
        found.notes.append(f"{show(entry.parts)}: no student's name in it, left out")
        return
    name = rest[-1]
    wanted = _wanted(name, found.notebooks)
    nested = not owner and name.lower().endswith(".zip")
    if wanted is None and not nested:
        found.unused.setdefault(student, []).append(name)
        if not name.lower().endswith((".py", ".ipynb")):
            return
    limit = min(MAX_NESTED if nested else MAX_FILE, max(MAX_STUDENT - found.read.get(student, 0), 0))
    shown = f"{student}: {show(rest)}"
    try:
        data = entry.bytes(limit)
    except (OSError, *BROKEN) as error:
        found.notes.append(f"{shown}: cannot be read: {reason(error)}")
        return
    found.read[student] = found.read.get(student, 0) + len(data)
    if len(data) > limit:
        found.notes.append(f"{shown}: larger than {limit:,} bytes, left out")
    elif nested:
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
            for entry in entries(archive, shown, MAX_NESTED_ENTRIES, found.notes.append):
                _take(found, entry, "", student)
    except (OSError, *BROKEN) as error:
        found.notes.append(f"{shown}: cannot be read: {reason(error)}")


def _student(found: _Found, parts: tuple[str, ...], stem: str) -> tuple[str, tuple[str, ...]]:
    """Whose file that is, "" if nobody's, and its path within what that student handed in."""
    if found.pattern is not None:
        match = found.pattern.search("/".join(parts))
        groups = match.groupdict() if match is not None else {}
        student = nfc(groups.get("student_id") or "")
        _note_time(found, student, groups.get("timestamp"))
        file = nfc(groups.get("file_id") or parts[-1]).replace("\\", "/").split("/")[-1]
        suffix = Path(parts[-1]).suffix
        return student, (file if file.endswith(suffix) else file + suffix,)
    while len(parts) > 1 and parts[0].casefold() in found.top:
        parts = parts[1:]
    match = _by_lms(parts)
    if match is not None:
        groups = match.groupdict()
        name = groups["name"].strip()
        found.names.setdefault(name, set()).add(groups.get("number") or "")
        student = f"{name}\0{groups.get('number') or ''}"
        _note_time(found, student, _blackboard_time(groups.get("time")))
        return student, (*((groups["rest"],) if groups["rest"] else ()), *parts[1:]) or parts
    if stem:
        return stem, parts
    return (parts[0], parts[1:]) if len(parts) > 1 else ("", parts)


def _by_lms(parts: tuple[str, ...]) -> re.Match[str] | None:
    """The student in a name that an LMS gave; only Moodle makes folders."""
    forms = (_MOODLE,) if len(parts) > 1 else (_MOODLE, _BLACKBOARD, _CANVAS)
    return next((match for match in (form.fullmatch(parts[0]) for form in forms) if match is not None), None)


def _timestamp(data: bytes) -> bytes | None:
    """The moment of a timestamp.txt in a form that nbgrader reads rightly; it takes a zone ``+0100`` for seconds."""
    moment = read_timestamp(data.decode("utf-8", "replace"))
    return None if moment is None else moment.isoformat().encode()


def _note_time(found: _Found, student: str, text: str | None) -> None:
    moment = read_timestamp(text or "")
    if moment is not None:
        found.times[student] = max(moment, found.times.get(student, moment))


def _blackboard_time(text: str | None) -> str:
    """``2027-03-01-22-10-05`` as others write it."""
    numbers = (text or "").split("-")
    return f"{'-'.join(numbers[:3])} {':'.join(numbers[3:])}"


def _wanted(name: str, notebooks: Collection[str]) -> tuple[str, int] | None:
    """Which of the assignment's files has that name, or had it before it was copied, and the copy's number."""
    for wanted in (KERNELS_FILE, TIMESTAMP_FILE, *notebooks):
        stem, dot, suffix = nfc(wanted).rpartition(".")
        if name.casefold() == wanted.casefold():
            return wanted, 0
        if name.casefold().startswith(stem.casefold()) and name.casefold().endswith((dot + suffix).casefold()):
            tail, number = name[len(stem) : -len(suffix) - 1], 0
            while tail and (copy := _COPY.match(tail.casefold())):
                number, tail = max(number, *(int(group or 0) for group in copy.groups())), tail[copy.end() :]
            if not tail.strip():
                return wanted, number
    return None


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
        elif (name, file) not in ages or ages[name, file] < age:
            ages[name, file] = age
            files.setdefault(name, {})[file] = data
    for student, names in found.unused.items():
        name = _named(found, student)
        if KERNELS_FILE not in files.get(name, {}):
            some = ", ".join(repr(file) for file in names[:MAX_NOTES_OF_ONE])
            notes.append(f"{name}: no {KERNELS_FILE}; found {some}{' …' if len(names) > MAX_NOTES_OF_ONE else ''}")
    return HandedIn(files, tuple(dict.fromkeys(note.replace("\0", "_") for note in notes)))


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
    name, _, number = student.partition("\0")
    return f"{name}_{number}" if number and len(found.names.get(name, ())) > 1 else name
