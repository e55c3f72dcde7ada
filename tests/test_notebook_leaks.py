"""What a released notebook must not show: its key, its outputs, anything hidden, wherever in the JSON it stands."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from notebook_course import NOTEBOOK, POINTS, WHY, cell, cells, notebook_text, write_notebook_course

from grader.course import Course, load_course
from grader.errors import ReleaseError
from grader.release import build, out_of_date, release
from grader.student_archive import bundle

Notebook = dict[str, Any]


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return load_course(write_notebook_course(tmp_path) / "course.yml")


def released_cells() -> list[Notebook]:
    """The cells as nbgrader releases them, so far as the search is concerned."""
    made = cells()
    (answer,) = (one for one in made if one["id"] == "answer_1")
    answer["source"] = ["answer_1 = ...  # a number\n", "# write your answer in place of the dots"]
    return made


def released() -> dict[str, str]:
    return {NOTEBOOK: notebook_text(released_cells())}


def test_a_notebook_without_its_key_is_released(course: Course) -> None:
    assert set(build(course, "01", released())) == {
        "course.yml",
        NOTEBOOK,
        "kernels.py",
        "problem.py",
        "test_public.py",
    }


def test_the_source_itself_is_refused(course: Course) -> None:
    with pytest.raises(ReleaseError, match="a solution marker is left"):
        build(course, "01", {NOTEBOOK: notebook_text(cells())})


def add(source: str, kind: str = "markdown", **more: Any) -> Callable[[Notebook], None]:
    """Adds a cell with keys of its own."""
    return lambda notebook: notebook["cells"].append(cell("new", source, kind) | more)


def at(*way: Any, value: Any) -> Callable[[Notebook], None]:
    """Sets a value in the notebook."""

    def change(notebook: Notebook) -> None:
        holder: Any = notebook
        for step in way[:-1]:
            holder = holder[step]
        holder[way[-1]] = value

    return change


LEAKS: dict[str, tuple[Callable[[Notebook], None], str]] = {
    "the answer": (add("answer_1 = 133", "code"), "holds a line of the key of 'answer_1'"),
    "the answer, laid out otherwise": (add("#  answer_1=133", "code"), "holds a line of the key of 'answer_1'"),
    "the answer in a sentence": (add("Say `answer_1 = 133`."), "holds a line of the key of 'answer_1'"),
    "the name of an explanation": (add("why_1 = {}", "code"), "holds a name of a question's key"),
    "the tolerance": (add("within_1 = 2", "code"), "holds a name of a question's key"),
    "an explanation": (add(f"Remember:\n{WHY}"), "holds an explanation of 'answer_1'"),
    "an explanation on two lines": (add(WHY.replace(" of ", "\nof ")), "holds an explanation of 'answer_1'"),
    "a hidden check": (add("See test_odd_sizes."), "'test_odd_sizes' is a hidden check"),
    "a mutant": (add("Beware of forgotten_guard!"), "name of the mutant"),
    "the kernel's solution": (
        add("blocks_needed = (x.size + threads - 1) // threads", "code"),
        "holds the solution's line",
    ),
    "a marker": (add("### END SOLUTION", "code"), "a solution marker is left"),
    "hidden tests": (add("### BEGIN HIDDEN TESTS", "code"), "a marker of nbgrader's is left"),
    "a mark scheme": (add("=== BEGIN MARK SCHEME ==="), "a marker of nbgrader's is left"),
    "an output": (at("cells", 1, "outputs", value=[{"output_type": "stream", "text": "133"}]), "has outputs"),
    "an execution count": (at("cells", 1, "execution_count", value=3), "has an execution count"),
    "metadata of a cell": (at("cells", 1, "metadata", "key", value="b"), "has metadata 'key'"),
    "a key of a cell": (at("cells", 1, "solution", value="b"), "has a key 'solution'"),
    "metadata of the notebook": (at("metadata", "widgets", value={}), "the notebook has metadata 'widgets'"),
    "metadata that is allowed": (at("cells", 1, "metadata", "tags", value=["test_odd_sizes"]), "is a hidden check"),
    "a name in metadata": (at("metadata", "warpgrade", value={"why_1": 1}), "holds a name of a question's key"),
}


@pytest.mark.parametrize("kind", LEAKS)
def test_whatever_shows_something_hidden_is_refused_with_its_cell(course: Course, kind: str) -> None:
    change, said = LEAKS[kind]
    notebook = json.loads(released()[NOTEBOOK])
    change(notebook)
    with pytest.raises(ReleaseError) as caught:
        release(course, "01", {NOTEBOOK: json.dumps(notebook)})
    assert said in str(caught.value)
    assert str(caught.value).startswith(NOTEBOOK)
    assert not (course.file.parent / "assignments").exists()


@pytest.mark.parametrize("text", ["", "{broken", "[]", '{"cells": 3}', "[" * 100_000])
def test_what_is_no_notebook_is_refused_with_a_sentence(course: Course, text: str) -> None:
    with pytest.raises(ReleaseError, match=f"{NOTEBOOK}: expected a notebook"):
        build(course, "01", {NOTEBOOK: text})


def test_what_is_no_cell_is_refused(course: Course) -> None:
    notebook = json.loads(released()[NOTEBOOK])
    notebook["cells"].append("answer")
    with pytest.raises(ReleaseError, match="holds 'answer', which is no cell"):
        build(course, "01", {NOTEBOOK: json.dumps(notebook)})


def test_a_part_without_a_cell_or_with_two_is_refused(course: Course) -> None:
    without = [one for one in released_cells() if one["id"] != "speed"]
    with pytest.raises(ReleaseError, match="expected a cell with grade_id 'speed' and 20 points"):
        build(course, "01", {NOTEBOOK: notebook_text(without)})
    points = POINTS["speed"]
    twice = {NOTEBOOK: released()[NOTEBOOK], "b.ipynb": notebook_text([cell("speed", "1", grade=True, points=points)])}
    with pytest.raises(ReleaseError, match=f"another in {NOTEBOOK}"):
        build(course, "01", twice)


def test_a_release_notes_its_notebooks_and_is_up_to_date(course: Course) -> None:
    done = release(course, "01", released())
    assert (done.kept, done.removed) == ((), ())
    assert out_of_date(course, "01", released()) == ()
    assert release(course, "01", released()).changed == ()
    changed = {NOTEBOOK: notebook_text([*released_cells(), cell("more", "More.", "markdown")])}
    assert set(out_of_date(course, "01", changed)) == {NOTEBOOK, "course.yml"}


def test_an_edited_notebook_is_kept_through_every_later_release(course: Course) -> None:
    target = release(course, "01", released()).folder
    mine = (target / NOTEBOOK).read_text().replace("answer_1 = ...", "answer_1 = 5")
    (target / NOTEBOOK).write_text(mine)
    for text in ("One.", "Two."):
        done = release(course, "01", {NOTEBOOK: notebook_text([*released_cells(), cell("more", text, "markdown")])})
        assert done.kept == (NOTEBOOK,)
        assert (target / NOTEBOOK).read_text() == mine


def test_without_nbgrader_notebooks_and_their_notes_stay_as_they_are(course: Course) -> None:
    target = release(course, "01", released()).folder
    before = {path.name: path.read_bytes() for path in target.iterdir()}
    assert out_of_date(course, "01") == ()
    assert release(course, "01").changed == ()
    assert {path.name: path.read_bytes() for path in target.iterdir()} == before


def test_a_notebook_that_the_course_no_longer_has_goes_unless_it_was_edited(course: Course) -> None:
    target = release(course, "01", released()).folder
    other = {"other.ipynb": released()[NOTEBOOK]}
    assert out_of_date(course, "01", other) == ("course.yml", "other.ipynb", NOTEBOOK)
    assert release(course, "01", other).removed == (NOTEBOOK,)
    assert [path.name for path in sorted(target.glob("*.ipynb"))] == ["other.ipynb"]
    (target / "other.ipynb").write_text("{}")
    assert release(course, "01", released()).removed == ()
    assert (target / "other.ipynb").exists()


def test_a_notebook_with_its_solutions_in_the_released_folder_is_refused(course: Course) -> None:
    target = release(course, "01", released()).folder
    (target / "mine.ipynb").write_text(notebook_text(cells()))
    with pytest.raises(ReleaseError, match=r"mine\.ipynb: must not lie in a released folder, it has its solutions"):
        release(course, "01", released())


def test_an_archive_has_fresh_notebooks(course: Course) -> None:
    import zipfile

    target = release(course, "01", released()).folder
    (target / NOTEBOOK).write_text(notebook_text(cells()))
    with zipfile.ZipFile(bundle(course, {"01": released()})) as zipped:
        assert zipped.read(f"tiny/assignments/01/{NOTEBOOK}").decode() == released()[NOTEBOOK]
