"""Which of the known names somebody may have meant."""

from __future__ import annotations

import time

import pytest

from grader.spelling import MAX_CHARACTERS, nearest

KNOWN = ("threadIdx", "blockIdx", "blockDim", "syncthreads", "grid", "gridsize")


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("thredIdx", "threadIdx"),
        ("THREADIDX", "threadIdx"),
        ("blockidx", "blockIdx"),
        ("syncthread", "syncthreads"),
        ("gird", "grid"),
        ("launch_everything", ""),
        ("", ""),
    ],
)
def test_the_nearest_name_is_found_whatever_its_capitals(name: str, meant: str) -> None:
    assert nearest(name, KNOWN) == meant


def test_nothing_is_near_to_nothing() -> None:
    assert nearest("grid", ()) == ""


def test_a_strangers_many_long_names_take_no_time() -> None:
    long = "n" * 100_000
    started = time.process_time()
    assert nearest(long, [long]) == ""
    assert nearest("x" * MAX_CHARACTERS, (f"{long}{number}" for number in range(1000))) == ""
    nearest("grid", (f"grid_{number}" for number in range(10**6)))
    assert time.process_time() - started < 2
