"""What lies in a class's folder of submissions, strangers' work: who has handed in what, and when. Trusted process.

In: ``<folder>/<student>/<assignment>``. Out: folders by student; the moment that a timestamp.txt names.
"""

from __future__ import annotations

import os
from datetime import datetime
from pathlib import Path

from grader.intake import NO_FILE, ordinary_bytes
from grader.late import MAX_TIMESTAMP, TIMESTAMP_FILE, read_timestamp
from grader.records import Failure


def submissions(folder: Path, assignment: str) -> tuple[dict[str, Path], tuple[str, ...]]:
    """``<folder>/<student>/<assignment>`` by student in alphabetical order, and the students who lack it.

    Whatever has that name counts as handed in, also if it is no folder: judging it says what is wrong. An empty folder
    does not.
    """
    students = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    handed_in = {s.name: s / assignment for s in students if is_handed_in(s / assignment)}
    return handed_in, tuple(s.name for s in students if s.name not in handed_in)


def is_handed_in(place: Path) -> bool:
    """Whether ``place`` is there and not just an empty folder; files with a dot in front are nobody's work."""
    if place.is_symlink() or not place.is_dir():
        return os.path.lexists(place)
    try:
        with os.scandir(place) as entries:
            return any(not entry.name.startswith(".") for entry in entries)
    except OSError:
        return True  # judging it says why it cannot be listed


def linked(folder: Path, student: str) -> str | None:
    """Why nothing is read of a student whose folder in ``folder`` is a link; None if it is none.

    It may lead to another student's, or anywhere; the work of one person would be judged as another's.
    """
    if (folder / student).is_symlink():
        return f"the student's folder {student!a} is a link; put a folder in its place"
    return None


def timestamp_of(folder: Path) -> datetime | str | None:
    """When ``folder/timestamp.txt`` says it was handed in; None without that file; a str says what is wrong with it.

    The folder may be a stranger's: links are not followed, a pipe is not waited for.
    """
    if folder.is_symlink() or not folder.is_dir():
        return None  # judging it says so
    content = ordinary_bytes(folder / TIMESTAMP_FILE, MAX_TIMESTAMP)
    if isinstance(content, Failure):
        return None if content.kind == NO_FILE else f"{content.what.rstrip('.')}, so nothing is off for being late"
    moment = read_timestamp(content.decode("utf-8", "replace"))
    return moment or f"{TIMESTAMP_FILE} names no date and time, so nothing is off for being late"
