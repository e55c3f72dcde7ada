"""A quiz as part of a verdict: judged where the key is, waiting where it is not, and never by running a cell."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import tiny_course as tiny
import tiny_notebook

import grader.pytest_session
from grader.errors import AuthoringError
from grader.judging import judge_submission
from grader.known_outcomes import KnownOutcomes
from grader.notebook import MAX_NOTEBOOK_BYTES
from grader.quiz_folder import keyed_notebooks, quiz_checks
from grader.records import CheckResult, Failure, PartScore, State, Verdict
from grader.reports.json import from_json, to_json
from grader.reports.view import for_student

pytest_plugins = "pytester"
OPEN = "judged when you hand in"


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tiny course with a quiz, judged by the fake."""
    monkeypatch.setattr("grader.children.Children", tiny.FakeChildren)
    monkeypatch.setattr(grader.pytest_session, "Candidate", tiny.FakeCandidate)
    monkeypatch.setattr("grader.judging.warm_children", tiny.FakeChildren)
    return tiny_notebook.write_quiz_course(tmp_path / "course")


def released(course: Path, answers: dict[str, str]) -> Path:
    """assignments/01 as a learner has it."""
    folder = course / "assignments/01"
    for file in ("problem.py", "test_public.py", "kernels.py"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / file).write_text((course / "solutions/01" / file).read_text())
    return tiny_notebook.write(folder, tiny_notebook.answered(answers))


def hand_in(course: Path, notebook: Any, words: str = "") -> Path:
    folder = tiny.write_kernels(course / "submitted/ada/01", words)
    return tiny_notebook.write(folder, notebook)


def judged(course: Path, handed_in: Path, **asked: Any) -> Verdict:
    return judge_submission(course / "solutions/01", handed_in, seed=1, **asked)


def quiz_of(verdict: Verdict) -> PartScore:
    return next(part for part in verdict.parts if part.part == "quiz")


def questions_of(verdict: Verdict) -> dict[str, CheckResult]:
    return {check.name: check for check in verdict.checks if check.part == "quiz"}


def test_right_answers_earn_the_quiz_beside_the_checks(course: Path) -> None:
    verdict = judged(course, hand_in(course, tiny_notebook.answered(tiny_notebook.RIGHT)))
    assert quiz_of(verdict) == PartScore("quiz", 10, 10, 10)
    assert [check.name for check in verdict.checks][-2:] == ["answer_1", "answer_2"]
    assert len(verdict.checks) == 8
    assert verdict.points_judged == 80
    assert verdict.summary == "all 5 checks passed; quiz: all 2 questions passed; speed not measured: no GPU."


def test_a_wrong_answer_loses_its_question_alone_and_is_explained(course: Path) -> None:
    answers = {**tiny_notebook.RIGHT, "answer_1": 'answer_1 = "a"'}
    verdict = judged(course, hand_in(course, tiny_notebook.answered(answers)))
    assert quiz_of(verdict) == PartScore("quiz", 10, 10, 5)
    check = questions_of(verdict)["answer_1"]
    assert check.sentence == "What shares an instruction?"
    assert check.failure is not None
    assert check.failure.advice == "A warp has 32 threads."
    assert verdict.summary == (
        "all 5 checks passed; quiz: 1 of 2 questions failed: answer_1 is not right; speed not measured: no GPU."
    )


def test_a_quiz_survives_a_json_file_and_shows_a_student_its_explanation(course: Path) -> None:
    verdict = judged(course, hand_in(course, tiny_notebook.answered({"answer_1": 'answer_1 = "a"'})))
    assert from_json(to_json((verdict,))) == (verdict,)
    shown = questions_of(for_student(verdict))["answer_1"].failure
    assert shown is not None
    assert shown.advice == "A warp has 32 threads."


def test_the_author_earns_the_whole_quiz(course: Path) -> None:
    path = course / "solutions/01" / tiny_notebook.NAME
    text = path.read_text()
    path.write_text(text.replace("A warp has 32 threads.", "A warp has 32 threads. " * 150))
    assert quiz_of(judged(course, course / "solutions/01")).earned == 10


def test_only_kernels_py_handed_in_loses_the_quiz_and_nothing_else(course: Path) -> None:
    verdict = judged(course, tiny.write_kernels(course / "submitted/bob/01"))
    assert quiz_of(verdict) == PartScore("quiz", 10, 10, 0)
    assert {c.failure.what for c in questions_of(verdict).values() if c.failure is not None} == {
        "No answer to answer_1 was handed in.",
        "No answer to answer_2 was handed in.",
    }
    assert verdict.points_judged == 80
    assert sum(part.earned for part in verdict.parts) == 70


def test_only_a_notebook_handed_in_earns_its_quiz(course: Path) -> None:
    handed_in = tiny_notebook.write(course / "submitted/eve/01", tiny_notebook.answered(tiny_notebook.RIGHT))
    verdict = judged(course, handed_in)
    assert [part.earned for part in verdict.parts] == [0, 0, 0, 10]


def test_no_cell_of_a_notebook_is_run(course: Path) -> None:
    mark = course / "PWNED"
    notebook = tiny_notebook.answered(tiny_notebook.RIGHT)
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell["source"] = [f"open({str(mark)!r}, 'w')\n", *cell["source"]]
            cell["outputs"] = [{"output_type": "execute_result", "data": {"text/plain": "10.0"}}]
    verdict = judged(course, hand_in(course, notebook))
    assert not mark.exists()
    assert quiz_of(verdict).earned == 10


def test_deleted_copied_and_retyped_cells_are_judged_as_what_they_hold(course: Path) -> None:
    notebook = tiny_notebook.answered(tiny_notebook.RIGHT)
    cells = notebook["cells"]
    answers = [cell for cell in cells if "answer" in cell["id"]]
    wrong = json.loads(json.dumps(answers[0]).replace('"b\\\\"', '"a\\\\"').replace('\\"b\\"', '\\"a\\"'))
    assert wrong != answers[0]
    answers[0]["cell_type"] = "markdown"
    notebook["cells"] = [answers[0], wrong]  # a copy below the first; answer_2 and all other cells are deleted
    questions = questions_of(judged(course, hand_in(course, notebook)))
    assert (questions["answer_1"].passed, questions["answer_2"].passed) == (True, False)


def test_an_answer_under_another_questions_name_earns_nothing(course: Path) -> None:
    answers = {"answer_1": "answer_2 = 261", "answer_2": 'answer_1 = "b"'}
    assert quiz_of(judged(course, hand_in(course, tiny_notebook.answered(answers)))).earned == 0


@pytest.mark.parametrize(
    ("content", "kind"),
    [(b"{broken", "no-notebook"), (b"[" * 100_000, "no-notebook"), (b" " * (MAX_NOTEBOOK_BYTES + 1), "too-large")],
)
def test_a_notebook_that_cannot_be_read_loses_the_quiz_and_says_why(course: Path, content: bytes, kind: str) -> None:
    handed_in = tiny.write_kernels(course / "submitted/ada/01")
    (handed_in / tiny_notebook.NAME).write_bytes(content)
    verdict = judged(course, handed_in)
    assert quiz_of(verdict) == PartScore("quiz", 10, 10, 0)
    told = questions_of(verdict)["answer_2"].failure
    assert told is not None
    assert (told.kind, told.where) == (kind, tiny_notebook.NAME)
    assert "clear all outputs" in told.advice


def test_a_link_to_the_authors_notebook_answers_nothing(course: Path) -> None:
    handed_in = tiny.write_kernels(course / "submitted/ada/01")
    (handed_in / tiny_notebook.NAME).symlink_to(course / "solutions/01" / tiny_notebook.NAME)
    told = questions_of(judged(course, handed_in))["answer_1"].failure
    assert told is not None
    assert told.kind == "link"
    linked = course / "submitted/bob"
    linked.symlink_to(course / "solutions/01")
    assert quiz_of(judged(course, linked)).earned == 0


def test_the_quiz_can_be_judged_alone_and_the_checks_without_it(course: Path) -> None:
    handed_in = hand_in(course, tiny_notebook.answered(tiny_notebook.RIGHT))
    assert [check.name for check in judged(course, handed_in, part="quiz").checks] == ["answer_1", "answer_2"]
    assert {check.part for check in judged(course, handed_in, part="correctness").checks} == {"correctness"}
    assert {check.part for check in judged(course, handed_in, only={"test_reads_once"}).checks} == {"technique"}


def test_mutants_and_stubs_are_judged_without_the_quiz(course: Path) -> None:
    """Else each of them, which has no notebook, would fail it, and no author named that."""
    session = grader.pytest_session.CheckSession(None, "simulated", 1, tiny.FakeChildren(), known=KnownOutcomes())  # type: ignore[arg-type]
    session.results[course / "solutions/01"] = [CheckResult("test_a", "correctness", 1, "It is right.", False, True)]
    (verdict,) = session.verdicts()
    assert [check.name for check in verdict.checks] == ["test_a"]


def test_an_assignment_without_a_quiz_is_judged_as_before(course: Path) -> None:
    (course / "course.yml").write_text(tiny.COURSE)
    verdict = judged(course, hand_in(course, tiny_notebook.answered(tiny_notebook.RIGHT)))
    assert [part.part for part in verdict.parts] == ["correctness", "technique", "speed"]
    assert len(verdict.checks) == 6
    with pytest.raises(AuthoringError, match="found none"):
        judged(course, course / "submitted/ada/01", part="quiz")


def test_points_for_a_quiz_that_asks_nothing_are_an_authors_mistake(course: Path) -> None:
    (course / "solutions/01" / tiny_notebook.NAME).unlink()
    with pytest.raises(AuthoringError, match="part 'quiz' has points, but no notebook"):
        judged(course, tiny.write_kernels(course / "s"))


def test_a_broken_key_is_an_authors_mistake_with_its_file(course: Path) -> None:
    path = course / "solutions/01" / tiny_notebook.NAME
    path.write_text(path.read_text().replace('answer_1 = \\"b\\"', 'answer_1 = \\"x\\"'))
    with pytest.raises(AuthoringError, match=r"doubling\.ipynb: answer_1: the key's 'x' is none of the choices"):
        judged(course, tiny.write_kernels(course / "s"))


def test_a_broken_key_is_shown_to_no_student(course: Path) -> None:
    """Where it is not noticed before: a folder without hidden checks."""
    folder = course / "solutions/01"
    path = folder / tiny_notebook.NAME
    path.write_text(path.read_text().replace('answer_1 = \\"b\\"', 'answer_1 = \\"x\\"'))
    (folder / "test_hidden.py").unlink()
    verdict = judged(course, tiny.write_kernels(course / "s"))
    (check,) = questions_of(verdict).values()
    assert (check.state, check.hidden, verdict.total) == (State.NOT_JUDGED, True, None)
    assert "'x'" in check.reason
    assert "'x'" not in to_json((for_student(verdict),))
    assert "'x'" not in verdict.summary


def test_two_notebooks_may_not_ask_by_one_name(course: Path) -> None:
    tiny_notebook.write(course / "solutions/01", tiny_notebook.document(), "other.ipynb")
    with pytest.raises(AuthoringError, match=r"other\.ipynb: answer_1 is in doubling\.ipynb, too"):
        keyed_notebooks(course / "solutions/01")


# ---------------------------------------------------------------------- where the key is not


def test_a_learner_is_told_which_answers_can_be_read_and_never_which_are_right(course: Path) -> None:
    folder = released(course, {"answer_1": 'answer_1 = "a"'})
    verdict = judge_submission(folder, folder)
    assert {name: (check.passed, check.reason) for name, check in questions_of(verdict).items()} == {
        "answer_1": (None, OPEN),
        "answer_2": (None, f"answer_2 is not answered yet; {OPEN}"),
    }
    assert quiz_of(verdict) == PartScore("quiz", 10, 0, 0)
    assert verdict.total is None


def test_a_quiz_does_not_wait_for_a_gpu(course: Path) -> None:
    folder = released(course, tiny_notebook.RIGHT)
    summary = judge_submission(folder, folder).summary
    assert summary == f"all 3 checks passed; speed not measured: no GPU; quiz not measured: {OPEN}."


@pytest.mark.parametrize("content", [None, b"{broken", b'{"cells": []}'])
def test_a_learner_without_a_notebook_has_kernels_judged(course: Path, content: bytes | None) -> None:
    folder = released(course, {})
    (folder / tiny_notebook.NAME).unlink()
    if content is not None:
        (folder / tiny_notebook.NAME).write_bytes(content)
    verdict = judge_submission(folder, folder)
    assert verdict.points_judged == 70
    assert [check.reason for check in questions_of(verdict).values()] == [OPEN]


def test_checkpoints_of_jupyter_are_no_notebooks_of_the_assignment(course: Path) -> None:
    tiny_notebook.write(
        course / "solutions/01/.ipynb_checkpoints", tiny_notebook.document(), "doubling-checkpoint.ipynb"
    )
    tiny_notebook.write(course / "solutions/01", tiny_notebook.document(), ".hidden.ipynb")
    assert set(keyed_notebooks(course / "solutions/01")) == {tiny_notebook.NAME}


def test_pytest_itself_judges_kernels_and_writes_the_quiz_into_the_verdict(
    pytester: pytest.Pytester, course: Path
) -> None:
    handed_in = hand_in(course, tiny_notebook.answered(tiny_notebook.RIGHT))
    result = pytester.runpytest(
        str(course / "solutions/01"), f"--submission={handed_in}", "--verdict=verdict.json", "--device=simulated"
    )
    result.assert_outcomes(passed=5, skipped=1)
    (verdict,) = from_json((pytester.path / "verdict.json").read_text())
    assert quiz_of(verdict) == PartScore("quiz", 10, 10, 10)


def test_a_folder_of_checks_that_vanishes_raises_nothing(tmp_path: Path) -> None:
    checks = quiz_checks(tmp_path / "none", tmp_path / "gone")
    assert [(check.name, check.state) for check in checks] == [("quiz", State.NOT_MEASURED)]
    assert not any(isinstance(check.failure, Failure) for check in checks)
