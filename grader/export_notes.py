"""What whoever exports scores should know of them, in a line for all that it holds for. Pure; trusted process.

In: Rows, verdicts, the course. Out: sentences for a terminal, also where names are strangers' choice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from grader.course import Assignment
from grader.export_row import Row
from grader.records import Verdict
from grader.reports.text import one_line

MAX_NAMES = 20
MAX_LINES = 20


def notes(rows: Iterable[Row]) -> list[str]:
    """Who has no score yet and what for, whose score by hand differs from a later run, whose is above the maximum."""
    waiting: dict[tuple[str, str], list[str]] = {}
    differing: dict[str, list[str]] = {}
    above: dict[str, list[Row]] = {}
    for row in rows:
        if row.score is None:
            waiting.setdefault((row.assignment, row.waits or row.why), []).append(row.student)
        if row.to_look_at:
            differing.setdefault(row.assignment, []).append(row.student)
        if row.above:
            above.setdefault(row.assignment, []).append(row)
    found = [f"{name}: no score yet for {some(students)}: {why}" for (name, why), students in waiting.items()]
    if any(len(students) > MAX_NAMES for students in waiting.values()):
        found.append("grades.csv of `grader export --to csv` has all of them: no score, and why")
    found += [
        f"{name}: a score by hand counts for {some(students)} that was given before the last run of the judge: see "
        "Manual Grading in Formgrader, where Resolve keeps it"
        for name, students in differing.items()
    ]
    for name, high in above.items():
        parts = ", ".join(dict.fromkeys(part for row in high for part in row.above))
        found.append(
            f"{name}: scores above the points that there are now ({parts}): {some([row.student for row in high])}; "
            "judged when a part had more, and exported as they are"
        )
    return [one_line(line) for line in found]


def of_other_points(verdicts: Iterable[Verdict], assignment: Assignment) -> list[str]:
    """The students who were judged when course.yml gave other points to parts of the assignment, in order."""
    points = assignment.ordered_parts()
    return [v.student for v in verdicts if v.handed_in and {p.part: p.points for p in v.parts} != points]


def other_points_note(name: str, students: Sequence[str]) -> str:
    """What is to be done about students whom ``of_other_points`` names."""
    return one_line(
        f"{name}: by other points than course.yml's now: {some(students)}; `nbgrader autograde {name} --force` or "
        f"`grader grade {name}` judges them again"
    )


def unknown_extensions(assignment: Assignment, students: Collection[str]) -> list[str]:
    """A line on those of course.yml's extensions that are none of these ``students``'."""
    unknown = [student for student in assignment.extensions if student not in students]
    line = (
        f"{assignment.name}: course.yml has an extension for {some(unknown)}, and nobody is called so here, or not yet"
    )
    return [one_line(line)] if unknown else []


def some(students: Sequence[str]) -> str:
    """Students' names for a sentence: all of a few, else how many and the first of them."""
    if len(students) <= 1:
        return "".join(students)
    return f"{len(students)} students ({named(students)})"


def named(students: Sequence[str]) -> str:
    """Students' names, or the first of many and how many more there are."""
    more = len(students) - MAX_NAMES
    return ", ".join(students[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")


def shortened(lines: Sequence[str], what: str) -> list[str]:
    """The first of many lines, and how many more there are of ``what``."""
    more = len(lines) - MAX_LINES
    return [*lines[:MAX_LINES], *([f"and {more} more {what}"] if more > 0 else [])]
