"""What pytest shows of failures: each mistake whole once, what host code printed, no device that is not there."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tiny_course as tiny

import grader.pytest_session
from grader.judge import CheckFailed
from grader.records import CheckResult, Failure, Finding, KernelPrints, Place, Severity
from grader.reports.alike import alike
from grader.reports.text import PRINTED_LINES

pytest_plugins = "pytester"


@pytest.fixture
def course(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tiny course in pytester's folder, judged by the fake."""
    monkeypatch.setattr("grader.children.Children", tiny.FakeChildren)
    monkeypatch.setattr(grader.pytest_session, "Candidate", tiny.FakeCandidate)
    monkeypatch.setenv("COLUMNS", "80")
    return tiny.write_course(pytester.path)


def failing(monkeypatch: pytest.MonkeyPatch, of: Any, printed: str = "", by_kernels: tuple[str, ...] = ()) -> None:
    """Each check fails with ``of(n)``, after host code and kernels have printed."""

    def check(self: Any, entry: str | None = None, **sizes: Any) -> None:
        self.printed = [printed]
        self.kernels_printed = KernelPrints(by_kernels, 3 if by_kernels else 0)
        raise CheckFailed(of(sizes["n"]))

    monkeypatch.setattr(tiny.FakeCandidate, "check", check)


def nothing_written(n: int) -> Failure:
    return Failure("nothing-written", "Nothing was written.", f"all {n:,} elements", "none", f"double(n={n})", "write")


def blocks(result: pytest.RunResult) -> list[str]:
    """The lines below FAILURES, without the checks' names."""
    lines = result.outlines[result.outlines.index(" FAILURES ".center(80, "=")) + 1 :]
    end = next(number for number, line in enumerate(lines) if line.startswith("==="))
    return [line for line in lines[:end] if not line.startswith("__")]


@pytest.mark.parametrize("ci", ["", "true"])
def test_one_mistake_is_told_whole_once_and_named_by_every_other_check(
    pytester: pytest.Pytester, course: Path, monkeypatch: pytest.MonkeyPatch, ci: str
) -> None:
    monkeypatch.setenv("CI", ci)
    failing(monkeypatch, nothing_written)
    result = pytester.runpytest("solutions/01")
    result.assert_outcomes(failed=5, skipped=1)
    assert result.ret == 1
    assert blocks(result) == [
        "Nothing was written.",
        "  expected all 1 elements",
        "  found    none",
        "  where    double(n=1)",
        "  try      write",
        *["as test_doubles[1]: Nothing was written."] * 4,
    ]
    assert sum(line.startswith("FAILED ") for line in result.outlines) == 5


def test_what_one_run_has_told_another_tells_again(
    pytester: pytest.Pytester, course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, nothing_written)
    for check in ("test_doubles[1]", "test_doubles[33]"):
        result = pytester.runpytest(f"solutions/01/test_public.py::{check}")
        assert "  try      write" in blocks(result)


FAILED = CheckResult("test_a[31]", "correctness", 1.0, "", False, False, failure=nothing_written(31))


def other(**fields: str) -> CheckResult:
    assert FAILED.failure is not None
    return replace(FAILED, name="test_a[1025]", failure=replace(FAILED.failure, **fields))


@pytest.mark.parametrize(
    "fields",
    [
        {"expected": "all 1,025 elements", "where": "double(n=1025)"},
        {"what": "Nothing was written."},
        {"where": "double(n=1025, causal=True)"},
    ],
)
def test_failures_that_differ_in_sizes_are_alike(fields: dict[str, str]) -> None:
    assert alike(Path("01"), other(**fields)) == alike(Path("01"), FAILED)


@pytest.mark.parametrize(
    "fields",
    [
        {"kind": "wrong-values"},
        {"what": "Something was written."},
        {"found": "some"},
        {"where": "triple(n=31)"},
        {"where": "kernels.py:9  out[i] = x[i]"},
        {"advice": "read"},
    ],
)
def test_failures_that_say_something_else_are_not_alike(fields: dict[str, str]) -> None:
    assert alike(Path("01"), other(**fields)) != alike(Path("01"), FAILED)
    assert alike(Path("01"), FAILED) != alike(Path("02"), FAILED)


@pytest.mark.parametrize(
    ("one", "another"),
    [
        ("out[3] = 1.25 ± 1e-06", "out[3] = 1.75 ± 1e-06"),
        ("out[3] = 133", "out[3] = 134"),
        ("out[3] = -7", "out[3] = -8"),
        ("out[3] = 1e+10", "out[3] = 1e+12"),
    ],
)
def test_values_are_no_sizes(one: str, another: str) -> None:
    assert alike(Path("01"), other(expected=one)) != alike(Path("01"), other(expected=another))
    assert alike(Path("01"), other(expected=one)) == alike(Path("01"), other(expected=one.replace("[3]", "[1,024]")))


def test_lines_of_kernels_py_are_no_sizes() -> None:
    assert alike(Path("01"), other(where="kernels.py:9")) != alike(Path("01"), other(where="kernels.py:19"))


def test_a_finding_that_no_earlier_check_had_is_shown() -> None:
    finding = Finding("race", Severity.WARNING, Place(7), "two threads write")
    assert alike(Path("01"), replace(FAILED, findings=(finding,))) != alike(Path("01"), FAILED)


def test_a_failed_public_check_shows_what_host_code_printed(
    pytester: pytest.Pytester, course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, nothing_written, "blocks = 0\n\x1b[2Jthreads = 64\n")
    lines = blocks(pytester.runpytest("solutions/01/test_public.py", "-k", "test_doubles"))
    assert lines[4:7] == [
        "  try      write",
        "  printed  blocks = 0",
        "           \\x1b[2Jthreads = 64",
    ]


def test_a_failed_public_check_shows_what_threads_printed_below_host_code(
    pytester: pytest.Pytester, course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, nothing_written, "blocks = 0", ("0 \x1b[31m1.5", "1 [bold]2.5[/bold]"))
    result = pytester.runpytest("solutions/01/test_public.py", "-k", "test_doubles", "--verdict=v.json")
    assert blocks(result)[5:9] == [
        "  printed  blocks = 0",
        "  threads  0 \\x1b[31m1.5",
        "           1 [bold]2.5[/bold]",
        "           … and 3 more lines",
    ]
    assert "\x1b" not in json.loads((course / "v.json").read_text())["verdicts"][0]["checks"][0]["kernels_printed"]


def test_a_hidden_check_shows_nothing_of_what_was_printed(
    pytester: pytest.Pytester, course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(monkeypatch, nothing_written, "PRINTED", ("PRINTED", "PRINTED"))
    result = pytester.runpytest("solutions/01/test_hidden.py", "--verdict=v.json")
    assert "Nothing was written." in blocks(result)
    assert "PRINTED" not in result.stdout.str() + (course / "v.json").read_text()


@pytest.mark.parametrize("printed", ["x" * 10_000_000, "line\n" * 1_000_000])
def test_an_enormous_print_stays_a_few_lines(
    pytester: pytest.Pytester, course: Path, monkeypatch: pytest.MonkeyPatch, printed: str
) -> None:
    failing(monkeypatch, nothing_written, printed)
    result = pytester.runpytest("solutions/01", "--verdict=v.json")
    result.assert_outcomes(failed=5, skipped=1)
    lines = blocks(result)
    assert lines[5].startswith("  printed  … ")
    assert len(lines) < 40
    assert sum(line.endswith("line") for line in lines) in (0, PRINTED_LINES)
    assert (course / "v.json").stat().st_size < 20_000


@pytest.mark.parametrize("arguments", [(), ("-q",), ("--no-header",)])
def test_a_gpu_that_is_not_there_is_refused_before_anything_is_judged(
    pytester: pytest.Pytester, course: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    failing(monkeypatch, nothing_written)
    result = pytester.runpytest("solutions/01", "--device=cuda", *arguments)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --device cuda needs a GPU, and Numba can use none here; *doctor*"])
    assert "Nothing was written." not in result.stdout.str()
