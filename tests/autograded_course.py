"""Autograded submissions by hand: folders, a gradebook, results. For tests of what comes after autograde.

``write`` makes them in the notebook course for ``STUDENTS``: ada has lost points and waits for a GPU; bob has a score
by hand; both are late; cy's work came from an LMS, without timestamp or secret.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path
from typing import Any

from notebook_course import NOTEBOOK, POINTS, cells

from grader.gradebook import write_results
from grader.quiz import judge, waiting
from grader.quiz_keys import Question
from grader.records import CheckResult, Failure, Finding, PartScore, Place, Severity, State, Verdict
from grader.reports.html import verdict_html

STUDENTS = ("ada", "bob", "cy")
KERNELS = '''\
"""Double every element."""

from numba import cuda


@cuda.jit
def double_kernel(x, out):
    i = cuda.grid(1)
    out[i] = 2 * x[i]


def double(x, out):
    double_kernel[2, 128](x, out)
'''
FINDING = Finding(
    "out-of-bounds",
    Severity.ERROR,
    Place(9, "out[i] = 2 * x[i]", "double_kernel"),
    "out was written past its end: index 133, size 33",
    "let only threads with i < out.size write",
    "out",
)
SCALED_SPEED = 11.0
QUESTION = Question("answer_1", "Which element?", (), 133, 0.0, {5: "Block 1 begins after the threads of block 0."})
FAILED = CheckResult(
    "test_doubles[33]",
    "correctness",
    2.0,
    "Each element comes out doubled.",
    False,
    False,
    failure=Failure(FINDING.kind, FINDING.what, where=str(FINDING.place), advice=FINDING.advice),
    findings=(FINDING,),
    printed="doubling 33",
)
HIDDEN = CheckResult(
    "test_odd_sizes[1023]",
    "correctness",
    1.0,
    "Sizes that are no multiple of a block work too.",
    True,
    False,
    failure=Failure("wrong-values", "SECRET", "SECRET", "SECRET", "kernels.py:2", "SECRET"),
    findings=(replace(FINDING, place=Place(2), what="SECRET"),),
)
ONCE = CheckResult("test_reads_once", "technique", 1.0, "Each element is read once.", False, True, credit=1.0)
SLOW = CheckResult(
    "test_speed", "speed", 1.0, "It is fast.", False, None, State.NOT_MEASURED, reason="no GPU here", needs_gpu=True
)


def verdict(student: str, answer: str = "answer_1 = 5", kernels: str = KERNELS) -> Verdict:
    """Of each part something: failed, passed, not measured, a wrong answer."""
    checks = (
        replace(FAILED, name="test_doubles[1]", passed=True, credit=1.0, failure=None, findings=()),
        *(FAILED, HIDDEN, ONCE, SLOW, *judge([QUESTION], {"answer_1": answer})),
    )
    parts = (PartScore("correctness", 60, 60, 24), PartScore("technique", 20, 20, 20), PartScore("speed", 20, 0, 0))
    digest = hashlib.sha256(kernels.encode()).hexdigest()
    return Verdict(student, "01", digest, "simulated", parts, checks, None, 100, 80, "2 of 5 checks failed.", seed=7)


def notebook(made: Verdict, answer: str = "answer_1 = 5") -> dict[str, Any]:
    """As autograde leaves one: our cells, the student's answer, outputs of the judge."""
    found = []
    for cell in cells():
        name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        if name == "answer_1":
            cell["source"] = [answer]
        if name in POINTS:
            score = next(part for part in made.parts if part.part == name)
            html = {"text/html": verdict_html(made, name)}
            if score.judged == score.points or made.total is not None:
                points = score.earned if score.judged == score.points else SCALED_SPEED
                data = {"text/plain": repr(float(points)), **html}
                output = {"output_type": "execute_result", "execution_count": None, "data": data, "metadata": {}}
            else:
                output = {"output_type": "display_data", "data": html, "metadata": {}}
            cell["outputs"] = [output]
        found.append(cell)
    return {"cells": found, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def write_folder(root: Path, made: Verdict, document: dict[str, Any], kernels: str = KERNELS) -> Path:
    """autograded/<student>/01."""
    folder = root / "autograded" / made.student / "01"
    folder.mkdir(parents=True)
    (folder / NOTEBOOK).write_text(json.dumps(document), encoding="utf-8")
    (folder / "kernels.py").write_text(kernels, encoding="utf-8")
    if made.student != "cy":
        (folder / "timestamp.txt").write_text("2027-03-03 10:00:00.000000 UTC", encoding="utf-8")
        (folder / "submission_secret.txt").write_text(f"secret of {made.student}", encoding="utf-8")
    return folder


def write(root: Path = Path(), scaled: Collection[str] = ()) -> None:
    """All of it below the course's root; the gradebook there has its tables already.

    The totals of those who are ``scaled`` are: 44 of the 80 points judged are 55 of 100.
    """
    made = {student: verdict(student) for student in STUDENTS}
    made |= {student: replace(made[student], total=44 + SCALED_SPEED) for student in scaled}
    for each in made.values():
        write_folder(root, each, notebook(each))
    write_results(root / "results", "01", list(made.values()))
    write_grades(root, made)


def write_evil(texts: list[str], root: Path = Path()) -> None:
    """A student for each text, which is all that a stranger, or an autograde other than ours, may have written."""
    from nbgrader.api import Gradebook

    made = {f"s{number}": evil_verdict(f"s{number}", text) for number, text in enumerate(texts)}
    for each, text in zip(made.values(), texts, strict=True):
        write_folder(root, each, _evil_notebook(each, text), text)
    write_results(root / "results", "01", list(made.values()))
    write_grades(root, made)
    with Gradebook(f"sqlite:///{root.resolve()}/gradebook.db", "tiny") as found:
        for student, text in zip(made, texts, strict=True):
            found.update_or_create_student(student, first_name=text, last_name=text)
            found.find_comment("answer_1", Path(NOTEBOOK).stem, "01", student).manual_comment = text
        found.db.commit()


def evil_verdict(student: str, text: str) -> Verdict:
    """A verdict in which all that a submission, a notebook or a course may decide on is ``text``."""
    failure = Failure(text, text, text, text, f"kernels.py:3 {text}", text)
    finding = Finding(text, Severity.ERROR, Place(1, text, text, "kernels.py", text), text, text, text, count=2)
    other = replace(finding, place=replace(finding.place, file=text), kind="other", what=f"{text}!")
    check = replace(FAILED, name=text, sentence=text, failure=failure, findings=(finding, other), printed=text)
    check = replace(check, kernels_printed=text)
    lost = replace(SLOW, name=text, reason=text, sentence=text)
    quiz = judge([replace(QUESTION, sentence=text, why={5: text})], {"answer_1": "answer_1 = 5"})
    checks = (check, replace(HIDDEN, sentence=text), lost, *quiz, *waiting([text], {text: text}))
    return replace(verdict(student, kernels=text), checks=checks, device=text, summary=text)


def _evil_notebook(made: Verdict, text: str) -> dict[str, Any]:
    document = notebook(made, answer=f"answer_1 = 1 # {text}")
    document["metadata"] = {"title": text, "language_info": {"name": text, "pygments_lexer": text}}
    outputs: list[dict[str, Any]] = [{"output_type": "stream", "name": "stdout", "text": text}]
    for kind in ("html", "markdown", "latex", "plain"):
        outputs.append({"output_type": "display_data", "metadata": {}, "data": {f"text/{kind}": text}})
    for kind in ("image/svg+xml", "application/javascript"):
        outputs.append({"output_type": "display_data", "metadata": {}, "data": {kind: text}})
    for cell in document["cells"]:
        if cell["cell_type"] == "markdown":
            cell["source"] = [f"{text}\n\n```html\n{text}\n```\n\n| a |\n|---|\n| `{text}` |"]
        elif cell["metadata"].get("nbgrader", {}).get("grade_id") != "correctness":
            cell["outputs"] = outputs
    raw = {"cell_type": "raw", "id": "raw", "metadata": {"raw_mimetype": "text/html"}, "source": text}
    document["cells"].append(raw)
    return document


def write_grades(root: Path, verdicts: dict[str, Verdict]) -> None:
    """The gradebook's entries."""
    from nbgrader.api import Gradebook

    with Gradebook(f"sqlite:///{root.resolve()}/gradebook.db", "tiny") as found:
        found.add_assignment("01", duedate="2027-03-01T22:59:00+00:00")
        found.add_notebook(Path(NOTEBOOK).stem, "01")
        for part, points in POINTS.items():
            found.add_grade_cell(part, Path(NOTEBOOK).stem, "01", max_score=points, cell_type="code")
        found.add_solution_cell("answer_1", Path(NOTEBOOK).stem, "01")
        for student, made in verdicts.items():
            found.add_student(student)
            late = {} if student == "cy" else {"timestamp": "2027-03-03T10:00:00+00:00"}
            found.add_submission("01", student, **late)
            for part in made.parts:
                grade = found.find_grade(part.part, Path(NOTEBOOK).stem, "01", student)
                waits = part.judged < part.points and made.total is None
                points = part.earned if part.judged == part.points else SCALED_SPEED
                grade.auto_score, grade.needs_manual_grade = None if waits else points, waits
                if waits and student == "bob":
                    grade.manual_score, grade.needs_manual_grade = 12.5, False
        found.db.commit()
