"""Nothing is converted but by this course's own converters. nbgrader's process (trusted).

In: a notebook that a converter is about to convert. Out: the same notebook, or ``NotOurs``.

nbgrader has no setting for the class of its converters, so ``settings.install`` puts ours where nbgrader looks them up.
An nbgrader that looks elsewhere would use its own, which copies whole folders of solutions and runs what students
write. ``Guard`` is the first preprocessor in each list of settings: there, every command and every button fails.
"""

from __future__ import annotations

from typing import Any

from nbgrader.preprocessors import NbGraderPreprocessor
from traitlets import List


class NotOurs(RuntimeError):
    """A converter of nbgrader's own was about to work on this course."""


class CourseConverter:
    """Mix-in that marks a converter as one of this course's: it works on staged folders only."""


class CoursePreprocessor(NbGraderPreprocessor):
    """A step of this course's in one of nbgrader's lists."""

    # nbgrader hands this option to all preprocessors and warns where one does not have it.
    display_data_priority = List([], help="Of no use here.").tag(config=True)


class Guard(CoursePreprocessor):
    """Refuses to work for any converter that is no ``CourseConverter``."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """The notebook as it is. Raises NotOurs."""
        converter = getattr(self.parent, "parent", None)
        if not isinstance(converter, CourseConverter):
            raise NotOurs(
                f"expected one of grader.nbgrader_plugin's converters, found {type(converter).__name__}: this course "
                "cannot be worked on by it, since nbgrader's own copy solutions and run students' code"
            )
        return nb, resources
