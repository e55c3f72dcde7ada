"""Verdicts for a terminal: one student's report, a class's table. Pure; trusted process.

In: Verdicts, a width in columns, whether colours are wanted. Out: text. Everything that may come from a
student passes ``text.clean`` and enters rich as ``Text``, so that neither escapes nor rich's markup act.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich.cells import cell_len, set_cell_size
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from grader.records import PARTS, PartScore, Verdict
from grader.reports.check_functions import Function, Shown, functions, points_text, total_text
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
    shown: Shown = {}
    for score in verdict.parts:
        checks = [check for check in verdict.checks if check.part == score.part]
        parts.append(Text(f"{score.part}: {points_text(score)}", style="bold"))
        for function in functions(checks, shown):
            parts += (Text(line, style=style) for line, style in _function(function, width))
        if not checks:
            parts.append(Text("  no check here"))
        parts.append(Text(""))
    parts += [
        Text(f"device: {one_line(verdict.device)}"),
        Text(f"total:  {total_text(verdict)}", style="bold"),
        Text(one_line(verdict.summary)),
    ]
    return _render(parts, width, colour)


def class_table(verdicts: Sequence[Verdict], *, width: int = 80, colour: bool = False) -> str:
    """One row per student: each part, total, points judged; beside or below it one sentence why.

    Where somebody has a bonus or points off for being late, these and what is left have columns, too.
    """
    bonus, late = any(verdict.bonus for verdict in verdicts), any(verdict.penalty for verdict in verdicts)
    present = [part for part in PARTS if any(p.part == part for v in verdicts for p in v.parts)]
    beyond = [*(["bonus"] if bonus else []), *(["late"] if late else []), *(["final"] if bonus or late else [])]
    head = ["student", *present, "total", *beyond, "judged"]
    rows = [_figures(verdict, present, beyond) for verdict in verdicts]
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


def _figures(verdict: Verdict, parts: Sequence[str], beyond: Sequence[str]) -> list[str]:
    scores = {score.part: score for score in verdict.parts}
    more = {
        "bonus": f"{verdict.bonus or 0:g}",
        "late": f"{-verdict.penalty or 0:g}",
        "final": "open" if verdict.final is None else f"{verdict.final:g}",
    }
    return [
        one_line(verdict.student, len(verdict.student)),
        *(_short(scores[part]) if part in scores else "" for part in parts),
        "open" if verdict.total is None else f"{verdict.total:g}",
        *(more[column] for column in beyond),
        # Who has handed in nothing has not been judged, whatever that earns.
        f"{verdict.points_judged:g}/{verdict.points:g}" if verdict.handed_in else OPEN,
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


def _function(function: Function, width: int) -> Iterable[tuple[str, str]]:
    """Lines with their style: mark and name, the promise, the first case that tells something."""
    marks = {False: (FAILED, "red"), None: (OPEN, "yellow"), True: (PASSED, "green")}
    mark, style = marks[function.passed]
    yield f"  {mark} {function.name}{f': {function.count}' if function.count else ''}", style
    yield from ((line, "") for line in wrapped(function.sentence, width, " " * 4, " " * 4))
    if function.reason:
        yield from ((line, "") for line in wrapped(function.reason, width, " " * 6, " " * 6))
        race = race_text(function.telling.measured)
        yield from ((line, "") for line in (wrapped(race, width, " " * 6, " " * 8) if race else ()))
    elif not function.hidden:
        yield from ((f"      {line}".rstrip(), "") for line in _block(function, width - 6))
    if function.others:
        yield from ((line, "") for line in wrapped(function.others, width, " " * 6, " " * 6))


def _block(function: Function, width: int) -> list[str]:
    """What a check tells; where an earlier one failed alike, a line that names it."""
    failure = function.telling.failure
    if failure is None or not function.like:
        return check_lines(function.telling, width)
    return wrapped(f"as {one_line(function.like)}: {one_line(failure.what)}", width, "", "  ")


def _short(score: PartScore) -> str:
    if score.judged == score.points:
        return f"{score.earned:g}"
    return f"{score.earned:g} of {score.judged:g}" if score.judged else OPEN


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
