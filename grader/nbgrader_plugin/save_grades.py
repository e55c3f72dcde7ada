"""Scores of grade cells into nbgrader's gradebook: none where nothing was judged. nbgrader's process (trusted).

In: a notebook that ``JudgeSubmission`` has seen. Out: its cells' rows in the gradebook. What waits is open, never 0,
and needs a person or a later run; a score that a person has given stays.
"""

from __future__ import annotations

from typing import Any

from nbgrader.preprocessors import SaveAutoGrades

from grader.nbgrader_plugin.bonuses import SPEED, is_ours
from grader.nbgrader_plugin.guard import CoursePreprocessor
from grader.nbgrader_plugin.judge_submission import Judged


class NotJudged(RuntimeError):
    """A notebook came here that ``JudgeSubmission`` has not seen: nbgrader would give it full marks."""


class SaveJudgedGrades(CoursePreprocessor, SaveAutoGrades):
    """nbgrader's, but for cells that wait for their score, and for the bonus, which is extra credit."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """The notebook as it is. Raises NotJudged."""
        if not isinstance(resources["nbgrader"].get("judged"), Judged):
            raise NotJudged("expected JudgeSubmission before SaveJudgedGrades: nothing was judged, so nothing is saved")
        saved: tuple[Any, Any] = super().preprocess(nb, resources)
        return saved

    def _add_score(self, cell: Any, resources: Any) -> None:
        judged: Judged = resources["nbgrader"]["judged"]
        grade_id = cell.metadata.nbgrader.grade_id
        if grade_id not in judged.waiting:
            super()._add_score(cell, resources)
        grade = self.gradebook.find_grade(grade_id, self.notebook_id, self.assignment_id, self.student_id)
        if grade_id in judged.waiting:
            grade.auto_score, grade.needs_manual_grade = None, True
        elif grade_id == SPEED and judged.bonus is not None and is_ours(grade, ()):
            grade.extra_credit = judged.bonus
        self.gradebook.db.commit()
