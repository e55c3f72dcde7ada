"""Points from checks: a part's points are shared by its checks by weight. Pure; trusted process.

In: the CheckResults of one submission and the assignment's policy. Out: PartScores, the total, one sentence.

Rounding, stated once: a part's points are computed exactly and rounded to hundredths, half up (those of a
part that is not judged completely, down); the total is the sum of the rounded parts. So the parts of a printed
table add up, and all checks passed is all points.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN
from fractions import Fraction
from typing import Literal

from grader.hundredths import exact, rounded
from grader.records import QUIZ, CheckResult, PartScore, State, Verdict

MAX_REASON = 200


@dataclass(frozen=True)
class Score:
    """Points of one submission. ``total`` is None while points wait to be judged.

    ``bonus`` is beyond the total; None where there is none to be had, or the races that earn it wait.
    """

    parts: tuple[PartScore, ...]
    total: float | None
    points: float
    points_judged: float
    summary: str
    bonus: float | None = None


def score(
    checks: Sequence[CheckResult],
    parts: Mapping[str, float],
    without_gpu: Literal["wait", "scale"],
    most_bonus: float = 0.0,
) -> Score:
    """The score of ``checks`` where ``parts`` maps each part to its points; ``most_bonus``: points beyond all of them.

    In a part that has points, a check that was not judged (our fault) leaves the total open, however little it
    weighs, and so does having no checks. One that was not measured leaves it open too, unless ``without_gpu``
    is ``scale`` and it is a speed check for which there is no GPU: then the total is scaled from the points that
    were judged to all points. A race that was begun and came to nothing is left to a person: it may be the
    submission's doing. Raises ValueError for a check of a part that is not in ``parts``.
    """
    checks = [_trusted(check) for check in checks]
    strange = sorted({check.part for check in checks} - set(parts))
    if strange:
        raise ValueError(f"checks of parts that have no points: {', '.join(strange)}")
    scores = tuple(_part(part, points, [c for c in checks if c.part == part]) for part, points in parts.items())
    points = _sum(s.points for s in scores)
    judged = _sum(s.judged for s in scores)
    earned = _sum(s.earned for s in scores)
    total: float | None = None
    why = summary(checks, parts)
    # Asked of the checks, not of the points: in rounded points a light check can vanish.
    waiting = [check for check in checks if check.state is not State.JUDGED and parts[check.part] > 0]
    if _without_checks(checks, parts):
        pass
    elif not waiting:
        total = earned
    elif without_gpu == "scale" and judged > 0 and all(_waits_for_a_gpu(check) for check in waiting):
        total = min(rounded(exact(earned) * exact(points) / exact(judged)), points)
        why = f"{why.removesuffix('.')}; total scaled from {judged:g} points to {points:g}."
    bonus = _bonus([check for check in checks if check.part == "speed"], most_bonus)
    if bonus:
        why = f"{why.removesuffix('.')}; a bonus of {bonus:g} points for speed."
    return Score(scores, total, points, judged, why, bonus)


def _bonus(races: Sequence[CheckResult], most: float) -> float | None:
    """What the speed checks earn beyond all points, shared as these are. A reference is needed to tell."""
    if most <= 0 or not races or any(check.state is not State.JUDGED for check in races):
        return None
    if any(check.passed and "bonus_credit" not in check.measured for check in races):
        return None
    credits_ = [exact(c.weight) * exact(c.measured.get("bonus_credit", 0.0) if c.passed else 0.0) for c in races]
    earned = sum(credits_, Fraction(0)) / sum((exact(check.weight) for check in races), Fraction(0))
    return min(rounded(exact(most) * earned), most)


def of_parts(verdict: Verdict, names: Collection[str]) -> Verdict:
    """``verdict`` as that of some parts alone: their checks, their points, a sentence about them."""
    checks = tuple(check for check in verdict.checks if check.part in names)
    parts = tuple(each for each in verdict.parts if each.part in names)
    points, judged = _sum(each.points for each in parts), _sum(each.judged for each in parts)
    return replace(
        verdict,
        checks=checks,
        parts=parts,
        points=points,
        points_judged=judged,
        total=_sum(each.earned for each in parts) if checks and judged == points else None,
        summary=summary(checks, {each.part: each.points for each in parts}),
    )


def settled(checks: Sequence[CheckResult]) -> tuple[CheckResult, ...]:
    """``checks``, where a race whose technique is in doubt fails if the same of it was missed by an exact count, too.

    One alone would wait for a person: an estimate may err, and kernels may do otherwise at other sizes.
    """
    missed = {check.missed for check in checks if check.passed is False and check.missed}
    return tuple(
        replace(check, state=State.JUDGED, passed=False, failure=check.doubt, reason="", doubt=None)
        if check.state is State.NOT_MEASURED and check.doubt is not None and check.missed in missed
        else check
        for check in checks
    )


def _trusted(check: CheckResult) -> CheckResult:
    """``check``, or the same not judged if its credit or weight makes no sense: that is our fault."""
    fine = math.isfinite(check.credit) and 0 <= check.credit <= 1 and math.isfinite(check.weight) and check.weight > 0
    if fine and (check.passed is None) == (check.state is not State.JUDGED):
        return check
    weight = check.weight if math.isfinite(check.weight) and check.weight > 0 else 1.0
    reason = f"the grader computed a credit of {check.credit} with weight {check.weight}"
    return replace(check, passed=None, state=State.NOT_JUDGED, credit=0.0, weight=weight, reason=reason)


def _part(part: str, points: float, checks: Sequence[CheckResult]) -> PartScore:
    weights = sum((exact(c.weight) for c in checks), Fraction(0))
    judged = earned = Fraction(0)
    for check in checks:
        share = exact(points) * exact(check.weight) / weights
        if check.state is State.JUDGED:
            judged += share
            earned += share * exact(check.credit)
    if not checks and points == 0:
        return PartScore(part, 0.0, 0.0, 0.0)
    if all(check.state is State.JUDGED for check in checks) and checks:
        return PartScore(part, points, points, min(rounded(earned), points))
    some = rounded(judged, ROUND_DOWN)  # never all of the points: readers tell by that whether a part is complete
    return PartScore(part, points, some, min(rounded(earned), some))


def _without_checks(checks: Iterable[CheckResult], parts: Mapping[str, float]) -> list[str]:
    """The parts that have points but no check."""
    seen = {check.part for check in checks}
    return [part for part, points in parts.items() if points > 0 and part not in seen]


def _waits_for_a_gpu(check: CheckResult) -> bool:
    return check.state is State.NOT_MEASURED and check.part == "speed" and check.needs_gpu


def _sum(values: Iterable[float]) -> float:
    return rounded(sum((exact(v) for v in values), Fraction(0)))


def summary(checks: Sequence[CheckResult], parts: Mapping[str, float]) -> str:
    """One sentence why the score is as it is. Shows nothing of a hidden check but its sentence."""
    kernels = [check for check in checks if check.part != QUIZ]
    questions = [check for check in checks if check.part == QUIZ and check.state is State.JUDGED]
    judged = [check for check in kernels if check.state is State.JUDGED]
    told = []
    if judged:
        told.append(_outcome(judged, "check"))
    elif kernels or not questions:
        told.append("no check was judged")
    if questions:
        told.append(f"{QUIZ}: {_outcome(questions, 'question')}")
    return "; ".join([*told, *open_notes(checks, parts)]) + "."


def _outcome(judged: Sequence[CheckResult], what: str) -> str:
    """How many failed and why the first did, or that all passed."""
    failed = [check for check in judged if not check.passed]
    if failed:
        public = next((check for check in failed if not check.hidden), None)
        why = public.failure.what if public is not None and public.failure is not None else failed[0].sentence
        why = textwrap.shorten(why, MAX_REASON, placeholder=" …").rstrip(".")
        return f"{len(failed)} of {len(judged)} {what}{'s' if len(judged) != 1 else ''} failed: {why}"
    everyone = f"the only {what}" if len(judged) == 1 else f"all {len(judged)} {what}s"
    return f"{everyone} passed" + (", not all with full credit" if any(c.credit < 1 for c in judged) else "")


def open_notes(checks: Sequence[CheckResult], parts: Mapping[str, float]) -> list[str]:
    """What has no yes or no, part by part, and why: nothing of a hidden check's reason."""
    notes = []
    for state in (State.NOT_JUDGED, State.NOT_MEASURED):
        found = [c for c in checks if c.state is state]
        # A quiz waits for another reason than kernels do.
        for which in ([c for c in found if c.part != QUIZ], [c for c in found if c.part == QUIZ]):
            if not which:
                continue
            # A reason may be as long as a traceback, and may quote what a hidden check asked for; it is whole
            # in the check itself.
            reason = next((c.reason for c in which if not c.hidden), "")
            reason = textwrap.shorten(reason, MAX_REASON, placeholder=" …").rstrip(".")
            places = ", ".join(part for part in parts if any(c.part == part for c in which))
            notes.append(f"{places} {state.value}" + (f": {reason}" if reason else ""))
    empty = _without_checks(checks, parts)
    if empty:
        notes.append(f"no check here for {', '.join(empty)}")
    return notes
