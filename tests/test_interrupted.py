"""``grader grade`` that is ended before its end: no process and no folder stays, and what was judged does."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import processes
import pytest
import tiny_course as tiny

from grader.classroom import Task, not_judged
from grader.course import load_course
from grader.errors import UsageError
from grader.gradebook import PartialResults, read_results

WAITS = "import time\ntime.sleep(300)\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    text = tiny.COURSE.replace("check: 5 s", "check: 300 s")
    root = tiny.write_course(tmp_path / "course", course=text)
    (tmp_path / "temporary").mkdir()
    tiny.write_kernels(root / "submitted/ada/01")
    for student in ("bob", "cy"):
        folder = root / "submitted" / student / "01"
        folder.mkdir(parents=True)
        (folder / "kernels.py").write_text(WAITS)
    return root


@pytest.fixture
def grading(root: Path) -> Iterator[subprocess.Popen[str]]:
    """``grader grade 01`` with two workers, in a process group of its own as a shell starts it."""
    with subprocess.Popen(
        [sys.executable, "-c", "from grader.cli import main; main()", "grade", "01", "--workers", "2"],
        cwd=root,
        env={**os.environ, "TMPDIR": str(root.parent / "temporary")},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as process:
        yield process
        process.kill()


def two_are_running(root: Path, pid: int) -> bool:
    """Whether only those are judged now who wait."""
    results = root / "results/01.partial.json"
    return (
        results.exists() and partial(root)["ada"]["points_judged"] and len(processes.jobs(pid, "grader.recorder")) == 2
    )


def assert_nothing_is_left(root: Path, pids: set[int]) -> None:
    assert processes.wait_until(lambda: not processes.alive(pids), 30), processes.alive(pids)
    assert processes.wait_until(lambda: not list((root.parent / "temporary").glob("warpgrade-*")), 5)


def partial(root: Path) -> dict[str, Any]:
    verdicts = json.loads((root / "results/01.partial.json").read_text())["verdicts"]
    return {verdict["student"]: verdict for verdict in verdicts}


@pytest.mark.parametrize("when", ["starting", "judging"])
def test_a_killed_grader_leaves_no_process_and_no_folder(root: Path, grading: subprocess.Popen[str], when: str) -> None:
    if when == "starting":
        # Two workers, their resource tracker, and the first warm child.
        assert processes.wait_until(lambda: len(processes.descendants(grading.pid)) >= 4)
    else:
        assert processes.wait_until(lambda: two_are_running(root, grading.pid))
    pids = processes.descendants(grading.pid)
    grading.kill()
    grading.wait()
    assert_nothing_is_left(root, pids)


def test_a_killed_grader_leaves_the_verdicts_that_it_had(root: Path, grading: subprocess.Popen[str]) -> None:
    assert processes.wait_until(lambda: two_are_running(root, grading.pid))
    grading.kill()
    grading.wait()
    verdicts = partial(root)
    assert [part["earned"] for part in verdicts["ada"]["parts"]] == [60, 20, 0]
    for student in ("bob", "cy"):
        assert verdicts[student]["total"] is None
        assert verdicts[student]["summary"] == "not judged: the run was ended before this submission was judged"
    assert not (root / "results/01.json").exists()


@pytest.mark.parametrize("to", ["the process", "its group"])
def test_ctrl_c_ends_all_at_once_and_says_where_the_verdicts_are(
    root: Path, grading: subprocess.Popen[str], to: str
) -> None:
    assert processes.wait_until(lambda: two_are_running(root, grading.pid))
    pids = processes.descendants(grading.pid)
    began = time.monotonic()
    (os.kill if to == "the process" else os.killpg)(grading.pid, signal.SIGINT)
    out, err = grading.communicate(timeout=60)
    assert time.monotonic() - began < 30
    assert (grading.returncode, out) == (2, "")
    assert err == "grader: interrupted; 1 of 3 verdicts are in results/01.partial.json\n"
    assert_nothing_is_left(root, pids)
    assert partial(root)["ada"]["points_judged"] == 80
    with (root / "results/01.partial.csv").open(newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert (rows["ada"]["correctness"], rows["bob"]["correctness"]) == ("60.0", "")


def tasks(folder: Path, *students: str) -> list[Task]:
    return [Task(folder, folder / student, student, "simulated") for student in students]


def test_each_verdict_is_on_disk_before_the_next_unless_that_takes_long(tmp_path: Path) -> None:
    import class_judges

    assignment = load_course(tiny.write_course(tmp_path) / "course.yml").assignment("01")
    work = tasks(tmp_path, "ada", "bob", "cy")
    results = PartialResults(tmp_path / "results", "01", [not_judged(task, assignment, "no turn") for task in work])

    def interrupted_run() -> None:
        assert [v.total for v in read_results(results.json_file)] == [None, None, None]
        assert processes.wait_until(lambda: time.monotonic() >= results._next_write)
        results.add(class_judges.full_marks(work[1]))
        assert [v.total for v in read_results(results.json_file)] == [None, 100, None]
        results._next_write = time.monotonic() + 60
        results.add(class_judges.full_marks(work[0]))
        assert [v.total for v in read_results(results.json_file)] == [None, 100, None]
        raise KeyError

    with pytest.raises(KeyError), results:
        interrupted_run()
    assert [v.total for v in read_results(results.json_file)] == [100, 100, None]


def test_a_disk_that_fills_up_does_not_end_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import class_judges

    results = PartialResults(tmp_path, "01", ())
    with results:
        monkeypatch.setattr(os, "fsync", lambda fd: (_ for _ in ()).throw(OSError(28, "No space left on device")))
        results._next_write = 0
        results.add(class_judges.full_marks(tasks(tmp_path, "ada")[0]))
    monkeypatch.undo()


def test_a_run_that_judged_nobody_leaves_no_partial_results(tmp_path: Path) -> None:
    with pytest.raises(KeyError), PartialResults(tmp_path / "results", "01", ()):
        raise KeyError
    assert list((tmp_path / "results").iterdir()) == []


@pytest.mark.parametrize("place", ["a file", "a file/below", "01.json", "01.csv", "01.partial.json", "/proc/x"])
def test_results_that_cannot_be_written_are_noticed_before_anything_is_judged(tmp_path: Path, place: str) -> None:
    if place == "/proc/x" and not Path("/proc").is_dir():
        pytest.skip("this system has no /proc")
    (tmp_path / "a file").write_text("")
    if place.startswith("01"):
        (tmp_path / "results" / place).mkdir(parents=True)
        place = "results"
    with pytest.raises(UsageError, match="results"), PartialResults(tmp_path / place, "01", ()):
        pytest.fail("the run began")
