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
