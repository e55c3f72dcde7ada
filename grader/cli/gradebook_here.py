"""Whether a course has a gradebook of nbgrader's, and which. Trusted process.

In: the course. Out: a database's URL, or lines that say why there is none to read.
"""

from __future__ import annotations

import importlib.util
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from grader.errors import UsageError

if TYPE_CHECKING:
    from grader.course import Assignment, Course

GRADEBOOK = "gradebook.db"
NBGRADER_SETTINGS = "nbgrader_config.py"


def gradebook_url(course: Course, asked: str | None = None) -> str:
    """The URL of the gradebook ``asked`` for, else of the course's; "" where it has none. Raises UsageError."""
    root = course.file.parent
    installed = importlib.util.find_spec("nbgrader") is not None
    if asked is not None and not installed:
        raise UsageError("a gradebook is read by nbgrader, which is not installed: pip install 'warpgrade[classroom]'")
    if asked is None and (root / GRADEBOOK).is_file() and not installed:
        typer.echo(f"{root / GRADEBOOK} is not read, since nbgrader is not installed", err=True)
    settings = any((root / file).is_file() for file in (NBGRADER_SETTINGS, GRADEBOOK))
    if asked is None and not (settings and installed):
        return ""

    from grader.nbgrader_plugin.database import SQLITE, database_of

    wanted = asked or database_of(root)
    if wanted.startswith(SQLITE) and not Path(wanted.removeprefix(SQLITE)).is_file():
        if asked is None:
            return ""
        raise UsageError(f"expected a gradebook at {asked}, found none")
    return wanted


def extensions_there(course: Course, assignment: Assignment) -> tuple[dict[str, timedelta], str]:
    """The course's gradebook's extensions by student, and a line on them for whoever grades without it; "" for none.

    A gradebook that cannot be read keeps nobody from being judged: the line says so.
    """
    from grader.export_notes import some
    from grader.reports.text import clean

    try:
        url = gradebook_url(course)
        if not url:
            return {}, ""
        from grader.nbgrader_plugin.export_plugins import extensions_of_database

        found = extensions_of_database(url, course, assignment.name)
    except UsageError as error:
        return {}, clean(f"{error}; extensions in it do not count here")
    counted = {student: more for student, more in found.items() if student not in assignment.extensions}
    told = f"extensions of nbgrader's gradebook count for {some(list(counted))}" if counted else ""
    return counted, clean(told)
