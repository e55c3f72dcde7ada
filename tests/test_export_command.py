"""`grader export` from results: every format, and never a 0 for what was not judged."""

from __future__ import annotations

import csv
from dataclasses import replace
from pathlib import Path

import class_judges
import pytest
import tiny_course as tiny
from test_cli import assert_one_sentence, grader

from grader.classroom import Task
from grader.gradebook import write_results
from grader.records import Verdict


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
    assert "01: no score yet for =bob: speed not measured: no GPU\n" in done.stdout
    assert "yet for ada" not in done.stdout


def test_a_class_that_waits_for_one_thing_is_told_of_in_one_line(root: Path) -> None:
    full, waiting = verdicts(root)
    waiting = replace(
        waiting, parts=tuple(replace(part, points=p) for part, p in zip(full.parts, [100.0], strict=True))
    )
    write_results(root / "results", "01", [full, *(replace(waiting, student=f"s{n:03}") for n in range(200))])
    done = grader("export", cwd=root)
    named = ", ".join(f"s{n:03}" for n in range(20))
    assert f"01: no score yet for 200 students ({named} and 180 more): speed not measured: no GPU\n" in done.stdout
    assert done.stdout.count("no score yet") == 1
    # Where the others are to be seen.
    assert "grades.csv of `grader export --to csv` has all of them: no score, and why\n" in done.stdout
    rows = list(csv.DictReader((root / "exported/grades.csv").read_text().splitlines()))
    assert sum("no GPU" in row["why"] and not row["score"] for row in rows) == 200


def test_all_of_a_few_who_wait_are_named(root: Path) -> None:
    full, waiting = verdicts(root)
    write_results(root / "results", "01", [full, *(replace(waiting, student=f"s{n:03}") for n in range(20))])
    done = grader("export", cwd=root)
    assert f"20 students ({', '.join(f's{n:03}' for n in range(20))}): speed not measured" in done.stdout
    assert "has all of them" not in done.stdout


def test_without_any_scores_one_sentence_says_what_to_run(root: Path) -> None:
    assert_one_sentence(grader("export", cwd=root), "no scores of 01: run `grader grade 01`")
    assert_one_sentence(grader("export", "7", cwd=root), "unknown assignment '7'")
    (root / "results").mkdir()
    (root / "results/01.json").write_text("{}")
    assert_one_sentence(grader("export", cwd=root), "holds no results of `grader grade`; run it again")
