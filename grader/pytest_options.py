"""The plugin's options, the session they make, and pytest's header. Trusted process.

In: pytest's command line. Out: options (where a course.yml is in reach), and the run's CheckSession.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pytest

from grader.assignment_folder import holds_checks
from grader.course import find_course
from grader.device_names import DEVICE_NAMES
from grader.errors import UsageError
from grader.records import KERNELS_FILE

if TYPE_CHECKING:
    from grader.pytest_session import CheckSession

SESSION = pytest.StashKey["CheckSession"]()
MAX_FOLDERS_IN_HEADER = 8


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add our options, but only where a course.yml is in reach of what pytest was asked to run."""
    call = cast("pytest.Config", pluginmanager.get_plugin("pytestconfig")).invocation_params
    places = [*_paths(map(str, call.args), call.dir), call.dir]
    if not any(find_course(place if place.is_dir() else place.parent) for place in places):
        return
    group = parser.getgroup("warpgrade", "judging kernels.py")
    group.addoption(
        "--submission",
        metavar="DIR",
        dest="warpgrade_submission",
        help="folder whose kernels.py is judged (default: the folder of the test file)",
    )
    group.addoption(
        "--device",
        choices=DEVICE_NAMES,
        default="auto",
        dest="warpgrade_device",
        help="where kernels run; auto (the default) is the simulator, and a GPU for races if there is one",
    )
    group.addoption("--seed", type=int, dest="warpgrade_seed", help="seed of the inputs (default: a new secret one)")
    group.addoption("--verdict", metavar="FILE", dest="warpgrade_verdict", help="write the verdicts as JSON")


def _paths(args: Iterable[str], start: Path) -> list[Path]:
    """Those arguments that are files or folders."""
    paths = (start / arg.split("::", 1)[0] for arg in args if not arg.startswith("-"))
    return [path for path in paths if path.exists()]


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    """Refuse to run by settings that lie in the submission."""
    given = getattr(early_config.known_args_namespace, "warpgrade_submission", None)
    if given is None or early_config.inipath is None:
        return
    submission = (early_config.invocation_params.dir / given).resolve()
    if submission in early_config.inipath.resolve().parents:
        raise pytest.UsageError(
            f"{early_config.inipath} belongs to the submission and must not configure its own grading; "
            f"write --submission={given} in one word, after the folder of the checks"
        )


def session_of(config: pytest.Config) -> CheckSession:
    """The run's CheckSession, made at its first use."""
    if SESSION not in config.stash:
        from grader.children import Children
        from grader.pytest_session import CheckSession

        given = config.getoption("warpgrade_submission", None)
        seed = config.getoption("warpgrade_seed", None)
        children = Children()
        children.__enter__()
        config.add_cleanup(lambda: children.__exit__(None, None, None))
        config.stash[SESSION] = CheckSession(
            submission=None if given is None else config.invocation_params.dir / given,
            device=config.getoption("warpgrade_device", "auto"),
            seed=secrets.randbits(63) if seed is None else seed,
            children=children,
        )
    return config.stash[SESSION]


def pytest_sessionstart(session: pytest.Session) -> None:
    """Refuse a device that is not there before anything is judged, also where no header is shown."""
    if getattr(session.config.option, "warpgrade_device", "auto") == "cuda" and any(check_folders(session.config)):
        from grader.pytest_session import require_device

        known = session_of(session.config)
        try:
            require_device(known.device, known.children)
        except UsageError as error:
            raise pytest.UsageError(str(error)) from None


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Which kernels.py is judged, and on which device."""
    folders = list(dict.fromkeys(check_folders(config)))
    if not folders:
        return []
    session = session_of(config)
    judged = list(dict.fromkeys(session.judged_folder(folder) / KERNELS_FILE for folder in folders))
    shown = [_short(path, config.invocation_params.dir) for path in judged[:MAX_FOLDERS_IN_HEADER]]
    more = f" and {len(judged) - len(shown)} more" if len(judged) > len(shown) else ""
    return [f"judging: {', '.join(shown)}{more}", f"device: {session.device_name()}   seed: {session.seed}"]


def check_folders(config: pytest.Config) -> Iterator[Path]:
    """The folders of checks that pytest was asked for, or that lie directly in what it was asked for."""
    for path in _paths(config.args, config.invocation_params.dir):
        folder = path if path.is_dir() else path.parent
        yield from (place for place in (folder, *sorted(folder.glob("*"))) if holds_checks(place))


def _short(path: Path, start: Path) -> str:
    resolved = path.resolve()
    return str(resolved.relative_to(start.resolve())) if resolved.is_relative_to(start.resolve()) else str(path)
