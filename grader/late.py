"""What handing in late costs, by course.yml's ``late``, and when something was handed in. Pure; trusted process.

In: the policy, a due date, the text of a timestamp.txt. Out: seconds and points. The percentage is one of the points
earned, so that it means the same for whatever of a submission has been judged, and never takes more than there is.
"""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import UTC, datetime, timedelta, tzinfo
from fractions import Fraction
from zoneinfo import ZoneInfo

from grader.course import Late
from grader.hundredths import exact, rounded
from grader.records import Verdict

TIMESTAMP_FILE = "timestamp.txt"
# Of hand-ins. At the ends of the calendar other zones' times are none, and nbgrader's lists end for everybody.
YEARS = range(1970, 9999)
MAX_TIMESTAMP = 100  # characters; a date and the longest name of a time zone have fewer
DAY = 86400


def days_late(late: Late, seconds_late: float) -> int:
    """The days begun after the grace time: 0 up to its last second, then 1. Raises ValueError for NaN or infinity."""
    if not math.isfinite(seconds_late):
        raise ValueError(f"expected seconds, found {seconds_late}")
    # Exact: a float's quotient may lie above a whole number of days.
    return max(0, math.ceil((Fraction(seconds_late) - Fraction(late.grace)) / DAY))


def days_text(days: int) -> str:
    """How many days late, in words."""
    return f"{days} {'day' if days == 1 else 'days'} late"


def duration_text(seconds: float) -> str:
    """A time as course.yml has it, in the largest unit that it is a whole number of."""
    for unit, length in (("d", DAY), ("h", 3600), ("min", 60)):
        if seconds and seconds % length == 0:
            return f"{seconds / length:g} {unit}"
    return f"{seconds:g} s"


def penalty(late: Late, seconds_late: float, earned: float) -> float:
    """Points off, 0 to ``earned``, in hundredths, half up; 0 for what earned nothing. Raises ValueError as above."""
    percent = min(days_late(late, seconds_late) * exact(late.per_day), exact(late.cap))
    return max(0.0, min(rounded(exact(earned) * percent / 100), earned))


def seconds_late(due: datetime | None, handed_in_at: datetime | None) -> float:
    """Seconds after ``due``, 0 if before it or if either is unknown. Both have a time zone."""
    if due is None or handed_in_at is None:
        return 0.0
    return max(0.0, (handed_in_at - due).total_seconds())


def not_due(due: datetime | None, now: datetime) -> str:
    """``not due until …`` where ``due`` is still to come; "" where it has passed, or there is no such date."""
    return "" if due is None or due <= now else f"not due until {due.isoformat(' ', 'minutes')}"


def read_timestamp(text: str) -> datetime | None:
    """The moment that a timestamp.txt names, in UTC; None if it names none.

    Understood are ISO 8601 and nbgrader's ``2027-03-02 10:00:00.000000 UTC``, also with another zone's name. Without a
    zone, or with one that nobody knows, it is UTC, as in ``nbgrader.utils.parse_utc``.
    """
    words = text.split() if len(text) <= MAX_TIMESTAMP else []
    try:
        if len(words) == 3 and words[2][0].isalpha():
            moment = _aware(datetime.fromisoformat(f"{words[0]} {words[1]}"), _zone(words[2])).astimezone(UTC)
        else:
            joined = f"{words[0]} {''.join(words[1:])}" if len(words) > 1 else "".join(words)
            moment = _aware(datetime.fromisoformat(joined), UTC).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment if moment.year in YEARS else None


def _aware(moment: datetime, zone: tzinfo) -> datetime:
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=zone)


def _zone(name: str) -> tzinfo:
    try:
        return UTC if name.upper() in ("UTC", "GMT", "Z") else ZoneInfo(name)
    except (ValueError, OSError, KeyError):  # no such zone; OSErrors are for names of folders of zones
        return UTC


def with_penalty(
    verdict: Verdict,
    late: Late,
    due: datetime | None,
    handed_in_at: datetime | str | None,
    extension: timedelta = timedelta(),
) -> Verdict:
    """``verdict`` with when it was handed in, how late that is, and the points off; nothing off an open total.

    ``handed_in_at`` is what ``class_folder.timestamp_of`` answers: a str says why the moment is not known.
    ``extension``: by how much the student's date is later than ``due``. What an earlier call has said is said no more.
    """
    if handed_in_at is None or not verdict.handed_in:
        return verdict
    if isinstance(handed_in_at, str):
        return _noted(verdict, handed_in_at)
    seconds = seconds_late(due + extension if due is not None else None, handed_in_at)
    earned = verdict.earned
    lost = 0.0 if earned is None else penalty(late, seconds, earned)
    days = days_late(late, seconds)
    told = days_text(days)
    if earned is not None:
        told += f": {lost:g} points off, which leaves {round(earned - lost, 2):g}"
    return replace(
        _noted(verdict, told if days and late.per_day else ""),
        handed_in_at=handed_in_at.isoformat(timespec="seconds"),
        late_seconds=seconds,
        penalty=lost,
        extension_seconds=extension.total_seconds(),
    )


def _noted(verdict: Verdict, note: str) -> Verdict:
    """``verdict`` whose sentence ends with ``note``, in the place of the note that it has."""
    end = "." if verdict.summary.endswith(".") else ""
    sentence = verdict.summary.removesuffix(".").removesuffix(f"; {verdict.late_note}" if verdict.late_note else "")
    return replace(verdict, summary=f"{sentence}; {note}{end}" if note else f"{sentence}{end}", late_note=note)
