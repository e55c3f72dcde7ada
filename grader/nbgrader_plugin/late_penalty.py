"""course.yml's late policy as nbgrader's plugin. nbgrader's process.

In: a student's score and how late they were, by nbgrader's gradebook, extensions included. Out: points off.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path

from nbgrader.plugins import LateSubmissionPlugin

from grader.course import FILE_NAME, Course, load_course
from grader.late import penalty


class LatePenalty(LateSubmissionPlugin):
    """``AssignLatePenalties.plugin_class``. nbgrader asks at autograde; exports compute it anew."""

    def late_submission_penalty(self, student_id: str, score: float, total_seconds_late: float) -> float:
        """Points off ``score``, percent of it. Raises CourseError."""
        if not math.isfinite(score):
            return 0.0
        # nbgrader's seconds know of its gradebook's extensions, not of course.yml's.
        seconds = _of_this_run(self.parent).get(student_id, total_seconds_late)
        return penalty(course_of_converter(self.parent).grading.late, seconds, score)


def _of_this_run(parent: object) -> Mapping[str, float]:
    """How late those are for whom course.yml has an extension, by the autograde that a plugin is part of."""
    while parent is not None:
        found: Mapping[str, float] | None = getattr(parent, "late_seconds", None)
        if found is not None:
            return found
        parent = getattr(parent, "parent", None)
    return {}


def course_of_converter(parent: object) -> Course:
    """The course of the nearest of a plugin's parents that has a course directory. Raises CourseError."""
    while parent is not None:
        directory = getattr(parent, "coursedir", None)
        if directory is not None:
            return load_course(Path(directory.root) / FILE_NAME)
        parent = getattr(parent, "parent", None)
    return load_course(Path.cwd() / FILE_NAME)  # nbgrader's course directory, where nothing else is said
