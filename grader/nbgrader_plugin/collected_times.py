"""A timestamp.txt that somebody has written into submitted/, when work is collected anew. nbgrader's process (trusted).

In: what is about to be put into each student's folder in the place of what is there. Out: the same with the times that
are kept, and sentences.

An LMS that does not say when has the instructor write it, which must outlive the next ``--force``. For new work such a
time is the earliest that it can have come, so it is the better guess than none.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import Path

from grader.class_folder import timestamp_of
from grader.intake import ordinary_bytes
from grader.late import MAX_TIMESTAMP, TIMESTAMP_FILE, read_timestamp
from grader.records import KERNELS_FILE
from grader.submission import MAX_BYTES


def keep_times(files: Mapping[str, dict[str, bytes]], places: Mapping[str, Path], by_lms: Collection[str]) -> list[str]:
    """Put the times of ``places``, submissions' folders, into ``files``; what there is to say of them.

    An LMS's word counts, and a student's own where it is later than what is there.
    """
    same: list[str] = []
    new: list[str] = []
    told = []
    for student, of in files.items():
        there = timestamp_of(places[student])
        if isinstance(there, str):
            told.append(f"{student}: {there}; it is not kept")
        if not isinstance(there, datetime):
            continue
        brought = read_timestamp(of[TIMESTAMP_FILE].decode("utf-8", "replace")) if TIMESTAMP_FILE in of else None
        if brought is not None and (student in by_lms or brought > there):
            if brought != there:
                told.append(
                    f"{student}: {TIMESTAMP_FILE} said {_text(there)}, and is {_text(brought)} now, as collected"
                )
        elif brought != there:
            content = ordinary_bytes(places[student] / TIMESTAMP_FILE, MAX_TIMESTAMP)
            assert isinstance(content, bytes)  # it has been read a moment ago
            of[TIMESTAMP_FILE] = content
            is_new = ordinary_bytes(places[student] / KERNELS_FILE, MAX_BYTES) != of.get(KERNELS_FILE)
            (new if is_new else same).append(f"{student} ({_text(there)})")
    if same:
        told.append(f"{TIMESTAMP_FILE} is kept, with kernels.py as it was: {', '.join(same)}")
    if new:
        told.append(f"{TIMESTAMP_FILE} is kept, with new work, so change it if that came later: {', '.join(new)}")
    return told


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC"
