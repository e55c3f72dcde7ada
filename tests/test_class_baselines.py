"""Races of a class against CPU times that differ are told of: a speed-up is a multiple of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from grader.class_baselines import differing_baselines
from grader.records import CheckResult, Verdict

CHECK = CheckResult("test_speed[1]", "speed", 1.0, "It is fast.", False, True, credit=1.0)


def raced(student: str, *milliseconds: float | None) -> Verdict:
    """A verdict of ``test_speed[0]``, ``[1]`` … with these times of the baseline; None: not raced."""
    checks = tuple(
        replace(CHECK, name=f"test_speed[{number}]", measured={} if ms is None else {"baseline_ms": ms})
        for number, ms in enumerate(milliseconds)
    )
    return Verdict(student, "01", "", "cuda", (), checks, 0.0, 0.0, 0.0, "")


@pytest.mark.parametrize("times", [[], [100.0], [100.0, 102.0], [100.0, 101.0, 102.0], [100.0, None]])
def test_times_within_two_percent_are_one_time(times: list[float | None]) -> None:
    assert differing_baselines([raced(f"s{number}", ms) for number, ms in enumerate(times)]) == []


def test_those_are_named_who_differ_from_most_of_the_class() -> None:
    found = differing_baselines([raced("ada", 100.0), raced("bob", 130.0), raced("cy", 101.0), raced("dan", 90.0)])
    assert found == [
        "test_speed[0]: raced against CPU baselines of 90 to 130 ms, more than 2 % apart; on this machine, and quiet, "
        "grade again: bob, dan"
    ]


def test_each_check_has_a_line_of_its_own_and_a_name_is_one_line() -> None:
    verdicts = [raced("ada", 1.0, 5.0, 9.0), raced("b\x1bb\n", 1.01, 5.5, None), raced("cy", 1.0, 5.0, 9.3)]
    first, second = differing_baselines(verdicts)
    assert first.startswith("test_speed[1]: ")
    assert first.endswith(": b\\x1bb")
    assert second.startswith("test_speed[2]: ")
    assert second.endswith(": ada")  # of two alike the later one counts: it is the machine as it is


def test_a_slow_drift_is_seen_though_each_time_is_near_the_middle() -> None:
    (line,) = differing_baselines([raced(f"s{number}", 100.0 + number) for number in range(5)])
    assert line.endswith("grade again: s0, s1")
