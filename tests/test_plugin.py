"""The pytest plugin, with a fake of the judge: what is reported, with which exit code, in whose projects."""

from __future__ import annotations

import json
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import pytest
import tiny_course as tiny

import grader.pytest_session
from grader.errors import AuthoringError, ChildFault, Fault
from grader.judge import CheckFailed
from grader.judging import judge_submission
from grader.records import Failure, State
from grader.sandbox.launch import START_SECONDS

pytest_plugins = "pytester"


@pytest.fixture
def course(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The tiny course in pytester's folder, judged by the fake."""
    use_fakes(monkeypatch)
    monkeypatch.setenv("COLUMNS", "80")
    return tiny.write_course(pytester.path)


def use_fakes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("grader.children.Children", tiny.FakeChildren)
    monkeypatch.setattr(grader.pytest_session, "Candidate", tiny.FakeCandidate)
    monkeypatch.setattr("grader.judging.warm_children", tiny.FakeChildren)


def failures_told(result: pytest.RunResult, sentence: str) -> int:
    """How many failed checks say ``sentence``, in a block of their own or in a line that names an earlier one."""
    _, _, told = " ".join(" ".join(result.outlines).split()).partition(" FAILURES ")
    return told.partition(" short test summary ")[0].count(sentence)


def test_the_reference_passes_and_an_unmeasured_check_is_seen(pytester: pytest.Pytester, course: Path) -> None:
    result = pytester.runpytest("solutions/01")
    result.assert_outcomes(passed=5, skipped=1)
    assert result.ret == 0
    result.stdout.fnmatch_lines(["judging: solutions/01/kernels.py", "device: simulated   seed: *"])
    result.stdout.fnmatch_lines(["SKIPPED [[]1[]] solutions/01/test_public.py:*: not measured: no GPU"])


def test_a_failure_is_a_block_without_a_traceback(pytester: pytest.Pytester, course: Path) -> None:
    tiny.write_kernels(course / "handed in", "fail-odd")
    result = pytester.runpytest("solutions/01", "--submission", "handed in")
    assert result.ret == 1
    result.assert_outcomes(passed=3, failed=2, skipped=1)
    result.stdout.fnmatch_lines(
        [
            "judging: handed in/kernels.py",
            "out[[]1022[]] is wrong.",
            "  expected 1.5",
            "  found    \\x1b[[]31m[[]red[]]nan[[]/red[]]",
            "  where    kernels.py:9  out[[]i[]] = x[[]i[]]",
            "  try      let every element be written by a thread of its own",
            "error: out was written past its end",
            "FAILED solutions/01/test_hidden.py::test_odd_sizes[[]1023[]] - out[[]1022[]] is wr*",
        ]
    )
    result.stdout.no_fnmatch_line("*Traceback*")
    result.stdout.no_fnmatch_line("*pytest_plugin.py*")
    result.stdout.no_fnmatch_line("*\x1b[[]31m[[]red*")
    blocks = result.outlines[result.outlines.index(" FAILURES ".center(80, "=")) :]
    assert all(len(line) <= 80 for line in blocks)


def test_a_plain_assert_fails_in_the_same_form(pytester: pytest.Pytester, course: Path) -> None:
    tiny.write_kernels(course / "s", "loads=3")
    result = pytester.runpytest("solutions/01", "--submission=s", "-k", "reads_once")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["Each element is read from global memory once.", "  found    assert 3.0 <= 1", "*global_loads_per_output*"]
    )


def test_a_fault_of_ours_is_an_error_and_not_a_failure(pytester: pytest.Pytester, course: Path) -> None:
    tiny.write_kernels(course / "s", "fault")
    result = pytester.runpytest("solutions/01", "--submission=s", "-k", "doubles", "-v")
    result.assert_outcomes(errors=2)
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*test_doubles[[]1[]] NOT JUDGED*", "not judged: the GPU fell off the bus"])


def test_a_bug_of_ours_is_an_error_with_its_traceback(pytester: pytest.Pytester, course: Path) -> None:
    tiny.write_kernels(course / "s", "bug")
    result = pytester.runpytest("solutions/01", "--submission=s", "-k", "doubles")
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*KeyError: 'a bug of the grader'"])


def test_a_passed_race_shows_how_fast_it_was(
    pytester: pytest.Pytester, course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raced(self: tiny.FakeCandidate, entry: str | None = None, **sizes: object) -> None:
        self.measured |= {"credit": 1.0, **tiny.MEASURED}

    monkeypatch.setattr(tiny.FakeCandidate, "race", raced)
    result = pytester.runpytest("solutions/01")
    result.assert_outcomes(passed=6)
    lines = result.outlines[result.outlines.index(" speed ".center(80, "=")) + 1 :]
    assert lines[0] == "test_minimum_speedup: 10.0 times the CPU baseline's speed: 64.4 µs (median of 30"
    told = " ".join(" ".join(lines).split())
    assert "The minimum of 2.0 times is reached, which passes here. In class, points only begin there, and" in told
    assert all(len(line) <= 80 for line in lines)


def test_an_assertion_inside_the_grader_is_not_the_students(
    pytester: pytest.Pytester, course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: object, entry: str | None = None, **sizes: object) -> None:
        raise AssertionError

    monkeypatch.setattr(tiny.FakeCandidate, "check", broken)
    pytester.runpytest("solutions/01", "-k", "doubles").assert_outcomes(errors=2)


def test_checks_are_not_started_once_time_outs_have_used_the_time(pytester: pytest.Pytester, course: Path) -> None:
    tiny.write_kernels(course / "s", "slow")
    result = pytester.runpytest("solutions/01", "--submission=s")
    result.assert_outcomes(failed=6)
    assert failures_told(result, "The host function did not finish.") == 2
    assert failures_told(result, "This check was not started, because earlier ones ran out of time.") == 4


def test_a_speed_check_without_a_gpu_is_not_started_either_once_the_time_is_used_up(
    pytester: pytest.Pytester, course: Path
) -> None:
    tiny.write_kernels(course / "s", "slow")
    result = pytester.runpytest("solutions/01", "--submission=s", "--verdict=v.json")
    result.assert_outcomes(failed=6)
    (verdict,) = json.loads((course / "v.json").read_text())["verdicts"]
    (speed,) = [check for check in verdict["checks"] if check["part"] == "speed"]
    assert (speed["passed"], speed["failure"]["kind"]) == (False, "not-started")
    assert (verdict["total"], verdict["points_judged"]) == (0, 100)


def test_checks_that_wait_use_up_the_time_as_those_that_compute(
    pytester: pytest.Pytester, course: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stalled(self: object, entry: str | None = None, **sizes: object) -> None:
        time.sleep(tiny.SLOW_SECONDS)
        raise CheckFailed(Failure("stalled", "The host code did not finish."))

    monkeypatch.setattr(tiny.FakeCandidate, "check", stalled)
    result = pytester.runpytest("solutions/01")
    result.assert_outcomes(failed=6)
    assert failures_told(result, "This check was not started, because earlier ones ran out of time.") == 4


@pytest.mark.parametrize(("limit", "started", "measurable"), [("1 s", 1, 0), ("5 s", 5, 1)])
def test_what_long_checks_without_a_judgement_leave_no_time_for_is_not_judged(
    pytester: pytest.Pytester,
    course: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    started: int,
    measurable: int,
) -> None:
    def starved(self: object, entry: str | None = None, **sizes: object) -> None:
        time.sleep(1.05)
        raise ChildFault("the machine was too busy")

    monkeypatch.setattr(tiny.FakeCandidate, "check", starved)
    tiny.write_course(course, course=tiny.COURSE.replace("check: 5 s", f"check: {limit}"))
    result = pytester.runpytest("solutions/01")
    result.assert_outcomes(errors=6 - measurable, skipped=measurable)
    assert result.outlines.count("not judged: the machine was too busy") == started
    later = [line for line in result.outlines if line.startswith("not judged: this check was not started, because")]
    assert len(later) == 6 - measurable - started


def test_a_missing_kernels_file_fails_each_check_with_a_sentence(pytester: pytest.Pytester, course: Path) -> None:
    (course / "s").mkdir()
    result = pytester.runpytest("solutions/01", "--submission=s")
    result.assert_outcomes(failed=6)
    result.stdout.fnmatch_lines(["There is no kernels.py."])


def test_public_checks_run_before_hidden_ones(pytester: pytest.Pytester, course: Path) -> None:
    lines = [line for line in pytester.runpytest("solutions", "-v").outlines if "::" in line and "%]" in line]
    assert ["hidden" in line for line in lines] == [False] * 4 + [True] * 2


def test_a_copied_folder_works_anywhere_beside_others_of_the_same_file_names(
    pytester: pytest.Pytester, course: Path, tmp_path: Path
) -> None:
    copied = tmp_path / "my homework"
    shutil.copytree(course / "solutions/01", copied)
    shutil.copy(course / "course.yml", copied)
    result = pytester.runpytest(str(copied), "solutions")
    result.assert_outcomes(passed=10, skipped=2)


def test_with_xdist_the_verdict_and_the_seed_are_shared(pytester: pytest.Pytester, course: Path) -> None:
    # A run of its own: pytest-xdist's workers know no fakes, so the check here uses no Candidate.
    (course / "solutions/01/test_public.py").write_text(
        'import pytest\n\n\n@pytest.mark.part("correctness")\n@pytest.mark.parametrize("n", [1, 2])\n'
        "def test_it(n):\n    assert n < 2\n"
    )
    (course / "solutions/01/test_hidden.py").unlink()
    result = pytester.runpytest_subprocess("solutions/01", "-n2", "--device=simulated", "--verdict=v.json")
    result.assert_outcomes(passed=1, failed=1)
    (verdict,) = json.loads((course / "v.json").read_text())["verdicts"]
    assert sorted((check["name"], check["passed"]) for check in verdict["checks"]) == [
        ("test_it[1]", True),
        ("test_it[2]", False),
    ]


def test_the_verdict_file_holds_points_and_reasons(pytester: pytest.Pytester, course: Path) -> None:
    pytester.runpytest("solutions/01", "--verdict=v.json", "--seed=3")
    (verdict,) = json.loads((course / "v.json").read_text())["verdicts"]
    assert (verdict["assignment"], verdict["total"], verdict["points_judged"]) == ("01", None, 80)
    assert verdict["summary"] == "all 5 checks passed; speed not measured: no GPU."


def test_cuda_without_a_gpu_is_a_usage_error(pytester: pytest.Pytester, course: Path) -> None:
    result = pytester.runpytest("solutions/01", "--device=cuda")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "needs a GPU, and Numba can use none here" in result.stderr.str()


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("test_public.py", 'part("speed")', 'part("sped")', "unknown part 'sped'; course.yml has correctness, tech"),
        ("test_public.py", '@pytest.mark.part("speed")\n', "", "test_minimum_speedup: expected a marker, say @pytest"),
        ("test_public.py", 'part("speed")', 'part("speed", weight=0)', "expected a weight above 0, found 0"),
        ("test_public.py", 'part("speed")', 'part("technique")', "part 'speed' has points, but no check in "),
        ("test_public.py", "import pytest", "import pytset", "ModuleNotFoundError: No module named 'pytset'"),
        (
            "test_public.py",
            "import pytest\n",
            "import pytest\n\n\nclass TestA:\n    def test_b(self): ...\n",
            "functions",
        ),
        ("problem.py", "class Double(Problem):", "class Double(Problem)", "problem.py:6: SyntaxError"),
        ("problem.py", "    def work", "    def wrok", "at least one subclass of Problem with all its methods"),
        ("problem.py", "import numpy as np", "import numpy as np\n1 / 0", "problem.py:2: ZeroDivisionError"),
    ],
)
def test_an_authors_mistake_is_one_clear_error(
    pytester: pytest.Pytester, course: Path, file: str, old: str, new: str, said: str
) -> None:
    path = course / "solutions/01" / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    result = pytester.runpytest("solutions/01")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    errors = [line for line in result.outlines if said in line]
    assert errors
    result.stdout.no_fnmatch_line("*Traceback*")
    with pytest.raises(AuthoringError) as caught:
        judge_submission(course / "solutions/01", course / "solutions/01")
    assert said in str(caught.value)


def test_a_public_folder_may_lack_what_only_hidden_checks_test(pytester: pytest.Pytester, course: Path) -> None:
    public = course / "assignments/01"
    shutil.copytree(course / "solutions/01", public)
    (public / "test_hidden.py").unlink()
    text = (public / "test_public.py").read_text().replace('part("technique")', 'part("correctness")')
    (public / "test_public.py").write_text(text)
    pytester.runpytest("assignments").assert_outcomes(passed=3, skipped=1)


def test_a_mistake_in_course_yml_is_one_clear_error(pytester: pytest.Pytester, course: Path) -> None:
    (course / "course.yml").write_text(tiny.COURSE.replace("correctness: 60", "correctness: -60"))
    result = pytester.runpytest("solutions/01")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*course.yml:5: assignments.01.parts.correctness: expected a number of points*"])


def test_warnings_in_problem_py_are_no_failures(pytester: pytest.Pytester, course: Path) -> None:
    (course / "pytest.ini").write_text("[pytest]\nfilterwarnings = error\n")
    text = (
        (course / "solutions/01/test_public.py")
        .read_text()
        .replace("    submission.check(n=n)", "    import warnings\n    warnings.warn('inexact', RuntimeWarning)")
    )
    (course / "solutions/01/test_public.py").write_text(text)
    pytester.runpytest("solutions/01").assert_outcomes(passed=5, skipped=1, warnings=2)


# ------------------------------------------------------------------ other people's projects


def test_options_of_other_projects_do_not_clash(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        def pytest_addoption(parser):
            for name in ("--device", "--seed", "--submission", "--verdict"):
                parser.addoption(name)
        """
    )
    pytester.makepyfile("def test_theirs(request): assert request.config.getoption('--device') == 'toaster'")
    pytester.runpytest("--device=toaster", "--seed=x").assert_outcomes(passed=1)


def test_a_problem_py_that_is_not_ours_changes_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(problem="raise SystemExit('must not run')", test_theirs="def test_a(): assert 1 == 2")
    (pytester.path / "course.yml").write_text("another: tool\n")
    result = pytester.runpytest()
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["E*assert 1 == 2"])
    result.stdout.no_fnmatch_line("judging:*")


def test_a_fixture_of_the_same_name_stays_theirs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest

        @pytest.fixture
        def submission():
            return 7

        def test_theirs(submission):
            assert submission == 7
        """
    )
    pytester.runpytest().assert_outcomes(passed=1)


# ------------------------------------------------------------------ the submission's own files


HOSTILE_CONFTEST = "raise SystemExit('the submission runs in the trusted process')\n"


def test_a_conftest_in_the_submission_is_never_loaded(pytester: pytest.Pytester, course: Path) -> None:
    handed_in = tiny.write_kernels(course / "submitted/eve/01")
    (handed_in / "conftest.py").write_text(HOSTILE_CONFTEST)
    (handed_in.parent / "conftest.py").write_text(HOSTILE_CONFTEST)
    (handed_in / "sitecustomize.py").write_text(HOSTILE_CONFTEST)
    for arguments in (["--submission=submitted/eve/01"], ["--submission", "submitted/eve/01"]):
        pytester.runpytest("solutions/01", *arguments).assert_outcomes(passed=5, skipped=1)
    verdict = judge_submission(course / "solutions/01", handed_in)
    assert verdict.points_judged == 80


def test_settings_in_the_submission_do_not_configure_its_grading(
    pytester: pytest.Pytester, course: Path, tmp_path: Path
) -> None:
    handed_in = tiny.write_kernels(tmp_path / "eve", "fail")
    (handed_in / "pytest.ini").write_text("[pytest]\naddopts = -k nothing\n")
    result = pytester.runpytest("--submission", str(handed_in), "solutions/01")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert "must not configure its own grading" in result.stderr.str()
    verdict = judge_submission(course / "solutions/01", handed_in)
    assert [part.earned for part in verdict.parts] == [0, 0, 0]


# ------------------------------------------------------------------ judge_submission


def test_judging_in_this_process_gives_a_verdict_and_prints_nothing(
    course: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    handed_in = tiny.write_kernels(course / "submitted/ada/01", "fail-odd")
    verdict = judge_submission(course / "solutions/01", handed_in, student="ada", device="simulated", seed=1)
    assert capfd.readouterr() == ("", "")
    assert verdict.student == "ada"
    assert [(part.part, part.earned, part.judged) for part in verdict.parts] == [
        ("correctness", 30, 60),
        ("technique", 20, 20),
        ("speed", 0, 0),
    ]
    assert verdict.summary == "2 of 5 checks failed: Sizes that are no multiple of a block work too; " + (
        "speed not measured: no GPU."
    )
    assert verdict.sha256


def test_checks_can_be_judged_by_name(course: Path) -> None:
    handed_in = tiny.write_kernels(course / "s")

    def judged(**asked: Any) -> list[str]:
        return [check.name for check in judge_submission(course / "solutions/01", handed_in, **asked).checks]

    assert judged(part="correctness", only={"test_doubles[33]", "test_odd_sizes[1023]"}) == [
        "test_doubles[33]",
        "test_odd_sizes[1023]",
    ]
    assert judged(only={"test_reads_once", "test_doubles[33]"}) == ["test_doubles[33]", "test_reads_once"]
    with pytest.raises(AuthoringError, match="found none"):
        judged(part="speed", only={"test_reads_once"})


def test_a_race_at_any_speed_asks_for_no_minimum(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    class Noting(tiny.FakeCandidate):
        def race(self, entry: str | None = None, **sizes: Any) -> None:
            asked.append((self.settings.race.min_speedup, self.settings.race.full_at))
            super().race(entry, **sizes)

    monkeypatch.setattr(grader.pytest_session, "Candidate", Noting)
    handed_in = tiny.write_kernels(course / "s")
    judge_submission(course / "solutions/01", handed_in, part="speed")
    judge_submission(course / "solutions/01", handed_in, part="speed", any_speed=True)
    assert asked == [(2, 0.5), (0, 0)]


def test_a_fault_of_ours_leaves_the_checks_not_judged(course: Path) -> None:
    verdict = judge_submission(course / "solutions/01", tiny.write_kernels(course / "s", "fault"))
    assert {check.state for check in verdict.checks} == {State.NOT_JUDGED}
    assert verdict.total is None
    assert verdict.summary.startswith("no check was judged; correctness, technique, speed not judged: the GPU")


def test_a_run_that_ends_early_is_our_fault_and_no_score(course: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTEST_ADDOPTS", "--maxfail=1")
    with pytest.raises(Fault, match="1 of 6 checks"):
        judge_submission(course / "solutions/01", tiny.write_kernels(course / "s", "fail"))


def test_one_process_can_judge_the_same_names_in_different_courses(course: Path, tmp_path: Path) -> None:
    other = tiny.write_course(tmp_path, test_public=tiny.PUBLIC.replace("[1, 33]", "[1]"))
    first = judge_submission(course / "solutions/01", course / "solutions/01")
    second = judge_submission(other / "solutions/01", other / "solutions/01")
    assert (len(first.checks), len(second.checks)) == (6, 5)


def test_judging_leaves_no_files_beside_the_submission(course: Path) -> None:
    handed_in = tiny.write_kernels(course / "s")
    judge_submission(course / "solutions/01", handed_in)
    assert [path.name for path in handed_in.iterdir()] == ["kernels.py"]


def test_the_plugin_needs_no_heavy_module_until_a_check_is_collected() -> None:
    import subprocess

    code = "import sys, grader.pytest_plugin; print('grader.judge' in sys.modules, 'numba' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "False"]


@pytest.mark.parametrize("file", ["solutions", "nowhere/v.json", "course.yml/v.json", "/proc/x/v.json"])
def test_an_unusable_verdict_file_is_noticed_before_anything_is_judged(
    pytester: pytest.Pytester, course: Path, file: str
) -> None:
    result = pytester.runpytest("solutions/01", f"--verdict={file}")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --verdict: expected a place for a file, found *, which cannot be written"])


def test_no_limit_of_course_yml_makes_the_backstop_shorter_than_the_start_of_the_children(
    pytester: pytest.Pytester, course: Path
) -> None:
    (course / "course.yml").write_text(tiny.COURSE.replace("check: 5 s", "check: 1 s"))
    (course / "conftest.py").write_text(
        "def pytest_collection_modifyitems(items):\n"
        "    print('backstop', min(item.get_closest_marker('timeout').args[0] for item in items))\n"
    )
    result = pytester.runpytest("solutions/01", "-s")
    (line,) = [line for line in result.outlines if line.startswith("backstop")]
    assert float(line.split()[-1]) > 2 * START_SECONDS + 10 * 3
