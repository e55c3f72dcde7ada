"""`grader export`: from results or from nbgrader's gradebook, every format, and never a 0 for what was not judged."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import class_judges
import pytest
import tiny_course as tiny
from test_cli import assert_one_sentence, grader

from grader.classroom import Task
from grader.gradebook import write_results
from grader.records import Verdict

MAKE_GRADEBOOK = """\
from nbgrader.api import Base, Gradebook
from sqlalchemy import create_engine
Base.metadata.create_all(create_engine("sqlite:///gradebook.db"))
with Gradebook("sqlite:///gradebook.db", "tiny") as found:
    found.add_assignment("01", duedate="2027-03-01T22:59:00+00:00")
    found.add_notebook("doubling", "01")
    found.add_grade_cell("correctness", "doubling", "01", max_score=60, cell_type="code")
    for student, score in (("ada", 60.0), ("bob", None)):
        found.add_student(student)
        found.add_submission("01", student)
        grade = found.find_grade("correctness", "doubling", "01", student)
        grade.auto_score, grade.needs_manual_grade = score, score is None
    found.db.commit()
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tiny.write_course(tmp_path)


def verdicts(root: Path) -> tuple[Verdict, ...]:
    full = class_judges.full_marks(Task(root, root, "ada", "simulated"))
    return full, replace(full, student="=bob", total=None, summary="speed not measured: no GPU")


@pytest.mark.parametrize(
    ("to", "files"),
    [
        ("csv", {"grades.csv"}),
        ("canvas", {"canvas.csv"}),
        ("moodle", {"moodle.csv"}),
        ("gradescope", {"01/ada/results.json"}),
        ("junit", {"junit.xml"}),
    ],
)
def test_results_become_files_and_who_has_no_score_is_named(root: Path, to: str, files: set[str]) -> None:
    write_results(root / "results", "01", verdicts(root))
    done = grader("export", "--to", to, cwd=root)
    assert done.returncode == 0, done
    exported = root / "exported"
    assert {str(path.relative_to(exported)) for path in exported.rglob("*") if path.is_file()} == files
    assert "no score yet: =bob, 01: speed not measured: no GPU" in done.stdout
    assert "no score yet: ada" not in done.stdout


def test_without_any_scores_one_sentence_says_what_to_run(root: Path) -> None:
    assert_one_sentence(grader("export", cwd=root), "no scores of 01: run `grader grade 01`")
    assert_one_sentence(grader("export", "7", cwd=root), "unknown assignment '7'")
    (root / "results").mkdir()
    (root / "results/01.json").write_text("{}")
    assert_one_sentence(grader("export", cwd=root), "holds no results of `grader grade`; run it again")


def test_a_gradebook_that_is_not_there_is_not_made(root: Path) -> None:
    pytest.importorskip("nbgrader", reason="nbgrader is not installed")
    assert_one_sentence(grader("export", "--gradebook", "sqlite:///no.db", cwd=root), "expected a gradebook at")
    assert not (root / "no.db").exists()


def test_nbgraders_gradebook_comes_before_results_and_has_their_checks(root: Path) -> None:
    pytest.importorskip("nbgrader", reason="nbgrader is not installed")
    subprocess.run([sys.executable, "-W", "ignore", "-c", MAKE_GRADEBOOK], cwd=root, check=True, timeout=120)
    write_results(root / "results", "01", verdicts(root))
    done = grader("export", cwd=root)
    assert done.returncode == 0, done
    with (root / "exported/grades.csv").open(newline="") as file:
        scores = {line["student_id"]: line["score"] for line in csv.DictReader(file)}
    assert scores == {"ada": "60.0", "bob": ""}
    assert "gradebook.db" in done.stdout
    assert "Warning" not in done.stderr
    assert grader("export", "--to", "gradescope", cwd=root).returncode == 0
    document = json.loads((root / "exported/01/ada/results.json").read_text())
    assert document["score"] == 60
    assert [test["tags"] for test in document["tests"]] == [[check.part] for check in verdicts(root)[0].checks]
