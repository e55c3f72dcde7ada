"""What several tools say of the calls that a submission was judged by. Any process may import it; data alone.

In: nothing. Out: frozen records. They are beside a verdict, never in one: nothing here costs or earns a point.
"""

from __future__ import annotations

from dataclasses import dataclass

from grader.records import Finding, Severity

# The tools of NVIDIA's compute-sanitizer that are run.
TOOLS = ("memcheck", "racecheck")
SIMULATOR = "simulator"


@dataclass(frozen=True)
class ToolReport:
    """What one tool says of one call.

    ``tool`` is one of ``TOOLS`` or ``SIMULATOR``. ``problem`` says why it saw the call only in part or not at all, ""
    where it saw all of it; ``note`` what a reader has to know of how it looked.
    """

    tool: str
    findings: tuple[Finding, ...] = ()
    problem: str = ""
    note: str = ""

    @property
    def has_errors(self) -> bool:
        """Whether it found a mistake."""
        return any(finding.severity is Severity.ERROR for finding in self.findings)


@dataclass(frozen=True)
class Examination:
    """What the tools say of one call, written as a student reads it: ``matmul(m=1, k=1, n=1)``."""

    call: str
    reports: tuple[ToolReport, ...]

    @property
    def sanitizer_errs(self) -> bool:
        """Whether compute-sanitizer found a mistake."""
        return any(report.has_errors for report in self.reports if report.tool in TOOLS)

    @property
    def simulator_errs(self) -> bool:
        """Whether the simulator found one."""
        return any(report.has_errors for report in self.reports if report.tool == SIMULATOR)

    @property
    def is_whole(self) -> bool:
        """Whether every tool saw all of the call, so that they can be held against each other."""
        return not any(report.problem for report in self.reports)
