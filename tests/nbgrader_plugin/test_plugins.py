"""nbgrader's plugins are this course's, by its settings alone: exports have blanks, late points are course.yml's.

And `grader export` reads nbgrader's gradebook.
"""

from __future__ import annotations

import csv
import json
import re
import sqlite3
import subprocess
from collections.abc import Callable
from dataclasses import replace
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
FIVE = """\
  "05":
    title: Without a notebook
    parts: {correctness: 100}
    limits: {check: 5 s, memory: 1 GiB, timeouts: 5 s}
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
        (root / "submitted" / student / "01/kernels.py").touch()
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
        assert "01: no score yet for bob: waits for a score: speed" in done.stderr
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
    for student in ("dan", "eve"):  # not autograded yet; in no gradebook
        (root / "submitted" / student / "01").mkdir(parents=True)
        (root / "submitted" / student / "01/kernels.py").touch()
    done = python(GRADER, "export")
    assert done.returncode == 0, done
    found = {"ada": "80.0", "bob": "", "cy": "0.0", "dan": "", "eve": ""}
    assert scores(root) == {("01", student): score for student, score in found.items()}
    assert "no score yet for 2 students (dan, eve): handed in, not autograded yet" in done.stdout
    assert "gradebook.db" in done.stdout
    assert "Warning" not in done.stderr
    assert python(GRADER, "export", "--to", "gradescope").returncode == 0
    document = json.loads((root / "exported/01/ada/results.json").read_text())
    assert document["score"] == 80
    assert [test["tags"] for test in document["tests"]] == [[check.part] for check in full.checks]


def scores(root: Path) -> dict[tuple[str, str], str]:
    with (root / "exported/grades.csv").open(newline="") as file:
        return {(line["assignment"], line["student_id"]): line["score"] for line in csv.DictReader(file)}


@pytest.mark.usefixtures("gradebook_file")
def test_what_the_gradebook_has_no_cells_of_is_taken_from_results(
    root: Path, python: Run, nbgrader_command: Run
) -> None:
    assert python(AUTOGRADED + 'found.add_assignment("05", duedate="2027-03-01T22:59:00+00:00")').returncode == 0
    course = root / "course.yml"
    course.write_text(course.read_text() + FIVE)
    done = python(GRADER, "export", "05")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("grader: no scores of 05: run `grader grade 05`")
    full = class_judges.full_marks(Task(root, root, "zoe", "simulated"))
    write_results(root / "results", "05", [replace(full, assignment="05")])
    done = python(GRADER, "export", "05")
    assert (done.returncode, scores(root)) == (0, {("05", "zoe"): "100.0"}), done
    assert "are those of results" in python(GRADER, "export").stdout
    assert scores(root)["05", "zoe"] == "100.0"
    assert scores(root)["01", "ada"] == "80.0"
    for exporter in ("CsvExport", "CanvasExport"):
        assert nbgrader_command("export", f"--exporter=grader.nbgrader_plugin.{exporter}").returncode == 0
    assert (root / "grades.csv").read_text().count("\n05,") == 1
    assert ",01,05\n" in (root / "canvas.csv").read_text()
    write_results(root / "results", "05", [replace(full, assignment="05", student=name) for name in ("ada", "zoe")])
    for asked, wanted in (("assignment=01", [("01", "ada")]), ("assignment=05", [("05", "ada")]), ("", None)):
        more = [f"--CsvExport.{asked}"] if asked else []
        assert nbgrader_command("export", "--CsvExport.student=ada", *more).returncode == 0
        with (root / "grades.csv").open(newline="") as file:
            rows = [(line["assignment"], line["student_id"]) for line in csv.DictReader(file)]
        assert rows == (wanted or [("01", "ada"), ("05", "ada")])


@pytest.mark.usefixtures("gradebook_file")
def test_results_that_are_asked_for_count_and_not_the_gradebook(root: Path, python: Run) -> None:
    assert python(AUTOGRADED).returncode == 0
    write_results(root / "results", "01", [class_judges.full_marks(Task(root, root, "ada", "simulated"))])
    done = python(GRADER, "export", "--results", "results")
    assert (done.returncode, scores(root)) == (0, {("01", "ada"): "100.0"}), done
    assert "gradebook.db" not in done.stdout
    # With both, the gradebook's scores count, with checks from results.
    assert python(GRADER, "export", "--results", "results", "--gradebook", "sqlite:///gradebook.db").returncode == 0
    assert scores(root)["01", "ada"] == "80.0"


@pytest.mark.usefixtures("gradebook_file")
def test_the_gradebook_is_the_one_of_nbgraders_own_settings(root: Path, python: Run) -> None:
    assert python(AUTOGRADED).returncode == 0
    (root / "gradebook.db").rename(root / "elsewhere.db")
    settings = root / "nbgrader_config.py"
    course_settings = settings.read_text()
    done = python(GRADER, "export")
    assert done.stderr.startswith("grader: no scores of 01"), done
    for url in (f"sqlite:///{root}/elsewhere.db", "sqlite:///elsewhere.db"):
        settings.write_text(f"{course_settings}c.CourseDirectory.db_url = {url!r}\n")
        done = python(GRADER, "export")
        assert (done.returncode, scores(root)["01", "ada"]) == (0, "80.0"), done
        assert f"are those of sqlite:///{root}/elsewhere.db" in done.stdout
        assert done.stderr == ""
    settings.write_text(f"{course_settings}c.CourseDirectory.db_url = 'postgresql+psycopg://me:secret@/x?host=/no'\n")
    done = python(GRADER, "export")
    assert (done.returncode, done.stderr.count("\n"), "secret" in done.stderr) == (2, 1, False), done
    assert done.stderr.startswith("grader: the gradebook at /x?host=/no cannot be read: ")
    settings.write_text(f"{course_settings}a mistake\n")
    done = python(GRADER, "export")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1), done
    assert done.stderr.startswith("grader: nbgrader's settings cannot be read: ")


def test_reading_nbgraders_settings_lets_no_file_of_the_course_be_a_module(python: Run) -> None:
    done = python(
        "import sys; from pathlib import Path; sys.path.remove('')\n"
        "from grader.nbgrader_plugin.database import database_of\n"
        "before = list(sys.path); print(database_of(Path.cwd())); assert sys.path == before, sys.path"
    )
    assert (done.returncode, done.stdout.count("gradebook.db")) == (0, 1), done.stderr


@pytest.mark.usefixtures("gradebook_file")
def test_what_differs_from_course_yml_is_told_and_course_yml_counts(
    root: Path, python: Run, nbgrader_command: Run
) -> None:
    assert python(AUTOGRADED).returncode == 0
    course = root / "course.yml"
    plain = course.read_text()
    course.write_text(
        plain.replace("title: Doubling", "title: Doubling\n    due: 2027-03-01T23:59:00+01:00").replace(
            "{correctness: 60, technique: 20, speed: 20}", "{correctness: 60, speed: 40}"
        )
    )
    for told in (python(GRADER, "export").stdout, nbgrader_command("export").stderr):
        assert "01: no score yet for bob" in told  # and there is no other line on the assignment
        assert not re.search("course.yml|other points", told)
    course.write_text(plain.replace("title: Doubling", "title: Doubling\n    due: 2027-04-01T12:00:00+02:00"))
    full = class_judges.full_marks(Task(root, root, "ada", "simulated"))
    write_results(root / "results", "01", [full, replace(full, student="bob")])
    for done, output in (
        (python(GRADER, "export"), "stdout"),
        (nbgrader_command("export"), "stderr"),
    ):
        told = getattr(done, output)
        assert done.returncode == 0, done
        assert "01: due 2027-04-01 12:00+02:00 by course.yml, which counts here; the gradebook" in told
        assert "have 2027-03-02 00:59+02:00 until `nbgrader generate_assignment 01`" in told
        assert "01: the gradebook has other points than course.yml: `nbgrader generate_assignment 01`" in told
        assert "01: by other points than course.yml's now: 2 students (ada, bob); `nbgrader autograde 01 --f" in told
        assert "01: no score yet for 2 students (cy, dan): nothing handed in, not due until 2027-04-01" in told
    with (root / "exported/grades.csv").open(newline="") as file:
        assert {line["duedate"] for line in csv.DictReader(file)} == {"2027-04-01T12:00:00+02:00"}


def test_a_gradebook_that_is_not_there_is_not_made(root: Path, python: Run) -> None:
    done = python(GRADER, "export", "--gradebook", "sqlite:///no.db")
    assert done.returncode == 2
    assert done.stderr.startswith("grader: expected a gradebook at")
    assert done.stderr.count("\n") == 1
    assert not (root / "no.db").exists()


COLUMNS = "first_name, last_name, email, lms_user_id"
NAMES = """\
import json, sqlite3
from nbgrader.apps import NbGrader
app = NbGrader(); app.initialize([])
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db", "tiny") as found:
    names = lambda s: [s.first_name, s.last_name, s.email, s.lms_user_id, s.to_dict()["last_name"]]
    print(json.dumps([names(student) for student in found.students]))
    found.find_student("bob").first_name = "<b>"
    found.db.commit()
    print(json.dumps([found.find_student("bob").first_name]))
    bob = found.find_student("bob")
    found.db.commit()  # from here on his names are read anew, and somebody has changed one meanwhile
    with sqlite3.connect("gradebook.db") as other:
        other.execute("UPDATE student SET last_name = '<i>' WHERE id = 'bob'")
    print(json.dumps([bob.last_name]))
"""


@pytest.mark.usefixtures("gradebook_file")
def test_no_name_is_markup_whoever_has_put_it_into_the_gradebook(
    root: Path, python: Run, nbgrader_command: Run
) -> None:
    evil = "</span><script>alert(1)</script>"
    shown = "‹/span›‹script›alert(1)‹/script›"
    names = (f"--first-name={evil}", f"--last-name={evil}", f"--email={evil}", f"--lms-user-id={evil}")
    assert nbgrader_command("db", "student", "add", "ada", *names).returncode == 0
    with sqlite3.connect(root / "gradebook.db") as database:
        assert database.execute(f"SELECT {COLUMNS} FROM student").fetchall() == [(shown,) * 4]
        # Without this course's settings, or from before them.
        database.execute(f"INSERT INTO student (id, {COLUMNS}) VALUES ('bob', ?, ?, ?, ?)", (evil,) * 4)
    done = python(NAMES)
    assert done.returncode == 0, done.stderr
    read, written, again = map(json.loads, done.stdout.splitlines())
    assert read == [[shown] * 5] * 2
    assert (written, again) == (["‹b›"], ["‹i›"])
