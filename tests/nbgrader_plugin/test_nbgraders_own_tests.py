"""nbgrader's own tests, from the installed package, still pass with this one installed and imported.

The format and some preprocessors run always. The rest, which takes minutes since each test makes a gradebook with
alembic, runs where this file is named: ``pytest tests/nbgrader_plugin/test_nbgraders_own_tests.py``.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

QUICK = ["clearhiddentests", "clearsolutions", "computechecksums", "limitoutput", "lockcells"]
SLOW = ["preprocessors", "api"]
SECONDS = 1500
# Folders that nbgrader's tests look for below the current one.
FILES = "docs/source/user_guide"


def own_tests_pass(folder: Path, *modules: str, leave_out: tuple[str, ...] = ()) -> None:
    """Run tests of ``nbgrader.tests`` in a process of their own, in the new folder ``folder``."""
    home = Path(str(find_spec("nbgrader").origin)).parent  # type: ignore[union-attr]
    if not (home / "tests").is_dir():
        pytest.skip("this nbgrader was installed without its tests")
    shutil.copytree(home / FILES, folder / "nbgrader" / FILES)
    command = [sys.executable, "-P", "-m", "pytest", "--pyargs", *(f"nbgrader.tests.{name}" for name in modules)]
    command += ["-q", "-p", "no:cacheprovider", "-p", "grader.nbgrader_plugin", f"--rootdir={folder}"]
    command += [f"--ignore={home / 'tests' / name}" for name in leave_out]
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])  # alembic is a command there
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST")}
    done = subprocess.run(
        command, cwd=folder, env=kept | {"PATH": path}, capture_output=True, text=True, timeout=SECONDS, check=False
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout


def test_nbgraders_format_and_preprocessors_without_a_gradebook_are_as_they_were(tmp_path: Path) -> None:
    own_tests_pass(tmp_path, "nbgraderformat", *(f"preprocessors.test_{name}" for name in QUICK))


@pytest.mark.timeout(SECONDS + 60)
def test_nbgraders_gradebook_and_all_its_preprocessors_are_as_they_were(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    if not any(Path(__file__).name in str(argument) for argument in request.config.args):
        pytest.skip(f"takes minutes: pytest tests/nbgrader_plugin/{Path(__file__).name}")
    quick = tuple(f"preprocessors/test_{name}.py" for name in QUICK)
    own_tests_pass(tmp_path, *SLOW, leave_out=quick)
