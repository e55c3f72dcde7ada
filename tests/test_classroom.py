"""Grading a class: nobody loses a verdict through someone else, and results are whole or absent."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import class_judges
import pytest
import tiny_course as tiny

from grader.class_folder import submissions
from grader.classroom import Task, grade
from grader.course import Assignment, load_course
from grader.errors import CourseError
from grader.gradebook import read_results, write_results
from grader.records import State


@pytest.fixture
def assignment(tmp_path: Path) -> Assignment:
    return load_course(tiny.write_course(tmp_path) / "course.yml").assignment("01")


def tasks(folder: Path, *students: str) -> list[Task]:
    return [Task(folder, folder / student, student, "simulated") for student in students]


def test_verdicts_keep_the_students_order_and_progress_is_told(tmp_path: Path, assignment: Assignment) -> None:
    seen: list[tuple[int, int]] = []
    verdicts = grade(
        tasks(tmp_path, "slow ada", "bob", "cy"),
        assignment,
        class_judges.by_name,
        workers=2,
        progress=lambda done, of, verdict: seen.append((done, of)),
    )
    assert [v.student for v in verdicts] == ["slow ada", "bob", "cy"]
    assert seen == [(1, 3), (2, 3), (3, 3)]
    assert str(os.getpid()) not in {v.sha256 for v in verdicts}  # judged in worker processes


def test_a_worker_that_dies_costs_one_submission_its_verdict(tmp_path: Path, assignment: Assignment) -> None:
    names = ["ada", "bob dies", "cy", "dan dies", "eve", "slow flo"]
    verdicts = grade(tasks(tmp_path, *names), assignment, class_judges.by_name, workers=2)
    assert [v.total for v in verdicts] == [100, None, 100, None, 100, 100]
    assert verdicts[1].summary == "not judged: a worker process of the grader died"
    assert verdicts[1].points_judged == 0
    assert [part.points for part in verdicts[1].parts] == [60, 20, 20]


def test_races_come_last_and_one_at_a_time_where_workers_share_a_machine(
    tmp_path: Path, assignment: Assignment
) -> None:
    seen: list[tuple[str, float | None]] = []
    names = ["ada", "bob", "cy dies", "dan"]
    verdicts = grade(
        tasks(tmp_path, *names),
        assignment,
        class_judges.races_apart,
        workers=3,
        progress=lambda done, of, verdict: seen.append((verdict.student, verdict.points_judged)),
    )
    lines = [line.split() for line in (tmp_path / "races").read_text().splitlines()]
    assert [(who, word) for _, who, _, word in lines] == [
        (who, word) for who in ("ada", "bob", "dan") for word in ("begins", "ends")
    ]
    assert {seed for _, _, seed, _ in lines} == {"7"}  # that of the other checks
    assert {student for student, _ in seen[:4]} == set(names)  # judged, with races still to come
    assert [[check.state for check in verdict.checks] for verdict in verdicts] == [
        [State.JUDGED, State.NOT_JUDGED if "dies" in name else State.JUDGED] for name in names
    ]
    assert [part.earned for part in verdicts[0].parts] == [60, 0, 10]
    assert "a worker process of the grader died" in verdicts[2].checks[1].reason


def test_one_worker_races_as_it_goes(tmp_path: Path, assignment: Assignment) -> None:
    (verdict,) = grade(tasks(tmp_path, "ada"), assignment, class_judges.races_apart, workers=1)
    assert [check.credit for check in verdict.checks] == [1.0, 0.5]
    assert not (tmp_path / "races").exists()


def test_a_worker_that_dies_once_costs_nobody_anything(tmp_path: Path, assignment: Assignment) -> None:
    verdicts = grade(tasks(tmp_path, "ada once", "bob", "cy"), assignment, class_judges.by_name, workers=2)
    assert [v.total for v in verdicts] == [100, 100, 100]


@pytest.mark.parametrize("name", ["fault", "bug"])
def test_a_fault_is_not_judged_and_the_others_go_on(tmp_path: Path, assignment: Assignment, name: str) -> None:
    verdicts = grade(
        tasks(tmp_path, "ada", name, "cy"),
        assignment,
        class_judges.by_name,
        workers=1,
        make_executor=ThreadPoolExecutor,
    )
    assert [v.total for v in verdicts] == [100, None, 100]
    assert verdicts[1].summary.startswith("not judged: ")


@pytest.mark.parametrize("workers", [1, 2])
def test_work_that_was_handed_in_and_not_collected_is_not_judged(
    tmp_path: Path, assignment: Assignment, workers: int
) -> None:
    for student in ("ada", "bob", "cy"):
        (tmp_path / student).mkdir()
    (tmp_path / "bob/not-collected.txt").write_text("no kernels.py; work.zip:\ncannot be read\n")
    (tmp_path / "cy/not-collected.txt").write_text("an older note")
    (tmp_path / "cy/kernels.py").write_text("by hand")
    verdicts = grade(tasks(tmp_path, "ada", "bob", "cy"), assignment, class_judges.full_marks, workers=workers)
    assert [verdict.total is None for verdict in verdicts] == [False, True, False]
    assert verdicts[1].summary == "not judged: handed in, but not collected: no kernels.py; work.zip: cannot be read"


def test_a_mistake_in_the_course_stops_all(tmp_path: Path, assignment: Assignment) -> None:
    with pytest.raises(CourseError):
        grade(
            tasks(tmp_path, "course", "bob"),
            assignment,
            class_judges.by_name,
            workers=1,
            make_executor=ThreadPoolExecutor,
        )


def test_an_empty_class_has_no_verdicts(assignment: Assignment) -> None:
    assert grade([], assignment, class_judges.by_name, workers=2) == ()


def test_submissions_are_found_in_alphabetical_order(tmp_path: Path) -> None:
    for student in ("zoe", "ada", "Ünal", "absent", ".hidden"):
        (tmp_path / student).mkdir()
    for student in ("zoe", "ada", "Ünal", ".hidden"):
        tiny.write_kernels(tmp_path / student / "01")
    (tmp_path / "file").mkdir()
    (tmp_path / "file/01").write_text("a file, not a folder")
    (tmp_path / "link").mkdir()
    (tmp_path / "link/01").symlink_to(tmp_path / "nowhere")
    (tmp_path / "notes.txt").write_text("")
    handed_in, absent = submissions(tmp_path, "01")
    assert list(handed_in) == ["ada", "file", "link", "zoe", "Ünal"]
    assert absent == ("absent",)


def test_an_empty_folder_is_nothing_handed_in(tmp_path: Path) -> None:
    for student in ("empty", "hidden", "junk", "other"):
        (tmp_path / student / "03").mkdir(parents=True)
    (tmp_path / "hidden/03/.DS_Store").write_text("x")
    (tmp_path / "junk/03/report.pdf").write_text("x")
    (tmp_path / "other/03/03").mkdir()
    (tmp_path / "file").mkdir()
    (tmp_path / "file/03").write_text("x")
    (tmp_path / "link").mkdir()
    (tmp_path / "link/03").symlink_to(tmp_path / "empty/03")
    handed_in, absent = submissions(tmp_path, "03")
    assert (list(handed_in), absent) == (["file", "junk", "link", "other"], ("empty", "hidden"))


def test_results_are_read_as_they_were_written(tmp_path: Path, assignment: Assignment) -> None:
    verdicts = grade(
        tasks(tmp_path, "ada", "=bob"), assignment, class_judges.full_marks, workers=1, make_executor=ThreadPoolExecutor
    )
    json_file, csv_file = write_results(tmp_path / "results", "01", verdicts)
    assert read_results(json_file) == verdicts
    assert csv_file.read_text().splitlines()[2].startswith("'=bob,01,100.0,100.0,")
    assert sorted(p.name for p in (tmp_path / "results").iterdir()) == ["01.csv", "01.json"]


def test_a_killed_run_leaves_whole_files(tmp_path: Path) -> None:
    """A writer is killed at random moments; each time both files are whole and nothing else is taken for them."""
    code = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
from pathlib import Path
import class_judges
from grader.classroom import Task
from grader.gradebook import write_results
folder = Path({str(tmp_path)!r})
verdicts = [class_judges.full_marks(Task(folder, folder, f"student {{n}}", "simulated")) for n in range(2000)]
print("ready", flush=True)
while True:
    write_results(folder, "01", verdicts)
"""
    for moment in (0.05, 0.11, 0.23):
        writer = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
        while not (tmp_path / "01.csv").exists():
            time.sleep(0.01)
        time.sleep(moment)
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
        assert len(json.loads((tmp_path / "01.json").read_text())["verdicts"]) == 2000
        assert len((tmp_path / "01.csv").read_text().splitlines()) == 2001


def test_a_failed_write_keeps_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "01.json").write_text("old")
    verdict = class_judges.full_marks(tasks(tmp_path, "ada")[0])

    def full_disk(fd: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_results(tmp_path, "01", (verdict,))
    assert (tmp_path / "01.json").read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["01.json"]
