"""What changes after a class was autograded, points, dates, policy: the next step tells of it."""

from __future__ import annotations

import csv
import json
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import class_judges
import nbgrader_class as handed_in
import pytest
import tiny_notebook as notebook
from live_markup import Markup

from grader.classroom import Task
from grader.gradebook import known_results, read_results, write_results

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


BY_HAND = """\
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db", "tiny") as found:
    for student, points in (("ada", 46.0), ("bob", 45.0)):
        found.find_grade("correctness", "doubling", "01", student).manual_score = points
        found.find_grade("speed", "doubling", "01", student).manual_score = 7.0
    found.db.commit()
"""
FLAGS = """\
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db", "tiny") as found:
    for student in ("ada", "bob"):
        grade = found.find_grade("correctness", "doubling", "01", student)
        print(student, grade.needs_manual_grade, grade.manual_score, grade.max_score)
"""


def with_correctness(root: Path, before: int, after: int) -> None:
    """course.yml with other points for correctness."""
    course = root / "course.yml"
    text = course.read_text().replace(f'"correctness": {before}', f'"correctness": {after}')
    assert text != course.read_text()
    course.write_text(text)


def test_a_score_by_hand_above_a_parts_new_points_is_open_flagged_and_told_by_every_step(
    graded: Path, python: Run, nbgrader_command: Run
) -> None:
    assert python(BY_HAND).returncode == 0
    assert "by hand are above" not in nbgrader_command("autograde", "01", before=handed_in.FAKE_CLASS).stderr
    with_correctness(graded, 50, 45)
    told = "ada: correctness (46 by hand are above its 45 points: give others in Manual Grading)"
    done = nbgrader_command("generate_assignment", "01")
    assert (done.returncode, told in done.stderr, "bob: " in done.stderr) == (0, True, False), done.stderr
    flags = python(FLAGS).stdout.splitlines()
    assert flags == ["ada True 46.0 45.0", "bob False 45.0 45.0"]
    for more in ((), ("--force",)):
        done = nbgrader_command("autograde", "01", *more, before=handed_in.FAKE_CLASS)
        assert (done.returncode, told in done.stderr, "bob: correctness" in done.stderr) == (0, True, False), (
            done.stderr
        )
    assert nbgrader_command("autograde", "01", "--student=bob", "--force", before=handed_in.FAKE_CLASS).returncode == 0
    done = nbgrader_command("generate_feedback", "01")
    assert (done.returncode, told in done.stderr) == (0, True), done.stderr
    page = " ".join(
        Markup((graded / "feedback/ada/01/doubling.html").read_text(), own=frozenset(("meta", "style"))).text.split()
    )
    assert "correctness open, 45 points a person will look at it again" in page
    assert "46" not in page.split("What was judged")[0]
    done = nbgrader_command("export")
    assert f"no score yet for ada: waits for a score: {told.removeprefix('ada: ')}" in done.stderr
    rows = {row["student_id"]: row for row in csv.DictReader((graded / "grades.csv").read_text().splitlines())}
    assert (rows["ada"]["score"], rows["ada"]["correctness"]) == ("", "")
    assert rows["bob"]["correctness"] == "45.0"


MAXIMA = """\
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db", "tiny") as found:
    print({c.name: c.max_score for c in found.find_notebook("doubling", "01").grade_cells}["correctness"])
"""


def test_an_autograde_that_judges_nobody_leaves_the_gradebooks_points(
    graded: Path, python: Run, nbgrader_command: Run
) -> None:
    with_correctness(graded, 50, 45)
    for more in ((), ("--student=ada",)):
        done = nbgrader_command("autograde", "01", *more, before=handed_in.FAKE_CLASS)
        assert (done.returncode, "01: 0 autograded" in done.stderr) == (0, True), done.stderr
        assert python(MAXIMA).stdout == "50.0\n"
        assert "other points than course.yml: `nbgrader generate_assignment 01`" in nbgrader_command("export").stderr


@pytest.mark.parametrize("step", [("generate_assignment", "01"), ("autograde", "01", "--student=ada", "--force")])
def test_whose_scores_stay_as_they_were_is_told_when_the_gradebooks_points_change(
    graded: Path, python: Run, nbgrader_command: Run, step: tuple[str, ...]
) -> None:
    with_correctness(graded, 50, 45)
    told = (
        "01: the gradebook has course.yml's new points now, for everybody (correctness 50 to 45). Scores stay as they"
    )
    done = nbgrader_command(*step, before=handed_in.FAKE_CLASS)
    whose = "of bob, until" if "autograde" in step else "of 2 students (ada, bob), until"
    assert (done.returncode, done.stderr.count(told), whose in done.stderr) == (0, 1, True), done.stderr
    assert python(MAXIMA).stdout == "45.0\n"
    done = nbgrader_command("export")
    above = "2 students (ada, bob)" if "generate_assignment" in step else "bob"
    assert f"01: scores above the points that there are now (correctness): {above}; judged" in done.stderr
    assert told not in nbgrader_command(*step, before=handed_in.FAKE_CLASS).stderr


def test_a_class_that_is_judged_anew_by_new_points_is_told_of_no_scores_that_stay(
    graded: Path, nbgrader_command: Run
) -> None:
    with_correctness(graded, 50, 45)
    done = nbgrader_command("autograde", "01", "--force", before=handed_in.FAKE_CLASS)
    assert (done.returncode, "new points" in done.stderr) == (0, False), done.stderr
    assert "above" not in nbgrader_command("export").stderr


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


def test_two_due_dates_are_told_in_the_time_zone_of_course_yml(
    graded: Path, python: Run, nbgrader_command: Run
) -> None:
    course = graded / "course.yml"
    course.write_text(course.read_text().replace("2027-03-01T23:59:00+00:00", "2027-03-02T23:59:00+01:00"))
    told = "due 2027-03-02 23:59+01:00 by course.yml, which counts here; the gradebook and Formgrader have "
    assert f"{told}2027-03-02 00:59+01:00 until" in nbgrader_command("export").stderr
    told = (
        "the gradebook's due date 2027-03-02 00:59+01:00, of Formgrader or an older course.yml, is set to course.yml's"
    )
    assert f"{told} 2027-03-02 23:59+01:00" in nbgrader_command("generate_assignment", "01").stderr


def test_an_extension_is_in_the_results(graded: Path, python: Run, nbgrader_command: Run) -> None:
    assert python(EDITED).returncode == 0
    assert nbgrader_command("autograde", "01", "--force", before=handed_in.FAKE_CLASS).returncode == 0
    found = known_results(graded / "results", "01")
    assert found is not None
    assert {s: (v.extension_seconds, v.late_seconds > 0) for s, v in found.items()} == {
        "ada": (0, True),
        "bob": (2 * 86400, False),
    }


GRADE = """\
import sys
import class_judges, grader.judging
grader.judging.judge_task = class_judges.full_marks
from grader.cli import main
sys.argv = ["grader", "grade", "01", "--workers", "1", "--results", "other"]
main()
"""


def test_grader_grade_counts_the_extensions_of_the_courses_gradebook_and_says_so(graded: Path, python: Run) -> None:
    assert python(EDITED).returncode == 0
    done = python(GRADE)
    assert (done.returncode, "extensions of nbgrader's gradebook count for bob\n" in done.stderr) == (0, True), done
    late = {verdict.student: verdict.late_seconds > 0 for verdict in read_results(graded / "other/01.json")}
    assert late == {"ada": True, "bob": False}
    course = graded / "course.yml"
    course.write_text(course.read_text().replace("    due:", "    extensions: {bob: 1 h}\n    due:"))
    done = python(GRADE)
    assert (done.returncode, "of nbgrader's gradebook" in done.stderr) == (0, False), done
    assert all(verdict.late_seconds > 0 for verdict in read_results(graded / "other/01.json"))
    (graded / "gradebook.db").write_bytes(b"x" * 5000)
    course.write_text(course.read_text().replace("    extensions: {bob: 1 h}\n", ""))
    done = python(GRADE)
    assert (done.returncode, "; extensions in it do not count here" in done.stderr) == (0, True), done


PENALTIES = """\
from nbgrader.api import Gradebook
with Gradebook("sqlite:///gradebook.db", "tiny") as found:
    print({s.student.id: s.late_submission_penalty > 0 for s in found.assignment_submissions("01")})
"""


def test_an_extension_of_course_yml_counts_in_autograde_feedback_and_export(
    graded: Path, python: Run, nbgrader_command: Run
) -> None:
    course = graded / "course.yml"
    course.write_text(course.read_text().replace("    due:", "    extensions: {bob: 2 d}\n    due:"))
    assert nbgrader_command("generate_feedback", "01").returncode == 0
    assert "due 2027-03-03 23:59+00:00 (extended)" in (graded / "feedback/bob/01/doubling.html").read_text()
    assert "due 2027-03-01 23:59+00:00<" in (graded / "feedback/ada/01/doubling.html").read_text()
    assert nbgrader_command("autograde", "01", "--force", before=handed_in.FAKE_CLASS, FAKE_GPU="1").returncode == 0
    assert python(PENALTIES).stdout == "{'ada': True, 'bob': False}\n"
    late = {verdict.student: verdict.penalty > 0 for verdict in read_results(graded / "results/01.json")}
    assert late == {"ada": True, "bob": False}
    assert nbgrader_command("export").returncode == 0
    rows = {row["student_id"]: row for row in csv.DictReader((graded / "grades.csv").read_text().splitlines())}
    assert (rows["bob"]["late_submission_penalty"], rows["ada"]["late_submission_penalty"] > "0.0") == ("0.0", True)


def test_a_policy_that_scales_now_is_told_to_those_who_wait(graded: Path, nbgrader_command: Run) -> None:
    done = nbgrader_command("autograde", "01", before=handed_in.FAKE_CLASS)
    assert "2 of those that were skipped wait for a score (ada, bob): --force judges them again, say on" in done.stderr
    course = graded / "course.yml"
    course.write_text(course.read_text().replace("grading: {", "grading: {without_gpu: scale, "))
    done = nbgrader_command("autograde", "01", before=handed_in.FAKE_CLASS)
    assert "--force judges them again; without a GPU course.yml scales their totals now" in done.stderr


def test_who_is_refused_is_named_and_told_again_last_also_when_another_one_fails(
    graded: Path, nbgrader_command: Run
) -> None:
    long = "x" * 129
    handed_in.hand_in(graded, "o<b>", book=notebook.answered(handed_in.RIGHT))
    handed_in.hand_in(graded, long, book=notebook.answered(handed_in.RIGHT))
    done = nbgrader_command("autograde", "01", "--force", before=handed_in.FAKE_CLASS, CRASHES="bob")
    assert done.returncode == 1
    assert "1 failed (bob)" in done.stderr
    for student in ("o<b>", long):
        assert f"submitted/{student}: not graded: " in done.stderr
    assert "2 not graded, see the sentences above: " in done.stderr.split("1 failed (bob)")[1]


def test_what_those_wait_for_who_were_judged_is_told(graded: Path, nbgrader_command: Run) -> None:
    handed_in.hand_in(graded, "cy", "fault", book=notebook.answered(handed_in.RIGHT))
    done = nbgrader_command("autograde", "01", "--force", before=handed_in.FAKE_CLASS)
    assert "01: no score yet for 2 students (ada, bob): speed not measured: no GPU\n" in done.stderr
    (cy,) = [line for line in done.stderr.splitlines() if "01: no score yet for cy: " in line]
    assert cy.endswith(" not judged: the GPU died; speed not measured: no GPU")
    assert "01: 3 autograded; 3 of them wait for a score (ada, bob, cy)" in done.stderr.splitlines()[-1]
    assert nbgrader_command("autograde", "01", before=handed_in.FAKE_CLASS).stderr.count("no score yet") == 0


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
