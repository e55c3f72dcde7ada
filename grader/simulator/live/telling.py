"""Who is told of launches, and of what is found out about them later. Runs in anybody's own process.

In: launches that have been made, findings about copies. Out: ``LaunchTrace`` records in the lists of those who trace. A
record cannot be changed, so a launch of which more is known has another in its place.
"""

from __future__ import annotations

from dataclasses import replace

from grader.records import Finding, Severity
from grader.simulator.streams import Operation
from grader.traces import LaunchTrace


class Telling:
    """The lists of those who trace. An operation's ``trace`` is the newest record of its launch."""

    def __init__(self) -> None:
        self.traces: list[list[LaunchTrace]] = []
        self._last: Operation | None = None
        self._untold: list[Finding] = []  # about what came before the first launch, or comes with the next one

    def tell(self, trace: LaunchTrace, operation: Operation | None = None) -> None:
        """Tell of a launch; ``operation`` is None for one that did not take place."""
        for finding in self._untold:
            trace = _with(trace, finding)
        self._untold.clear()
        for traced in self.traces:
            traced.append(trace)
        if operation is not None:
            operation.trace = trace
            self._last = operation

    def add_to_next(self, finding: Finding) -> None:
        """Add a finding to the next launch that is told of."""
        if self.traces:
            self._untold.append(finding)

    def add_to(self, operation: Operation | None, finding: Finding) -> None:
        """Add a finding to a launch that has been told of; if it is none, to the last one, or else the next one.

        The same at the same place is added once. A warning takes the place of advice on the same thing.
        """
        if operation is None:
            operation = self._last
            if operation is None or not self._is_told(operation):
                self.add_to_next(finding)
                return
        told = operation.trace
        if told is None:
            return
        operation.trace = _with(told, finding)
        for traced in self.traces:
            traced[:] = [operation.trace if each is told else each for each in traced]

    def _is_told(self, operation: Operation) -> bool:
        return any(each is operation.trace for traced in self.traces for each in traced[-1:])


def _with(told: LaunchTrace, finding: Finding) -> LaunchTrace:
    alike = [each for each in told.findings if (each.kind, each.array) == (finding.kind, finding.array)]
    if any(each.place == finding.place for each in alike if each.severity is not Severity.ADVICE):
        return told
    others = (each for each in told.findings if each not in alike or each.severity is not Severity.ADVICE)
    return replace(told, findings=(*others, finding))
