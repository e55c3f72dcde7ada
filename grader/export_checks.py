"""Scores with their checks: Gradescope's results.json and JUnit's XML. Pure; trusted process.

In: Rows, whose checks show what a student may see. Out: the texts of files, by name.
"""

from __future__ import annotations

import json
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from xml.etree import ElementTree as ET

from grader.export_row import Row, points_text
from grader.records import CheckResult, State
from grader.reports.text import check_lines, clean, encodable
from grader.reports.view import without_folders

REPORT_WIDTH = 100  # columns of a report inside another system's page
_NO_FILE_NAME = frozenset('/\\:*?"<>|%')


def gradescope_files(rows: Sequence[Row]) -> Mapping[str, str]:
    """``<assignment>/<student>/results.json``, as an autograder of Gradescope leaves one for each submission.

    Keys and levels are those of gradescope-autograders.readthedocs.io, "Autograder Specifications". There, a
    result must have a score; who has none yet has no file. The score at the top overrides those of tests. Hidden
    checks are ``after_published``, not ``hidden``, which is for tests that earn nothing: with such tests in it, a
    total is shown to students when grades are published.
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
            "name": clean(name),
            "number": f"{number}",
            "output": _report(check),
            "output_format": "text",
            "tags": [check.part],
            "visibility": "after_published" if check.hidden else "visible",
            **({} if check.passed is None else {"status": "passed" if check.passed else "failed"}),
        }
        for number, (check, name) in enumerate(zip(row.checks, _names(row.checks), strict=True), 1)
    ]


def _names(checks: Sequence[CheckResult]) -> list[str]:
    """What each check promises; where several promise the same, which case it is: of a hidden one no more than that."""
    promises = [check.sentence or check.name for check in checks]
    of, met = Counter(promises), Counter[str]()
    names = []
    for check, promise in zip(checks, promises, strict=True):
        met[promise] += 1
        _, opened, case = check.name.partition("[")
        told = f"[{case}" if opened and not check.hidden else f"({met[promise]} of {of[promise]})"
        names.append(promise if of[promise] == 1 else f"{promise} {told}")
    return names


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
        attributes = {"name": name, "tests": str(len(cases)), **{key: str(count) for key, count in counts.items()}}
        suite = ET.SubElement(root, "testsuite", attributes)
        if row.timestamp:
            suite.set("timestamp", _xml(row.timestamp))
        properties = ET.SubElement(suite, "properties")
        for key, value in (("score", row.score), ("max_score", row.max_score), ("penalty", row.penalty)):
            ET.SubElement(properties, "property", name=key, value=points_text(value))
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
    if check.failure is not None:
        check = replace(check, failure=replace(check.failure, where=without_folders(check.failure.where)))
    return "\n".join(check_lines(check, REPORT_WIDTH)) or clean(check.reason)


def _xml(text: str) -> str:
    """``clean`` text: all that XML 1.0 cannot hold is among the characters that a terminal obeys, or that are none."""
    return encodable(clean(text))


def _file_name(name: str) -> str:
    """``name`` as the name of one file on any system; different names stay different."""
    unsafe = {c for c in name if c in _NO_FILE_NAME or unicodedata.category(c)[0] == "C"}
    if name.strip(". ") == "" or name[0] == "." or name[-1] in ". ":
        unsafe |= {".", " "}
    return "".join(_percent(c) if c in unsafe else c for c in name) or "%"


def _percent(character: str) -> str:
    return "".join(f"%{byte:02X}" for byte in character.encode("utf-8", "surrogatepass"))
