"""The README's two commands, and what must never be committed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def _run(*command: str) -> str:
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
@pytest.mark.parametrize(
    ("target", "words"),
    [
        ("demo", ["-m venv", "pip install", "grader demo"]),
        ("test", ["-m venv", "pip install", "ruff check", "ruff format --check", "mypy", "lint-imports", "-m pytest"]),
    ],
)
def test_make_installs_what_a_command_needs_and_runs_it(target: str, words: list[str]) -> None:
    # Into a folder that is not there, so that every step of a new machine is planned.
    planned = _run("make", "--dry-run", target, "VENV=.venv-that-is-not-there")
    assert [word for word in words if word not in planned] == []


def test_ci_runs_what_the_readme_says() -> None:
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    assert "make test" in (ROOT / "README.md").read_text()


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
@pytest.mark.parametrize(
    "path", ["submitted/a/01/kernels.py", "autograded/x", "feedback/x", "results/01.json", "gradebook.db"]
)
def test_what_a_course_produces_is_never_committed(path: str) -> None:
    assert _run("git", "check-ignore", path).strip() == path
