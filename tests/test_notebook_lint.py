"""``grader lint`` of a notebook: each broken promise is seen, and a whole notebook breaks none."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tiny_course as tiny
import tiny_notebook

from grader.course import Course, load_course
from grader.lint_rows import Row
from grader.notebook_lint import notebook_rows

Change = Callable[[Any], object]


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return load_course(tiny_notebook.write_quiz_course(tmp_path) / "course.yml")


def rows_of(course: Course, wanted: int = 2) -> dict[str, Row]:
    rows = notebook_rows(course.file.parent / "solutions/01", course.assignment("01"), wanted)
    return {row.what: row for row in rows}


def changed(course: Course, change: Change) -> dict[str, Row]:
    """Rows of the tiny notebook after ``change`` of its document."""
    document = tiny_notebook.document()
    change(document)
    tiny_notebook.write(course.file.parent / "solutions/01", document)
    return rows_of(course)


def cell_of(document: Any, cell_id: str) -> Any:
    return next(cell for cell in document["cells"] if cell["id"] == cell_id)


def marks_of(document: Any, cell_id: str) -> Any:
    return cell_of(document, cell_id)["metadata"]["nbgrader"]


def test_a_notebook_that_holds_its_promises_has_no_problem(course: Course) -> None:
    rows = rows_of(course)
    assert [row for row in rows.values() if row.ok is not True] == []
    assert set(rows) == {"notebook", "notebook's points", "notebook's opening", "quiz"}
    assert rows["quiz"].note.startswith("2 questions, each with a key")


def test_an_assignment_without_notebook_and_quiz_has_no_row(tmp_path: Path) -> None:
    assert rows_of(load_course(tiny.write_course(tmp_path) / "course.yml")) == {}


def test_a_quiz_without_a_notebook_is_a_problem(course: Course) -> None:
    (course.file.parent / "solutions/01" / tiny_notebook.NAME).unlink()
    assert rows_of(course)["notebook"].note.endswith("found 0")
    assert rows_of(course)["notebook"].ok is False


def test_a_second_notebook_is_a_problem(course: Course) -> None:
    tiny_notebook.write(course.file.parent / "solutions/01", tiny_notebook.document(), "other.ipynb")
    assert rows_of(course)["notebook"] == Row("notebook", False, rows_of(course)["notebook"].note)
    assert "expected one notebook" in rows_of(course)["notebook"].note


@pytest.mark.parametrize("content", [b"{broken", b"[]", b"\xff"])
def test_a_file_that_is_no_notebook_is_a_problem(course: Course, content: bytes) -> None:
    (course.file.parent / "solutions/01" / tiny_notebook.NAME).write_bytes(content)
    row = rows_of(course)["notebook"]
    assert row.ok is False
    assert row.note.startswith("doubling.ipynb: expected a notebook")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d.update(nbformat_minor=4), "expected nbformat 4.5 or newer, found 4.4"),
        (lambda d: d.update(nbformat_minor="x"), "expected nbformat 4.5 or newer, found 4.x"),
        (lambda d: d.update(nbformat=5), "expected nbformat 4.5 or newer, found 5.5"),
        (lambda d: d["cells"].append(3), "cell 11: expected an object"),
        (lambda d: cell_of(d, "load").pop("id"), "cell 2: expected an id"),
        (lambda d: cell_of(d, "load").update(id="a b"), "cell 2 (a b): expected an id"),
        (lambda d: cell_of(d, "load").update(id="3fa9c1d2"), "cell 2 (3fa9c1d2): expected an id that says what the ce"),
        (
            lambda d: cell_of(d, "load").update(id="0d4f5c8e-1f2a-4b3c-9d4e-aabbccddeeff"),
            "found one that an editor made",
        ),
        (lambda d: cell_of(d, "load").update(id="title"), "cell 2 (title): its id 'title' is that of cell 1"),
        (lambda d: cell_of(d, "load").update(outputs=[{}]), "cell 2 (load): expected no outputs"),
        (lambda d: cell_of(d, "load").update(execution_count=1), "cell 2 (load): expected no execution_count"),
        (lambda d: cell_of(d, "load").pop("execution_count"), "cell 2 (load): expected no execution_count"),
        (lambda d: cell_of(d, "load").update(source="x"), "cell 2 (load): expected its source as a list"),
        (lambda d: cell_of(d, "load")["metadata"].update(execution={}), "expected no metadata 'execution'"),
        (lambda d: marks_of(d, "speed").update(schema_version=2), "cell 9 (speed): expected nbgrader's schema_version"),
        (lambda d: marks_of(d, "speed").update(warpgrade=1), "nbgrader's schema knows no key 'warpgrade'"),
        (lambda d: marks_of(d, "speed").pop("locked"), "expected 'locked' to be true or false, found None"),
        (lambda d: marks_of(d, "speed").update(grade=1), "expected 'grade' to be true or false, found 1"),
        (lambda d: marks_of(d, "speed").update(grade_id="a b"), "expected a grade_id of letters"),
        (lambda d: marks_of(d, "speed").pop("points"), "expected points in a grade cell"),
        (lambda d: marks_of(d, "answer-1").update(points=1), "points count in grade cells alone"),
        (lambda d: marks_of(d, "answer-2").update(grade_id="answer_1"), "its grade_id 'answer_1' is that of cell 4"),
        (lambda d: cell_of(d, "speed")["metadata"].update(nbgrader=[]), "nbgrader's metadata as an object"),
    ],
)
def test_what_nbgrader_or_a_reader_of_differences_needs_is_seen(course: Course, change: Change, said: str) -> None:
    row = changed(course, change)["notebook"]
    assert row.ok is False
    assert row.note.startswith("doubling.ipynb: ")
    assert said in row.note


def test_another_layout_of_the_same_json_is_a_problem(course: Course) -> None:
    path = course.file.parent / "solutions/01" / tiny_notebook.NAME
    path.write_text(json.dumps(tiny_notebook.document(), indent=2))
    assert "expected the JSON that nbformat writes" in rows_of(course)["notebook"].note


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda d: d["cells"].remove(cell_of(d, "speed")),
            "a grade cell with grade_id 'speed' and 20 points, found none",
        ),
        (lambda d: marks_of(d, "speed").update(points=30), "expected the 20 points of course.yml, found 30"),
        (lambda d: marks_of(d, "speed").update(points=True), "expected the 20 points of course.yml, found True"),
        (lambda d: marks_of(d, "speed").update(grade_id="quickness"), "course.yml has no part 'quickness'"),
        (lambda d: marks_of(d, "speed").update(grade_id="quiz"), "a second grade cell of part 'quiz'"),
        (lambda d: marks_of(d, "speed").update(locked=False), "expected grade and locked, and neither"),
        (lambda d: marks_of(d, "speed").update(solution=True), "expected grade and locked, and neither"),
        (lambda d: marks_of(d, "answer-1").update(points=1), "course.yml has no part 'answer_1'"),
        (lambda d: marks_of(d, "answer-1").update(task=True), "course.yml has no part 'answer_1'"),
        (lambda d: cell_of(d, "speed").update(source=["%check quiz"]), "expected the line '%check speed' and no other"),
        (lambda d: cell_of(d, "speed").update(source="1.0"), "expected the line '%check speed' and no other"),
        (lambda d: cell_of(d, "speed").update(cell_type="markdown"), "expected the line '%check speed' and no other"),
    ],
)
def test_points_live_in_course_yml_alone(course: Course, change: Change, said: str) -> None:
    row = changed(course, change)["notebook's points"]
    assert row.ok is False
    assert said in row.note


@pytest.mark.parametrize(
    ("before", "word"),
    [
        ("**Questions:**", "questions"),
        ("**Objectives:**", "objectives"),
        ("minutes", "minutes"),
        ("**Prerequisites:**", "prerequisites"),
        ("Kirk & Hwu", "the chapters of Kirk & Hwu"),
    ],
)
def test_what_a_lesson_opens_with_is_asked_for(course: Course, before: str, word: str) -> None:
    assert before in tiny_notebook.OPENING
    row = changed(course, lambda d: cell_of(d, "title").update(source=[tiny_notebook.OPENING.replace(before, "")]))
    assert row["notebook's opening"].note == f"doubling.ipynb: expected before the first code cell: {word}"
    assert row["notebook's opening"].ok is False


def answer(number: int, before: str, after: str) -> Change:
    def change(document: Any) -> None:
        cell = cell_of(document, f"answer-{number}")
        text = "".join(cell["source"])
        assert before in text
        cell["source"] = text.replace(before, after).splitlines(keepends=True)

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (answer(1, '"c": "That is a grid."', ""), "answer_1: expected why_1 to explain the wrong choice 'c'"),
        (answer(1, ', "b" or "c"', ""), "answer_1: the key's 'b' is none of the choices"),
        (answer(1, 'answer_1 = "b"\n', ""), "answer_1: in its solution region"),
        (answer(1, "### END SOLUTION\n", ""), "answer_1: expected its key between"),
        (answer(1, "answer_1 = ...", 'answer_1 = "b"'), "answer_1: the notebook gives the answer away"),
        (answer(2, "why_2", "because"), "answer_2: expected why_2 to explain a typical wrong number"),
        (lambda d: d["cells"].remove(cell_of(d, "question-2")), "answer_2: expected a markdown cell of its own"),
        (lambda d: cell_of(d, "question-2").update(source=["- one"]), "answer_2: expected a markdown cell of its own"),
        (lambda d: d["cells"].remove(cell_of(d, "answer-2")), "expected at least 2 questions, found 1"),
    ],
)
def test_what_a_quiz_promises_is_seen(course: Course, change: Change, said: str) -> None:
    row = changed(course, change)["quiz"]
    assert row.ok is False
    assert said in row.note


def with_keys(*keys: str) -> Change:
    """Questions with these keys, of three choices each, in the place of the tiny notebook's."""

    def change(document: Any) -> None:
        kept = [cell for cell in document["cells"] if "question" not in cell["id"] and "answer" not in cell["id"]]
        asked = []
        for number, key in enumerate(keys, 1):
            why = {choice: "No." for choice in "abc" if choice not in key}
            written = repr(key) if len(key) == 1 else repr(set(key))
            region = f"### BEGIN SOLUTION\nanswer_{number} = {written}\nwhy_{number} = {why}\n### END SOLUTION\n"
            source = f'answer_{number} = ...  # "a", "b", "c"\n{region}'
            asked.append(tiny_notebook.markdown(f"question-{number}", f"What is thing {number}?"))
            asked.append(tiny_notebook.answer_cell(number, source))
        document["cells"] = [*kept[:2], *asked, *kept[2:]]

    return change


def test_a_letter_that_answers_most_questions_of_one_choice_is_seen(course: Course) -> None:
    """Whoever writes it everywhere would earn most of the quiz."""
    row = changed(course, with_keys("b", "b", "a", "b"))["quiz"]
    assert row.ok is False
    assert "'b' is the key of 3 of the 4 questions with one right choice" in row.note
    assert "reorder" in row.note


@pytest.mark.parametrize("keys", [("b", "b", "b"), ("b", "b", "a", "c"), ("b", "ab", "bc", "b", "b")])
def test_half_of_the_questions_or_few_of_them_may_have_one_letter(course: Course, keys: tuple[str, ...]) -> None:
    assert changed(course, with_keys(*keys))["quiz"].ok is True


def test_how_many_questions_are_enough_is_course_policy(course: Course) -> None:
    assert rows_of(course, 3)["quiz"] == Row("quiz", False, "doubling.ipynb: expected at least 3 questions, found 2")


def test_no_number_of_questions_is_asked_of_an_assignment_without_a_quiz(tmp_path: Path) -> None:
    course = load_course(tiny.write_course(tmp_path) / "course.yml")
    tiny_notebook.write(tmp_path / "solutions/01", tiny_notebook.document())
    rows = rows_of(course, 6)
    assert rows["quiz"].ok is True
    assert "course.yml has no part 'quiz'" in rows["notebook's points"].note
