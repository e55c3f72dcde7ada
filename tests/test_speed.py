"""Medians, speed-ups and what they earn."""

# mypy: ignore-errors
from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.problem import Work
from grader.roofline import Peaks, roofline_of
from grader.speed import (
    asks_too_much,
    bonus_credit_of,
    credit_of,
    drift_of,
    duration,
    full_speedup,
    timing_of,
    too_slow,
)
from grader.speed import (
    times as in_words,
)

positive = st.floats(1e-3, 1e6)


def test_the_interval_holds_the_true_median_in_95_percent_of_all_series():
    draw = random.Random(0)
    for count in (6, 11, 30):
        hits = 0
        for _ in range(4000):
            timing = timing_of([math.exp(draw.gauss(0, 1)) for _ in range(count)])  # median 1, skewed
            hits += timing.low_ns <= 1 <= timing.high_ns
        assert 0.945 <= hits / 4000 <= 0.995, count


@pytest.mark.parametrize("count", range(1, 6))
def test_fewer_than_six_times_say_nothing_about_how_well_a_median_is_known(count):
    timing = timing_of([100.0] * count)
    assert timing.median_ns == 100
    assert not timing.is_known


def test_one_slow_run_moves_no_median():
    times = [100.0] * 12
    assert timing_of([9000.0, *times]) == timing_of([100.5, *times])  # the first run, not warmed up
    assert timing_of([9000.0, *times]).is_known


def test_a_median_is_known_only_when_its_interval_is_narrow():
    assert timing_of([100, 101, 99, 100, 101, 99]).is_known
    assert not timing_of([100, 110, 90, 100, 110, 90]).is_known


def test_a_series_that_gets_slower_drifts_and_a_noisy_one_does_not():
    draw = random.Random(1)
    assert drift_of([100 + draw.gauss(0, 1) for _ in range(10)] + [120 + draw.gauss(0, 1) for _ in range(10)]) > 0.15
    assert drift_of([120.0 + i / 10 for i in range(10)] + [100.0 + i / 10 for i in range(10)]) < -0.1
    assert sum(drift_of([100 * math.exp(draw.gauss(0, 0.3)) for _ in range(20)]) != 0 for _ in range(200)) <= 20
    assert drift_of([100.0, 100.1] * 10) == 0
    assert drift_of([100.0]) == 0


@given(positive, positive, positive)
def test_credit_is_none_below_the_minimum_all_from_the_full_speed_on_and_never_falls(speedup, minimum, full):
    credit = credit_of(speedup, minimum, max(minimum, full))
    assert 0 <= credit <= 1
    assert credit_of(speedup * 1.01, minimum, max(minimum, full)) >= credit
    if speedup < minimum:
        assert credit == 0
    if speedup >= max(minimum, full):
        assert credit == 1


@pytest.mark.parametrize("minimum", [0.0, -1.0])
@pytest.mark.parametrize("speedup", [0.0, 0.5, 2.0, 5.0])
def test_without_a_minimum_no_logarithm_says_what_a_speed_earns(minimum, speedup):
    with pytest.raises(ValueError, match="a minimum above 0"):
        credit_of(speedup, minimum, 3.0)
    assert credit_of(speedup, 0.0, 0.0) == 1


def test_each_doubling_of_the_speed_earns_as_much():
    assert [credit_of(s, 2, 32) for s in (2, 4, 8, 16, 32, 64)] == pytest.approx([0, 0.25, 0.5, 0.75, 1, 1])


def test_where_a_fraction_of_the_reference_is_less_than_the_minimum_full_points_begin_at_the_minimum():
    assert full_speedup(3, 0.5, 4) == 3
    assert full_speedup(3, 0.5, 40) == 20
    assert credit_of(3, 3, full_speedup(3, 0.5, 4)) == 1
    assert credit_of(2.999, 3, full_speedup(3, 0.5, 4)) == 0


def test_a_minimum_that_the_reference_hardly_reaches_is_not_asked_for():
    assert asks_too_much(4.5, 3) == ""
    assert "4.4 times" in asks_too_much(4.4, 3)


def test_a_failure_says_both_speeds():
    assert too_slow(3, 3, "f(n=1)", "") is None
    failure = too_slow(1.234, 3, "f(n=1)", "try this")
    assert (failure.expected, failure.found, failure.advice) == ("at least 3 times", "1.2 times", "try this")


@pytest.mark.parametrize(
    ("factor", "words"),
    [(0, "0 times"), (0.0314, "0.031 times"), (1, "1.0 times"), (9.96, "10.0 times"), (310.4, "310 times")],
)
def test_factors_are_said_in_two_digits_at_least(factor, words):
    assert in_words(factor) == words


@pytest.mark.parametrize(
    ("nanoseconds", "words"),
    [(0, "0 ns"), (7.5, "7.50 ns"), (840e3, "840 µs"), (13.24e6, "13.2 ms"), (2.1e9, "2.10 s"), (123e9, "123 s")],
)
def test_durations_are_said_in_three_digits(nanoseconds, words):
    assert duration(nanoseconds) == words


def test_a_roofline_says_which_limit_a_kernel_is_at():
    peaks = Peaks(4e12, 50e12, 0)
    add = roofline_of(Work(bytes=12 << 20, operations=1 << 20), 6e3, peaks)
    assert add.limit == "memory"
    assert add.fraction == pytest.approx((12 << 20) / 4e12 / 6e-6)
    product = roofline_of(Work(bytes=3 * 4 * 4096**2, operations=2 * 4096**3), 10e6, peaks)
    assert product.limit == "arithmetic"
    assert product.operations_per_second == pytest.approx(2 * 4096**3 / 0.010)
    assert "27% of the limit, which is arithmetic" in product.sentence()


def test_a_time_under_the_floor_is_impossible_and_one_at_it_is_not():
    peaks = Peaks(1e12, 1e15, 0)
    work = Work(bytes=10**9, operations=1)
    assert not roofline_of(work, 1e6, peaks).is_impossible
    assert not roofline_of(work, 0.95e6, peaks).is_impossible
    assert roofline_of(work, 0.8e6, peaks).is_impossible
    # Of what is written, as much as the cache holds may still be in it at the end.
    assert not roofline_of(work, 0.8e6, Peaks(1e12, 1e15, 200 << 20)).is_impossible
    assert roofline_of(work, 0.8e6, Peaks(1e12, 1e15, 50 << 20)).is_impossible
    with pytest.raises(ValueError, match="above 0"):
        roofline_of(work, 0, peaks)


def test_a_bonus_begins_where_points_are_full_and_is_whole_at_its_own_multiple_of_the_reference():
    assert bonus_credit_of(9.9, 10.0, 2.0, 20.0) == 0
    assert bonus_credit_of(10.0, 10.0, 2.0, 20.0) == 0
    assert bonus_credit_of(20.0, 10.0, 2.0, 20.0) == pytest.approx(0.5)
    assert bonus_credit_of(40.0, 10.0, 2.0, 20.0) == 1
    assert bonus_credit_of(10.0, 10.0, 0.4, 20.0) == 1  # the minimum is above what the bonus asks for
