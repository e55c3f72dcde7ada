"""nbgrader's plugins are this course's, by its settings alone: exports have blanks, late points are course.yml's.

And `grader export` reads nbgrader's gradebook.
"""

from __future__ import annotations

import csv
import json
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import class_judges
import pytest

from grader.classroom import Task
from grader.gradebook import write_results

Run = Callable[..., subprocess.CompletedProcess[str]]
# ada has been judged, bob waits for a GPU, cy has handed in since, dan nothing.
AUTOGRADED = """\
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db", "tiny") as found:
    found.add_assignment("01", duedate="2027-03-01T22:59:00+00:00")
    found.add_notebook("doubling", "01")
    for part, points in (("correctness", 60), ("speed", 40)):
        found.add_grade_cell(part, "doubling", "01", max_score=points, cell_type="code")
    for student in ("ada", "bob", "cy", "dan"):
        found.add_student(student, last_name='=HYPERLINK("http://x")')
    for student, speed in (("ada", 20.0), ("bob", None)):
        found.add_submission("01", student)
        for part, score in (("correctness", 60.0), ("speed", speed)):
            grade = found.find_grade(part, "doubling", "01", student)
            grade.auto_score, grade.needs_manual_grade = score, score is None
    found.db.commit()
"""
GRADER = "from grader.cli import main; main()"
CHOSEN = """\
from nbgrader.apps import NbGrader
from nbgrader.preprocessors import AssignLatePenalties
app = NbGrader(); app.initialize([])
print(AssignLatePenalties(parent=app).plugin_class.__name__)
"""


@pytest.mark.usefixtures("gradebook_file")
def test_every_export_of_nbgraders_is_blank_where_nothing_was_judged(
    root: Path, python: Run, nbgrader_command: Run
) -> None:
    assert python(AUTOGRADED).returncode == 0
    for student in ("cy", "eve"):  # who is in no gradebook
        (root / "submitted" / student / "01").mkdir(parents=True)
    for arguments, name, column in (
        ("", "grades.csv", "score"),
        ("--exporter=nbgrader.plugins.CsvExportPlugin --to=theirs.csv", "theirs.csv", "score"),
        ("--exporter=nbgrader.plugins.export.CsvExportPlugin", "grades.csv", "score"),
        ("--exporter=nbgrader.apps.exportapp.CsvExportPlugin", "grades.csv", "score"),
        ("--exporter=grader.nbgrader_plugin.CsvExport", "grades.csv", "score"),
        ("--exporter=grader.nbgrader_plugin.CanvasExport", "canvas.csv", "01"),
        ("--exporter=grader.nbgrader_plugin.MoodleExport", "moodle.csv", "01"),
    ):
        done = nbgrader_command("export", *arguments.split())
        assert done.returncode == 0, done.stderr
        assert "'bob', 01: left blank: waits for a score: speed" in done.stderr
        with (root / name).open(newline="") as file:
            scores = [line[column] for line in csv.DictReader(file)]
        assert scores[-5:] == ["80.0", "", "", "0.0", ""], arguments
        assert '"=HYPERLINK' not in (root / name).read_text()
        (root / name).unlink()


def test_points_off_for_being_late_are_asked_of_course_yml(python: Run) -> None:
    done = python(CHOSEN)
    assert done.stdout == "LatePenalty\n", done.stderr


@pytest.mark.usefixtures("gradebook_file")
def test_grader_export_takes_scores_from_nbgraders_gradebook_and_checks_from_results(root: Path, python: Run) -> None:
    assert python(AUTOGRADED).returncode == 0
    full = class_judges.full_marks(Task(root, root, "ada", "simulated"))
    write_results(root / "results", "01", [full])
    done = python(GRADER, "export")
    assert done.returncode == 0, done
    with (root / "exported/grades.csv").open(newline="") as file:
        scores = {line["student_id"]: line["score"] for line in csv.DictReader(file)}
    assert scores == {"ada": "80.0", "bob": "", "cy": "0.0", "dan": "0.0"}
    assert "gradebook.db" in done.stdout
    assert "Warning" not in done.stderr
    assert python(GRADER, "export", "--to", "gradescope").returncode == 0
    document = json.loads((root / "exported/01/ada/results.json").read_text())
    assert document["score"] == 80
    assert [test["tags"] for test in document["tests"]] == [[check.part] for check in full.checks]


def test_a_gradebook_that_is_not_there_is_not_made(root: Path, python: Run) -> None:
    done = python(GRADER, "export", "--gradebook", "sqlite:///no.db")
    assert done.returncode == 2
    assert done.stderr.startswith("grader: expected a gradebook at")
    assert done.stderr.count("\n") == 1
    assert not (root / "no.db").exists()


NAMES = """\
import json
from nbgrader.apps import NbGrader
app = NbGrader(); app.initialize([])
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db", "tiny") as found:
    print(json.dumps([[s.first_name, s.last_name, s.email, s.to_dict()["last_name"]] for s in found.students]))
    found.find_student("bob").first_name = "<b>"
    found.db.commit()
    print(json.dumps([found.find_student("bob").first_name]))
"""


@pytest.mark.usefixtures("gradebook_file")
def test_no_name_is_markup_whoever_has_put_it_into_the_gradebook(
    root: Path, python: Run, nbgrader_command: Run
) -> None:
    evil = "</span><script>alert(1)</script>"
    shown = "‹/span›‹script›alert(1)‹/script›"
    names = (f"--first-name={evil}", f"--last-name={evil}", f"--email={evil}")
    assert nbgrader_command("db", "student", "add", "ada", *names).returncode == 0
    with sqlite3.connect(root / "gradebook.db") as database:
        assert database.execute("SELECT first_name, last_name, email FROM student").fetchall() == [(shown,) * 3]
        # Without this course's settings, or from before them.
        database.execute("INSERT INTO student (id, first_name, last_name, email) VALUES ('bob', ?, ?, ?)", (evil,) * 3)
    done = python(NAMES)
    read, written = map(json.loads, done.stdout.splitlines())
    assert read == [[shown] * 4] * 2
    assert written == ["‹b›"]
