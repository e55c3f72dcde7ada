"""One submission against one folder of checks: pytest in this process, output kept, a Verdict back.

Trusted process. In: the folder of checks, the submission's folder. Out: a Verdict. Children are started once
per process and stay warm. The surroundings (pytest settings, caches, other plugins) have no part in it.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import io
import os
import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from grader.children import Children, need_gpu
from grader.classroom import Task
from grader.device_names import DeviceName
from grader.dry_run import DryRun
from grader.errors import AuthoringError, Fault
from grader.known_outcomes import KnownOutcomes
from grader.pytest_options import SESSION
from grader.pytest_outcome import part_of
from grader.pytest_session import CheckSession, require_device
from grader.records import QUIZ, PartName, Verdict
from grader.sandbox.levels import LEVELS, SandboxLevel
from grader.sanitizing import SeenCall

# What pytest needs to judge, and nothing that a surrounding project or an instructor's installation adds.
ARGUMENTS = (
    *("-c", os.devnull),
    "--disable-plugin-autoload",
    *("-p", "warpgrade"),
    *("-p", "timeout"),
    *("-p", "no:cacheprovider"),
    *("-p", "no:terminal"),
    *("-p", "no:faulthandler"),
    *("-p", "no:logging"),
    "--capture=no",
)
MAX_AUTHOR_OUTPUT = 2000


@dataclass
class _Run:
    """A pytest plugin that lends the session to our plugin and notes what could not be collected."""

    session: CheckSession
    part: PartName | None = None  # only its checks are judged
    only: Collection[str] | None = None  # only these are, by name
    collected: int = 0
    problem: str = ""

    def pytest_configure(self, config: pytest.Config) -> None:
        config.stash[SESSION] = self.session

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.failed and not self.problem:
            self.problem = str(report.longrepr)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.part is not None:
            items[:] = [item for item in items if isinstance(item, pytest.Function) and part_of(item)[0] == self.part]
        if self.only is not None:
            items[:] = [item for item in items if item.name in self.only]

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        self.collected = len(session.items)
        if self.session.dry_run is not None:  # which is to know the other checks' kernels by then
            session.items.sort(key=lambda item: isinstance(item, pytest.Function) and part_of(item)[0] == "speed")


@functools.cache
def warm_children() -> Children:
    """The children of this process, started once and used for every submission that it judges."""
    children = Children()
    children.__enter__()
    atexit.register(children.__exit__, None, None, None)
    return children


def judge_submission(
    checks: Path,
    submission: Path,
    *,
    student: str = "",
    device: DeviceName = "auto",
    seed: int | None = None,
    part: PartName | None = None,
    only: Collection[str] | None = None,
    any_speed: bool = False,
    known: KnownOutcomes | None = None,
    seen: Callable[[SeenCall], None] | None = None,
    races_later: bool = False,
    dry_run: DryRun | None = None,
    sandbox: SandboxLevel = LEVELS[0],
) -> Verdict:
    """Run the checks of folder ``checks`` on the kernels.py in ``submission``; ``part``: those of one part alone,
    and ``only``: of those the ones with these names. ``any_speed``: race without a minimum, and all speeds earn all.

    ``seed`` None draws a secret one. ``known``: what a lint has seen already, for nobody but lint. ``seen`` is told of
    calls, and ``races_later`` leaves races out, as ``judge.Settings`` says. ``dry_run``: judge nothing, see there.
    ``sandbox``: the least level that the children need; where the machine has none, checks are not judged.
    A submission's mistakes are in the Verdict.
    Raises AuthoringError if the checks cannot be collected, UsageError for device ``cuda`` without a GPU, Fault if
    pytest did not end with a result for every check, and what reading course.yml raises.
    """
    children = warm_children()
    children.demand(sandbox)
    require_device(device, children)
    session = CheckSession(
        submission=submission,
        device=device,
        seed=secrets.randbits(63) if seed is None else seed,
        children=children,
        student=student,
        known=known,
        seen=seen,
        races_later=races_later,
        dry_run=dry_run,
        quiz=only is None and part in (None, QUIZ),
    )
    folder = session.folder(checks)
    if any_speed:
        session.folders[folder.path] = replace(folder, assignment=folder.assignment.model_copy(update={"speed": None}))
    run = _Run(session, part, only)
    arguments = [*ARGUMENTS, f"--rootdir={folder.path}", f"--confcutdir={folder.path}"]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        code = pytest.main([*arguments, str(folder.path)], plugins=[run])
    if run.problem:
        raise AuthoringError(run.problem.strip())
    results = session.results.setdefault(folder.path, [])
    if part == QUIZ and QUIZ in folder.assignment.parts and not run.collected:
        return session.verdicts()[0]  # its questions are no checks of pytest
    if code == pytest.ExitCode.NO_TESTS_COLLECTED:
        raise AuthoringError(f"{folder.path}: expected checks, found none")
    if len(results) != run.collected or code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        output = printed.getvalue()[-MAX_AUTHOR_OUTPUT:].strip()
        raise Fault(f"{len(results)} of {run.collected} checks of {folder.path} have a result: {output}")
    return session.verdicts()[0]


def require_device_once(device: DeviceName) -> None:
    """Raise UsageError for device ``cuda`` without a GPU, before workers judge on it; nothing stays started."""
    with Children() as children:
        require_device(device, children)


def need_gpu_once(asked_by: str) -> None:
    """Raise UsageError where the machine has no GPU that works, as ``children.need_gpu``; nothing stays started."""
    with Children() as children:
        need_gpu(children, asked_by)


def judge_task(task: Task) -> Verdict:
    """``judge_submission`` as the workers of a class, or of a lint, call it."""
    known = None if task.lint is None else known_outcomes(task.lint)
    return judge_submission(
        task.checks,
        task.submission,
        student=task.student,
        device=task.device,
        seed=task.seed if task.lint is None else task.lint,
        part="speed" if task.races == "alone" else None,
        known=known,
        races_later=task.races == "later",
        dry_run=DryRun(task.dry_run) if task.dry_run else None,
        sandbox=task.sandbox,
    )


@functools.lru_cache(maxsize=1)
def known_outcomes(lint: int) -> KnownOutcomes:
    """What this worker has seen of a lint, which its seed names. Forgotten when another one begins."""
    return KnownOutcomes()
