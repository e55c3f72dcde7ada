"""What a page of feedback says: a gradebook's grades, an autograded notebook, a verdict in; a ``Page`` out. nbgrader's.

A cell that waits is open, and so is the total: nbgrader's own scores count it as 0. What is HTML has a name that says
so, and comes from ``grader.reports.html`` or through ``sanitized``; all else is text, for the template to escape.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from nbconvert.filters import markdown2html
from nbconvert.preprocessors.sanitize import SanitizeHTML
from nbgrader import utils

from grader.course import Late
from grader.export_row import Row
from grader.late import days_late, days_text, duration_text, penalty
from grader.nbgrader_plugin.grade_rows import is_above_by_hand, waits
from grader.records import QUIZ, Verdict
from grader.reports.check_functions import SCALED, Function, functions
from grader.reports.coloured import coloured
from grader.reports.html import question_html, verdict_html
from grader.reports.text import clean

OPEN = "open"
STATES = ("lost", "open", "scaled", "full")  # in the order in which their reports are read
MAX_ANSWER = 20_000  # characters
# nbgrader's own comment on a cell that is as it was released; what was judged says it better.
NO_RESPONSE = "No response."
MAX_LINE = 500
MAX_NAMED = 4  # of a part's checks, in the table at the top
# Of Markdown, what has no life of its own.
_TAGS = [
    *("a", "b", "blockquote", "br", "code", "del", "div", "em", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "i", "li"),
    *("ol", "p", "pre", "span", "strong", "sub", "sup", "table", "tbody", "td", "th", "thead", "tr", "ul"),
]
_SANITIZER = SanitizeHTML(tags=_TAGS, attributes={"a": ["href"], "div": ["class"], "span": ["class"]})


@dataclass(frozen=True)
class Line:
    """A row of the table of points. ``state`` is one of ``STATES``; ``note`` says what is behind it.

    ``by_hand``: the score is a person's, and may be another than the judge's report says.
    """

    name: str
    score: str
    points: str
    state: str
    note: str = ""
    by_hand: bool = False


@dataclass(frozen=True)
class Report:
    """What was judged of a graded cell."""

    line: Line
    html: str


@dataclass(frozen=True)
class Answer:
    """A cell that a student has filled in: what was asked, what was answered, what is said of it.

    ``line`` has its points, if it has any of its own; ``comment_html`` is a person's.
    """

    name: str
    asked_html: str
    answer_html: str
    told_html: str = ""
    comment_html: str = ""
    line: Line | None = None


@dataclass(frozen=True)
class Page:
    """All that the template shows. ``score`` is ``OPEN`` while anything waits; ``says`` how it comes about.

    ``state`` is what ``feedback_state`` knows an outdated page by.
    """

    title: str
    student: str
    dates: tuple[str, ...]
    score: str
    points: str
    says: str
    lines: tuple[Line, ...]
    reports: tuple[Report, ...]
    answers: tuple[Answer, ...]
    kernels_html: str = ""
    with_findings: bool = False
    state: str = ""


def sanitized(html: str) -> str:
    """HTML of a notebook without what could act: tags and addresses that are not known are shown as text."""
    made: str = _SANITIZER.sanitize_html_tags(html)
    return made


def lines(grades: Sequence[Any], verdict: Verdict | None) -> dict[str, Line]:
    """A row for each grade of a gradebook, by its cell's name."""
    return {grade.name: _line(grade, verdict) for grade in grades}


def _line(grade: Any, verdict: Verdict | None) -> Line:
    points = float(grade.max_score)
    told = list(functions([c for c in verdict.checks if c.part == grade.name], {})) if verdict is not None else []
    if is_above_by_hand(grade):
        return Line(grade.name, OPEN, figure(points), "open", "a person will look at it again")
    if waits(grade):
        return Line(grade.name, OPEN, figure(points), "open", _waits_for(told))
    score = float(grade.score)
    by_hand = grade.manual_score is not None
    notes = ["by hand"] if by_hand else []
    if grade.extra_credit:
        notes.append(f"{figure(grade.extra_credit)} of them extra")
    failed = _failed(told)
    state = "full" if score >= points else "lost"
    if not by_hand:
        # Points that are no failed check's nobody has lost.
        scaled = any(function.passed is None for function in told)
        state = "scaled" if scaled and not failed else state
        notes += [*filter(None, [failed]), *([SCALED] if scaled else [])]
    return Line(grade.name, figure(score), figure(points), state, "; ".join(notes), by_hand)


def figure(points: float) -> str:
    """Points in at most two decimals."""
    return f"{round(float(points), 2):.10g}"


def _failed(told: Iterable[Function]) -> str:
    # Hidden ones have no names, and how many there are is for their sentences to say.
    named = list(dict.fromkeys(function.name for function in told if function.passed is False))
    more = len(named) - MAX_NAMED
    return f"not passed: {', '.join(named[:MAX_NAMED])}{f' and {more} more' if more > 0 else ''}" if named else ""


def _waits_for(told: Iterable[Function]) -> str:
    return next((clean(function.reason) for function in told if function.passed is None), "not judged yet")


def dates(row: Row, late: Late) -> tuple[str, ...]:
    """When it was handed in and due, where these are known, in the due date's time zone."""
    due = datetime.fromisoformat(row.due) if row.due else None
    told = []
    if row.timestamp:
        moment = datetime.fromisoformat(row.timestamp)
        told.append(f"handed in {_moment(moment if due is None else moment.astimezone(due.tzinfo))}")
    if due is not None:
        extended = " (extended)" if row.extension_seconds else ""
        grace = f" and {duration_text(late.grace)} of grace" if late.grace and late.per_day else ""
        told.append(f"due {_moment(due + timedelta(seconds=row.extension_seconds))}{extended}{grace}")
    return tuple(told)


def _moment(moment: datetime) -> str:
    return moment.isoformat(" ", "minutes")


def says(row: Row, table: Mapping[str, Line], grades: Sequence[Any], late: Late) -> str:
    """How the total comes about: what is judged so far, what is off for being late."""
    seconds_late = row.late_seconds
    days = days_late(late, seconds_late) if late.per_day else 0
    when = days_text(days)
    if row.raw is None or row.score is None:
        judged = [grade for grade in grades if table[grade.name].state != "open"]
        earned, of = sum(float(grade.score) for grade in judged), sum(float(grade.max_score) for grade in judged)
        text = (
            f"So far {figure(earned)} of the {figure(of)} points that have been judged; {figure(row.max_score)} in all."
        )
        percent = figure(penalty(late, seconds_late, 100))
        return f"{text} Handed in {when}: {percent}% of the points earned will be off the total." if days else text
    if row.penalty:
        return (
            f"{figure(row.raw)} points earned, {figure(row.penalty)} off for being {when}; a day that has begun counts."
        )
    return f"Handed in {when}." if days else ""


def reports(nb: Any, table: Mapping[str, Line], verdict: Verdict | None) -> tuple[Report, ...]:
    """What was judged of each graded cell, in the order of ``STATES``."""
    made = []
    for cell in nb.cells:
        name = _name(cell)
        if name in table and utils.is_grade(cell) and not utils.is_solution(cell):
            html = "".join(_output(output) for output in cell.get("outputs", ()))
            if not html and verdict is not None:
                html = verdict_html(verdict, name)
            made.append(Report(table[name], html))
    return tuple(sorted(made, key=lambda report: STATES.index(report.line.state)))


def _output(output: Any) -> str:
    """An output's report; a number alone is what nbgrader reads points from."""
    data = output.get("data", {})
    if "text/html" in data:
        return sanitized(_joined(data["text/html"]))
    text = _joined(output.get("text", "") or data.get("text/plain", ""))
    return "" if output.output_type == "execute_result" else code_html(text)


def _joined(text: Any) -> str:
    return "".join(text) if isinstance(text, list) else str(text)


def answers(
    nb: Any, table: Mapping[str, Line], comments: Mapping[str, str | None], verdict: Verdict | None
) -> tuple[Answer, ...]:
    """The cells that a student fills in, each with the text before it and what was said of it."""
    judged = {check.name: check for check in verdict.checks if check.part == QUIZ} if verdict is not None else {}
    made = []
    before = ""
    for cell in nb.cells:
        name = _name(cell)
        if utils.is_solution(cell) or utils.is_task(cell):
            told = "".join(_output(output) for output in cell.get("outputs", ()))
            if not told and name in judged:
                told = question_html(judged[name])
            source = _joined(cell.source)
            answer = code_html(source) if cell.cell_type == "code" else sanitized(markdown2html(source[:MAX_ANSWER]))
            said = comments.get(name) or ""
            comment = "" if told and said == NO_RESPONSE else sanitized(markdown2html(said))
            made.append(Answer(name, before, answer, told, comment, table.get(name)))
        ours = cell.cell_type == "markdown" and not (utils.is_solution(cell) or utils.is_grade(cell))
        before = sanitized(markdown2html(_joined(cell.source))) if ours else ""
    return tuple(made)


def code_html(source: str) -> str:
    """Python as lines in colours."""
    shown = "\n".join(coloured(source[:MAX_ANSWER].rstrip("\n").split("\n"), MAX_LINE))
    return f"<pre>{shown}</pre>" if shown else ""


def _name(cell: Any) -> str:
    return str(cell.metadata.get("nbgrader", {}).get("grade_id", ""))
