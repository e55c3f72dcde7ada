"""Runs tests of the installed Numba on the live simulator, in a process of its own.

``python run_numbas_tests.py MODULE…`` prints one JSON line per test: its id, "passed", "failed", "error" or "skipped",
and the last line of why. Numba's own warnings and prints go to standard error.
"""

from __future__ import annotations

import fnmatch
import importlib
import importlib.util
import json
import os
import runpy
import sys
import traceback
import unittest
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FunctionType, TracebackType
from typing import Any

HERE = Path(__file__).parent
ExcInfo = tuple[type[BaseException], BaseException, TracebackType] | tuple[None, None, None]


class Recorder(unittest.TestResult):
    """Writes what became of each test as soon as it is known: the next one may end the process."""

    def __init__(self, out: Any) -> None:
        super().__init__()
        self._out = out

    def _tell(self, test: unittest.TestCase, state: str, why: str = "") -> None:
        print(json.dumps([test.id(), state, why]), file=self._out, flush=True)

    def startTest(self, test: unittest.TestCase) -> None:
        super().startTest(test)
        self._tell(test, "begun")

    def addSuccess(self, test: unittest.TestCase) -> None:
        self._tell(test, "passed")

    def addSkip(self, test: unittest.TestCase, reason: str) -> None:
        self._tell(test, "skipped", reason)

    def addExpectedFailure(self, test: unittest.TestCase, err: ExcInfo) -> None:
        self._tell(test, "passed")

    def addUnexpectedSuccess(self, test: unittest.TestCase) -> None:
        self._tell(test, "failed", "passes where Numba expects a failure")

    def addFailure(self, test: unittest.TestCase, err: ExcInfo) -> None:
        self._tell(test, "failed", _why(err))

    def addError(self, test: unittest.TestCase, err: ExcInfo) -> None:
        skipped = err[0] is not None and err[0].__name__ == "Skipped"  # as pytest does it
        self._tell(test, "skipped" if skipped else "error", _why(err))

    def addSubTest(self, test: unittest.TestCase, subtest: unittest.TestCase, err: ExcInfo | None) -> None:
        if err is not None:
            self._tell(test, "failed", _why(err))


def _why(err: ExcInfo) -> str:
    if os.environ.get("SHOW"):
        traceback.print_exception(*err)  # type: ignore[arg-type]
    lines = "".join(traceback.format_exception_only(err[0], err[1])).strip().splitlines()
    return " | ".join(lines[:2])[:300]


def _without_a_run_time() -> None:
    """Numba's run time counts allocations in machine code; tests ask it whether memory leaks."""
    from numba.cuda.memory_management.nrt import _nrt_mstats, rtsys

    for name in ("memsys_enable_stats", "memsys_disable_stats"):
        setattr(rtsys, name, lambda *_: None)
    rtsys.get_allocation_stats = lambda *_: _nrt_mstats(0, 0, 0, 0)


def main(arguments: list[str]) -> None:
    """Run the tests of modules, or single tests by id; ``--not=PATTERN`` leaves some out."""
    left_out = [argument.removeprefix("--not=") for argument in arguments if argument.startswith("--not=")]
    modules = [argument for argument in arguments if not argument.startswith("--not=")]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")
    runpy.run_path(str(HERE / "in_children" / "sitecustomize.py"))  # installs the simulator
    import numba.cuda.testing

    # A library for grid synchronisation in machine code, which nobody makes here.
    numba.cuda.testing.cudadevrt_missing = lambda: False
    if importlib.util.find_spec("numba.cuda.memory_management") is not None:
        _without_a_run_time()
    # Some tests start Python again: the simulator is needed there, too.
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE / "in_children"), os.environ.get("PYTHONPATH", "")])
    recorder = Recorder(out)
    for module in modules:
        try:
            wanted = [test for test in each(tests(module)) if not any(fnmatch.fnmatch(test.id(), p) for p in left_out)]
            unittest.TestSuite(wanted).run(recorder)
        except BaseException as error:
            if type(error).__name__ not in ("ModuleNotFoundError", "Skipped"):  # the second as pytest does it
                raise
            print(json.dumps([module, "skipped", str(error)]), file=out, flush=True)


class FunctionTest(unittest.FunctionTestCase):
    """A test that is a function, as pytest has them, under the name that pytest would give it."""

    def id(self) -> str:
        return f"{self._testFunc.__module__}.{self._testFunc.__name__}"  # type: ignore[attr-defined]


def each(suite: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    """The single tests of a suite."""
    for test in suite:
        if isinstance(test, unittest.TestSuite):
            yield from each(test)
        else:
            yield test


def tests(name: str) -> unittest.TestSuite:
    """A module's tests, or the one that is named: methods of unittest's classes, and plain functions."""
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or not name.startswith(error.name):
            raise  # what the module needs
        holder, _, last = name.rpartition(".")
        function = getattr(sys.modules.get(holder), last, None)
        if isinstance(function, FunctionType):
            return unittest.TestSuite([FunctionTest(function)])
        return unittest.defaultTestLoader.loadTestsFromName(name)
    suite = unittest.defaultTestLoader.loadTestsFromModule(module)
    for function in vars(module).values():
        if isinstance(function, FunctionType) and function.__name__.startswith("test_"):
            suite.addTest(FunctionTest(function))
    return suite


if __name__ == "__main__":
    main(sys.argv[1:])
