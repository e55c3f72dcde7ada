"""Collects findings of a launch. Runs in the runner.

In: what is seen, as often as it is seen. Out: ``Finding`` records, the same thing at the same place once, with a count.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from grader.records import Finding, Place, Severity

MAX_FINDINGS = 200


class Findings:
    """Findings in the order in which they were first seen."""

    def __init__(self) -> None:
        self._found: dict[tuple[str, str, int, str], Finding] = {}

    def add(
        self,
        kind: str,
        severity: Severity,
        place: Place,
        what: str,
        advice: str = "",
        *,
        array: str = "",
        threads: tuple[Any, ...] = (),
        count: int = 1,
    ) -> None:
        """Note a finding, or that it was seen again; of two severities the worse one is told."""
        key = (kind, place.file, place.line, array)
        known = self._found.get(key)
        if known is not None and list(Severity).index(severity) < list(Severity).index(known.severity):
            self._found[key] = Finding(kind, severity, place, what, advice, array, threads, known.count + count)
        elif known is not None:
            self._found[key] = replace(known, count=known.count + count)
        elif len(self._found) < MAX_FINDINGS:
            self._found[key] = Finding(kind, severity, place, what, advice, array, threads, count)

    def all(self) -> tuple[Finding, ...]:
        """Everything found so far. A race says all that is to be said of equal values at its line."""
        races = {(file, line, array) for kind, file, line, array in self._found if kind == "race"}
        return tuple(
            finding
            for (kind, *where), finding in self._found.items()
            if kind != "same-value-writes" or tuple(where) not in races
        )
