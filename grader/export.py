"""Scores for other systems: rows to CSV, Canvas, Moodle, Gradescope and JUnit. Pure; trusted process.

In: one Row per student and assignment, from a gradebook or from verdicts. Out: the texts of files, by name. A score that
waits to be judged is blank, never 0: a system that has one keeps it. No cell is a formula for a spreadsheet, and hidden
checks show what a student may see of them.
"""

from __future__ import annotations

import csv
import io
import json
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from xml.etree import ElementTree as ET

from grader.course import Assignment, Late
from grader.gradebook import cell
from grader.late import penalty
from grader.records import PARTS, CheckResult, State, Verdict
from grader.reports.text import check_lines, clean, encodable
from grader.reports.view import for_student

# Columns and order of nbgrader's own CSV (nbgrader.plugins.CsvExportPlugin); ours follow them.
NBGRADER_COLUMNS = (
    *("assignment", "duedate", "timestamp", "student_id", "last_name", "first_name", "email"),
    *("raw_score", "late_submission_penalty", "score", "max_score"),
)
REPORT_WIDTH = 100  # columns of a report inside another system's page
_NO_FILE_NAME = frozenset('/\\:*?"<>|%')


@dataclass(frozen=True)
class Row:
    """A student's score in an assignment. ``raw`` is what was earned, ``penalty`` is off it for being late.

    ``parts`` maps each part of the assignment to its points, ``raw``, ``penalty`` and ``score`` are points too; None
    where they wait to be judged, and ``why`` says why. ``due`` and ``timestamp`` are dates as text, "" if unknown.
    ``checks`` are what a student may see, where that is known.
    """

    assignment: str
    student: str
    parts: Mapping[str, float | None]
    raw: float | None
    penalty: float | None
    score: float | None
    max_score: float
    first_name: str = ""
    last_name: str = ""
    email: str = ""
    due: str = ""
    timestamp: str = ""
    why: str = ""
    checks: tuple[CheckResult, ...] = ()
    part_points: Mapping[str, float] | None = None


Writer = Callable[[Sequence[Row]], Mapping[str, str]]


def rows_of(verdicts: Iterable[Verdict], assignment: Assignment, late: Late) -> tuple[Row, ...]:
    """The rows of an assignment's verdicts, the points off being those of today's policy."""
    rows = []
    for verdict in map(for_student, verdicts):
        off = None if verdict.total is None else penalty(late, verdict.late_seconds, verdict.total)
        rows.append(
            Row(
                assignment=verdict.assignment,
                student=verdict.student,
                parts={p.part: p.earned if p.judged == p.points else None for p in verdict.parts},
                raw=verdict.total,
                penalty=off,
                score=None if verdict.total is None or off is None else round(verdict.total - off, 2),
                max_score=verdict.points,
                due=assignment.due.isoformat() if assignment.due else "",
                timestamp=verdict.handed_in_at,
                why=verdict.summary,
                checks=verdict.checks,
                part_points={p.part: p.points for p in verdict.parts},
            )
        )
    return tuple(rows)


def with_checks(rows: Iterable[Row], verdicts: Iterable[Verdict]) -> tuple[Row, ...]:
    """``rows``, each with the checks of the verdict of its student and assignment, as far as a student may see them."""
    known = {(v.assignment, v.student): for_student(v).checks for v in verdicts}
    return tuple(replace(row, checks=known.get((row.assignment, row.student), row.checks)) for row in rows)


def csv_files(rows: Sequence[Row]) -> Mapping[str, str]:
    """``grades.csv``: nbgrader's columns, then each part and why the score is as it is."""
    parts = [part for part in PARTS if any(part in row.parts for row in rows)]
    table: list[list[object]] = [[*NBGRADER_COLUMNS, *parts, "why"]]
    for row in rows:
        names = (row.student, row.last_name, row.first_name, row.email)
        table.append(
            [
                *map(_text, (row.assignment, row.due, row.timestamp, *names)),
                *map(_points, (row.raw, row.penalty, row.score, row.max_score)),
                *(_points(row.parts.get(part)) for part in parts),
                _text(row.why),
            ]
        )
    return {"grades.csv": _csv(table)}


def canvas_files(rows: Sequence[Row]) -> Mapping[str, str]:
    """``canvas.csv`` for Canvas's "Import Grades": a line per student, a column per assignment, points possible first.

    Canvas finds students by "SIS Login ID" where "ID" is empty, and leaves a grade as it is where a cell is blank
    (Canvas Instructor Guide, "How do I import grades in the Gradebook?").
    """
    points = {row.assignment: row.max_score for row in rows}
    names = list(points)
    table: list[list[object]] = [["Student", "ID", "SIS User ID", "SIS Login ID", "Section", *map(_text, names)]]
    table.append(["    Points Possible", "", "", "", "", *(_points(points[name]) for name in names)])
    for student, found in _by_student(rows).items():
        one = next(iter(found.values()))
        shown = ", ".join(name for name in (one.last_name, one.first_name) if name) or student
        scores = (_points(found[name].score) if name in found else "" for name in names)
        table.append([_text(shown), "", "", _text(student), "", *scores])
    return {"canvas.csv": _csv(table)}


def moodle_files(rows: Sequence[Row]) -> Mapping[str, str]:
    """``moodle.csv`` for Moodle's "Import > CSV file": a line per student, a column of scores per assignment.

    Map "Username" or "Email address" to the user, the columns to grade items and feedback; a blank grade changes none.
    """
    names = list(dict.fromkeys(row.assignment for row in rows))
    scores = [column for name in names for column in (name, f"{name} (feedback)")]
    table: list[list[object]] = [["Username", "First name", "Last name", "Email address", *map(_text, scores)]]
    for student, found in _by_student(rows).items():
        one = next(iter(found.values()))
        line: list[object] = [*map(_text, (student, one.first_name, one.last_name, one.email))]
        for name in names:
            row = found.get(name)
            line += [_points(row.score), _text(row.why)] if row is not None else ["", ""]
        table.append(line)
    return {"moodle.csv": _csv(table)}


def gradescope_files(rows: Sequence[Row]) -> Mapping[str, str]:
    """``<assignment>/<student>/results.json``, as an autograder of Gradescope leaves one for each submission.

    Keys and levels are those of gradescope-autograders.readthedocs.io, "Autograder Specifications". There, a result must
    have a score; who has none yet has no file. Hidden checks are ``after_published``.
    """
    files = {}
    for row in rows:
        if row.score is not None:
            document = {
                "score": row.score,
                "output": clean(row.why),
                "output_format": "text",
                "test_output_format": "text",
                "test_name_format": "text",
                "visibility": "visible",
                "stdout_visibility": "hidden",
                "tests": _gradescope_tests(row),
                "extra_data": {"raw_score": row.raw, "late_submission_penalty": row.penalty},
            }
            text = json.dumps(document, ensure_ascii=False, indent=1, allow_nan=False)
            files[f"{_file_name(row.assignment)}/{_file_name(row.student)}/results.json"] = encodable(text) + "\n"
    return files


def _gradescope_tests(row: Row) -> list[dict[str, object]]:
    if not row.checks:
        return [
            {
                "name": part,
                "visibility": "visible",
                **({} if points is None else {"score": points}),
                **_maximum(row, part),
            }
            for part, points in row.parts.items()
        ]
    # Points are the parts': a check's share of them would be a second set of numbers that has to add up.
    return [
        {
            "name": clean(check.sentence or check.name),
            "number": f"{number}",
            "output": _report(check),
            "output_format": "text",
            "tags": [check.part],
            "visibility": "after_published" if check.hidden else "visible",
            **({} if check.passed is None else {"status": "passed" if check.passed else "failed"}),
        }
        for number, check in enumerate(row.checks, 1)
    ]


def _maximum(row: Row, part: str) -> dict[str, object]:
    return {"max_score": row.part_points[part]} if row.part_points and part in row.part_points else {}


def junit_files(rows: Sequence[Row]) -> Mapping[str, str]:
    """``junit.xml``: a suite per student and assignment, a case per check, or per part where checks are not known.

    What was not judged is an error, what was not measured is skipped, by the usual schema of JUnit's XML.
    """
    root = ET.Element("testsuites", name="grader")
    for row in rows:
        cases = [_check_case(check) for check in row.checks] or [
            _case(part, part, "skipped" if points is None else "", row.why) for part, points in row.parts.items()
        ]
        counts = {kind: sum(case.find(tag) is not None for case in cases) for kind, tag in _JUNIT_COUNTS.items()}
        name = _xml(f"{row.assignment}/{row.student}")
        suite = ET.SubElement(
            root, "testsuite", name=name, tests=str(len(cases)), **{key: str(count) for key, count in counts.items()}
        )
        if row.timestamp:
            suite.set("timestamp", _xml(row.timestamp))
        properties = ET.SubElement(suite, "properties")
        for key, value in (("score", row.score), ("max_score", row.max_score), ("penalty", row.penalty)):
            ET.SubElement(properties, "property", name=key, value=_points(value))
        ET.SubElement(properties, "property", name="why", value=_xml(row.why))
        suite.extend(cases)
    ET.indent(root, " ")
    return {"junit.xml": '<?xml version="1.0" encoding="utf-8"?>\n' + ET.tostring(root, encoding="unicode") + "\n"}


_JUNIT_COUNTS = {"failures": "failure", "errors": "error", "skipped": "skipped"}


def _check_case(check: CheckResult) -> ET.Element:
    kind = {State.NOT_JUDGED: "error", State.NOT_MEASURED: "skipped"}.get(check.state, "")
    if not kind and not check.passed:
        kind = "failure"
    message = check.failure.what if check.failure is not None else check.reason
    case = _case(check.part, check.sentence if check.hidden else check.name, kind, message, _report(check))
    case.set("time", f"{check.seconds:.3f}")
    return case


def _case(group: str, name: str, kind: str, message: str, text: str = "") -> ET.Element:
    case = ET.Element("testcase", classname=_xml(group), name=_xml(name))
    if kind:
        ET.SubElement(case, kind, message=_xml(message)).text = _xml(text) or None
    return case


def _report(check: CheckResult) -> str:
    return "\n".join(check_lines(check, REPORT_WIDTH)) or clean(check.reason)


WRITERS: Mapping[str, Writer] = {
    "csv": csv_files,
    "canvas": canvas_files,
    "moodle": moodle_files,
    "gradescope": gradescope_files,
    "junit": junit_files,
}


def _by_student(rows: Iterable[Row]) -> dict[str, dict[str, Row]]:
    found: dict[str, dict[str, Row]] = {}
    for row in rows:
        found.setdefault(row.student, {})[row.assignment] = row
    return found


def _text(text: str) -> str:
    return encodable(cell(text, len(text)))  # not cut: it may be a key


def _points(points: float | None) -> str:
    return "" if points is None else str(round(float(points), 2))


def _csv(table: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(table)
    return text.getvalue()


def _xml(text: str) -> str:
    """``clean`` text: what XML 1.0 cannot hold is among the characters that a terminal obeys, but for two."""
    return encodable(clean(text)).replace("\ufffe", "").replace("\uffff", "")


def _file_name(name: str) -> str:
    """``name`` as the name of one file on any system; different names stay different."""
    unsafe = {c for c in name if c in _NO_FILE_NAME or unicodedata.category(c)[0] == "C"}
    if name.strip(". ") == "" or name[0] == "." or name[-1] in ". ":
        unsafe |= {".", " "}
    return "".join(_percent(c) if c in unsafe else c for c in name) or "%"


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
