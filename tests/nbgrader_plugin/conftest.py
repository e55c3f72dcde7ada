"""A temporary course for nbgrader, without the user's settings; what changes nbgrader has a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import clean_process
import pytest
from nbgrader_commands import API, COMMAND, user_environment
from notebook_course import write_notebook_course

Run = Callable[..., subprocess.CompletedProcess[str]]

# A gradebook as nbgrader makes it, but for the version of its tables, for which it starts alembic: that takes seconds.
EMPTY_GRADEBOOK = """\
from nbgrader.api import Base
from sqlalchemy import create_engine
Base.metadata.create_all(create_engine("sqlite:///gradebook.db"))
"""


@pytest.fixture(autouse=True, scope="session")
def nbgrader_is_installed() -> None:
    """Skips what needs nbgrader. It is not imported for that: each worker of pytest would take three seconds more."""
    if find_spec("nbgrader") is None:
        pytest.skip("nbgrader is not installed: pip install 'warpgrade[classroom]'")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root of a course with a notebook. There is solutions/ and course.yml only, no release and no gradebook."""
    (tmp_path / "course").mkdir()
    return write_notebook_course(tmp_path / "course")


@pytest.fixture(scope="session")
def empty_gradebook(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The file of a gradebook that has its tables and nothing in them."""
    folder = tmp_path_factory.mktemp("gradebook")
    done = clean_process.run(EMPTY_GRADEBOOK, cwd=folder, env=os.environ, out=folder)
    assert done.returncode == 0, done.stderr
    return (folder / "gradebook.db").read_bytes()


@pytest.fixture
def gradebook_file(root: Path, empty_gradebook: bytes) -> Path:
    """The course's gradebook, empty: what is no test of the first command on a fresh clone begins with it."""
    (root / "gradebook.db").write_bytes(empty_gradebook)
    return root / "gradebook.db"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The environment variables of a user who has no Jupyter settings."""
    return user_environment(tmp_path / "home")


@pytest.fixture
def python(tmp_path: Path, root: Path, environment: dict[str, str]) -> Run:
    """``python(code, *arguments, VARIABLE=…)`` in the course."""

    def run(code: str, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return clean_process.run(code, *arguments, cwd=root, env=environment | more, out=tmp_path)

    return run


@pytest.fixture
def nbgrader_command(python: Run) -> Run:
    """``nbgrader`` with its arguments, in the course. ``before`` is Python that runs first, say ``FAKE_JUDGE``."""

    def run(*arguments: str, before: str = "", **more: str) -> subprocess.CompletedProcess[str]:
        return python(before + COMMAND, *arguments, **more)

    return run


@pytest.fixture
def nbgrader_process(root: Path, environment: dict[str, str]) -> Run:
    """The same, by a new interpreter: slow."""

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", COMMAND, *arguments]
        return subprocess.run(
            command, cwd=root, env=environment | more, capture_output=True, text=True, timeout=120, check=False
        )

    return run


@pytest.fixture
def nbgrader_api(python: Run, root: Path) -> Callable[..., list[dict[str, Any]]]:
    """What Formgrader's buttons call, in one process: ``nbgrader_api(["generate_assignment", "01"], …)``.

    ``before`` is Python that runs first.
    """

    def call(*calls: list[object], before: str = "") -> list[dict[str, Any]]:
        done = python(before + API.format(root=str(root)), json.dumps(calls))
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return call
