"""Which database nbgrader has for this course, and what in it differs from course.yml. nbgrader's process, or another.

In: the course's root with nbgrader_config.py, a gradebook. Out: a URL; sentences.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Collection
from datetime import datetime
from pathlib import Path
from typing import Any

from nbgrader.apps import NbGrader
from nbgrader.coursedir import CourseDirectory

from grader.course import Course
from grader.errors import UsageError
from grader.nbgrader_plugin.grade_rows import has_cells, in_utc

SQLITE = "sqlite:///"


def database_of(root: Path) -> str:
    """The URL that nbgrader's commands use in the course at ``root``, by its settings and the user's.

    Raises UsageError where these cannot be read: nbgrader itself would go on with another database.
    """
    silent = logging.Logger("grader.settings", logging.CRITICAL + 1)
    app = NbGrader(log=silent, raise_config_file_errors=True)
    path = list(sys.path)
    try:
        app.initialize([], root=str(root))
    except (Exception, SystemExit) as error:
        raise UsageError(f"nbgrader's settings cannot be read: {error or type(error).__name__}") from error
    finally:
        sys.path[:] = path  # nbgrader puts the current folder first, where files of the course would be modules
    url = str(CourseDirectory(root=str(root), config=app.config).db_url)
    file = url.removeprefix(SQLITE)
    return f"{SQLITE}{root / file}" if url.startswith(SQLITE) else url


def without_password(url: str) -> str:
    """A database's URL, as it may be shown."""
    return url.rpartition("@")[2] if "@" in url else url


def differences(gradebook: Any, course: Course, assignments: Collection[str] = ()) -> list[str]:
    """Where the gradebook has another due date or other points than course.yml: a sentence each.

    Of all assignments, or of those given.
    """
    found = []
    for assignment in gradebook.assignments:
        policy, found_due = course.assignments.get(assignment.name), in_utc(assignment.duedate)
        if policy is None or (assignments and policy.name not in assignments):
            continue
        if found_due != policy.due:
            found.append(
                f"{policy.name}: due {shown(policy.due)} by course.yml, which counts here; the gradebook and "
                f"Formgrader have {shown(found_due, policy.due)} until `nbgrader generate_assignment {policy.name}`"
            )
        points = {cell.name: cell.max_score for book in assignment.notebooks for cell in book.grade_cells}
        wanted = policy.ordered_parts()
        if has_cells(assignment) and {part: points.get(part) for part in wanted} != wanted:
            found.append(
                f"{policy.name}: the gradebook has other points than course.yml: `nbgrader generate_assignment "
                f"{policy.name}`, then `nbgrader autograde {policy.name} --force`"
            )
    return found


def shown(due: datetime | None, beside: datetime | None = None) -> str:
    """A due date, as it is said: in the time zone of the one ``beside`` which it is said, if there is one."""
    if due is None:
        return "at no time"
    return (due if beside is None else due.astimezone(beside.tzinfo)).isoformat(" ", "minutes")
