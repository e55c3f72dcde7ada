"""What a race says where it fails or measures nothing: what was expected and found, and what to try."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest

from grader.clocks import Clock
from grader.correctness import changed_input
from grader.gpu_lock import Busy, gpu_lock
from grader.judge import NotMeasured
from grader.race_rounds import _believe as believe
from grader.race_rounds import wrong
from grader.records import Outcome
from grader.sandbox.time_runs import TimedOutcome

from .conftest import Twice

MS = 1_000_000


def test_an_input_that_a_timed_run_changed_is_told_as_in_any_other_check():
    problem, rng = Twice(), np.random.default_rng(1)
    inputs = problem.make_inputs(rng, n=10)
    outcome = Outcome({"out": 2 * inputs["x"]}, changed_inputs=("x",))
    told = wrong(problem, inputs, TimedOutcome(outcome, Clock(1, 1, 1, 1), 0), rng, "twice(n=10)")
    assert told == changed_input("x", ["out"], "twice(n=10), in a run that was timed")
    assert (told.kind, told.what) == ("changed-input", "The kernels changed x, which is an input.")
    assert (told.expected, told.found) == ("x as it was given", "other contents after the last launch")
    assert told.advice.startswith("Write into out only")


def test_a_reference_that_is_wrong_is_not_said_to_be_endless(race):
    with pytest.raises(NotMeasured, match=r"^the reference, which is raced beside it, failed: ") as lost:
        race(wrong=["reference_kernel", 0, 2])
    assert "1 of 100 elements of out is wrong" in str(lost.value)
    assert "finish" not in str(lost.value)


def test_clocks_that_contradict_each_other_are_told_with_their_times():
    fair = Clock(device_ns=20 * MS, queued_ns=MS, wall_ns=21 * MS, before_ns=MS // 2)
    believe([fair] * 4)
    late = Clock(device_ns=20 * MS, queued_ns=MS, wall_ns=3 * MS, before_ns=MS // 2)
    with pytest.raises(NotMeasured, match=r"a run took 20\.5 ms, .* the host 3\.00 ms.*; race again"):
        believe([fair, late])
    slow = Clock(device_ns=20 * MS, queued_ns=MS, wall_ns=210 * MS, before_ns=MS)
    with pytest.raises(NotMeasured, match=r"2 runs took 420 ms on the host, .* 42\.0 ms.*; race again"):
        believe([slow] * 2)


@pytest.mark.parametrize(("seconds", "said"), [(0.04, "40.0 ms"), (0.3, "300 ms")])
def test_a_wait_for_the_gpu_is_told_as_long_as_it_was(tmp_path, monkeypatch, seconds, said):
    monkeypatch.setattr("grader.gpu_lock.PLACES", (tmp_path,))
    with gpu_lock("GPU-1", 5), pytest.raises(Busy, match=said), gpu_lock("GPU-1", seconds):
        pass
