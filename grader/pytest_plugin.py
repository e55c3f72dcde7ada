"""The pytest plugin: ``submission`` fixture, ``part`` marker, reports that teach. Trusted process.

In: test files of an assignment's folder and ``--submission DIR``. Out: pytest's usual output and exit code,
and with ``--verdict FILE`` the verdicts as JSON. It acts only on test files beside a problem.py of ours; in
other people's projects it adds a marker and no option, since ``--device`` and ``--seed`` may well be theirs.
"""

from __future__ import annotations

import secrets
from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from grader.assignment_folder import HIDDEN_FILE, holds_checks, import_by_path
from grader.course import find_course
from grader.errors import GraderError
from grader.records import State

if TYPE_CHECKING:
    from grader.judge import Candidate
    from grader.pytest_session import CheckSession

SESSION = pytest.StashKey["CheckSession"]()
RESULT_ATTRIBUTE = "warpgrade"
MAX_FOLDERS_IN_HEADER = 8


# ------------------------------------------------------------------ options and session


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
        choices=("auto", "cuda", "simulated"),
        default="auto",
        dest="warpgrade_device",
        help="where kernels run; auto (the default) is a GPU if there is one, else the simulator",
    )
    group.addoption("--seed", type=int, dest="warpgrade_seed", help="seed of the inputs (default: a new secret one)")
    group.addoption("--verdict", metavar="FILE", dest="warpgrade_verdict", help="write the verdicts as JSON")


def _paths(args: Iterable[str], start: Path) -> list[Path]:
    """Those arguments that are files or folders."""
    paths = (start / arg.split("::", 1)[0] for arg in args if not arg.startswith("-"))
    return [path for path in paths if path.exists()]


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker; fix the seed here, so that pytest-xdist's workers share it."""
    config.addinivalue_line("markers", "part(name, weight=1.0): the part of course.yml whose points a check shares")
    if getattr(config.option, "warpgrade_seed", 0) is None:
        config.option.warpgrade_seed = secrets.randbits(63)
    if hasattr(config.option, "warpgrade_device"):
        config.pluginmanager.register(Results(config), "warpgrade-results")
        shown = getattr(config.option, "reportchars", "s")  # absent where pytest runs without its terminal
        if "s" not in shown and any(_check_folders(config)):
            config.option.reportchars = shown + "s"  # "not measured: no GPU" must not go unseen


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
        from grader.judge import Children
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


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Which kernels.py is judged, and on which device."""
    folders = list(dict.fromkeys(_check_folders(config)))
    if not folders:
        return []
    session = session_of(config)
    judged = list(dict.fromkeys(session.judged_folder(folder) / "kernels.py" for folder in folders))
    shown = [_short(path, config.invocation_params.dir) for path in judged[:MAX_FOLDERS_IN_HEADER]]
    more = f" and {len(judged) - len(shown)} more" if len(judged) > len(shown) else ""
    device = session.device_name()
    if session.device == "cuda" and not device.startswith("cuda"):
        raise pytest.UsageError("--device cuda: there is no GPU that numba can use (see `grader doctor`)")
    return [f"judging: {', '.join(shown)}{more}", f"device: {device}   seed: {session.seed}"]


def _check_folders(config: pytest.Config) -> Iterator[Path]:
    for path in _paths(config.args, config.invocation_params.dir):
        folder = path if path.is_dir() else path.parent
        yield from (place for place in (folder, *sorted(folder.glob("*"))) if holds_checks(place))


def _short(path: Path, start: Path) -> str:
    resolved = path.resolve()
    return str(resolved.relative_to(start.resolve())) if resolved.is_relative_to(start.resolve()) else str(path)


# ------------------------------------------------------------------ collecting


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
            if folder.complete:
                self._require_all_parts(folder.assignment.ordered_parts())
        except (GraderError, ValueError) as error:
            raise self.CollectError(str(error)) from None

    def _require_all_parts(self, parts: dict[str, float]) -> None:
        modules = [
            self.obj,
            *(import_by_path(p) for p in self.path.parent.glob("test_*.py") if p != self.path),
        ]
        tests = [f for m in modules for name, f in vars(m).items() if name.startswith("test")]
        marks = [m for o in [*modules, *tests] for m in _marks(o) if m.name == "part" and m.args]
        missing = [part for part, points in parts.items() if points and part not in {m.args[0] for m in marks}]
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
    from grader.pytest_session import BACKSTOP_JOBS

    part, _ = part_of(check)
    if part not in parts:
        raise ValueError(f"{check.path}: {check.name}: unknown part {part!r}; course.yml has {', '.join(parts)}")
    # A warning inside problem.py is no failure of a submission, whatever the surrounding project says.
    check.add_marker(pytest.mark.filterwarnings("default"), append=False)
    if check.config.pluginmanager.hasplugin("timeout"):
        limits = session.limits(session.folder(check.path.parent))
        check.add_marker(pytest.mark.timeout(limits.wall_seconds * BACKSTOP_JOBS))


# ------------------------------------------------------------------ running


@pytest.fixture(name="submission")
def _submission(request: pytest.FixtureRequest) -> Candidate:
    """The kernels.py being judged: ``check``, ``check_each``, ``simulate`` and ``race`` it."""
    if not isinstance(request.node.parent, CheckModule):
        pytest.fail(f"the fixture 'submission' needs a problem.py beside {request.path.name}", pytrace=False)
    return session_of(request.config).candidate(request.path.parent)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Do not start a check when its submission has used up its time for time-outs."""
    if isinstance(pyfuncitem.parent, CheckModule):
        from grader.judge import CheckFailed

        failure = session_of(pyfuncitem.config).out_of_time(pyfuncitem.path.parent)
        if failure is not None:
            raise CheckFailed(failure)
    return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Say what became of a check in its own words, and attach its record."""
    report = yield
    ended = call.when == "call" or (call.when == "setup" and call.excinfo is not None)
    if ended and isinstance(item, pytest.Function) and isinstance(item.parent, CheckModule):
        from grader.pytest_outcome import check_result, outcome_of, rewrite
        from grader.reports.json import CHECK

        error = call.excinfo.value if call.excinfo is not None else None
        last = Path(call.excinfo.traceback[-1].path) if call.excinfo is not None else None
        outcome = outcome_of(error, item, last)
        result = check_result(item, outcome, call.duration)
        rewrite(report, item, outcome, result)
        session_of(item.config).note_time(item.path.parent, result)
        record = {"folder": str(item.path.parent), "check": CHECK.dump_python(result, mode="json")}
        setattr(report, RESULT_ATTRIBUTE, record)
    return report


def pytest_report_teststatus(report: pytest.CollectReport | pytest.TestReport) -> tuple[str, str, str] | None:
    """A check that was not judged is an error, not a failure: it is not the submission's."""
    record = getattr(report, RESULT_ATTRIBUTE, None)
    if record is not None and report.failed and record["check"]["state"] == State.NOT_JUDGED:
        return "error", "E", State.NOT_JUDGED.upper()
    return None


class Results:
    """Gathers the records where results are shown: with pytest-xdist that is its controller."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the record that ``pytest_runtest_makereport`` attached."""
        record = getattr(report, RESULT_ATTRIBUTE, None)
        if record is not None:
            from grader.reports.json import CHECK

            session_of(self.config).keep(Path(record["folder"]), CHECK.validate_python(record["check"]))

    def pytest_sessionfinish(self) -> None:
        """Write the verdicts if asked to."""
        file = self.config.getoption("warpgrade_verdict", None)
        if file is not None and not hasattr(self.config, "workerinput"):
            from grader.reports.json import to_json

            path = self.config.invocation_params.dir / file
            path.write_text(to_json(session_of(self.config).verdicts()), encoding="utf-8")
