"""Verdicts for a terminal: one student's report, a class's table. Pure; trusted process.

In: Verdicts, a width in columns, whether colours are wanted. Out: text. Everything that may come from a
student passes ``text.clean`` and enters rich as ``Text``, so that neither escapes nor rich's markup act.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from grader.records import PARTS, CheckResult, PartScore, State, Verdict
from grader.reports.text import check_lines, one_line
from grader.reports.view import for_student

PASSED, FAILED, OPEN = "✓", "✗", "–"
MAX_NAME = 40


def student_report(verdict: Verdict, *, width: int = 80, colour: bool = False) -> str:
    """What a student reads: each part's checks, for each failure its cause, then the points."""
    verdict = for_student(verdict)
    parts: list[RenderableType] = []
    for score in verdict.parts:
        checks = [check for check in verdict.checks if check.part == score.part]
        parts.append(Text(f"{score.part}: {_points(score)}", style="bold"))
        for check in _grouped(checks):
            parts += _check(check, width)
        if not checks:
            parts.append(Text("  no check here"))
        parts.append(Text(""))
    parts += [
        Text(f"device: {one_line(verdict.device)}"),
        Text(f"total:  {_total(verdict)}", style="bold"),
        Text(one_line(verdict.summary)),
    ]
    return _render(parts, width, colour)


def class_table(verdicts: Sequence[Verdict], *, width: int = 80, colour: bool = False) -> str:
    """One row per student: each part, total, points judged, one sentence why."""
    present = [part for part in PARTS if any(p.part == part for v in verdicts for p in v.parts)]
    table = Table(box=None, pad_edge=False, header_style="bold", show_edge=False)
    table.add_column("student", no_wrap=True, max_width=MAX_NAME)
    for part in present:
        table.add_column(part, justify="right", no_wrap=True)
    table.add_column("total", justify="right", no_wrap=True)
    table.add_column("judged", justify="right", no_wrap=True)
    table.add_column("why", ratio=1, overflow="fold")
    for verdict in verdicts:
        scores = {score.part: score for score in verdict.parts}
        table.add_row(
            Text(one_line(verdict.student, MAX_NAME)),
            *(Text(_short(scores[part]) if part in scores else "") for part in present),
            Text("open" if verdict.total is None else f"{verdict.total:g}"),
            Text(f"{verdict.points_judged:g}/{verdict.points:g}"),
            Text(one_line(verdict.summary)),
        )
    return _render([table], width, colour)


def _check(check: CheckResult, width: int) -> Iterable[Text]:
    mark, style = {True: (PASSED, "green"), False: (FAILED, "red"), None: (OPEN, "yellow")}[check.passed]
    name = "hidden check" if check.hidden else one_line(check.name)
    yield Text.assemble("  ", (f"{mark} {name}", style), f"  {one_line(check.sentence)}")
    if check.state is not State.JUDGED:
        yield Text(f"      {check.state.value}: {one_line(check.reason)}")
    elif not check.hidden:
        yield from (Text(f"      {line}") for line in check_lines(check, width - 6))


def _grouped(checks: Sequence[CheckResult]) -> list[CheckResult]:
    """Hidden checks of one sentence and one outcome become a single row: their number is hidden, too."""
    seen: set[tuple[str, bool | None, str]] = set()
    shown = []
    for check in checks:
        key = (check.sentence, check.passed, check.state.value)
        if not check.hidden or key not in seen:
            shown.append(check)
        if check.hidden:
            seen.add(key)
    return shown


def _points(score: PartScore) -> str:
    text = f"{score.earned:g} of {score.points:g} points"
    if score.judged == score.points:
        return text
    return text + (f", {score.judged:g} of them judged" if score.judged else ", none of them judged")


def _short(score: PartScore) -> str:
    if score.judged == score.points:
        return f"{score.earned:g}"
    return f"{score.earned:g} of {score.judged:g}" if score.judged else OPEN


def _total(verdict: Verdict) -> str:
    if verdict.total is not None:
        return f"{verdict.total:g} of {verdict.points:g} points"
    earned = sum(score.earned for score in verdict.parts)
    return (
        f"open; so far {earned:g} of the {verdict.points_judged:g} points judged, {verdict.points:g} in all"
    )


def _render(parts: Iterable[RenderableType], width: int, colour: bool) -> str:
    console = Console(
        file=io.StringIO(),
        width=width,
        force_terminal=colour,
        no_color=not colour,
        color_system="standard" if colour else None,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
    )
    with console.capture() as captured:
        for part in parts:
            console.print(part, soft_wrap=False)
    return "\n".join(line.rstrip() for line in captured.get().splitlines()) + "\n"
