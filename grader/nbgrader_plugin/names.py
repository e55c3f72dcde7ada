"""Names of students that no page of nbgrader's takes for markup. nbgrader's process (trusted).

In: what an LMS or a person has put into the gradebook as somebody's name. Out: the same with ‹ and › for < and >, in
every process that works on this course. nbgrader's submission page shows names as they are, on the instructor's origin.
"""

from __future__ import annotations

from typing import Any

from nbgrader.api import Student
from sqlalchemy import event
from sqlalchemy.orm.attributes import set_committed_value

COLUMNS = ("first_name", "last_name", "email", "lms_user_id")
_NO_MARKUP = str.maketrans({"<": "‹", ">": "›"})


def install() -> None:
    """Let students be read and written without markup. More than once is as good as once."""
    if event.contains(Student, "load", _loaded):
        return
    event.listen(Student, "load", _loaded)
    event.listen(Student, "refresh", _refreshed)
    for column in COLUMNS:
        event.listen(getattr(Student, column), "set", _written, retval=True)


def without_markup(name: Any) -> Any:
    """``name``, if it is a text, as a page may show it."""
    return name.translate(_NO_MARKUP) if isinstance(name, str) else name


def _loaded(student: Any, context: Any) -> None:
    """As the database has it, or has it still: what is shown is not what is stored, and nothing is written."""
    for column in COLUMNS:
        name = student.__dict__.get(column)
        if name != without_markup(name):
            set_committed_value(student, column, without_markup(name))


def _refreshed(student: Any, context: Any, columns: Any) -> None:
    _loaded(student, context)


def _written(student: Any, name: Any, before: Any, initiator: Any) -> Any:
    return without_markup(name)
