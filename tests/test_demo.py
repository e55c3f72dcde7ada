"""The sample class: everything that a grader meets is in it, and each gets the outcome it deserves."""

from __future__ import annotations

from pathlib import Path

import pytest
import tiny_course as tiny
import tiny_notebook

from grader.course import load_course
from grader.demo import grade_samples, make_samples
from grader.judging import judge_task
from grader.quiz_folder import quiz_checks
from grader.records import State, Verdict
from grader.reports.terminal import class_table


@pytest.fixture(scope="module")
def verdicts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Verdict]:
    """The real judge on the tiny course's sample class."""
    root = tiny.write_course(tmp_path_factory.mktemp("demo"))
    (root / "solutions/01/wrong").mkdir()
    mutant = tiny.KERNELS.replace("2 * x[i]", "3 * x[i]")
    (root / "solutions/01/wrong/triples.py").write_text(mutant)
    samples = make_samples(load_course(root / "course.yml"), root / "demo course")
    graded = grade_samples(
        samples, "1", judge_task, workers=2, device="simulated", progress=lambda done, of, verdict: None
    )
    return {verdict.student: verdict for verdict in graded}


def test_the_sample_class_has_everyone(verdicts: dict[str, Verdict]) -> None:
    assert list(verdicts) == [
        "empty-file",
        "endless-kernel",
        "endless-loop",
        "enormous-print",
        "import-error",
        "missing-file",
        "not-utf8",
        "reference",
        "syntax-error",
        "sys-exit",
        "untouched-stub",
        "wrong-triples",
    ]


def test_everyone_is_judged(verdicts: dict[str, Verdict]) -> None:
    lost = [(v.student, c.reason) for v in verdicts.values() for c in v.checks if c.state is State.NOT_JUDGED]
    assert lost == []


def test_only_what_is_right_earns_points(verdicts: dict[str, Verdict]) -> None:
    earned = {student: sum(part.earned for part in v.parts) for student, v in verdicts.items()}
    assert {student for student, points in earned.items() if points} == {"reference", "enormous-print"}
    assert earned["reference"] == earned["enormous-print"] == 80


@pytest.mark.parametrize(
    ("student", "why"),
    [
        ("empty-file", "kernels.py is empty"),
        ("endless-loop", "too long"),
        ("endless-kernel", "did not finish"),
        ("import-error", "imports a_module_that_nobody_has, which this assignment does not allow"),
        ("missing-file", "no kernels.py"),
        ("not-utf8", "UTF-8"),
        ("syntax-error", "not valid Python"),
        ("sys-exit", "ended the process"),
        ("untouched-stub", "launched no kernel"),
        ("reference", "all 5 checks passed"),
    ],
)
def test_one_sentence_says_why(verdicts: dict[str, Verdict], student: str, why: str) -> None:
    assert why in verdicts[student].summary
    assert verdicts[student].summary.count("\n") == 0


def test_the_reference_of_a_course_with_a_quiz_answers_it_and_nobody_else_does(tmp_path: Path) -> None:
    root = tiny_notebook.write_quiz_course(tmp_path / "course")
    samples = make_samples(load_course(root / "course.yml"), tmp_path / "demo course")
    passed = {
        folder.parent.name: [check.passed for check in quiz_checks(root / "solutions/01", folder)]
        for folder in samples.submitted.glob("*/01")
    }
    assert passed.pop("reference") == [True, True]
    assert len(passed) > 5
    assert set(map(tuple, passed.values())) == {(False, False)}


def test_the_table_names_everyone_with_points_judged(verdicts: dict[str, Verdict]) -> None:
    table = class_table(list(verdicts.values()), width=80)
    for student in verdicts:
        assert f"\n{student} " in table
    assert "80/100" in table
