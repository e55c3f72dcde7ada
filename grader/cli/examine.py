"""``grader check --sanitize``: what comes after the report. Trusted process.

In: the calls that checks judge. Out: on the terminal, call by call, what compute-sanitizer and the simulator say.
"""

from __future__ import annotations

from grader.cli.app import say, width
from grader.course import Assignment
from grader.gpu_models import DEFAULT
from grader.judging import warm_children
from grader.pytest_session import limits_of
from grader.reports.examination import agreement, examination_lines
from grader.reports.terminal import page
from grader.sanitizing import SeenCall, sanitizer


class Examiner:
    """Gathers ``calls``, then shows what tools say of them. Raises UsageError where they cannot be run here."""

    def __init__(self, assignment: Assignment) -> None:
        self.calls: list[SeenCall] = []
        self._limits = limits_of(assignment)
        self._sanitizer = sanitizer(warm_children(), DEFAULT, self._limits)

    def examine(self) -> None:
        """Print each call's page as soon as it is known; at the end, how far the tools agree."""
        head = f"compute-sanitizer {self._sanitizer.version} and the simulator, call by call; it changes no points"
        say(page, [("", ""), (head, "bold"), ("", "")])
        told = []
        for examination in self._sanitizer.examine(self.calls, warm_children(), DEFAULT, self._limits):
            told.append(examination)
            say(page, list(examination_lines(examination, width())))
        say(page, list(agreement(told, width())))
