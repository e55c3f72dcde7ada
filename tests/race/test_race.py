"""What a race makes of times and outputs. The GPU is a fake one with a settable clock; the path is the real one."""

# mypy: ignore-errors
from __future__ import annotations

import math

import pytest

from grader import race_rounds, racing
from grader.errors import AuthoringError, Fault
from grader.judge import CheckFailed, NoGpu, NotMeasured
from grader.pytest_session import CheckSession
from grader.reports.race import race_text
from grader.sandbox.limits import Limits

from .conftest import Moody, Sampled, Shrinking

BUSY_MHZ = 1980  # as fake_gpu_runner.py has it


def test_speed_is_measured_against_the_baseline_and_paid_by_the_logarithm(race):
    measured = race(student_ms=0.9, reference_ms=0.5, baseline_ms=9.0)
    assert measured["speedup"] == pytest.approx(10, rel=0.01)
    assert measured["reference_speedup"] == pytest.approx(18, rel=0.01)
    assert measured["credit"] == 1  # more than half of the reference's speed
    assert measured["bonus_credit"] == pytest.approx(math.log(10 / 9) / math.log(18 / 9), abs=0.02)
    measured = race(student_ms=1.5, reference_ms=0.5, baseline_ms=9.0)
    assert measured["credit"] == pytest.approx(math.log(6 / 3) / math.log(9 / 3), abs=0.02)
    assert measured["bonus_credit"] == 0


def test_a_kernel_below_the_minimum_fails_with_both_speeds(race):
    with pytest.raises(CheckFailed) as failed:
        race(student_ms=4.0, baseline_ms=9.0)
    assert failed.value.failure.kind == "too-slow"
    assert failed.value.failure.found == "2.2 times"


def test_a_slow_first_run_costs_nothing(race):
    assert race(first=500.0)["median_ms"] == pytest.approx(0.9, rel=0.01)


@pytest.mark.parametrize(
    "more",
    [
        "cuda.synchronize()",
        "cuda.default_stream().synchronize(); cuda.synchronize()",
        "s = cuda.stream(); cuda.synchronize(); s.synchronize()",
    ],
)
def test_waiting_for_the_end_costs_nothing(race, more):
    assert race(wait_ns=500_000, more=more)["median_ms"] == pytest.approx(0.9, rel=0.01)


def test_waiting_in_between_is_a_part_of_the_time(race):
    more = "cuda.synchronize(); student_kernel[(x.size + 63) // 64, 64](x, out); cuda.synchronize()"
    assert race(wait_ns=500_000, more=more)["median_ms"] == pytest.approx(1.4, rel=0.01)


@pytest.mark.parametrize("run", [0, 1, 4])
def test_an_output_that_is_wrong_in_one_timed_run_only_fails_the_race(race, run):
    with pytest.raises(CheckFailed) as failed:
        race(wrong=["student_kernel", 1, run])
    assert failed.value.failure.kind == "wrong-values"
    assert "timed" in failed.value.failure.where


def test_a_sample_is_compared_at_the_places_where_it_was_drawn(race):
    assert race(problem=Sampled())["credit"] == 1


def test_a_reference_that_is_wrong_is_not_the_students_fault(race):
    with pytest.raises(NotMeasured, match="the reference, which is raced beside it, failed"):
        race(wrong=["reference_kernel", 0, 2])


def test_a_reference_close_to_the_minimum_leaves_the_part_unmeasured(race):
    with pytest.raises(NotMeasured, match=r"the reference reaches 4\.0 times"):
        race(student_ms=3.0, reference_ms=2.5, baseline_ms=10.0)


@pytest.mark.parametrize(
    ("times", "ending"),
    [
        ({"student_ms": 3.0, "reference_ms": 2.5}, NotMeasured),  # the minimum asks too much
        ({"student_ms": 9.0, "reference_ms": 2.5}, NotMeasured),
        ({"student_ms": 9.0, "reference_ms": 0.5}, CheckFailed),  # too slow
    ],
)
def test_figures_that_were_measured_are_kept_however_a_race_ends(race, times, ending):
    with pytest.raises(ending):
        race(**times, baseline_ms=10.0)
    assert race.measured["speedup"] == pytest.approx(10 / times["student_ms"], rel=0.01)
    assert race.measured["reference_speedup"] == pytest.approx(10 / times["reference_ms"], rel=0.01)
    assert "credit" not in race.measured or ending is CheckFailed
    assert race_text(race.measured)


def test_without_a_reference_the_minimum_is_all_that_is_asked_for(race):
    measured = race(student_ms=3.0, baseline_ms=10.0, reference=False)
    assert measured["credit"] == 1
    assert "In class, points only begin there, and are full at 50% of" in race_text(measured)
    assert "reference_speedup" not in measured
    assert race.jobs("reference_kernel") == 0


def test_student_and_reference_take_turns(race):
    race(factors={"student_kernel": [1.0, 1.04, 0.96, 1.0, 1.01]})
    assert race.jobs("student_kernel") == race.jobs("reference_kernel") > 1


def test_a_median_that_is_not_known_yet_is_measured_for_longer(race):
    race()
    quick = race.jobs("student_kernel")
    race(factors={"student_kernel": [0.98, 1.03, 1.0, 0.97, 1.02, 1.0]})
    assert race.jobs("student_kernel") > quick


def test_a_gpu_whose_speed_changes_leaves_the_part_unmeasured(race):
    with pytest.raises(NotMeasured, match="speed changed while the submission ran"):
        race(factors={"student_kernel": [0.9, 1.0, 1.1] * 2 + [1.4, 1.5, 1.6] * 2})


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ({"is_partition": True}, "MIG"),
        ({"reaches_host": True}, "the host's memory"),
        ({"others": 2}, "2 others compute"),
        ({"slowed_by": ["its temperature (hardware)"]}, "slowed down: its temperature"),
        ({"free_bytes": 1 << 20}, "1 MiB left"),
    ],
)
def test_a_gpu_that_is_shared_hot_or_full_gives_no_times(race, state, why):
    with pytest.raises(NotMeasured, match=why):
        race(states=[state])
    assert race.jobs("student_kernel") == 0


def test_a_gpu_with_too_little_memory_races_smaller_sizes_and_at_last_none(race):
    short, enough = {"free_bytes": 1 << 20}, {"free_bytes": 1 << 40}
    assert race(problem=Shrinking(), states=[short, enough])["credit"] == 1
    with pytest.raises(NotMeasured, match="1 MiB left"):
        race(problem=Shrinking(), states=[short])


@pytest.mark.parametrize("smaller", [{"n": 100}, {"n": 200}, {}, {"m": 1}, [1]])
def test_sizes_that_do_not_get_smaller_are_the_authors_mistake_and_no_endless_loop(race, monkeypatch, smaller):
    problem = Shrinking()
    monkeypatch.setattr(problem, "smaller", lambda sizes: smaller)
    with pytest.raises(AuthoringError, match="smaller of twice gives"):
        race(problem=problem, states=[{"free_bytes": 1 << 20}])


def test_a_race_tells_at_which_sizes_it_was_run(race):
    short, enough = {"free_bytes": 1 << 20}, {"free_bytes": 1 << 40}
    race()
    assert race.raced == {"n": 100}
    race(problem=Shrinking(), states=[short, enough])
    assert race.raced == {"n": 10}


def test_kernels_that_reach_the_host_are_raced_where_they_are_trusted(race):
    state = [{"reaches_host": True}]
    with pytest.raises(NotMeasured, match="host_in_reach: allow"):
        race(states=state)
    assert race(states=state, host_in_reach=True)["credit"] == 1


def test_nothing_is_raced_where_the_simulator_was_asked_for(race):
    with pytest.raises(NoGpu, match="no GPU"):
        race(device="simulated")


def test_beside_a_gpu_results_are_judged_on_the_simulator_which_sees_what_a_gpu_may_hide(race):
    # Beside the right result, in memory of its own, each thread reads what its neighbour overwrites.
    more = "s = cuda.device_array(x.size, x.dtype); s[:] = x; student_kernel[1, 64](s, s[1:])"
    assert race(device="auto", more=more)["credit"] == 1
    assert race.jobs("student_kernel") > 0
    with pytest.raises(CheckFailed) as failed:
        race.candidate.check(n=100)
    assert failed.value.failure.kind == "race"


@pytest.mark.parametrize(
    ("device", "named"),
    [
        ("auto", "simulated; races on cuda (Fake GPU)"),
        ("cuda", "cuda (Fake GPU)"),
        ("simulated", "simulated"),
    ],
)
def test_a_verdict_names_the_devices_that_it_comes_from(fake_children, device, named):
    children, _ = fake_children
    assert CheckSession(submission=None, device=device, seed=0, children=children).device_name() == named


@pytest.mark.parametrize("broken", ["expected", "tolerance", "sample", "work", "baseline"])
def test_an_authors_exception_is_the_authors_mistake(race, monkeypatch, broken):
    def fails(*_):
        raise IndexError("a typing mistake")

    problem = Sampled()
    monkeypatch.setattr(problem, broken, fails)
    with pytest.raises(AuthoringError, match=r"problem\.py: IndexError: a typing mistake"):
        race(problem=problem, baseline_ms=None if broken == "baseline" else 10.0)


def test_the_baseline_and_the_kernels_get_the_same_inputs(race):
    seen = []

    class Watched(Sampled):
        def baseline(self, inputs):
            seen.append(("baseline", inputs["x"][0]))
            return super().baseline(inputs)

        def sample(self, inputs, rng):
            seen.append(("kernels", inputs["x"][0]))
            return super().sample(inputs, rng)

    race(problem=Watched(), baseline_ms=None, student_ms=1e-5, reference_ms=1e-5)
    by = {who: {x for one, x in seen if one == who} for who in ("baseline", "kernels")}
    assert len(by["baseline"]) == 1
    assert by["baseline"] < by["kernels"]


@pytest.mark.parametrize("drawn", ["shape", "dtype", "output"])
def test_inputs_that_differ_in_more_than_values_are_the_authors_mistake(race, drawn):
    with pytest.raises(AuthoringError, match="only values may be random"):
        race(problem=Moody(drawn))


def test_a_gpu_that_gets_hot_during_a_race_gives_no_times(race):
    with pytest.raises(NotMeasured, match="slowed down"):
        race(states=[{}, {"slowed_by": ["its temperature (software)"]}])


def test_a_power_limit_is_what_full_load_looks_like(race):
    assert race(states=[{"held_by": ["its power limit"]}])["credit"] == 1


def test_clocks_are_those_of_a_gpu_that_runs(race):
    assert race()["sm_mhz"] == BUSY_MHZ


@pytest.mark.parametrize(
    ("reason", "figure"),
    [
        ("its power limit", "held_by_power"),
        ("clocks that someone set", "held_by_set_clocks"),
        ("another GPU that it keeps in step with", "held_by_another_gpu"),
    ],
)
@pytest.mark.parametrize("whose_round", [1, 2])
def test_what_held_the_clocks_in_any_round_is_kept(race, reason, figure, whose_round):
    # Asked before the race, then after each round of the submission's and the reference's.
    measured = race(states=[{}] * whose_round + [{"held_by": [reason]}, {}])
    assert {name: value for name, value in measured.items() if name.startswith("held_by")} == {
        "held_by_power": 0,
        "held_by_set_clocks": 0,
        "held_by_another_gpu": 0,
    } | {figure: 1}
    assert reason in race_text(measured)


def test_a_kernel_of_seconds_is_too_slow_and_not_endless(race, monkeypatch):
    monkeypatch.setattr(racing, "SECONDS", 0)
    monkeypatch.setattr(racing, "MIN_COUNTED", 2)
    limits = Limits(cpu_seconds=4, wall_seconds=4, memory_bytes=None)
    with pytest.raises(CheckFailed) as failed:
        race(student_ms=900.0, sleeps={"student_kernel": 0.9}, limits=limits)  # five runs of it take longer
    assert failed.value.failure.kind == "too-slow"


@pytest.mark.parametrize(
    ("wall", "why"), [(0.1, "the GPU's clock says that a run"), (30.0, "runs took .* on the host")]
)
def test_clocks_that_contradict_each_other_give_no_times(race, wall, why):
    with pytest.raises(NotMeasured, match=why):
        race(student_ms=20.0, baseline_ms=100.0, reference_ms=10.0, wall=wall)


def test_a_device_that_dies_is_nobodys_fault_and_the_next_race_is_run(race):
    with pytest.raises(Fault):
        race(dies=["student_kernel", 0, 2])
    assert race()["credit"] == 1


SHORT = Limits(cpu_seconds=3, wall_seconds=3, memory_bytes=None)


def test_a_kernel_that_does_not_end_on_a_fit_gpu_fails(race):
    with pytest.raises(CheckFailed) as failed:
        race(hangs=["student_kernel", 0, 1], limits=SHORT)
    assert failed.value.failure.kind == "time-out"


@pytest.mark.parametrize(
    ("state", "why"),
    [
        ({"others": 1}, "another process computes on it"),
        ({"slowed_by": ["its temperature (hardware)"]}, "its temperature"),
        ({"fault": "fell off the bus"}, "fell off the bus"),
    ],
)
def test_a_run_that_does_not_end_is_nobodys_fault_where_the_gpu_may_be_why(race, state, why):
    with pytest.raises(NotMeasured, match=why):
        race(hangs=["student_kernel", 0, 1], limits=SHORT, states=[{}, state])


def test_a_crash_fails_unless_the_gpu_no_longer_answers(race):
    crash = ["student_kernel", 0, 1]
    for state in ({}, {"others": 1}):  # others make a kernel slow, and never read an illegal address for it
        with pytest.raises(CheckFailed) as failed:
            race(crashes=crash, states=[{}, state])
        assert failed.value.failure.kind == "gpu-error"
    with pytest.raises(NotMeasured, match="fell off the bus"):
        race(crashes=crash, states=[{}, {"fault": "fell off the bus"}])


def test_a_time_under_the_floor_is_no_record(race):
    # 800 bytes at a byte a second: nobody reads so much in a millisecond.
    with pytest.raises(NotMeasured, match="less than this GPU can take"):
        race(peaks={"bytes_per_second": 1.0, "operations_per_second": 1e13, "cache_bytes": 0})


def test_a_time_under_a_floor_that_was_measured_too_high_is_believed(race):
    low = {"bytes_per_second": 1.0, "operations_per_second": 1e13, "cache_bytes": 0}
    assert race(peaks=[low, low | {"bytes_per_second": 1e12}])["credit"] == 1


def test_a_failure_says_how_far_the_kernels_are_from_which_limit(race):
    with pytest.raises(CheckFailed) as failed:
        race(student_ms=8.0, peaks={"bytes_per_second": 1e6, "operations_per_second": 1e13, "cache_bytes": 0})
    assert "10% of the limit, which is memory bandwidth" in failed.value.failure.advice


def test_what_a_gpu_reaches_is_measured_once(race):
    slow = {"bytes_per_second": 1e6, "operations_per_second": 1e13, "cache_bytes": 0}
    assert race(peaks=slow)["of_limit"] == race(peaks=slow | {"bytes_per_second": 2e6})["of_limit"] > 0.8


def test_inputs_that_are_too_large_to_travel_together_travel_in_more_rounds(race, monkeypatch):
    monkeypatch.setattr(race_rounds, "BATCH_BYTES", 1)
    assert race()["runs"] == 6
    assert race.jobs("student_kernel") == 6
