"""A finished verdict into the cells of a notebook, in the place of nbgrader's Execute. nbgrader's process (trusted).

In: a staged notebook, and the Verdict of its student that the converter has. Out: the notebook, each grade cell of it
with the output that nbgrader reads its score from, and the names of those that have no score yet.

nbgrader takes the first ``execute_result`` of a cell for its score, and for full marks if there is none. So each cell
gets one output and no other: a plain float with the report, or, where nothing was judged, the reason; that one's name
goes to ``SaveJudgedGrades``. No line of a student's runs here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nbformat.v4 import new_code_cell, new_output
from nbgrader import utils

from grader.nbgrader_plugin.guard import CoursePreprocessor
from grader.records import KERNELS_FILE, QUIZ, State, Verdict
from grader.reports.check_functions import SCALED, in_total
from grader.reports.html import kernels_html, question_html, verdict_html
from grader.reports.text import clean
from grader.reports.view import findings_for_student, for_student


@dataclass(frozen=True)
class Judged:
    """What ``SaveJudgedGrades`` is to know: why a grade cell has no score, by the cell's name; and the bonus."""

    waiting: dict[str, str]
    bonus: float | None = None


class JudgeSubmission(CoursePreprocessor):
    """Puts what was judged into grade cells, and each answer's judgement below it; last, the student's kernels.py."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        """The notebook with outputs. Raises KeyError for a student without a verdict: nothing is saved, then."""
        converter = self.parent.parent
        student = resources["nbgrader"]["student"]
        verdict: Verdict = converter.verdicts[student]
        questions = {check.name: check for check in for_student(verdict).checks if check.part == QUIZ}
        judged = Judged({}, verdict.bonus)
        for cell in nb.cells:
            grade_id = cell.metadata.get("nbgrader", {}).get("grade_id", "")
            if utils.is_grade(cell) and not utils.is_solution(cell) and cell.cell_type == "code":
                points, why = points_of(verdict, grade_id)
                if points is None:
                    judged.waiting[grade_id] = why
                elif why:
                    self.log.info("%s: %s: %s", student, grade_id, why)
                most = float(cell.metadata.nbgrader.points)
                cell.outputs = [_output(None if points is None else min(points, most), why, verdict, grade_id)]
            elif grade_id in questions and cell.cell_type == "code":
                check = questions[grade_id]
                words = {True: "right", False: "not right", None: check.state.value}[check.passed]
                cell.outputs = [_shown(words, question_html(check))]
        resources["nbgrader"]["judged"] = judged
        source = converter.kernels.get(student)
        if source is not None:
            nb.cells.append(_kernels_cell(source, verdict))
        return nb, resources


def points_of(verdict: Verdict, part: str) -> tuple[float | None, str]:
    """The points of a part, None where they wait to be judged, and why: a sentence that a student may read.

    Where course.yml's ``without_gpu`` scales the total, the part without a GPU has what is missing from it.
    """
    score = next((score for score in verdict.parts if score.part == part), None)
    if score is None:
        return None, f"course.yml of {verdict.assignment} has no part {part!r}"
    points = in_total(score, verdict)
    if points is not None:
        return points, "" if score.judged == score.points else SCALED
    open_checks = [c for c in for_student(verdict).checks if c.part == part and c.state is not State.JUDGED]
    if not open_checks:
        return None, verdict.summary
    first = next((check for check in open_checks if not check.hidden), open_checks[0])
    return None, f"{first.state.value}: {first.reason}" if first.reason else first.state.value


def _output(points: float | None, why: str, verdict: Verdict, part: str) -> Any:
    report = verdict_html(verdict, part)
    if points is None:
        return _shown(why, report)
    data = {"text/plain": repr(float(points)), "text/html": report}
    return new_output("execute_result", data, execution_count=None)


def _shown(text: str, page: str) -> Any:
    return new_output("display_data", {"text/plain": clean(text), "text/html": page})


def _kernels_cell(source: bytes, verdict: Verdict) -> Any:
    """kernels.py with what was found at its lines, for whoever looks at the notebook: no feedback shows this cell."""
    page = kernels_html(source.decode("utf-8-sig", "replace"), findings_for_student(verdict))
    cell = new_code_cell(f"# {KERNELS_FILE}, as it was judged", id="kernels-py", outputs=[_shown(KERNELS_FILE, page)])
    cell.metadata["warpgrade"] = {"file": KERNELS_FILE}
    return cell
