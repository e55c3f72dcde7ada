"""Verdicts for a terminal: one student's report, a class's table. Pure; trusted process.

In: Verdicts, a width in columns, whether colours are wanted. Out: text. Everything that may come from a
student passes ``text.clean`` and enters rich as ``Text``, so that neither escapes nor rich's markup act.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence
from pathlib import Path

from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from grader.records import PARTS, CheckResult, PartScore, State, Verdict
from grader.reports.alike import alike
from grader.reports.race import race_text
from grader.reports.text import check_lines, one_line, wrapped
from grader.reports.view import for_student

PASSED, FAILED, OPEN, CUT = "✓", "✗", "–", "…"
MIN_NAME, MAX_NAME = 12, 40
# Narrower than this, a sentence is easier to read on lines of its own.
MIN_WHY = 48


def student_report(verdict: Verdict, *, width: int = 80, colour: bool = False) -> str:
    """What a student reads: each part's checks, for each failure its cause, then the points."""
    verdict = for_student(verdict)
    parts: list[RenderableType] = []
    shown: dict[tuple[object, ...], str] = {}
    for score in verdict.parts:
        checks = [check for check in verdict.checks if check.part == score.part]
        parts.append(Text(f"{score.part}: {_points(score)}", style="bold"))
        for cases in _by_function(checks):
            parts += (Text(line, style=style) for line, style in _function(cases, width, shown))
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
    """One row per student: each part, total, points judged; beside or below it one sentence why."""
    present = [part for part in PARTS if any(p.part == part for v in verdicts for p in v.parts)]
    head = ["student", *present, "total", "judged"]
    rows = [_figures(verdict, present) for verdict in verdicts]
    columns = [max(map(cell_len, column)) for column in zip(head, *rows, strict=True)]
    # Beside a long name the figures must still fit on the line.
    columns[0] = min(columns[0], MAX_NAME, max(MIN_NAME, width - sum(columns[1:]) - 2 * len(columns[1:])))
    used = sum(columns) + 2 * len(columns)
    beside = width - used >= MIN_WHY
    lines = [Text(_aligned(head, columns) + ("  why" if beside else ""), style="bold")]
    for verdict, row in zip(verdicts, rows, strict=True):
        figures = _aligned(row, columns)
        why = one_line(verdict.summary)
        if beside:
            lines += map(Text, wrapped(why, width, f"{figures}  ", " " * used))
        else:
            lines += map(Text, [figures, *wrapped(why, width, "    ", "    ")])
    return _render(lines, width, colour)


def _figures(verdict: Verdict, parts: Sequence[str]) -> list[str]:
    scores = {score.part: score for score in verdict.parts}
    return [
        one_line(verdict.student, len(verdict.student)),
        *(_short(scores[part]) if part in scores else "" for part in parts),
        "open" if verdict.total is None else f"{verdict.total:g}",
        f"{verdict.points_judged:g}/{verdict.points:g}",
    ]


def _aligned(cells: Sequence[str], columns: Sequence[int]) -> str:
    """Cells side by side: the first to the left, figures to the right. Widths count terminal columns."""
    cells = [_fitted(cells[0], columns[0]), *cells[1:]]
    padding = [" " * (column - cell_len(cell)) for cell, column in zip(cells, columns, strict=True)]
    return "  ".join([cells[0] + padding[0], *(pad + cell for pad, cell in zip(padding[1:], cells[1:], strict=True))])


def _fitted(text: str, columns: int) -> str:
    """``text``, or as much of it as fits beside a sign that it was cut."""
    return text if cell_len(text) <= columns else set_cell_size(text, columns - 1).rstrip() + CUT


def plain_table(rows: Sequence[Sequence[str]], *, width: int = 80, colour: bool = False) -> str:
    """Rows of text in columns; the last column wraps."""
    table = Table(box=None, pad_edge=False, show_edge=False, show_header=False)
    for _ in rows[0][:-1] if rows else ():
        table.add_column(no_wrap=True)
    table.add_column(ratio=1, overflow="fold")
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    return _render([table], width, colour)


def page(lines: Iterable[tuple[str, str]], *, width: int = 80, colour: bool = False) -> str:
    """Lines of clean text, each with its style."""
    return _render((Text(line, style=style) for line, style in lines), width, colour)


def _by_function(checks: Sequence[CheckResult]) -> list[list[CheckResult]]:
    """The cases of each check function together; hidden ones, which have no name here, by their sentence."""
    groups: dict[tuple[str, str], list[CheckResult]] = {}
    for check in checks:
        name = "" if check.hidden else check.name.split("[")[0]
        groups.setdefault((name, check.sentence), []).append(check)
    return list(groups.values())


def _function(
    cases: Sequence[CheckResult], width: int, shown: dict[tuple[object, ...], str]
) -> Iterable[tuple[str, str]]:
    """Lines with their style: mark and name, the promise, the first case that tells something.

    ``shown`` has the failures of earlier functions, each with the check that shows it; a new one is added.
    """
    first = cases[0]
    failed = [case for case in cases if case.passed is False]
    not_passed = failed or [case for case in cases if case.passed is None]
    mark, style = (FAILED, "red") if failed else (OPEN, "yellow") if not_passed else (PASSED, "green")
    name = "hidden check" if first.hidden else one_line(first.name.split("[")[0])
    # How many cases a hidden check has is hidden, too.
    count = f": {len(cases) - len(not_passed)} of {len(cases)} cases passed" if not_passed and len(cases) > 1 else ""
    yield f"  {mark} {name}{'' if first.hidden else count}", style
    yield from ((line, "") for line in wrapped(first.sentence, width, " " * 4, " " * 4))
    telling = not_passed[0] if not_passed else next((case for case in cases if case.findings), first)
    if telling.state is not State.JUDGED:
        reason = f"{telling.state.value}: {one_line(telling.reason)}"
        yield from ((line, "") for line in wrapped(reason, width, " " * 6, " " * 6))
        race = race_text(telling.measured)
        yield from ((line, "") for line in (wrapped(race, width, " " * 6, " " * 8) if race else ()))
    elif not first.hidden:
        yield from ((f"      {line}".rstrip(), "") for line in _block(telling, width - 6, shown))
    others = [case.name.removeprefix(name) for case in not_passed[1:]]
    if others and not first.hidden:
        also = f"also {'failed' if failed else 'open'}: {', '.join(others)}"
        yield from ((line, "") for line in wrapped(also, width, " " * 6, " " * 6))


def _block(check: CheckResult, width: int, shown: dict[tuple[object, ...], str]) -> list[str]:
    """What a check tells; where an earlier one failed alike, a line that names it."""
    like = shown.setdefault(alike(Path(), check), check.name)  # a verdict is about one folder
    if check.failure is None or like == check.name:
        return check_lines(check, width)
    return wrapped(f"as {one_line(like)}: {one_line(check.failure.what)}", width, "", "  ")


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
    earned = sum(score.earned for score in verdict.parts)
    if verdict.total is not None:
        text = f"{verdict.total:g} of {verdict.points:g} points"
        is_whole = verdict.points_judged == verdict.points
        return text if is_whole else f"{text}, scaled from {earned:g} of the {verdict.points_judged:g} judged"
    return f"open; so far {earned:g} of the {verdict.points_judged:g} points judged, {verdict.points:g} in all"


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
