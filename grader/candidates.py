"""Several files that may be one that is asked for: which counts, and the sentence on it. Pure; trusted process.

In: files of one student with their dates and paths. Out: the best first; sentences that name it and the others.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from grader.intake import quoted

MAX_NOTES_OF_ONE = 5
# Parts of a name that are compared as numbers, so that v10 comes after v9.
_DIGITS = re.compile(r"(\d{1,18})")


@dataclass(frozen=True, order=True)
class Age:
    """Which of several files of one name counts: the newest by date, then the copy with the highest number, then the
    least deep, then the last by name in natural order, then the last that was read.
    """

    date: tuple[int, ...]
    number: int
    depth: int  # negative
    name: tuple[tuple[int, int, str], ...]
    read: int


def natural(name: str) -> tuple[tuple[int, int, str], ...]:
    """A key that sorts v9 before v10."""
    parts = enumerate(_DIGITS.split(name.casefold()))
    return tuple((0, int(part), "") if index % 2 else (1, 0, part) for index, part in parts)


@dataclass(frozen=True)
class Candidate:
    """A file that is asked for. ``shown`` is its path in what the student handed in, ``archive`` where that was."""

    age: Age
    shown: str
    data: bytes
    archive: str = ""
    told: bool = False  # that it has another name

    @property
    def name(self) -> str:
        """The file's own name."""
        return self.shown.rpartition("/")[2]


def best_first(found: Sequence[Candidate]) -> list[Candidate]:
    """By age; only the first one's bytes are kept in memory."""
    best, *others = sorted(found, key=lambda candidate: candidate.age, reverse=True)
    return [best, *(replace(other, data=b"") for other in others)]


def choices(kept: Mapping[str, Mapping[str, Sequence[Candidate]]]) -> Iterator[str]:
    """Which of several files was taken and why; then who has a file of another name, in a line for each such name."""
    renamed: dict[tuple[str, str], list[str]] = {}
    for student, files in kept.items():
        for file, (best, *others) in files.items():
            if others:
                yield f"{student}: more than one {file}: {_choice(best, others)}"
            elif best.name != file and not best.told:
                renamed.setdefault((best.name, file), []).append(student)
    for (name, file), students in renamed.items():
        yield f"{some(students)}: {quoted(name)} is taken for {file}"


def _choice(best: Candidate, others: Sequence[Candidate]) -> str:
    one, other = best.age, others[0].age
    if one.date != other.date:
        why = "the newest"
    elif one.number != other.number:
        why = "of equally old ones the copy with the highest number"
    elif one.depth != other.depth:
        why = "of equally old ones the least deep"
    else:
        why = "of equally old ones the last by name"
    shown = [candidate.shown for candidate in (best, *others)]
    if len(set(shown)) < len(shown):
        shown = ["/".join(filter(None, (candidate.archive, candidate.shown))) for candidate in (best, *others)]
    return f"{quoted(shown[0])} is taken, {why}; left out: {some(list(map(quoted, shown[1:])))}"


def some(names: Sequence[str]) -> str:
    """The first few of these names, and how many more there are."""
    more = f" and {len(names) - MAX_NOTES_OF_ONE} more" if len(names) > MAX_NOTES_OF_ONE else ""
    return ", ".join(names[:MAX_NOTES_OF_ONE]) + more
