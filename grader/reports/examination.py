"""What compute-sanitizer and the simulator say of a submission's calls, for a terminal. Pure; trusted process.

In: an Examination, or all of them. Out: lines with their style; of findings the form that they have everywhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from grader.examinations import Examination, ToolReport
from grader.records import Failure, Finding, Severity
from grader.reports.text import failure_lines, one_line, wrapped

Line = tuple[str, str]  # text, style
STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.ADVICE: "cyan"}
MAX_FINDINGS = 6  # of one tool and call; errors come first
# What compute-sanitizer's two tools do not look for.
BEYOND = (
    "That alone is no fault of the simulator's: memcheck asks whether memory is anybody's, and not whose; racecheck "
    "knows shared memory only."
)


def examination_lines(examination: Examination, width: int) -> Iterator[Line]:
    """A call's name, and below it each tool with what it says."""
    yield one_line(examination.call), "bold"
    for report in examination.reports:
        yield from _report(report, width)
    yield "", ""


def _report(report: ToolReport, width: int) -> Iterator[Line]:
    nothing = "nothing" if not report.findings and not report.problem else ""
    yield f"  {report.tool}: {nothing}".rstrip(), "" if nothing else "bold"
    for text, style in ((report.problem, "yellow"), (report.note, "")):
        yield from ((line, style) for line in wrapped(text, width, "    ", "    ") if text)
    for finding in report.findings[:MAX_FINDINGS]:
        for number, line in enumerate(_finding(finding, width - 4)):
            yield f"    {line}".rstrip(), STYLES[finding.severity] if number == 0 else ""
    if len(report.findings) > MAX_FINDINGS:
        yield f"    and {len(report.findings) - MAX_FINDINGS} more", ""


def _finding(finding: Finding, width: int) -> list[str]:
    function = f"{finding.place.function}, at a line that is not known" if finding.place.function else ""
    where = str(finding.place) if finding.place.line else function
    what = f"{finding.severity.value}: {finding.what}{finding.times}"
    return failure_lines(Failure(finding.kind, what, where=where, advice=finding.advice), width)


def agreement(examinations: Sequence[Examination], width: int) -> Iterator[Line]:
    """In how many calls both found mistakes or none, and which calls only one of them has something against."""
    whole = [each for each in examinations if each.is_whole]
    both = sum(each.sanitizer_errs and each.simulator_errs for each in whole)
    neither = sum(not each.sanitizer_errs and not each.simulator_errs for each in whole)
    calls = "call" if len(examinations) == 1 else "calls"
    text = f"Of {len(examinations)} {calls}: both find mistakes in {both}, neither in {neither}."
    if len(whole) < len(examinations):
        text += f" {len(examinations) - len(whole)} could not be compared."
    yield from ((line, "bold") for line in wrapped(text, width, "", ""))
    only = [each.call for each in whole if each.sanitizer_errs and not each.simulator_errs]
    yield from _calls("Mistakes that only compute-sanitizer finds", only, "red", width)
    only = [each.call for each in whole if each.simulator_errs and not each.sanitizer_errs]
    yield from _calls("Mistakes that only the simulator finds", only, "", width)
    if only:
        yield from ((line, "") for line in wrapped(BEYOND, width, "", ""))


def _calls(title: str, calls: Sequence[str], style: str, width: int) -> Iterator[Line]:
    if calls:
        listed = ", ".join(map(one_line, calls))
        yield from ((line, style) for line in wrapped(f"{title}: {listed}.", width, "", "  "))
