"""Points off for being late: by the days, grace and cap of the policy, of the points earned, never more than those."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.course import Late
from grader.late import duration_text, not_due, penalty, read_timestamp, seconds_late, with_penalty
from grader.records import PartScore, Verdict

HOUR, DAY = 3600, 86400
POLICY = Late.model_validate({"per_day": 10, "grace": "1h", "cap": 50})
DUE = datetime(2027, 3, 1, 22, 59, tzinfo=UTC)
VERDICT = Verdict("ada", "03", "", "cuda", (PartScore("correctness", 100, 100, 80),), (), 80.0, 100, 100, "fine")


@pytest.mark.parametrize(
    ("late_by", "off"),
    [
        (0, 0),
        (-5 * DAY, 0),
        (HOUR, 0),
        (HOUR + 0.001, 8),
        (HOUR + DAY, 8),
        (HOUR + DAY + 1, 16),
        (HOUR + 4 * DAY + 1, 40),
        (HOUR + 5 * DAY + 1, 40),
        (1e9, 40),
    ],
)
def test_each_day_begun_after_the_grace_time_costs_up_to_the_cap(late_by: float, off: float) -> None:
    assert penalty(POLICY, late_by, 80) == off


def test_without_a_policy_being_late_costs_nothing() -> None:
    assert penalty(Late(), 1e6, 80) == 0


@pytest.mark.parametrize(("earned", "off"), [(0.05, 0.01), (0.04, 0.0), (44.45, 4.45), (44.44, 4.44), (-3.0, 0.0)])
def test_points_off_are_hundredths_rounded_half_up(earned: float, off: float) -> None:
    assert penalty(POLICY, HOUR + 1, earned) == off


@pytest.mark.parametrize("seconds", [float("nan"), float("inf")])
def test_what_are_no_seconds_is_our_mistake(seconds: float) -> None:
    with pytest.raises(ValueError, match="expected seconds"):
        penalty(POLICY, seconds, 80)


@given(
    per_day=st.floats(0, 100),
    cap=st.floats(0, 100),
    grace=st.floats(0, 1e6),
    seconds=st.floats(0, 1e9),
    more=st.floats(0, 1e9),
    earned=st.integers(0, 10**6).map(lambda n: n / 100),
)
def test_points_off_are_within_what_was_earned_and_never_less_for_who_is_later(
    per_day: float, cap: float, grace: float, seconds: float, more: float, earned: float
) -> None:
    late = Late.model_construct(per_day=per_day, cap=cap, grace=grace)
    off = penalty(late, seconds, earned)
    assert 0 <= off <= earned
    assert round(off, 2) == off
    assert off <= penalty(late, seconds + more, earned)
    assert off <= earned * cap / 100 + 0.0051


@pytest.mark.parametrize(
    "text",
    [
        "2027-03-02T10:00:00+00:00\n",
        "2027-03-02 10:00:00.000000 UTC",
        "2027-03-02 10:00:00",
        "2027-03-02T10:00:00Z",
        "2027-03-02 11:00:00 +0100",
        "2027-03-02 11:00:00+01:00",
        "2027-03-02 02:00:00.000000 America/Los_Angeles",
        "2027-03-02 10:00:00.000000 NOZONE",
        "2027-03-02 10:00:00 Europe",
        "2027-03-02 10:00:00 A/../../etc/passwd",
    ],
)
def test_a_timestamp_is_read_as_nbgrader_writes_it(text: str) -> None:
    assert read_timestamp(text) == datetime(2027, 3, 2, 10, tzinfo=UTC)


@given(st.text(max_size=200))
def test_no_text_of_a_strangers_timestamp_is_an_exception(text: str) -> None:
    assert read_timestamp(text) is None or isinstance(read_timestamp(text), datetime)


@pytest.mark.parametrize(
    "text",
    [
        *("", "yesterday", "2027-03-02 10:00:00 UTC UTC", "0001-01-01T00:00+14:00", "2027-13-02", " " * 200),
        *("0001-01-01T00:00", "1969-12-31T23:59:59Z", "9999-12-31 23:59:59 UTC", "9998-12-31T23:59:59-01:00"),
    ],
)
def test_what_names_no_moment_is_none(text: str) -> None:
    assert read_timestamp(text) is None


def test_seconds_late_need_a_due_date_and_a_timestamp() -> None:
    assert seconds_late(None, DUE) == seconds_late(DUE, None) == 0
    assert seconds_late(DUE, DUE - timedelta(days=1)) == 0
    assert seconds_late(DUE, DUE + timedelta(minutes=5)) == 300


def test_a_verdict_says_how_late_and_what_is_left() -> None:
    found = with_penalty(VERDICT, POLICY, DUE, DUE + timedelta(days=1, hours=2))
    assert (found.total, found.penalty, found.final, found.late_seconds) == (80, 16, 64, DAY + 2 * HOUR)
    assert found.handed_in_at == "2027-03-03T00:59:00+00:00"
    assert found.summary == "fine; 2 days late: 16 points off, which leaves 64"


def test_a_sentence_has_one_full_stop_and_one_note_on_lateness_however_often_it_is_asked() -> None:
    verdict = replace(VERDICT, summary="all 3 checks passed; total scaled from 80 points to 100.")
    once = with_penalty(verdict, POLICY, DUE, DUE + timedelta(days=1, hours=2))
    assert once.summary == (
        "all 3 checks passed; total scaled from 80 points to 100; 2 days late: 16 points off, which leaves 64."
    )
    again = with_penalty(once, POLICY, DUE + timedelta(days=1), DUE + timedelta(days=1, hours=2))
    assert (again.penalty, again.summary) == (
        8,
        once.summary.replace("2 days late: 16", "1 day late: 8").replace("64", "72"),
    )
    extended = with_penalty(once, POLICY, DUE, DUE + timedelta(days=1, hours=2), timedelta(days=3))
    assert (extended.summary, extended.extension_seconds) == (verdict.summary, 3 * DAY)
    assert with_penalty(verdict, POLICY, DUE, "no date").summary.endswith("points to 100; no date.")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0 s"), (30, "30 s"), (900, "15 min"), (HOUR, "1 h"), (36 * HOUR, "36 h"), (2 * DAY, "2 d"), (90.5, "90.5 s")],
)
def test_a_duration_is_told_in_the_largest_unit_of_course_yml_that_it_is_whole_in(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


def test_what_is_not_due_says_until_when() -> None:
    assert not_due(DUE, DUE - timedelta(minutes=1)) == f"not due until {DUE.isoformat(' ', 'minutes')}"
    assert not_due(DUE, DUE) == not_due(None, DUE) == ""


def test_a_moment_that_is_not_known_takes_nothing_off_and_is_told() -> None:
    found = with_penalty(VERDICT, POLICY, DUE, "timestamp.txt is a link, so nothing is off for being late")
    assert (found.total, found.penalty, found.final, found.handed_in_at) == (80, 0, 80, "")
    assert found.summary == "fine; timestamp.txt is a link, so nothing is off for being late"


def test_an_open_total_stays_open_and_has_no_points_off() -> None:
    found = with_penalty(replace(VERDICT, total=None), POLICY, DUE, DUE + timedelta(days=1, hours=2))
    assert (found.total, found.penalty, found.final) == (None, 0, None)
    assert found.summary == "fine; 2 days late"


@pytest.mark.parametrize("at", [None, DUE, DUE + timedelta(minutes=59)])
def test_within_the_grace_time_nothing_is_said(at: datetime | None) -> None:
    found = with_penalty(VERDICT, POLICY, DUE, at)
    assert (found.final, found.summary) == (80, "fine")
