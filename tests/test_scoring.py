"""Points from checks: shares, rounding, what waits, and that no score is NaN or above its points."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.records import CheckResult, Failure, State
from grader.scoring import score

PARTS = {"correctness": 40.0, "technique": 20.0, "speed": 30.0}


def check(
    part: str = "correctness",
    passed: bool | None = True,
    *,
    weight: float = 1.0,
    state: State = State.JUDGED,
    credit: float | None = None,
    hidden: bool = False,
    name: str = "test_x",
    reason: str = "",
    needs_gpu: bool = False,
) -> CheckResult:
    return CheckResult(
        name=name,
        part=part,
        weight=weight,
        sentence="It is right.",
        hidden=hidden,
        passed=passed,
        state=state,
        credit=(1.0 if passed else 0.0) if credit is None else credit,
        failure=Failure("wrong-values", f"{name} is wrong.") if passed is False else None,
        reason=reason,
        needs_gpu=needs_gpu,
    )


def no_gpu(part: str = "speed") -> CheckResult:
    return check(part, None, state=State.NOT_MEASURED, reason="no GPU", needs_gpu=True)


def fault(part: str = "correctness") -> CheckResult:
    return check(part, None, state=State.NOT_JUDGED, reason="the GPU died")


def test_all_checks_passed_is_all_points() -> None:
    result = score([check(), check("technique"), check("speed")], PARTS, "wait")
    assert (result.total, result.points, result.points_judged) == (90, 90, 90)
    assert result.summary == "all 3 checks passed."


def raced(bonus_credit: float | None, *, weight: float = 1.0, passed: bool = True) -> CheckResult:
    measured = {} if bonus_credit is None else {"bonus_credit": bonus_credit}
    return replace(check("speed", passed, weight=weight), measured=measured)


def test_a_bonus_is_beyond_all_points_and_shared_by_the_speed_checks() -> None:
    others = [check(), check("technique")]
    result = score([*others, raced(1.0, weight=3), raced(0.5)], PARTS, "wait", 5.0)
    assert (result.total, result.bonus) == (90, 4.38)
    assert result.summary == "all 4 checks passed; a bonus of 4.38 points for speed."
    slow = score([*others, raced(1.0), raced(None, passed=False)], PARTS, "wait", 5.0)
    assert (slow.total, slow.bonus) == (75, 2.5)


@pytest.mark.parametrize(
    "speed", [[], [no_gpu()], [raced(1.0), no_gpu()], [raced(None)], [raced(math.nan), fault("speed")]]
)
def test_no_bonus_is_known_where_a_race_waits_or_there_is_no_reference(speed: list[CheckResult]) -> None:
    for policy in ("wait", "scale"):
        assert score([check(), *speed], PARTS, policy, 5.0).bonus is None
    assert score([check(), raced(1.0)], PARTS, "wait").bonus is None


def test_a_part_is_shared_by_weight() -> None:
    result = score([check(weight=3), check(passed=False, weight=1)], {"correctness": 40.0}, "wait")
    assert result.total == 30


def test_credit_gives_a_fraction() -> None:
    result = score([check("speed", credit=0.25)], {"speed": 30.0}, "wait")
    assert result.total == 7.5
    assert "not all with full credit" in result.summary


def test_thirds_add_up_to_the_whole() -> None:
    checks = [check(), check(), check()]
    assert score(checks, {"correctness": 10.0}, "wait").total == 10
    assert score([*checks[:2], check(passed=False)], {"correctness": 10.0}, "wait").total == 6.67


def test_halves_of_a_hundredth_round_up() -> None:
    checks = [check(), check(passed=False)]
    assert score(checks, {"correctness": 0.01}, "wait").total == 0.01
    assert score(checks, {"correctness": 0.03}, "wait").total == 0.02


@pytest.mark.parametrize("without_gpu", ["wait", "scale"])
def test_a_fault_of_ours_leaves_the_total_open(without_gpu: str) -> None:
    result = score([check(), fault(), check("technique"), no_gpu()], PARTS, without_gpu)  # type: ignore[arg-type]
    assert result.total is None
    assert result.points_judged == 40
    assert "correctness not judged: the GPU died" in result.summary


@pytest.mark.parametrize("without_gpu", ["wait", "scale"])
def test_a_fault_of_ours_in_one_of_very_many_checks_leaves_the_total_open(without_gpu: str) -> None:
    checks = [check()] * 2999
    result = score([*checks, fault()], {"correctness": 10.0}, without_gpu)  # type: ignore[arg-type]
    assert result.total is None
    assert result.parts[0].judged == result.parts[0].earned == 9.99
    assert score([*checks, check(passed=False)], {"correctness": 10.0}, "wait").total == 10


def test_what_has_no_points_waits_for_nothing() -> None:
    parts = {"correctness": 10.0, "speed": 0.0}
    assert score([check(), no_gpu()], parts, "wait").total == 10
    assert score([check()], parts, "wait").total == 10


def test_points_that_wait_for_a_gpu_leave_the_total_open() -> None:
    result = score([check(), check("technique"), no_gpu()], PARTS, "wait")
    assert result.total is None
    assert result.points_judged == 60
    assert result.summary == "all 2 checks passed; speed not measured: no GPU."


def test_a_quiz_that_waits_says_its_own_reason() -> None:
    parts = {"correctness": 40.0, "speed": 30.0, "quiz": 10.0}
    waits = check("quiz", None, state=State.NOT_MEASURED, reason="judged when you hand in")
    result = score([check(), no_gpu(), waits], parts, "scale")
    assert result.total is None
    assert result.summary == (
        "the only check passed; speed not measured: no GPU; quiz not measured: judged when you hand in."
    )


def test_scale_makes_what_was_judged_the_whole() -> None:
    result = score([check(), check("technique", False), no_gpu()], PARTS, "scale")
    assert result.total == 60  # 40 of 60 points judged, of 90
    assert result.points_judged == 60
    assert result.summary.endswith("; speed not measured: no GPU; total scaled from 60 points to 90.")


def test_scale_is_for_speed_alone() -> None:
    assert score([check(), no_gpu("technique"), no_gpu()], PARTS, "scale").total is None


@pytest.mark.parametrize(
    "reason",
    [
        "some blocks of it could not be simulated by themselves",
        "another process computes on it",
        "too many reads",
    ],
)
def test_a_race_that_came_to_nothing_is_never_worth_more_than_one_that_was_lost(reason: str) -> None:
    unmeasured = check("speed", None, state=State.NOT_MEASURED, reason=reason)
    assert score([check(), check("technique", False), unmeasured], PARTS, "scale").total is None


def test_nothing_judged_is_no_total_even_when_scaled() -> None:
    assert score([no_gpu()], {"speed": 30.0}, "scale").total is None


def test_a_part_without_checks_leaves_the_total_open() -> None:
    result = score([check()], {"correctness": 40.0, "technique": 20.0}, "scale")
    assert result.total is None
    assert "no check here for technique" in result.summary


@pytest.mark.parametrize(("credit", "weight"), [(math.nan, 1), (1.5, 1), (-0.5, 1), (1, math.inf), (1, 0), (1, -2)])
def test_a_credit_that_makes_no_sense_is_our_fault(credit: float, weight: float) -> None:
    result = score([check(credit=credit, weight=weight), check()], {"correctness": 40.0}, "wait")
    assert result.total is None
    assert result.parts[0].earned == 20


def test_a_summary_shows_only_the_sentence_of_a_hidden_check() -> None:
    hidden = check(passed=False, hidden=True, name="test_secret")
    assert score([hidden], {"correctness": 1.0}, "wait").summary == "1 of 1 check failed: It is right."
    both = score([hidden, check(passed=False)], {"correctness": 1.0}, "wait")
    assert both.summary == "2 of 2 checks failed: test_x is wrong."


def test_a_summary_tells_why_kernels_failed_before_the_quiz_and_both_apart() -> None:
    parts = {"correctness": 40.0, "technique": 20.0, "quiz": 10.0}
    kernel = check(passed=False, name="the kernel")
    unanswered = [check("quiz", False, name=name) for name in ("answer_1", "answer_2")]
    right = check("quiz", name="answer_3")
    for checks in ([*unanswered, right, check("technique"), kernel], [kernel, check("technique"), *unanswered, right]):
        assert score(checks, parts, "wait").summary == (
            "1 of 2 checks failed: the kernel is wrong; quiz: 2 of 3 questions failed: answer_1 is wrong."
        )
    hidden = replace(kernel, hidden=True)  # of which only the promise may be told: still before the quiz
    assert score([*unanswered, check("technique"), hidden], parts, "wait").summary.startswith(
        "1 of 2 checks failed: It is right; quiz: 2 of 2 questions failed: answer_1"
    )
    assert score([check(), check("technique"), *unanswered], parts, "wait").summary.startswith(
        "all 2 checks passed; quiz: 2 of 2 questions failed: answer_1 is wrong"
    )
    assert score([check(), check("technique"), right], parts, "wait").summary == (
        "all 2 checks passed; quiz: the only question passed."
    )
    assert score([fault(), right], parts, "wait").summary.startswith(
        "no check was judged; quiz: the only question passed; correctness not judged: the GPU died"
    )
    assert score(unanswered, {"quiz": 10.0}, "wait").summary == "quiz: 2 of 2 questions failed: answer_1 is wrong."
    assert score([], {"quiz": 10.0}, "wait").summary == "no check was judged; no check here for quiz."


def test_a_summary_shows_no_reason_of_a_hidden_check() -> None:
    secret = check(passed=None, state=State.NOT_JUDGED, hidden=True, reason="scale(n=1025) broke the grader")
    assert score([secret], {"correctness": 1.0}, "wait").summary == "no check was judged; correctness not judged."
    both = score([secret, fault()], {"correctness": 1.0}, "wait")
    assert both.summary == "no check was judged; correctness not judged: the GPU died."


def test_a_summary_is_one_line_of_bounded_length() -> None:
    lost = check(passed=None, state=State.NOT_JUDGED, reason="Traceback:\n" + "  a line\n" * 1000)
    summary = score([lost], {"correctness": 1.0}, "wait").summary
    assert "\n" not in summary
    assert len(summary) < 300


def test_an_unknown_part_is_refused() -> None:
    with pytest.raises(ValueError, match="tecnique"):
        score([check("tecnique")], PARTS, "wait")


results = st.builds(
    check,
    part=st.sampled_from(list(PARTS)),
    passed=st.just(True),
    weight=st.floats(allow_nan=True, allow_infinity=True),
    credit=st.floats(allow_nan=True, allow_infinity=True),
) | st.builds(no_gpu, st.sampled_from(list(PARTS)))
points = st.integers(0, 10**6).map(lambda hundredths: hundredths / 100)


@given(st.lists(results, max_size=30), st.tuples(points, points, points), st.sampled_from(["wait", "scale"]))
def test_no_score_is_nan_or_above_its_points(
    checks: list[CheckResult], values: tuple[float, float, float], without_gpu: str
) -> None:
    result = score(checks, dict(zip(PARTS, values, strict=True)), without_gpu)  # type: ignore[arg-type]
    for part in result.parts:
        assert 0 <= part.earned <= part.judged <= part.points
    assert result.points == round(sum(values), 2)
    assert result.total is None or 0 <= result.total <= result.points
