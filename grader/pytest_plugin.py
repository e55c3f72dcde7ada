"""The pytest plugin: ``submission`` fixture, ``part`` marker, reports that teach. Trusted process.

In: test files of an assignment's folder and ``--submission DIR``. Out: pytest's usual output and exit code,
and with ``--verdict FILE`` the verdicts as JSON. It acts only on test files beside a problem.py of ours; in
other people's projects it adds a marker and no option, since ``--device`` and ``--seed`` may well be theirs.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grader.pytest_collect import CheckModule, pytest_collection_modifyitems, pytest_pycollect_makemodule
from grader.pytest_options import (
    check_folders,
    pytest_addoption,
    pytest_load_initial_conftests,
    pytest_report_header,
    pytest_sessionstart,
    session_of,
)
from grader.records import State

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

    from grader.judge import Candidate
    from grader.records import CheckResult

# pytest finds a plugin's hooks by their names in its module.
__all__ = [
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_load_initial_conftests",
    "pytest_pycollect_makemodule",
    "pytest_pyfunc_call",
    "pytest_report_header",
    "pytest_report_teststatus",
    "pytest_runtest_makereport",
    "pytest_sessionstart",
]
RESULT_ATTRIBUTE = "warpgrade"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker; fix the seed here, so that pytest-xdist's workers share it."""
    config.addinivalue_line("markers", "part(name, weight=1.0): the part of course.yml whose points a check shares")
    if getattr(config.option, "warpgrade_seed", 0) is None:
        config.option.warpgrade_seed = secrets.randbits(63)
    if hasattr(config.option, "warpgrade_device"):
        _refuse_unusable(config.getoption("warpgrade_verdict", None), config)
        config.pluginmanager.register(Results(config), "warpgrade-results")
        shown = getattr(config.option, "reportchars", "s")  # absent where pytest runs without its terminal
        if "s" not in shown and any(check_folders(config)):
            config.option.reportchars = shown + "s"  # "not measured: no GPU" must not go unseen


def _refuse_unusable(verdict_file: str | None, config: pytest.Config) -> None:
    """Notice before anything is judged that the verdicts cannot be written."""
    if verdict_file is None:
        return
    path = config.invocation_params.dir / verdict_file
    place = path if path.exists() else path.parent
    if path.is_dir() or not (path.exists() or place.is_dir()) or not os.access(place, os.W_OK):
        raise pytest.UsageError(f"--verdict: expected a place for a file, found {path}, which cannot be written")


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

        session = session_of(pyfuncitem.config)
        failure = session.out_of_time(pyfuncitem.path.parent)
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
        from grader.reports.alike import alike
        from grader.reports.json import CHECK

        error = call.excinfo.value if call.excinfo is not None else None
        last = Path(call.excinfo.traceback[-1].path) if call.excinfo is not None else None
        outcome = outcome_of(error, item, last)
        session = session_of(item.config)
        result = session.settled(item.path.parent, check_result(item, outcome, call.duration))
        rewrite(report, item, outcome, result, session.same_block(alike(item.path.parent, result), result.name))
        session.note_time(item.path.parent, result)
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
        self.raced: list[CheckResult] = []  # and not failed: a failure's block has its figures

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the record that ``pytest_runtest_makereport`` attached."""
        record = getattr(report, RESULT_ATTRIBUTE, None)
        if record is not None:
            from grader.reports.json import CHECK

            check = CHECK.validate_python(record["check"])
            session_of(self.config).keep(Path(record["folder"]), check)
            if check.passed is not False and "speedup" in check.measured:
                self.raced.append(check)

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """How fast the kernels were, of which pytest says nothing where a check is passed."""
        if self.raced:
            from grader.reports.race import race_text
            from grader.reports.text import one_line, wrapped

            width = self.config.get_terminal_writer().fullwidth
            terminalreporter.section("speed")
            for check in self.raced:
                text = f"{one_line(check.name)}: {race_text(check.measured)}"
                for line in wrapped(text, width, "", "  "):
                    terminalreporter.line(line)

    def pytest_sessionfinish(self) -> None:
        """Write the verdicts if asked to."""
        file = self.config.getoption("warpgrade_verdict", None)
        if file is not None and not hasattr(self.config, "workerinput"):
            from grader.reports.json import to_json

            path = self.config.invocation_params.dir / file
            path.write_text(to_json(session_of(self.config).verdicts()), encoding="utf-8")
