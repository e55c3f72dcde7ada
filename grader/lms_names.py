"""Whose a file is, by the name that an LMS gave it, and how often it was copied. Pure; trusted process.

In: names of files and folders in what was downloaded. An LMS puts its words in front of the name that a student chose,
so that a student decides on the end of a name alone: of the forms that fit, the one with the shortest front counts, or
a name that ends like another LMS's would be somebody else's work.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from grader.archives import nfc

# Moodle: a folder "Ada King_123456_assignsubmission_file_" per student, or files with that in front of their name.
_MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_(?:file|onlinetext)_?(?P<rest>.*)", re.DOTALL)
# Canvas: "kingada_123_456_kernels.py", "kingada_LATE_123_456_kernels-1.py" (user's and submission's numbers).
_CANVAS = re.compile(r"(?P<name>[^_]+?)(?P<late>_LATE)?_(?P<id>\d+)_\d+_(?P<rest>.+)", re.DOTALL)
# Blackboard: "HW_ada_attempt_2027-03-01-22-10-05_kernels.py"; nbgrader's default has these times as UTC, too. Of a
# user's name with "_" in it the front belongs to ``id``, with the assignment's title: nobody can tell where that ends.
_BLACKBOARD = re.compile(r"(?P<id>.*?)_(?P<name>[^_]+)_attempt_(?P<time>\d[\d-]+)_(?P<rest>.+)", re.DOTALL)
# What browsers, Canvas and file managers put behind the name of a second copy.
_COPY = re.compile(
    r"(?:[ _]*\((?P<a>\d{1,6})\)|[-_ ](?P<b>\d{1,6})|[-_ ]+(?:copy|kopie|copie|copia)(?: (?P<c>\d{1,6}))?)"
)


@dataclass(frozen=True)
class LmsName:
    """What an LMS says: a student's name, what tells two of that name apart, the file's own name, "" for a folder.

    ``time`` is when it was handed in, as a timestamp.txt would say it, "" if the LMS does not say. ``tells_late``: it
    says at least who was late, as ``late`` has it.
    """

    name: str
    number: str
    rest: str
    time: str = ""
    late: bool = False
    tells_late: bool = False


def by_lms(parts: tuple[str, ...]) -> LmsName | None:
    """The student in a path that begins with what an LMS made; only Moodle makes folders."""
    forms = (_MOODLE,) if len(parts) > 1 else (_MOODLE, _CANVAS, _BLACKBOARD)
    found = [match for match in (form.fullmatch(parts[0]) for form in forms) if match is not None]
    if not found:
        return None
    groups = min(found, key=lambda match: match.start("rest")).groupdict()
    numbers = (groups.get("time") or "").split("-")
    return LmsName(
        groups["name"].strip(),
        groups["id"],
        groups["rest"],
        f"{'-'.join(numbers[:3])} {':'.join(numbers[3:])}" if numbers[0] else "",
        bool(groups.get("late")),
        "late" in groups or bool(numbers[0]),
    )


def asked_for(name: str, wanted: Collection[str]) -> tuple[str, int] | None:
    """Which of the ``wanted`` names a file has, or had before it was copied, and the copy's number."""
    for one in wanted:
        stem, dot, suffix = nfc(one).rpartition(".")
        if name.casefold() == one.casefold():
            return one, 0
        if name.casefold().startswith(stem.casefold()) and name.casefold().endswith((dot + suffix).casefold()):
            tail, number = name[len(stem) : -len(suffix) - 1], 0
            while tail and (copy := _COPY.match(tail.casefold())):
                number, tail = max(number, *(int(group or 0) for group in copy.groups())), tail[copy.end() :]
            if not tail.strip():
                return one, number
    return None


def recognised(names: Collection[str], wanted: Collection[str]) -> dict[str, str]:
    """Which of the files ``names`` are the ``wanted`` ones, wanted → found, whatever somebody or a browser called them.

    The name itself comes first, then the copy with the highest number, then the only file of a kind of which only one
    is wanted.
    """
    found = {one: one for one in wanted if one in names}
    copies = [(*copy, name) for name in sorted(names) if (copy := asked_for(name, wanted)) is not None]
    for one, _, name in sorted(copies, key=lambda copy: -copy[1]):
        found.setdefault(one, name)
    for one in wanted:
        kind = one[one.rfind(".") :]
        alike = [name for name in names if name.lower().endswith(kind) and name not in found.values()]
        if one not in found and len(alike) == 1 == sum(other.endswith(kind) for other in wanted):
            found[one] = alike[0]
    return found
