"""What calibration makes of races."""

# mypy: ignore-errors
from __future__ import annotations

from pathlib import Path

import pytest

from grader.assignment_folder import open_folder
from grader.calibrate import BASELINE, FAST, REFERENCE, Raced, Solution, calibrate, proposal, solutions_of
from grader.records import CheckResult, Failure, State, Verdict
from grader.written_checks import WrittenCheck, WrittenChecks, read_checks

SOLUTIONS = Path(__file__).parents[1] / "solutions"
HERE = {
    "limited_by_memory": 1.0,
    "peak_gb_per_s": 3000.0,
    "peak_gflop_per_s": 64000.0,
    "baseline_threads": 4.0,
    "baseline_ms": 10.0,
    "baseline_now_ms": 10.0,
}
TWO = WrittenChecks(
    {f"test_{name}": WrittenCheck("speed", frozenset((name,))) for name in ("add", "scale")},
    frozenset(("add", "scale")),
)
WRONG = Failure("wrong-values", "It is wrong.")
COARSE = Failure("technique", "There are too many reads.")


def text(add="a", scale="b"):
    """Two entry points."""
    return f"def add():\n    return {add!r}\n\n\ndef scale():\n    return {scale!r}\n"


def verdict(*checks):
    return Verdict("", "03", "", "cuda", (), checks, None, 0, 0, "")


def check(name, speedup=None, failure=None):
    measured = {} if speedup is None else HERE | {"speedup": speedup, "median_ms": 10 / speedup}
    return CheckResult(name, "speed", 1.0, "", False, failure is None, failure=failure, measured=measured)


def not_measured(name, state=State.NOT_MEASURED):
    return CheckResult(name, "speed", 1.0, "", False, None, state, reason="somebody else computes")


class Races:
    """Judges by a function of who it is and of the check; ``seen`` says who was raced in which checks."""

    def __init__(self, outcome):
        self.outcome, self.seen = outcome, []

    def __call__(self, folder, only):
        names = ["test_add", "test_scale"] if only is None else sorted(only)
        self.seen.append((folder.name, tuple(names)))
        return verdict(*(self.outcome(folder.name, name) for name in names))


def ran(solutions, outcome, repeats=1):
    """Rows by check and who, and the races."""
    races = Races(outcome)
    rows = calibrate(solutions, TWO, races, repeats, lambda *told: None)
    return {(row.check, row.who): row for row in rows}, races.seen


# ------------------------------------------------------------------ who races where, and how often


BOTH = ("test_add", "test_scale")


def test_a_wrong_solution_races_where_it_changes_something_and_right_ones_as_often_as_asked():
    solutions = [
        Solution(REFERENCE, text()),
        Solution(FAST, text("c", "d")),
        Solution("add_naive", text(add="c"), has_technique=False),
        Solution("scale_wrong", text(scale="c"), gives_right_results=False),
    ]
    rows, seen = ran(solutions, lambda who, name: check(name, 20), 2)
    every = [(REFERENCE, BOTH), (FAST, BOTH), ("add_naive", ("test_add",))]
    assert seen == [*every, ("scale_wrong", ("test_scale",)), *every]
    assert rows["test_add", "add_naive"].speedups == (20, 20)
    assert rows["test_scale", "scale_wrong"].speedups == (20,)
    assert ("test_scale", "add_naive") not in rows


def test_a_solution_of_which_it_is_not_known_what_it_changes_races_everywhere():
    strange = "import os\n" + text()
    _, seen = ran([Solution(REFERENCE, text()), Solution("strange", strange)], lambda who, name: check(name, 20))
    assert seen[1] == ("strange", BOTH)


def test_whoever_fails_before_it_has_a_time_is_not_raced_again_in_that_check():
    def outcome(who, name):
        return check(name, failure=WRONG) if (who, name) == ("bad", "test_add") else check(name, 20)

    rows, seen = ran([Solution(REFERENCE, text()), Solution("bad", text("c", "d"))], outcome, 3)
    assert [names for who, names in seen if who == "bad"] == [BOTH, ("test_scale",), ("test_scale",)]
    assert rows["test_add", "bad"].row() == ("test_add", "bad", "", "", "", "It is wrong.")
    assert len(rows["test_scale", "bad"].speedups) == 3


def test_a_kernel_that_misses_the_technique_has_a_time_each_time():
    solutions = [Solution(REFERENCE, text()), Solution("naive", text(add="c"), has_technique=False)]
    rows, _ = ran(solutions, lambda who, name: check(name, 20, COARSE if who == "naive" else None), 3)
    assert len(rows["test_add", "naive"].speedups) == 3
    assert rows["test_add", "naive"].why == "There are too many reads."


@pytest.mark.parametrize("state", [State.NOT_MEASURED, State.NOT_JUDGED])
@pytest.mark.parametrize("who_is_lost", [REFERENCE, "naive"])
@pytest.mark.parametrize("lost_time", range(3))
def test_a_race_that_was_not_measured_is_run_again_the_next_time(state, who_is_lost, lost_time):
    times = {}

    def outcome(who, name):
        time = times[who, name] = times.get((who, name), -1) + 1
        return not_measured(name, state) if (who, time) == (who_is_lost, lost_time) else check(name, 20)

    solutions = [Solution(REFERENCE, text()), Solution("naive", text(add="c"), has_technique=False)]
    rows, _ = ran(solutions, outcome, 3)
    assert rows["test_add", who_is_lost].speedups == (20, 20)
    assert rows["test_add", who_is_lost].why == f"1 of 3 races {state.value}: somebody else computes"
    assert proposal(list(rows.values())) is not None


def test_what_is_never_measured_says_why():
    rows, _ = ran([Solution(REFERENCE, text())], lambda who, name: not_measured(name), 2)
    assert rows["test_add", REFERENCE].why == "not measured: somebody else computes"
    assert ("test_add", BASELINE) not in rows
    assert proposal(list(rows.values())) is None


def test_the_baseline_has_a_row_from_all_races_of_a_check():
    solutions = [Solution(REFERENCE, text()), Solution("naive", text(add="c"), has_technique=False)]

    def outcome(who, name):
        one = check(name, 20)
        one.measured["baseline_now_ms"] = 12.5 if who == "naive" else 10.0
        return one

    rows, _ = ran(solutions, outcome)
    assert rows["test_add", BASELINE].row() == ("test_add", BASELINE, "11.2 ms", "25.0%", "0.90 times", "")
    assert rows["test_scale", BASELINE].row()[2:4] == ("10.0 ms", "0.0%")
    assert [who for _, who in rows][:3] == [BASELINE, REFERENCE, "naive"]


def test_progress_counts_what_is_to_be_run():
    told = []
    solutions = [Solution(REFERENCE, text()), Solution("bad", text("c"), gives_right_results=False)]
    races = Races(lambda who, name: check(name, 20))
    calibrate(solutions, TWO, races, 3, lambda done, of, verdict: told.append((done, of)))
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]


# ------------------------------------------------------------------ what is proposed


def test_the_minimum_leaves_a_small_gpu_its_margin():
    slow, fast = (
        Raced("test_a", REFERENCE, (90, 100), (1, 1), "", 0.1),
        Raced("test_b", REFERENCE, (400,), (1,), "", 0.1),
    )
    found = proposal([slow, fast])
    assert found.min_speedup == 5  # a tenth of 90, by 1.5, is 6
    assert found.full_at == 0.5
    assert "test_a" in found.reason
    # What is slowest here need not be slowest there.
    assert "test_b" in proposal([slow, Raced("test_b", REFERENCE, (400,), (1,), "", 0.01)]).reason


@pytest.mark.parametrize(
    ("here", "share"),
    [
        ({}, 0.1),  # 300 of 3000 GB/s
        ({"limited_by_memory": 0.0}, 0.25),  # 8 of 64 TFLOP/s, beside half as many threads
        ({"limited_by_memory": 0.0, "baseline_threads": 1.0}, 0.125),
        ({"peak_gb_per_s": 200.0}, 1.0),
    ],
)
def test_a_small_gpu_is_slower_as_the_limit_says_that_the_kernel_is_under(here, share):
    def outcome(who, name):
        one = check(name, 20)
        one.measured.update(here)
        return one

    rows, _ = ran([Solution(REFERENCE, text())], outcome)
    assert rows["test_add", REFERENCE].on_small == pytest.approx(share)


def test_a_naive_kernel_near_the_reference_earns_no_full_points():
    reference = Raced("test_a", REFERENCE, (100,), (1,))

    def naive(speedup):
        return Raced("test_a", "no_tiles", (speedup,), (2,), "too many reads", is_naive=True)

    assert proposal([reference, naive(45)]).full_at == pytest.approx(0.7)  # 1.5 times 45 %, in twentieths
    assert "no_tiles in test_a, has 45% of the reference's speed" in proposal([reference, naive(45)]).reason
    assert proposal([reference, naive(95)]).full_at == pytest.approx(0.9)
    assert proposal([reference, Raced("test_a", FAST, (300,), (2,))]).full_at == 0.5
    assert "No kernel without the technique was raced" in proposal([reference]).reason


def test_only_kernels_that_are_right_without_the_technique_say_where_full_points_begin():
    """A solution is the reference in checks of what it does not change, and wrong results say nothing of speed."""

    def outcome(who, name):
        return check(name, 10 if (who, name) == ("add_naive", "test_add") else 100)

    solutions = [
        Solution(REFERENCE, text()),
        Solution(FAST, text("c", "d")),
        Solution("add_naive", text(add="c"), has_technique=False),
        Solution("scale_misses_the_edge", text(scale="c"), gives_right_results=False),
        Solution("scale_wrong_and_coarse", text(scale="d"), gives_right_results=False, has_technique=False),
    ]
    rows, _ = ran(solutions, outcome, 2)
    found = proposal(list(rows.values()))
    assert found.full_at == 0.5
    assert "add_naive in test_add, has 10%" in found.reason


@pytest.mark.parametrize("failure", [COARSE, None])
def test_a_mutant_that_has_the_technique_at_the_raced_sizes_says_nothing_of_kernels_without_it(failure):
    """It misses it at other sizes: where a check refuses one without the technique, those that pass have it."""

    def outcome(who, name):
        if who == "coarse_at_the_edge":
            return check(name, 95)
        return check(name, 30, failure) if who == "coarse" else check(name, 100)

    solutions = [
        Solution(REFERENCE, text()),
        Solution("coarse", text(add="c"), has_technique=False),
        Solution("coarse_at_the_edge", text(add="d"), has_technique=False),
    ]
    rows, _ = ran(solutions, outcome)
    # A check that asks for no technique lets both pass, and tells nothing.
    assert proposal(list(rows.values())).full_at == (0.5 if failure else 0.9)


def test_without_a_time_of_the_reference_nothing_is_proposed():
    assert proposal([]) is None
    assert proposal([Raced("test_a", REFERENCE, (10,), (1,)), Raced("test_b", REFERENCE, why="too hot")]) is None


# ------------------------------------------------------------------ what an assignment's folder says


CHECKS = '''
import pytest

@pytest.mark.part("technique")
def test_reads_once(submission):
    submission.simulate("add", n=1)

@pytest.mark.part("correctness", weight=2)
@pytest.mark.parametrize("n", [1])
def test_right(submission, n):
    """add and scale are right."""
    _all_of_them(submission, n)

@pytest.mark.part("speed")
@pytest.mark.parametrize("entry", ["add", "scale", "sort"])
def test_speed(submission, entry):
    submission.race(entry, n=1)

def _all_of_them(submission, n):
    submission.check("add", n=n)
'''


@pytest.fixture
def written(tmp_path):
    (tmp_path / "test_public.py").write_text(CHECKS)
    return read_checks(tmp_path, ["add", "scale", "sort"])


@pytest.mark.parametrize(
    ("name", "entries"),
    [
        ("test_reads_once", {"add"}),
        ("test_speed[scale]", {"scale"}),
        ("test_speed[f32-sort]", {"sort"}),
        ("test_speed[entry0]", {"add", "scale", "sort"}),  # an id of the author's
        ("test_right[1]", {"add", "scale", "sort"}),  # its text does not say
        ("test_unknown", {"add", "scale", "sort"}),
    ],
)
def test_a_check_calls_the_entry_points_that_its_text_names_or_any(written, name, entries):
    assert written.entries_of(name) == entries


def test_a_check_is_of_the_part_that_its_decorator_says(written):
    assert written.of_part("technique") == {"test_reads_once"}
    assert written.of_part("correctness") == {"test_right"}


def mutant(caught_by):
    return f'"""A mistake.\n\nCaught by: {caught_by}\n"""\n'


def test_solutions_are_the_reference_the_fast_one_and_the_wrong_ones(tmp_path, written):
    (tmp_path / "wrong").mkdir()
    for name in ("kernels", "fast"):
        (tmp_path / f"{name}.py").write_text(name)
    for name, caught_by in (
        ("coarse", "test_reads_once"),
        ("off", "test_right"),
        ("both", "test_right, test_reads_once"),
    ):
        (tmp_path / "wrong" / f"{name}.py").write_text(mutant(caught_by))
    assert solutions_of(tmp_path, written) == [
        Solution(REFERENCE, "kernels"),
        Solution(FAST, "fast"),
        Solution("both", mutant("test_right, test_reads_once"), gives_right_results=False, has_technique=False),
        Solution("coarse", mutant("test_reads_once"), gives_right_results=True, has_technique=False),
        Solution("off", mutant("test_right"), gives_right_results=False, has_technique=True),
    ]


@pytest.mark.parametrize("number", ["01", "02", "03", "04"])
def test_in_the_courses_own_assignments_each_wrong_solution_races_in_one_check(number):
    folder = SOLUTIONS / number
    checks = read_checks(folder, open_folder(folder).problems)
    speed = sorted(checks.of_part("speed"))
    assert {entry for name in speed for entry in checks.entries_of(name)} == checks.entries
    solutions, raced = solutions_of(folder, checks), {}

    def judge(path, only):
        raced[path.name] = only
        return verdict(*(check(name, 20) for name in (speed if only is None else only)))

    calibrate(solutions, checks, judge, 1, lambda *told: None)
    assert raced.pop(REFERENCE) is None
    assert raced.pop(FAST) == set(speed)
    assert {len(only) for only in raced.values()} == {1}
    assert len(raced) == len(solutions) - 2
    assert any(one.is_naive for one in solutions)
