"""A folder that holds checks: problem.py, test_*.py, kernels.py, and its policy in course.yml.

Trusted process. In: a folder. Out: ``AssignmentFolder`` with its problems loaded by path, so that equal file
names in all assignments are no problem. Runs the author's problem.py, never a file of a submission.
"""

from __future__ import annotations

import hashlib
import importlib
import re
import sys
import traceback
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.machinery import ModuleSpec
from importlib.util import module_from_spec
from pathlib import Path
from types import ModuleType

from grader.course import Assignment, Course, course_of
from grader.errors import AuthoringError
from grader.problem import PROBLEM_FILE, Problem, problems_of

PUBLIC_FILE = "test_public.py"
HIDDEN_FILE = "test_hidden.py"
FAST_FILE = "fast.py"
WRONG_FOLDER = "wrong"

_OURS = re.compile(
    r"^\s*(from\s+grader\.problem\s+import|import\s+grader\.problem\b|from\s+grader\s+import\s.*\bproblem\b)",
    re.MULTILINE,
)


@dataclass(frozen=True)
class AssignmentFolder:
    """A folder of checks with everything that judging needs but the submission."""

    path: Path
    course: Course
    assignment: Assignment
    problems: Mapping[str, Problem]


def holds_checks(folder: Path) -> bool:
    """Whether ``folder`` is an assignment of ours: it has a problem.py that imports ``grader.problem``."""
    try:
        return _OURS.search((folder / PROBLEM_FILE).read_text(encoding="utf-8")) is not None
    except (OSError, UnicodeDecodeError):
        return False


def open_folder(path: Path) -> AssignmentFolder:
    """Load policy and problems of an assignment's folder. Raises CourseError, UsageError, AuthoringError."""
    course, assignment = course_of(path)
    file = path / PROBLEM_FILE
    try:
        problems = problems_of(import_by_path(file))
    except Exception as error:
        raise AuthoringError(f"{file}:{line_in(error, file)}: {type(error).__name__}: {error}") from error
    if not problems:
        raise AuthoringError(f"{file}: expected at least one subclass of Problem with all its methods, found none")
    return AssignmentFolder(path, course, assignment, problems)


def line_in(error: BaseException, file: Path) -> int:
    """The last line of ``file`` that an exception passed, or where its syntax error is; 1 if neither."""
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return error.lineno or 1
    lines = [f.lineno for f in traceback.extract_tb(error.__traceback__) if f.filename == str(file)]
    return (lines[-1] if lines else None) or 1


def import_by_path(path: Path) -> ModuleType:
    """Run a Python file as a module of its own, under a name that no other file has.

    It goes through ``sys.meta_path``, so that pytest's assertion rewriting sees checks as it would when it
    imported them itself. A second import of one path runs the file again. Raises what the file raises.
    """
    path = path.resolve()
    name = f"warpgrade_{hashlib.sha256(str(path.parent).encode()).hexdigest()[:16]}.{path.stem}"
    importlib.invalidate_caches()
    spec = _spec(name, path)
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        if spec.loader is not None:
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _spec(name: str, path: Path) -> ModuleSpec:
    for finder in sys.meta_path:
        spec = finder.find_spec(name, [str(path.parent)], None)
        if spec is not None and spec.origin is not None and Path(spec.origin) == path:
            return spec
    raise AuthoringError(f"{path}: expected a Python file, found nothing that can be imported")
