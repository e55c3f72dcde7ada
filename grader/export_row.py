"""A student's score in an assignment, on its way to another system. Pure; trusted process.

In and out: data alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from grader.records import CheckResult


@dataclass(frozen=True)
class Row:
    """A student's score in an assignment. ``raw`` is what was earned, ``penalty`` is off it for being late.

    ``parts`` maps each part of the assignment to its points, ``raw``, ``penalty`` and ``score`` are points too; None
    where they wait to be judged, and ``why`` says why. ``due`` and ``timestamp`` are dates as text, "" if unknown.
    ``checks`` are what a student may see, where that is known. ``waits`` says what a missing score waits for, alike for
    all who wait for the same; ``to_look_at`` names parts with a score by hand from before the judge's last run.
    ``above`` names parts whose score is more than their points are now, a bonus apart.
    ``due`` is everybody's date; ``extension_seconds`` are added to it for this student, and ``late_seconds`` count from
    there, without the grace time. ``lms_user_id`` is Canvas's number, where somebody has put it into the gradebook.
    """

    assignment: str
    student: str
    parts: Mapping[str, float | None]
    raw: float | None
    penalty: float | None
    score: float | None
    max_score: float
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    lms_user_id: str = ""
    due: str = ""
    timestamp: str = ""
    why: str = ""
    checks: tuple[CheckResult, ...] = ()
    part_points: Mapping[str, float] | None = None
    waits: str = ""
    to_look_at: tuple[str, ...] = ()
    above: tuple[str, ...] = ()
    late_seconds: float = 0.0
    extension_seconds: float = 0.0


def points_text(points: float | None) -> str:
    """Points in hundredths; blank where they wait to be judged."""
    return "" if points is None else str(round(float(points), 2))
