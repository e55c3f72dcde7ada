"""Verdicts as HTML: fragments for Formgrader, notebooks and feedback. Pure; trusted process.

In: Verdicts, findings, the text of a kernels.py, an answer's check. Out: fragments of ``markup``'s pieces. They need no
stylesheet to be read, hold no link, no id and no script, and pass nbconvert's ``clean_html`` as they are: it escapes
headings, paragraphs and whatever is in a table.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from grader.records import KERNELS_FILE, QUIZ, CheckResult, Failure, Finding, PartScore, Severity, State, Verdict
from grader.reports import markup
from grader.reports.check_functions import SCALED, Function, Shown, functions, in_total, points_text, total_text
from grader.reports.coloured import coloured
from grader.reports.race import race_rows
from grader.reports.text import one_line, other_findings
from grader.reports.view import check_for_student, for_student, without_folders

# Of kernels.py. A reference solution has some 100 lines.
MAX_LINES = 3000
MAX_LINE = 500  # characters
MAX_TOLD = 100  # findings


def verdict_html(verdict: Verdict, part: str | None = None) -> str:
    """A student's report, failures first; of one part, if one is named, with its points and nothing of the others."""
    verdict = for_student(verdict)
    shown: Shown = {}
    scores = [score for score in verdict.parts if part is None or score.part == part]
    made = "".join(_part(score, verdict, shown) for score in scores)
    if part is None:
        made += markup.rows([("device", markup.text(verdict.device)), ("total", markup.bold(total_text(verdict)))])
    if part is None or not any(check.part == part for check in verdict.checks):
        made += markup.listed([markup.text(verdict.summary)])
    return made


def question_html(check: CheckResult) -> str:
    """How a question was answered: its mark, and to a wrong answer its explanation, never the key."""
    check = check_for_student(check)
    words = {True: "right", False: "not right", None: "open"}[check.passed]
    return markup.marked(check.passed, words) + _question_lines(check)


def kernels_html(source: str, findings: Iterable[Finding] = ()) -> str:
    """A kernels.py, numbered, each finding below its line; those of other files, or of no line, below all.

    ``findings`` are of verdicts as a student may see them. One mistake that several checks met is told once.
    """
    lines = re.split(r"\r\n|\r|\n", source)  # as Python counts them
    if lines and not lines[-1]:
        lines.pop()
    kept = lines[:MAX_LINES]
    told = _told_once(findings)
    at, elsewhere = _by_line(told[:MAX_TOLD], len(kept))
    made: list[str] = []
    plain: list[str] = []  # lines since the last finding
    for number, line in enumerate(coloured(kept, MAX_LINE), 1):
        shown = f"{markup.span('number', f'{number:4d}')}  {line}"
        if number in at:
            worst = at[number][0].severity.value
            marked = markup.span(f"line {worst}", shown)
            made += [_lines(plain), f"<pre>{marked}</pre>", markup.listed(map(_finding, at[number]))]
            plain = []
        else:
            plain.append(shown)
    if len(lines) > len(kept):
        plain.append(f"… and {len(lines) - len(kept):,} more lines")
    made.append(_lines(plain))
    if elsewhere:
        made.append(markup.listed(_finding(finding, with_place=True) for finding in elsewhere))
    if len(told) > MAX_TOLD:
        made.append(markup.listed([f"and {len(told) - MAX_TOLD:,} more findings"]))
    return "".join(made)


# ---------------------------------------------------------------------- a part's checks


def _part(score: PartScore, verdict: Verdict, shown: Shown) -> str:
    head = markup.bold(f"{score.part}: {_points(score, verdict)}")
    checks = [check for check in verdict.checks if check.part == score.part]
    if not checks:
        return head + markup.listed([markup.text("no check here")])
    if score.part == QUIZ:
        return head + markup.listed(map(_question, checks))
    # What is to be mended is read first.
    return head + markup.listed(_function(function) for function in functions(checks, shown, failed_first=True))


def _points(score: PartScore, verdict: Verdict) -> str:
    """Points in words; what waits is open, and no 0 that somebody could read as lost."""
    if score.judged == score.points:
        return points_text(score)
    scaled = in_total(score, verdict)
    if scaled is not None:
        return f"{scaled:g} of {score.points:g} points, {SCALED}"
    if not score.judged:
        return f"open, {score.points:g} points"
    return f"open; so far {score.earned:g} of the {score.judged:g} points judged, {score.points:g} in all"


def _function(function: Function) -> str:
    """Mark and name, the promise, the first case that tells something."""
    count = f": {function.count}" if function.count else ""
    head = f"{markup.marked(function.passed, function.name)}{markup.text(count)}"
    told = [markup.span("promise", markup.text(function.sentence))]
    if function.reason:
        told += [markup.text(function.reason), *_race(function.telling)]
    elif not function.hidden:
        told += _told(function)
    if function.others:
        told.append(markup.text(function.others))
    # A check that was passed takes one line.
    return f"{head}: {told[0]}" if len(told) == 1 and not count else f"{head} {markup.listed(told)}"


def _told(function: Function) -> list[str]:
    """Why a check was not passed and what it printed, its race, then what else the device saw, errors first."""
    check = function.telling
    if check.failure is not None and function.like:
        return [markup.text(f"as {one_line(function.like)}: {check.failure.what}")]
    told = []
    if check.failure is not None:
        more = (("printed", check.printed), ("threads", check.kernels_printed))
        told.append(_failure(check.failure, more))
    told += _race(check)
    others, count = other_findings(check)
    told += [_finding(finding, with_place=True) for finding in others]
    return [*told, markup.text(count)] if count else told


def _failure(failure: Failure, more: Iterable[tuple[str, str]] = ()) -> str:
    """What failed, and a table of what was expected, what was found, where, and what to try."""
    rows = (
        ("expected", failure.expected),
        ("found", failure.found),
        ("where", without_folders(failure.where)),
        ("try", failure.advice),
        *more,
    )
    return markup.bold(failure.what) + markup.rows((label, markup.value(label, text)) for label, text in rows if text)


def _race(check: CheckResult) -> list[str]:
    rows = [(label, markup.text(figures)) for label, figures in race_rows(check.measured)]
    return [markup.bold("measured") + markup.rows(rows)] if rows else []


# ---------------------------------------------------------------------- questions


def _question(check: CheckResult) -> str:
    sentence = markup.span("promise", markup.text(check.sentence))
    return f"{markup.marked(check.passed, check.name)}: {sentence}{_question_lines(check)}"


def _question_lines(check: CheckResult) -> str:
    if check.state is not State.JUDGED:
        return " " + markup.listed([markup.text(f"{check.state.value}: {check.reason}")])
    failure = check.failure
    if failure is None:
        return ""
    if failure.kind != "wrong-answer":
        return " " + markup.listed([_failure(failure)])
    answer = f"{markup.label('your answer')} {markup.code(failure.found)}"
    return " " + markup.listed([answer, *([markup.text(failure.advice)] if failure.advice else [])])


# ---------------------------------------------------------------------- findings


def _lines(lines: Sequence[str]) -> str:
    joined = "\n".join(lines)
    return f"<pre>{joined}</pre>" if joined else ""


def _finding(finding: Finding, *, with_place: bool = False) -> str:
    severity = finding.severity.value
    rows = (("where", str(finding.place) if with_place else ""), ("try", finding.advice))
    table = [(label, markup.value(label, text)) for label, text in rows if text]
    said = f"{markup.span(severity, markup.bold(severity))}: {markup.text(finding.what + finding.times)}"
    return said + (markup.rows(table) if table else "")


def _told_once(findings: Iterable[Finding]) -> list[Finding]:
    """Errors first, and of those that many checks met at one place the first."""
    order = list(Severity)
    told: dict[tuple[object, ...], Finding] = {}
    for finding in sorted(findings, key=lambda finding: order.index(finding.severity)):
        place = finding.place
        told.setdefault((finding.kind, finding.array, place.file, place.line, place.expression), finding)
    return list(told.values())


def _by_line(findings: Iterable[Finding], lines: int) -> tuple[dict[int, list[Finding]], list[Finding]]:
    """Findings by the line of kernels.py that they are at, and those that are at no such line."""
    at: dict[int, list[Finding]] = {}
    elsewhere: list[Finding] = []
    for finding in findings:
        place = finding.place
        here = place.file == KERNELS_FILE and 1 <= place.line <= lines
        (at.setdefault(place.line, []) if here else elsewhere).append(finding)
    return at, elsewhere
