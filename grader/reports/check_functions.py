"""The checks of a verdict as every report tells them: the cases of a function together. Pure; trusted process.

In: the CheckResults of a part, as a student may see them. Out: ``Function`` records, for terminal and HTML alike, and
points in words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.records import CheckResult, PartScore, State, Verdict
from grader.reports.alike import alike
from grader.reports.text import one_line

# Of a part's points where course.yml's ``without_gpu`` is to scale the total.
SCALED = "scaled from what was judged: no GPU"

# The failures that a report has told already, each with the name of the check that shows it.
Shown = dict[tuple[object, ...], str]


@dataclass(frozen=True)
class Function:
    """The cases of one check function, or those of a hidden one, which are known by their sentence alone.

    ``telling`` is the case whose block stands for all; ``passed`` is None where a case waits and none failed.
    ``count`` and ``others`` say how many cases passed and which else did not, in words, "" where there is one case;
    ``like`` names the check that an earlier report shows with the same failure, "" if this one is to be shown.
    """

    name: str
    hidden: bool
    passed: bool | None
    sentence: str
    telling: CheckResult
    count: str = ""
    others: str = ""
    like: str = ""

    @property
    def reason(self) -> str:
        """Why the telling case has no yes or no; "" where it has one."""
        if self.telling.state is State.JUDGED:
            return ""
        return f"{self.telling.state.value}: {one_line(self.telling.reason)}"


def functions(checks: Sequence[CheckResult], shown: Shown, *, failed_first: bool = False) -> Iterator[Function]:
    """The functions of these checks in their order; to ``shown`` the failures are added that they show.

    ``failed_first``: failed ones, then those that wait, then passed ones.
    """
    groups: dict[tuple[str, str], list[CheckResult]] = {}
    for check in checks:
        name = "" if check.hidden else check.name.split("[")[0]
        groups.setdefault((name, check.sentence), []).append(check)
    order = [False, None, True]
    for cases in sorted(groups.values(), key=lambda cases: order.index(_passed(cases)) if failed_first else 0):
        yield _function(cases, shown)


def _passed(cases: Sequence[CheckResult]) -> bool | None:
    if any(case.passed is False for case in cases):
        return False
    return None if any(case.passed is None for case in cases) else True


def _function(cases: Sequence[CheckResult], shown: Shown) -> Function:
    first = cases[0]
    failed = [case for case in cases if case.passed is False]
    not_passed = failed or [case for case in cases if case.passed is None]
    name = "hidden check" if first.hidden else one_line(first.name.split("[")[0])
    telling = not_passed[0] if not_passed else next((case for case in cases if case.findings), first)
    count = others = like = ""
    # How many cases a hidden check has is hidden, too.
    if not first.hidden and not_passed and len(cases) > 1:
        count = f"{len(cases) - len(not_passed)} of {len(cases)} cases passed"
        named = ", ".join(case.name.removeprefix(name) for case in not_passed[1:])
        others = f"also {'failed' if failed else 'open'}: {named}" if named else ""
    if not first.hidden and telling.state is State.JUDGED:
        earlier = shown.setdefault(alike(Path(), telling), telling.name)  # a verdict is about one folder
        like = "" if telling.failure is None or earlier == telling.name else earlier
    return Function(name, first.hidden, _passed(cases), first.sentence, telling, count, others, like)


def in_total(score: PartScore, verdict: Verdict) -> float | None:
    """A part's points in the total; None while they wait. What a scaled total has more is that of the part without GPU.

    Only one part can be without: speed, see ``scoring.score``.
    """
    if score.judged == score.points:
        return score.earned
    if verdict.total is None:
        return None
    others = sum(other.earned for other in verdict.parts if other.part != score.part)
    return max(0.0, round(verdict.total - others, 2))


def points_text(score: PartScore) -> str:
    """A part's points in words, and how many of them were judged where that is not all."""
    text = f"{score.earned:g} of {score.points:g} points"
    if score.judged == score.points:
        return text
    return text + (f", {score.judged:g} of them judged" if score.judged else ", none of them judged")


def total_text(verdict: Verdict) -> str:
    """All points in words: the total, from what it was scaled, or what is known of it so far."""
    earned = sum(score.earned for score in verdict.parts)
    if verdict.total is not None:
        text = f"{verdict.total:g} of {verdict.points:g} points"
        is_whole = verdict.points_judged == verdict.points
        return text if is_whole else f"{text}, scaled from {earned:g} of the {verdict.points_judged:g} judged"
    return f"open; so far {earned:g} of the {verdict.points_judged:g} points judged, {verdict.points:g} in all"
