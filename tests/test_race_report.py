"""A race's figures as a student reads them."""

# mypy: ignore-errors
from __future__ import annotations

import pytest
from tiny_course import MEASURED as ALONE

from grader.records import CheckResult, Failure, PartScore, State, Verdict
from grader.reports.race import race_text
from grader.reports.terminal import student_report
from grader.reports.text import check_lines

MEASURED = {
    **ALONE,
    "held_by_power": 1.0,
    "sm_mhz": 1980.0,
    "celsius": 41.0,
    "full_speedup": 12.0,
    "reference_speedup": 24.0,
    "credit": 0.896,
}
TEXT = (
    "10.0 times the CPU baseline's speed: 64.4 µs (median of 30 runs, 64.1 µs to 65.5 µs) against 28.2 ms. "
    "Points begin at 2.0 times, full points at 12 times; the reference reaches 24 times. Earned: 90%, log(9.96 / 2) / "
    "log(12 / 2). The kernels are at 65% of the speed of this GPU's memory. Not counted: 31.4 ms of copying, 370 µs of "
    "launching, 160 ms of compiling. The GPU ran at 1,980 MHz, 41 °C, at its power limit."
)


def test_a_race_says_the_speed_what_it_earns_and_what_was_not_counted():
    assert race_text(MEASURED) == TEXT
    assert race_text({}) == ""
    assert " Of the bonus: 40%." in race_text(MEASURED | {"bonus_credit": 0.4})


def test_without_a_reference_nothing_is_said_of_one():
    alone = {k: v for k, v in MEASURED.items() if k not in ("reference_speedup", "credit", "full_speedup")}
    assert "the reference reaches" not in race_text(alone)


@pytest.mark.parametrize(
    ("terms", "told"),
    [
        (
            {"min_speedup": 2.0, "full_at": 0.5},
            "The minimum of 2.0 times is reached, which passes here. In class, points only begin there, and are full "
            "at 50% of the reference's speed, which your copy does not have. The kernels",
        ),
        (
            {"min_speedup": 2.0, "full_at": 0.0},
            "The minimum of 2.0 times is reached, which passes here. In class, points only begin there. The kernels",
        ),
        ({"min_speedup": 0.0, "full_at": 0.0}, "against 28.2 ms. The kernels"),  # nothing is asked for
        ({"min_speedup": 9.97, "full_at": 0.5}, "against 28.2 ms. The kernels"),  # its failure says so
    ],
)
def test_a_learner_without_the_reference_reads_what_reaching_the_minimum_means(terms, told):
    alone = {k: v for k, v in MEASURED.items() if k not in ("reference_speedup", "credit", "full_speedup")}
    assert told in race_text(alone | terms)


def test_where_the_minimum_asks_too_much_nothing_is_said_of_what_is_earned():
    unpaid = {k: v for k, v in MEASURED.items() if k not in ("credit", "full_speedup")}
    assert "Points begin at 2.0 times; the reference reaches 24 times. The kernels are at 65%" in race_text(unpaid)


def check(failure):
    return CheckResult(
        "test_speed", "speed", 1.0, "It is fast.", False, failure is None, failure=failure, measured=MEASURED
    )


def test_figures_stand_in_a_passed_check_and_below_a_failure():
    assert " ".join(" ".join(check_lines(check(None), 74)).split()) == TEXT
    lines = check_lines(check(Failure("too-slow", "It is too slow.")), 74)
    assert lines[0] == "It is too slow."
    assert lines[1].startswith("  speed    10.0 times")
    assert all(len(line) <= 74 for line in lines)


def test_figures_of_a_race_that_was_not_measured_stand_below_the_reason_and_stay_out_of_a_hidden_check():
    unpaid = {k: v for k, v in MEASURED.items() if k not in ("credit", "full_speedup")}
    parts = (PartScore("speed", 10.0, 0.0, 0.0),)
    for hidden in (False, True):
        lost = CheckResult(
            "test_speed",
            "speed",
            1.0,
            "It is fast.",
            hidden,
            None,
            State.NOT_MEASURED,
            reason="on this machine the reference is slow",
            measured=unpaid,
        )
        verdict = Verdict("ada", "01", "", "cuda", parts, (lost,), None, 10.0, 0.0, "")
        report = " ".join(student_report(verdict).split())
        shown = "not measured: on this machine the reference is slow 10.0 times the CPU baseline's speed: 64.4 µs"
        assert (shown in report) is not hidden
        assert ("64.4" in report) is not hidden
