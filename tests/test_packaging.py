"""The README's two commands, and what must never be committed."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

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


@pytest.mark.parametrize("status", [0, 1])
def test_ci_installs_a_browser_and_a_database_where_it_can_and_goes_on_where_it_cannot(
    tmp_path: Path, status: int
) -> None:
    for name, script in {
        "apt-get": f'echo "$@" >> {tmp_path}/asked; exit {status}',
        "id": "echo 0",
        "make": f'echo "$@" >> {tmp_path}/made',
        "find": "exit 1",
    }.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "dirname").symlink_to(str(shutil.which("dirname")))
    done = subprocess.run(
        [ROOT / ".ci" / "run"], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "made").read_text() == "test\n"
    asked = (tmp_path / "asked").read_text()
    assert ("could not install chromium postgresql" in done.stdout) == (status == 1)
    assert ("install --yes --no-install-recommends chromium postgresql" in asked) == (status == 0)


FLOORS, NUMBA, _, FACES = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["importlinter"][
    "contracts"
]
# Where kernels are recorded, compiled and simulated, and what runs cells and scripts in its own process.
WITH_NUMBA = {"recorder", "runner", "devices", "simulator", "vector_access", "magics", "simulation_page"}
WITH_A_FACE = {"cli", "nbgrader_plugin", "magics", "judging", "progress", "simulation_page", "reports.terminal"}
WITH_A_FACE |= {"pytest_plugin", "pytest_collect", "pytest_options", "pytest_outcome", "pytest_session"}
MODULES = sorted(
    ".".join(path.relative_to(ROOT / "grader").with_suffix("").parts)
    for path in (ROOT / "grader").rglob("*.py")
    if path.stem not in ("__init__", "__main__")
)


@pytest.mark.parametrize(
    ("listed", "exempt"),
    [
        ([name.strip() for floor in FLOORS["layers"] for name in floor.split("|")], set()),
        ([name.removeprefix("grader.") for name in NUMBA["source_modules"]], WITH_NUMBA),
        ([name.removeprefix("grader.") for name in FACES["source_modules"]], WITH_A_FACE),
    ],
    ids=["has a floor", "has no Numba", "knows no face"],
)
def test_no_module_escapes_import_linter_by_not_being_listed(listed: list[str], exempt: set[str]) -> None:
    known = {*listed, *exempt}
    assert [name for name in MODULES if not any(f"{name}.".startswith(f"{one}.") for one in known)] == []


# Folders that the page on architecture tells of as a whole.
FOLDERS = ("cli.", "recorder.", "runner.", "devices.", "simulator.")


def test_the_page_on_architecture_names_every_module_and_no_other() -> None:
    page = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    named = {Path(name).stem for name in re.findall(r"`([a-z0-9_/]+\.py)`", page)}
    assert [name for name in MODULES if not name.startswith(FOLDERS) and name.rpartition(".")[2] not in named] == []
    assert named - {name.rpartition(".")[2] for name in MODULES} == {"kernels", "nbgrader_config"}


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
@pytest.mark.parametrize(
    "path",
    [
        *("downloaded/01/archive/class.zip", "submitted/a/01/kernels.py", "autograded/x", "feedback/x"),
        *("results/01.json", "gradebook.db", "exported/x", "grades.csv", "canvas.csv", "moodle.csv"),
    ],
)
def test_what_a_course_produces_is_never_committed(path: str) -> None:
    assert _run("git", "check-ignore", path).strip() == path


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git checkout")
def test_templates_get_into_the_wheel() -> None:
    """hatch takes whatever lies in the package and git does not ignore."""
    files = [str(path.relative_to(ROOT)) for path in (ROOT / "grader").rglob("templates/**/*") if path.is_file()]
    assert any(file.endswith(".j2") for file in files)
    done = subprocess.run(["git", "check-ignore", *files], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout == ""
    kept = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    assert kept == {"targets": {"wheel": {"packages": ["grader"]}}}


def _imported(path: Path) -> set[str]:
    """The top-level packages that a module imports by name."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module is not None and node.level == 0:
            found.add(node.module.partition(".")[0])
    return found


def test_no_folder_of_tests_takes_the_name_of_a_package() -> None:
    """tests/ is on the path: there, a folder ``nbgrader`` is nbgrader wherever nbgrader is not installed."""
    imported = set[str]().union(*map(_imported, (ROOT / "grader").rglob("*.py")))
    assert not imported & {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()}


def test_what_the_package_imports_it_declares() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    of_package = packages_distributions()
    # The faces of nbgrader and Jupyter are of use with the extra alone, and only they import what it brings.
    faces = {*(ROOT / "grader/nbgrader_plugin").rglob("*.py"), ROOT / "grader/magics.py"}
    extra = [*project["dependencies"], *project["optional-dependencies"]["classroom"]]
    for lines, paths in (
        (project["dependencies"], set((ROOT / "grader").rglob("*.py")) - faces),
        (extra, {path for path in faces if path.exists()}),
    ):
        _assert_declared(lines, paths, of_package)


def _assert_declared(lines: list[str], paths: set[Path], of_package: Mapping[str, list[str]]) -> None:
    declared = {canonicalize_name(Requirement(line).name) for line in lines}
    imported = set[str]().union(*map(_imported, paths))
    others = imported - set(sys.stdlib_module_names) - {"grader"}
    assert others
    missing = {
        name for name in others if not declared & {canonicalize_name(dist) for dist in of_package.get(name, [name])}
    }
    assert missing == set()
