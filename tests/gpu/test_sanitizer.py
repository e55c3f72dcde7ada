"""NVIDIA's compute-sanitizer through our path: what it finds in kernels of the course, and where the simulator does."""

# mypy: ignore-errors
from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
import tiny_course as tiny

from grader import sanitizing
from grader.assignment_folder import open_folder
from grader.errors import UsageError
from grader.examinations import TOOLS
from grader.gpu_models import DEFAULT
from grader.judge import Candidate, CheckFailed, Settings
from grader.records import Severity
from grader.sandbox.limits import Limits
from grader.sanitizing import sanitizer
from grader.submission import read_submission

GUARD = "    if i < out.size:"
SOLUTIONS = Path(__file__).parents[2] / "solutions"
LIMITS = Limits(cpu_seconds=20)
# Entry points and sizes that no tile or block fits.
SIZES = {
    "01": ("saxpy", {"n": 1000}),
    "02": ("reduce_sum", {"n": 5000}),
    "03": ("matmul", {"m": 33, "k": 65, "n": 17}),
    "04": ("attention", {"heads": 1, "n": 70, "d": 64, "causal": True}),
}


@pytest.fixture(scope="module")
def checker(gpu):
    try:
        return sanitizer(gpu, DEFAULT, LIMITS)
    except UsageError as why:
        pytest.skip(f"not run: {why}")


@pytest.fixture
def examine(checker, gpu, tmp_path):
    def examined(number, file="kernels.py", call=None):
        entry, sizes = call or SIZES[number]
        (tmp_path / "kernels.py").write_bytes((SOLUTIONS / number / file).read_bytes())
        seen = []
        settings = Settings(device="simulated", seed=3, limits=LIMITS, seen=seen.append)
        judged = Candidate(read_submission(tmp_path), open_folder(SOLUTIONS / number).problems, gpu, settings)
        try:
            judged.check(entry, **sizes)
        except CheckFailed as failed:
            print(failed.failure)
        (examination,) = checker.examine(seen, gpu, DEFAULT, LIMITS)
        print(examination)
        assert [report.problem for report in examination.reports] == ["", "", ""]
        return {report.tool: report for report in examination.reports}

    return examined


def errors(report):
    return [finding for finding in report.findings if finding.severity is Severity.ERROR]


def lines_of(finding):
    """The line of a finding, with those that its sentence names."""
    return {finding.place.line, *map(int, re.findall(r"at line (\d+)", finding.what))}


@pytest.mark.parametrize("file", ["kernels.py", "fast.py"])
@pytest.mark.parametrize("number", SIZES)
def test_nothing_is_found_in_a_reference(examine, number, file):
    reports = examine(number, file)
    assert [str(f) for tool in TOOLS for f in reports[tool].findings] == []
    assert not reports["simulator"].has_errors


@pytest.mark.parametrize(
    ("number", "mutant", "call"),
    [
        ("01", "vector_add_without_guard", ("vector_add", {"n": 1000})),
        ("03", "fetch_without_guard", None),
    ],
)
def test_memcheck_names_a_line_that_the_simulator_names(examine, number, mutant, call):
    """One of them at least: the first access that is outside ends the kernel, whatever other blocks would do."""
    reports = examine(number, f"wrong/{mutant}.py", call)
    assert {f.kind for f in errors(reports["memcheck"])} == {"out-of-bounds"}
    assert {f.place.line for f in errors(reports["memcheck"])} <= {f.place.line for f in errors(reports["simulator"])}
    assert all(f.threads for f in reports["memcheck"].findings)
    assert errors(reports["racecheck"]) == []


@pytest.mark.parametrize(
    ("number", "mutant"),
    [
        ("02", "sum_no_barrier_in_the_tree"),
        ("02", "sum_no_barrier_before_the_tree"),
        ("03", "no_barrier_after_the_fetch"),
        ("03", "no_barrier_before_the_next_fetch"),
    ],
)
def test_racecheck_and_the_simulator_name_the_same_lines(examine, number, mutant):
    reports = examine(number, f"wrong/{mutant}.py")
    assert errors(reports["memcheck"]) == []
    assert {f.kind for f in errors(reports["racecheck"])} == {"race"}
    # Between threads of one warp racecheck only warns; the simulator knows no order there either.
    seen = [lines_of(f) for f in reports["racecheck"].findings]
    simulated = errors(reports["simulator"])
    assert all(any(lines_of(f) == pair for pair in seen) for f in simulated)
    # The simulator tells each access once, with one of those that it races with.
    assert all(lines_of(f) & {each.place.line for each in simulated} for f in errors(reports["racecheck"]))


@pytest.fixture
def reports(checker, gpu, tmp_path):
    """What the tools say of the tiny course's kernel with other text in it."""

    def examined(*changes, limits=LIMITS):
        text = tiny.KERNELS
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        root = tiny.write_course(tmp_path / "course", kernels=text)
        seen = []
        settings = Settings(device="simulated", seed=3, limits=limits, seen=seen.append)
        folder = root / "solutions/01"
        judged = Candidate(read_submission(folder), open_folder(folder).problems, gpu, settings)
        try:
            judged.check(n=33)
        except CheckFailed as failed:
            print(failed.failure)
        (examination,) = checker.examine(seen, gpu, DEFAULT, limits)
        print(examination)
        return examination.reports

    return examined


def test_an_assert_of_a_kernel_is_no_fault_of_ours(reports):
    told = reports(("        out[i] = 2 * x[i]", "        assert i < 5\n        out[i] = 2 * x[i]"))
    assert [(report.tool, report.problem, report.note) for report in told[:2]] == [(tool, "", "") for tool in TOOLS]


@pytest.mark.parametrize("decorator", ["@cuda.jit(device=True)", "@njit"])
def test_a_line_of_a_device_function_is_named(reports, decorator):
    part = f"from numba import cuda, njit\n\n\n{decorator}\ndef part(x, i):\n    return x[i + 8_000_000]\n"
    memcheck, _, simulated = reports(("from numba import cuda\n", part), ("2 * x[i]\n    ###", "part(x, i)\n    ###"))
    assert [(f.kind, f.place.text, f.place.function) for f in memcheck.findings] == [
        ("out-of-bounds", "return x[i + 8_000_000]", "part")
    ]
    assert {f.place.line for f in simulated.findings} == {memcheck.findings[0].place.line}


@pytest.mark.parametrize(
    "options",
    [
        "lineinfo=True",
        "debug=True, opt=False",
        "fastmath=True, max_registers=24",
        '"void(float32[::1], float32[::1])", lineinfo=True',
    ],
)
def test_options_of_the_kernels_own_do_no_harm(reports, options):
    told = reports(("@cuda.jit", f"@cuda.jit({options})"), (GUARD, f"{GUARD[:-1]} + 1:"))
    assert [(report.problem, report.note) for report in told] == [("", "")] * 3
    assert {f.place.text for f in told[0].findings} == {"out[i] = 2 * x[i]"}


def test_a_call_that_hangs_is_ended_and_the_gpu_is_usable_afterwards(reports, checker, monkeypatch):
    monkeypatch.setattr(sanitizing, "slower", lambda limits: replace(limits, wall_seconds=8, memory_bytes=None))
    told = reports((GUARD, "    while x[0] == x[0]:\n        out[0] = x[0]\n" + GUARD), limits=Limits(cpu_seconds=4))
    assert [report.problem for report in told[:2]] == ["the call did not end in the time that it had"] * 2
    monkeypatch.undo()
    told = reports()
    assert [(report.problem, report.findings) for report in told[:2]] == [("", ())] * 2


def test_the_command_shows_both_and_changes_no_points(checker, tmp_path):
    text = tiny.KERNELS.replace(GUARD, f"{GUARD[:-1]} + 1:")
    root = tiny.write_course(tmp_path / "course", kernels=text)
    command = [sys.executable, "-c", "from grader.cli import main; main()", "check", "1", "solutions/01", "--seed", "3"]
    command += ["--device", "simulated"]
    told = {}
    for option in ([], ["--sanitize"]):
        done = subprocess.run(
            [*command, *option], cwd=root, capture_output=True, text=True, timeout=300, check=False,
            env={**os.environ, "COLUMNS": "100"},
        )  # fmt: skip
        assert done.returncode == 1, done
        told[bool(option)] = done.stdout
    print(told[True])
    assert told[True].startswith(told[False])
    page = told[True].removeprefix(told[False])
    assert page.count("kernels.py:12  out[i] = 2 * x[i]") >= 6
    assert "Of 5 calls: both find mistakes in 5, neither in 0." in page
