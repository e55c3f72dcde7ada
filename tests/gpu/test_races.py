"""Races on a real GPU: repeatable, honest about wrong and endless kernels, and nobody else's problem."""

# mypy: ignore-errors
from __future__ import annotations

import time
from pathlib import Path

import pytest
from kernel_texts import HANGING, ILLEGAL, SOMETIMES_WRONG

from grader.assignment_folder import open_folder
from grader.errors import Fault
from grader.judge import Candidate, CheckFailed, NotMeasured, Settings
from grader.judged_race import Terms
from grader.sandbox.limits import Limits
from grader.submission import read_submission

SOLUTIONS = Path(__file__).parents[2] / "solutions"
LIMITS = Limits(cpu_seconds=30, wall_seconds=60, memory_bytes=None)


@pytest.fixture
def racer(gpu, tmp_path):
    """``racer("01", text=None, reference=True)`` is the Candidate of a text, or of the reference."""

    def make(number, text=None, reference=True, limits=LIMITS):
        folder = SOLUTIONS / number
        known = read_submission(folder)
        submission = known
        if text is not None:
            (tmp_path / "kernels.py").write_text(text)
            submission = read_submission(tmp_path)
        opened = open_folder(folder)
        speed = opened.assignment.speed
        terms = Terms(speed.min_speedup, speed.full_at, 4, known if reference else None, limits)
        return Candidate(submission, opened.problems, gpu, Settings("cuda", limits, 11, race=terms))

    return make


@pytest.mark.parametrize(
    ("number", "entry", "sizes"),
    [
        ("01", "vector_add", {"n": 1 << 24}),
        ("02", "reduce_sum", {"n": 1 << 24}),
        ("04", "softmax", {"rows": 4096, "cols": 4096}),
    ],
)
def test_a_reference_is_as_fast_as_itself_and_earns_all(racer, number, entry, sizes):
    candidate = racer(number)
    candidate.race(entry, **sizes)
    measured = candidate.measured
    assert measured["credit"] == 1
    assert measured["speedup"] / measured["reference_speedup"] == pytest.approx(1, abs=0.05)
    assert 0 < measured["of_limit"] <= 1.1


def test_a_kernel_that_is_wrong_for_some_inputs_only_fails(racer):
    with pytest.raises(CheckFailed) as failed:
        racer("01", SOMETIMES_WRONG).race("vector_add", n=1 << 20)
    assert failed.value.failure.kind == "wrong-values"


def test_an_illegal_address_is_a_failure_and_the_next_race_is_run(racer):
    with pytest.raises(CheckFailed):
        racer("01", ILLEGAL).race("vector_add", n=1 << 20)
    candidate = racer("01")
    candidate.race("vector_add", n=1 << 24)
    assert candidate.measured["credit"] == 1


def test_a_kernel_that_hangs_is_ended_and_the_next_race_is_run(racer):
    began = time.monotonic()
    with pytest.raises((CheckFailed, NotMeasured, Fault)):
        racer("01", HANGING, limits=Limits(cpu_seconds=10, wall_seconds=5, memory_bytes=None)).race(
            "vector_add", n=1 << 20
        )
    assert time.monotonic() - began < 60
    candidate = racer("01")
    candidate.race("vector_add", n=1 << 24)
    assert candidate.measured["credit"] == 1
