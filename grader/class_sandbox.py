"""Which sandbox a class is graded in: what course.yml demands, and what whoever grades should know. Trusted process.

In: the course, the machine. Out: a UsageError, or a line to tell. That each child has what is demanded, once more and
where it starts, is ``sandbox.wall_of_child``'s affair.
"""

from __future__ import annotations

from grader.course import Course
from grader.errors import UsageError
from grader.sandbox.environment import RECORDER, RUNNER
from grader.sandbox.levels import LEVELS, reaches
from grader.sandbox.wall_of_child import offer_to

_OF_STUDENTS = ((RECORDER, "Python"), (RUNNER, "kernels"))


def require_sandbox(course: Course) -> str:
    """What is weaker of this machine's sandbox than it could be, in one line; "" where nothing is.

    Raises UsageError where course.yml demands more than it offers, and as ``offer_to``.
    """
    demanded = course.grading.sandbox
    weaker: dict[str, list[str]] = {}
    for module, what in _OF_STUDENTS:
        found = offer_to(module)
        missing = "; ".join(found.missing)
        if not reaches(found.level, demanded):
            raise UsageError(
                f"{course.file} demands the sandbox level {demanded!r}; for students' {what} this machine reaches "
                f"{found.level!r} ({missing})"
            )
        if found.level != LEVELS[-1]:
            weaker.setdefault(f"at the sandbox level {found.level!r}, not {LEVELS[-1]!r} ({missing})", []).append(what)
    return "; ".join(f"students' {' and '.join(whose)} run {where}" for where, whose in weaker.items())
