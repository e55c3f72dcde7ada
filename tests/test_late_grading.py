"""`grader grade` and late submissions: points off by course.yml, told and written; garbage costs nobody anything."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import class_judges
import tiny_course as tiny

from grader.class_folder import timestamp_of
from grader.classroom import Task
from grader.course import Late, load_course
from grader.export import rows_of
from grader.gradebook import read_results, write_results

COURSE = """\
grading: {without_gpu: scale, late: {per_day: 10, grace: 1h, cap: 50}}
""" + tiny.COURSE.replace("timeouts: 500 ms", "timeouts: 5 s").replace(
    "title: Doubling", "title: Doubling\n    due: 2027-03-01T23:59:00+01:00"
)
# The command, but for the judge, who takes a second for each submission.
ALL_RIGHT = """\
import class_judges, grader.judging
grader.judging.judge_task = class_judges.full_marks
from grader.cli import main
main()
"""


def test_who_is_late_has_points_off_and_is_told(tmp_path: Path) -> None:
    root = tiny.write_course(tmp_path, course=COURSE)
    for student, text in {
        "ada": None,
        "bob": "2027-03-01 23:30:00.000000 UTC",
        "cy": "2027-03-03T12:00:00+00:00",
        "dan": "\x1b[31mlast night",
    }.items():
        folder = tiny.write_kernels(root / "submitted" / student / "01")
        if text is not None:
            (folder / "timestamp.txt").write_text(text)
    done = subprocess.run(
        [sys.executable, "-c", ALL_RIGHT, "grade", "1", "--workers", "1"],
        cwd=root,
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done
    rows = {row["student"]: row for row in csv.DictReader((root / "results/01.csv").read_text().splitlines())}
    assert {name: (row["total"], row["penalty"], row["final"]) for name, row in rows.items()} == {
        "ada": ("100.0", "0.0", "100.0"),
        "bob": ("100.0", "0.0", "100.0"),
        "cy": ("100.0", "20.0", "80.0"),
        "dan": ("100.0", "0.0", "100.0"),
    }
    assert "2 days late: 20 points off, which leaves 80" in " ".join(done.stdout.split())
    assert "timestamp.txt names no date and time" in rows["dan"]["why"]
    assert "\x1b" not in done.stdout
    verdicts = {verdict.student: verdict for verdict in read_results(root / "results/01.json")}
    assert verdicts["cy"].handed_in_at == "2027-03-03T12:00:00+00:00"


INTERRUPTED = (
    """\
import grader.gradebook
write = grader.gradebook.write_results
def interrupted(folder, assignment, verdicts):
    if assignment == "01":
        raise KeyboardInterrupt
    return write(folder, assignment, verdicts)
grader.gradebook.write_results = interrupted
"""
    + ALL_RIGHT
)


def test_what_an_ended_run_leaves_knows_who_is_late(tmp_path: Path) -> None:
    root = tiny.write_course(tmp_path, course=COURSE)
    (tiny.write_kernels(root / "submitted/cy/01") / "timestamp.txt").write_text("2027-03-03T12:00:00+00:00")
    done = graded(root, command=INTERRUPTED)
    assert (done.returncode, "1 of 1 verdicts are in results/01.partial.json" in done.stderr) == (2, True), done
    (row,) = csv.DictReader((root / "results/01.partial.csv").read_text().splitlines())
    assert (row["total"], row["penalty"], row["final"]) == ("100.0", "20.0", "80.0")
    assert row["why"].endswith("; 2 days late: 20 points off, which leaves 80.")


NOT_DUE = COURSE.replace("2027-03-01T23:59", "2999-03-01T23:59")


def graded(root: Path, *more: str, columns: int = 100, command: str = ALL_RIGHT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", command, "grade", "1", "--workers", "1", *more],
        cwd=root,
        env={**os.environ, "COLUMNS": str(columns), "PYTHONPATH": str(Path(__file__).parent)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_who_has_handed_in_nothing_is_open_until_it_is_due(tmp_path: Path) -> None:
    root = tiny.write_course(tmp_path, course=NOT_DUE)
    tiny.write_kernels(root / "submitted/ada/01")
    (root / "submitted/bob").mkdir()
    done = graded(root)
    assert done.returncode == 0, done
    rows = {row["student"]: row for row in csv.DictReader((root / "results/01.csv").read_text().splitlines())}
    assert (rows["bob"]["total"], rows["bob"]["final"], rows["bob"]["correctness"]) == ("", "", "")
    assert rows["bob"]["why"] == "nothing handed in, not due until 2999-03-01 23:59+01:00"
    (bob,) = [verdict for verdict in read_results(root / "results/01.json") if verdict.student == "bob"]
    # Exported when it is due, from the same results: 0.
    assignment = load_course(root / "course.yml").assignment("01")
    assert assignment.due is not None
    (row,) = rows_of([bob], assignment, Late(), assignment.due)
    assert (row.score, row.raw, row.why, set(row.parts.values())) == (0, 0, "nothing handed in", {0.0})


EXTENDED = COURSE.replace(
    "    due:", '    extensions: {cy: 2 d, Lee Lou: 1 d, "007": 0, zoe: 30 d, nobody: 3 d}\n    due:'
)


def test_an_extension_of_course_yml_is_one_students_due_date_in_grade_and_export(tmp_path: Path) -> None:
    root = tiny.write_course(tmp_path, course=EXTENDED)
    for student in ("ada", "cy", "Lee Lou", "007"):
        (tiny.write_kernels(root / "submitted" / student / "01") / "timestamp.txt").write_text(
            "2027-03-03 12:00:00 UTC"
        )
    for student in ("yan", "zoe"):
        (root / "submitted" / student).mkdir()
    done = graded(root)
    assert done.returncode == 0, done
    rows = {row["student"]: row for row in csv.DictReader((root / "results/01.csv").read_text().splitlines())}
    penalties = {"ada": "20.0", "cy": "0.0", "Lee Lou": "10.0", "007": "20.0"}
    assert {name: rows[name]["penalty"] for name in penalties} == penalties
    assert "01: course.yml has an extension for nobody, and nobody is called so here, or not yet" in done.stderr
    # Who has none any more has none in exports at once; whoever is not due yet is open.
    assignment, late = load_course(root / "course.yml").assignment("01"), Late(per_day=10)
    verdicts = read_results(root / "results/01.json")
    now = datetime(2027, 3, 15, tzinfo=UTC)
    found = {row.student: row for row in rows_of(verdicts, assignment, late, now)}
    assert {name: found[name].penalty for name in ("ada", "cy", "Lee Lou", "007")} == {
        "ada": 20,
        "cy": 0,
        "Lee Lou": 10,
        "007": 20,
    }
    assert (found["yan"].score, found["zoe"].score) == (0, None)
    assert found["zoe"].why == "nothing handed in, not due until 2027-03-31 23:59+01:00"
    without = assignment.model_copy(update={"extensions": {}})
    assert {row.student: row.penalty for row in rows_of(verdicts, without, late, now)}["cy"] == 20


def test_the_table_shows_what_is_left_where_points_are_off(tmp_path: Path) -> None:
    root = tiny.write_course(tmp_path, course=COURSE)
    for student, text in {"ada": "2027-03-01 10:00:00 UTC", "cy": "2027-03-03T12:00:00+00:00"}.items():
        (tiny.write_kernels(root / "submitted" / student / "01") / "timestamp.txt").write_text(text)
    head, ada, cy = graded(root, columns=160).stdout.splitlines()[:3]
    assert head.split() == ["student", "correctness", "total", "late", "final", "judged", "why"]
    assert ada.split()[:6] == ["ada", "100", "100", "0", "100", "100/100"]
    assert cy.split()[:6] == ["cy", "100", "100", "-20", "80", "100/100"]


def test_a_students_folder_that_is_a_link_is_refused_and_the_others_are_graded(tmp_path: Path) -> None:
    root = tiny.write_course(tmp_path, course=COURSE)
    tiny.write_kernels(root / "submitted/ada/01")
    (root / "submitted/pia").symlink_to(root / "submitted/ada")
    (tmp_path / "elsewhere").mkdir()
    (root / "submitted/quy").symlink_to(tmp_path / "elsewhere")
    done = graded(root, columns=160)
    assert done.returncode == 1, done
    rows = {row["student"]: row for row in csv.DictReader((root / "results/01.csv").read_text().splitlines())}
    assert {name: row["total"] for name, row in rows.items()} == {"ada": "100.0", "pia": "", "quy": ""}
    for name in ("pia", "quy"):
        why = f"not judged: the student's folder '{name}' is a link; put a folder in its place"
        assert rows[name]["why"] == why


def test_results_from_before_there_was_a_late_policy_are_still_read(tmp_path: Path) -> None:
    file, _ = write_results(tmp_path, "01", [class_judges.full_marks(Task(tmp_path, tmp_path, "ada", "simulated"))])
    document = json.loads(file.read_text())
    for name in ("handed_in_at", "late_seconds", "penalty"):
        del document["verdicts"][0][name]
    file.write_text(json.dumps(document))
    (verdict,) = read_results(file)
    assert (verdict.final, verdict.late_seconds) == (100, 0)


def test_a_timestamp_that_is_a_link_or_a_pipe_is_not_read(tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("2027-03-03T12:00:00+00:00")
    for name in ("link", "pipe", "folder", "none", "huge", "fine"):
        (tmp_path / name).mkdir()
    (tmp_path / "link/timestamp.txt").symlink_to(outside)
    os.mkfifo(tmp_path / "pipe/timestamp.txt")
    (tmp_path / "folder/timestamp.txt").mkdir()
    (tmp_path / "huge/timestamp.txt").write_text("2027-03-03T12:00:00+00:00" + " " * 1_000_000)
    (tmp_path / "fine/timestamp.txt").write_text("2027-03-03T12:00:00+00:00")
    (tmp_path / "linked").symlink_to(tmp_path / "fine")
    found = {name: timestamp_of(tmp_path / name) for name in ("link", "pipe", "folder", "none", "huge", "linked")}
    assert {name: type(moment) for name, moment in found.items()} == {
        **dict.fromkeys(("link", "pipe", "folder", "huge"), str),
        **dict.fromkeys(("none", "linked"), type(None)),
    }
    assert timestamp_of(tmp_path / "fine") == datetime(2027, 3, 3, 12, tzinfo=UTC)
