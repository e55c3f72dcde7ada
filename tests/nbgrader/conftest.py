"""A temporary course for nbgrader, without the user's settings; what changes nbgrader has a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

nbgrader = pytest.importorskip("nbgrader", reason="nbgrader is not installed")

from tiny_notebook import ROOT, write_notebook_course  # noqa: E402

Run = Callable[..., subprocess.CompletedProcess[str]]
# nbgrader as a command, whether or not the environment's scripts have been made.
COMMAND = "import sys; from nbgrader.apps.nbgraderapp import main; sys.argv[0] = 'nbgrader'; main()"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """The root of a course with a notebook. Committed are solutions/ and course.yml only, as in a fresh clone."""
    (tmp_path / "course").mkdir()
    return write_notebook_course(tmp_path / "course")


@pytest.fixture
def python(tmp_path: Path, root: Path) -> Run:
    """Run Python in the course, without the user's Jupyter settings: ``python("-c", code)``."""
    home = tmp_path / "home"
    home.mkdir()
    places = {name: str(home / name.lower()) for name in ("JUPYTER_CONFIG_DIR", "JUPYTER_DATA_DIR", "IPYTHONDIR")}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("JUPYTER")}
    environment |= {"HOME": str(home), "PYTHONPATH": str(ROOT), **places}

    def run(*arguments: str, cwd: Path = root, **more: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *arguments]
        return subprocess.run(
            command, cwd=cwd, env=environment | more, capture_output=True, text=True, timeout=120, check=False
        )

    return run


@pytest.fixture
def nbgrader_command(python: Run) -> Run:
    """Run ``nbgrader`` in the course."""
    return lambda *arguments, **more: python("-c", COMMAND, *arguments, **more)


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


@pytest.fixture
def nbgrader_api(python: Run, root: Path) -> Callable[..., list[dict[str, object]]]:
    """What Formgrader's buttons call, in a process of its own: ``nbgrader_api(["generate_assignment", "01"], …)``."""
    import json

    def call(*calls: list[object], before: str = "") -> list[dict[str, object]]:
        done = python("-c", before + API.format(root=str(root)), json.dumps(calls))
        assert done.returncode == 0, done.stderr
        return [json.loads(line) for line in done.stdout.splitlines()]

    return call
