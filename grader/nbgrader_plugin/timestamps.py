"""When something was handed in, as nbgrader asks for it. nbgrader's process (trusted).

In: a folder with a timestamp.txt, which a student may have written. Out: a moment as nbgrader has it, or None.
nbgrader's own readers end at a text that names no moment, Formgrader's list for the whole class, and wait for a pipe.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from grader.class_folder import timestamp_of


def existing_timestamp(coursedir: Any, folder: str) -> datetime | None:
    """In the place of ``CourseDirectory.get_existing_timestamp``: UTC without a zone."""
    moment = timestamp_of(Path(folder))
    if isinstance(moment, str):
        coursedir.log.warning("%s: %s", folder, moment)
    return moment.astimezone(UTC).replace(tzinfo=None) if isinstance(moment, datetime) else None


def submitted_timestamp(api: Any, assignment: str, student: str) -> datetime | None:
    """In the place of ``NbGraderAPI.get_submitted_timestamp``, which Formgrader's lists ask."""
    coursedir = api.coursedir
    return existing_timestamp(coursedir, coursedir.format_path(coursedir.submitted_directory, student, assignment))
