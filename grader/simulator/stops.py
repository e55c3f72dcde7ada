"""What ends a launch before its threads have: its time, its depth of calls, somebody's Ctrl-C. Runs in the runner.

In: where a launch was, and what had been found by then. Out: exceptions that carry it to who launched.
"""

from __future__ import annotations

from grader.records import Finding, Place
from grader.simulator.configuration import Triple
from grader.simulator.printed import Printed

Threads = tuple[tuple[Triple, Triple], ...]


class StepLimit(Exception):
    """The launch used up its time; ``place`` is where it was, ``thread`` names one that was there.

    ``threads`` has that one's block and thread index. ``findings`` and ``printed`` are what had been found and printed
    by then, once that is known.
    """

    def __init__(self, place: Place, thread: str = "", threads: Threads = ()) -> None:
        super().__init__(str(place))
        self.place = place
        self.thread = thread
        self.threads = threads
        self.findings: tuple[Finding, ...] = ()
        self.printed = Printed()


class DepthLimit(StepLimit):
    """Too many calls inside each other."""


class Interrupted(KeyboardInterrupt):
    """Somebody has stopped a running launch, at ``place``, where ``thread`` was; ``findings`` as of StepLimit."""

    def __init__(self, place: Place, thread: str, findings: tuple[Finding, ...]) -> None:
        super().__init__()
        self.place = place
        self.thread = thread
        self.findings = findings
