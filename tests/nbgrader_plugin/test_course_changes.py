"""What changes after a class was autograded, points, dates, policy: the next step tells of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import class_judges
import nbgrader_class as handed_in
import pytest
import tiny_notebook as notebook

from grader.classroom import Task
from grader.gradebook import known_results, write_results

Run = Callable[..., subprocess.CompletedProcess[str]]
# A date that somebody has set with Formgrader's pencil, and an extension.
EDITED = """\
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db", "tiny") as found:
    found.update_or_create_assignment("01", duedate="2027-05-05T05:00:00+00:00")
    found.grant_extension("01", "bob", days=2)
"""


@pytest.fixture
def graded(root: Path, gradebook_file: Path, nbgrader_command: Run) -> Path:
    """The course of ``nbgrader_class``, with ada and bob autograded."""
    (root / "course.yml").write_text(handed_in.COURSE)
    (root / "solutions/01/doubling.ipynb").unlink(missing_ok=True)
    notebook.write(root / "solutions/01", notebook.document())
    for student in ("ada", "bob"):
        handed_in.hand_in(root, student, book=notebook.answered(handed_in.RIGHT), timestamp=handed_in.LATE)
    done = nbgrader_command("autograde", "01", before=handed_in.FAKE_CLASS)
    assert done.returncode == 0, done.stderr
    return root


def test_who_was_judged_by_other_points_is_told_of(graded: Path, nbgrader_command: Run) -> None:
    book = graded / "solutions/01" / handed_in.NAME
    document = json.loads(book.read_text())
    for cell in document["cells"]:
        settings = cell["metadata"].get("nbgrader", {})
        if settings.get("points") == 50:
            settings["points"] = 45
    book.write_text(json.dumps(document, indent=1))
    course = graded / "course.yml"
    course.write_text(course.read_text().replace('"correctness": 50', '"correctness": 45'))
    told = "2 of those that were skipped were judged by other points than course.yml's (ada, bob): --force judges them"
    done = nbgrader_command("autograde", "01", before=handed_in.FAKE_CLASS)
    assert (done.returncode, told in done.stderr) == (0, True), done.stderr
    assert nbgrader_command("autograde", "01", "--force", before=handed_in.FAKE_CLASS).returncode == 0
    done = nbgrader_command("autograde", "01", before=handed_in.FAKE_CLASS)
    assert (done.returncode, "by other points" in done.stderr) == (0, False), done.stderr


def test_a_due_date_that_formgrader_was_given_is_set_back_with_a_line(
    graded: Path, python: Run, nbgrader_command: Run
) -> None:
    back = (
        "01: the gradebook's due date 2027-05-05 05:00+00:00, of Formgrader or an older course.yml, is set to "
        "course.yml's 2027-03-01 23:59+00:00"
    )
    for step in ("generate_assignment", "autograde"):
        assert python(EDITED).returncode == 0
        done = nbgrader_command(step, "01", before=handed_in.FAKE_CLASS)
        assert (done.returncode, back in done.stderr) == (0, True), done.stderr
        done = nbgrader_command(step, "01", before=handed_in.FAKE_CLASS)
        assert (done.returncode, "due date" in done.stderr) == (0, False), done.stderr


def test_an_extension_is_in_the_results(graded: Path, python: Run, nbgrader_command: Run) -> None:
    assert python(EDITED).returncode == 0
    assert nbgrader_command("autograde", "01", "--force", before=handed_in.FAKE_CLASS).returncode == 0
    found = known_results(graded / "results", "01")
    assert found is not None
    assert {s: (v.extension_seconds, v.late_seconds > 0) for s, v in found.items()} == {
        "ada": (0, True),
        "bob": (2 * 86400, False),
    }


def test_a_policy_that_scales_now_is_told_to_those_who_wait(graded: Path, nbgrader_command: Run) -> None:
    done = nbgrader_command("autograde", "01", before=handed_in.FAKE_CLASS)
    assert "2 of those that were skipped wait for a score (ada, bob): --force judges them again, say on" in done.stderr
    course = graded / "course.yml"
    course.write_text(course.read_text().replace("grading: {", "grading: {without_gpu: scale, "))
    done = nbgrader_command("autograde", "01", before=handed_in.FAKE_CLASS)
    assert "--force judges them again; without a GPU course.yml scales their totals now" in done.stderr


def test_races_against_another_cpu_are_told_of_across_runs(graded: Path, nbgrader_command: Run) -> None:
    full = class_judges.full_marks(Task(graded, graded, "cy", "simulated"))
    raced = [
        replace(full, student=name, checks=(replace(full.checks[0], measured={"baseline_ms": ms}),))
        for name, ms in (("cy", 100.0), ("dan", 150.0), ("eve", 150.0))
    ]
    write_results(graded / "results", "01", raced)
    done = nbgrader_command("autograde", "01", "--force", before=handed_in.FAKE_CLASS)
    assert "test_a: raced against CPU baselines of 100 to 150 ms" in done.stderr
    assert "grade again: cy\n" in done.stderr
