"""Races on a real GPU: repeatable, honest about wrong and endless kernels, and nobody else's problem."""

# mypy: ignore-errors
from __future__ import annotations

import contextlib
import sys
import time
from pathlib import Path

import pytest
from kernel_texts import HANGING, ILLEGAL, OUTSIDE, SOMETIMES_WRONG

sys.path.insert(0, str(Path(__file__).parent))

from measurements import FULL_AT, RACES, REPEATS, clocks_of, row_of_repeats, text_of

from grader.assignment_folder import open_folder
from grader.judge import Candidate, CheckFailed, Settings
from grader.judged_race import Terms, TooSlow
from grader.sandbox.limits import Limits
from grader.submission import read_submission

SOLUTIONS = Path(__file__).parents[2] / "solutions"
LIMITS = Limits(cpu_seconds=30, wall_seconds=60, memory_bytes=4 << 30)


@pytest.fixture
def racer(gpu, tmp_path):
    """``racer("01", text=None)`` is the Candidate of a text, or of the reference."""

    def make(number, text=None, limits=LIMITS, full_at=None, seed=11):
        folder = SOLUTIONS / number
        known = read_submission(folder)
        submission = known
        if text is not None:
            (tmp_path / "kernels.py").write_text(text)
            submission = read_submission(tmp_path)
        opened = open_folder(folder)
        speed = opened.assignment.speed
        terms = Terms(
            min_speedup=speed.min_speedup,
            full_at=full_at or speed.full_at,
            baseline_threads=4,
            reference=known,
            limits=limits,
        )
        return Candidate(submission, opened.problems, gpu, Settings("cuda", limits, seed, race=terms))

    return make


def measured_in(candidate, entry, sizes):
    """What a race measured, also of kernels that are slower than the minimum."""
    try:
        candidate.race(entry, **sizes)
    except TooSlow as slow:
        return slow.measured
    return candidate.measured


@pytest.mark.parametrize(("number", "entry", "sizes", "naive"), RACES, ids=[race[1] for race in RACES])
class TestEachCallThatIsRaced:
    """What course.yml's numbers are for."""

    def test_a_reference_is_as_fast_as_itself_and_earns_all(self, racer, number, entry, sizes, naive):
        measured = measured_in(racer(number), entry, sizes)
        assert measured["credit"] == 1
        assert measured["speedup"] / measured["reference_speedup"] == pytest.approx(1, abs=0.05)
        assert 0 < measured["of_limit"] <= 1.1

    def test_the_fast_solution_is_no_slower_than_the_readable_one_and_earns_all(
        self, racer, number, entry, sizes, naive
    ):
        measured = measured_in(racer(number, (SOLUTIONS / number / "fast.py").read_text()), entry, sizes)
        assert measured["credit"] == 1
        assert measured["speedup"] > 0.95 * measured["reference_speedup"]

    def test_kernels_that_miss_the_technique_do_not_earn_all(self, racer, number, entry, sizes, naive):
        if naive is None:
            pytest.skip("not run: no wrong solution of this call is right and misses the technique")
        measured = measured_in(racer(number, (SOLUTIONS / number / "wrong" / f"{naive}.py").read_text()), entry, sizes)
        assert measured["credit"] < 1
        assert measured["speedup"] < 0.6 * measured["reference_speedup"]


@pytest.mark.timeout(1200)
# The others are in docs/measurements.md: ten races take minutes.
@pytest.mark.parametrize("raced", [RACES[5]], ids=lambda raced: raced[1])
def test_ten_repeats_of_a_score_are_within_two_percent(racer, raced):
    number, entry, sizes, _ = raced
    measured_in(racer(number, full_at=FULL_AT, seed=REPEATS), entry, sizes)  # finds the baseline's time, once for all
    found = [measured_in(racer(number, full_at=FULL_AT, seed=seed), entry, sizes) for seed in range(REPEATS)]
    row_of_repeats(text_of(entry, sizes), found)
    credits = [one["credit"] for one in found]
    assert 0 < min(credits) <= max(credits) < 1
    assert max(credits) / min(credits) <= 1.02


@pytest.mark.parametrize("raced", [RACES[0], RACES[5]], ids=lambda raced: raced[1])
def test_the_events_clock_agrees_with_the_hosts_over_a_batch(gpu, raced):
    clocks = clocks_of(gpu, *raced[:3])
    by_events = sum(clock.before_ns + clock.device_ns for clock in clocks)
    by_the_host = sum(clock.wall_ns for clock in clocks)
    # The host also begins and ends; nothing ends before the GPU is done.
    assert 0.95 <= by_events / by_the_host <= 1.005


def test_a_kernel_that_is_wrong_for_some_inputs_only_fails(racer):
    with pytest.raises(CheckFailed) as failed:
        racer("01", SOMETIMES_WRONG).race("vector_add", n=1 << 22)
    assert failed.value.failure.kind == "wrong-values"


def test_an_illegal_address_is_a_failure_and_the_next_race_is_run(racer):
    with pytest.raises(CheckFailed):
        racer("01", ILLEGAL).race("vector_add", n=1 << 22)
    candidate = racer("01")
    candidate.race("vector_add", n=1 << 22)
    assert candidate.measured["credit"] == 1


def test_a_kernel_that_hangs_is_ended_and_the_next_race_is_run(racer):
    began = time.monotonic()
    with pytest.raises(CheckFailed) as failed:
        racer("01", HANGING, limits=Limits(cpu_seconds=10, wall_seconds=5, memory_bytes=4 << 30)).race(
            "vector_add", n=1 << 22
        )
    assert failed.value.failure.kind == "time-out"
    assert time.monotonic() - began < 60
    candidate = racer("01")
    candidate.race("vector_add", n=1 << 22)
    assert candidate.measured["credit"] == 1


@pytest.mark.parametrize("where", ["out.size + i", "out.size + 64 * i"])
def test_a_kernel_that_writes_outside_its_arrays_spoils_no_other_check(racer, where):
    # It may be seen (in an input, or as an illegal address) or not; it must not be the reference's loss, or the next's.
    with contextlib.suppress(CheckFailed):
        racer("01", OUTSIDE.format(where=where)).race("vector_add", n=1 << 22)
    candidate = racer("01")
    candidate.check("vector_add", n=100_003)
    candidate.race("vector_add", n=1 << 22)
    assert candidate.measured["credit"] == 1
