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
from notebook_course import ROOT, write_notebook_course

Run = Callable[..., subprocess.CompletedProcess[str]]
# nbgrader as a command, whether or not the environment's scripts have been made.
COMMAND = "import sys; from nbgrader.apps.nbgraderapp import main; sys.argv[0] = 'nbgrader'; main()"
# Judges by words in kernels.py, see class_judges.by_text, without a child process for each check.
FAKE_JUDGE = "import class_judges, grader.judging; grader.judging.judge_task = class_judges.by_text\n"
API = """\
import json, sys
from nbgrader.apps import NbGraderAPI, NbGrader
app = NbGrader()
app.initialize([], root={root!r})
api = NbGraderAPI(app.coursedir, config=app.config)
for name, *arguments in json.loads(sys.argv[1]):
    done = getattr(api, name)(*arguments)
    print(json.dumps({{"success": done["success"], "log": done.get("log"), "error": done.get("error")}}))
"""


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
    home = tmp_path / "home"
    home.mkdir()
    places = {name: str(home / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")}
    kept = {key: value for key, value in os.environ.items() if not key.startswith("JUPYTER")}
    # Where nbconvert's templates are, should its packages come from another environment than this Python's.
    shared = Path(str(find_spec("nbconvert").origin)).parents[4] / "share/jupyter"
    modules = os.pathsep.join(map(str, (ROOT, ROOT / "tests")))
    return kept | {"HOME": str(home), "PYTHONPATH": modules, "JUPYTER_PATH": str(shared), **places}


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
