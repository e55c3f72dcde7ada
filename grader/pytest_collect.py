"""Collecting checks: test files beside a problem.py of ours, imported by path. Trusted process.

In: what pytest finds. Out: checks with their part and limits, or one clear error about the author's mistake.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from grader.assignment_folder import HIDDEN_FILE, holds_checks, import_by_path
from grader.errors import GraderError
from grader.pytest_options import session_of
from grader.quiz_folder import keyed_notebooks
from grader.records import QUIZ

if TYPE_CHECKING:
    from grader.pytest_session import CheckSession


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
    """Test files beside a problem.py of ours are imported by path, whatever pytest's import mode is."""
    if not holds_checks(module_path.parent):
        return None
    return CheckModule.from_parent(parent, path=module_path)


class CheckModule(pytest.Module):
    """A file of checks: functions with a ``part`` that course.yml knows."""

    def _getobj(self) -> Any:
        try:
            return import_by_path(self.path)
        except Exception as error:
            raise self.CollectError(f"{self.path}: {type(error).__name__}: {error}") from error

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        """The file's checks. Any mistake of the author is one clear error."""
        try:
            folder = session_of(self.config).folder(self.path.parent)
            for check in super().collect():
                if not isinstance(check, pytest.Function):
                    raise self.CollectError(f"{self.path}: expected functions as checks, found {check.name}")
                _prepare(check, folder.assignment.parts, session_of(self.config))
                yield check
            if self.path.name == HIDDEN_FILE:
                self._require_all_parts(folder.assignment.ordered_parts())
        except (GraderError, ValueError) as error:
            raise self.CollectError(str(error)) from None

    def _require_all_parts(self, parts: dict[str, float]) -> None:
        """Every part with points has a check, here or in a file beside this one; a quiz has questions in a notebook."""
        try:
            others = [import_by_path(p) for p in self.path.parent.glob("test_*.py") if p != self.path]
        except Exception:
            return  # that file's own collection says what is wrong with it
        used = [
            {mark.args[0] for mark in (*_marks(test), *_marks(module)) if mark.name == "part" and mark.args}
            for module in (self.obj, *others)
            for name, test in vars(module).items()
            if name.startswith("test")
        ]
        if any(not marked or not marked <= set(parts) for marked in used):
            return  # a missing or misspelt part is the better hint; its own check says so
        missing = [part for part, points in parts.items() if points and not any(part in marked for marked in used)]
        if QUIZ in missing:
            keyed_notebooks(self.path.parent)  # raises AuthoringError
            missing.remove(QUIZ)
        if missing:
            course = session_of(self.config).folder(self.path.parent).course.file
            raise self.CollectError(
                f"{course}: part {missing[0]!r} has points, but no check in {self.path.parent} belongs to it"
            )


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Within a folder of checks, public ones run before hidden ones: what they say can be shown."""
    places = [n for n, item in enumerate(items) if isinstance(item.parent, CheckModule)]
    folders = list(dict.fromkeys(items[n].path.parent for n in places))
    ours = sorted(
        (items[n] for n in places),
        key=lambda item: (folders.index(item.path.parent), item.path.name == HIDDEN_FILE),
    )
    for place, item in zip(places, ours, strict=True):
        items[place] = item


def _marks(of: object) -> list[Any]:
    marks = getattr(of, "pytestmark", [])
    return list(marks) if isinstance(marks, list | tuple) else [marks]


def _prepare(check: pytest.Function, parts: Iterable[str], session: CheckSession) -> None:
    from grader.pytest_outcome import part_of

    part, _ = part_of(check)
    if part not in parts:
        raise ValueError(f"{check.path}: {check.name}: unknown part {part!r}; course.yml has {', '.join(parts)}")
    # A warning inside problem.py is no failure of a submission, whatever the surrounding project says.
    check.add_marker(pytest.mark.filterwarnings("default"), append=False)
    if check.config.pluginmanager.hasplugin("timeout"):
        check.add_marker(pytest.mark.timeout(session.backstop_seconds(session.folder(check.path.parent))))
