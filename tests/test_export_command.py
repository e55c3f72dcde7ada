"""`grader export` from results: every format, and never a 0 for what was not judged."""

from __future__ import annotations

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
    assert "no score yet: =bob, 01: speed not measured: no GPU" in done.stdout
    assert "no score yet: ada" not in done.stdout


def test_without_any_scores_one_sentence_says_what_to_run(root: Path) -> None:
    assert_one_sentence(grader("export", cwd=root), "no scores of 01: run `grader grade 01`")
    assert_one_sentence(grader("export", "7", cwd=root), "unknown assignment '7'")
    (root / "results").mkdir()
    (root / "results/01.json").write_text("{}")
    assert_one_sentence(grader("export", cwd=root), "holds no results of `grader grade`; run it again")
