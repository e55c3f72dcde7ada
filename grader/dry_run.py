"""A dry run of an author's own solution: what only a race on a GPU would carry out, as far as it goes without one.

Trusted process. In: a submission, problems, warm children. Out: what ``judge.Candidate`` says, but that ``race`` does
all that needs no GPU, and returns, so that a check goes on. For lint: nobody is judged by it. In its order of things
speed checks come last, when it is known which kernels other checks have launched.

Kernels are told apart by their names. So what it does not see is a path inside a kernel that only raced sizes take, nor
one of several kernels that a factory makes under one name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from grader.judge import SizedCall
from grader.known_outcomes import KnowingCandidate
from grader.plan import Launch, LaunchPlan
from grader.plan_functions import Function
from grader.raced_problem import Looked, look_at
from grader.records import Finding, Place, Severity
from grader.smaller_sizes import smallest_of
from grader.technique import Run

DryRunOf = Literal["problem", "kernels"]
DRY_RUN = "dry-run"  # the kind of its findings, which are warnings
# Figures of a check that raced.
RACES, OUTPUTS, SAMPLED, SMALLER = "dry_races", "dry_outputs", "dry_sampled", "dry_smaller_sizes"


@dataclass
class DryRun:
    """Of one submission, its first ``of`` problem.py as well.

    Of the "kernels" alone, a check goes on at the smallest sizes that ``smaller`` gives, as on a small GPU: what a fast
    kernel does at the raced sizes can take minutes to simulate.
    """

    of: DryRunOf
    checked: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)  # sizes, by entry point
    kernels: set[str] = field(default_factory=set)  # that some check has launched whose results are looked at
    looked: dict[str, Looked] = field(default_factory=dict)


@dataclass(eq=False, repr=False)
class DryCandidate(KnowingCandidate):
    """A Candidate for which a race ends without one. What is checked is recorded only: lint judges it elsewhere."""

    _dry_run: DryRun

    def check(self, entry: str | None = None, **sizes: Any) -> None:
        """Notes the sizes and the kernels. Raises CheckFailed where there is no plan."""
        self._note([(self._problem(entry), sizes)])

    def check_each(self, *calls: Mapping[str, Any]) -> None:
        """As ``check``, for each of the calls."""
        self._note(self._sized_calls(calls))

    def simulate(self, entry: str | None = None, *, blocks: int | None = None, **sizes: Any) -> Run:
        """See ``Candidate.simulate``."""
        if blocks is not None:
            return super().simulate(entry, blocks=blocks, **sizes)
        self._note([(self._problem(entry), sizes)])
        return super().simulate(entry, **sizes)

    def race(self, entry: str | None = None, **sizes: Any) -> dict[str, Any]:
        """Records the call, looks at all that problem.py says of it, and returns sizes, as if they had been raced.

        Raises CheckFailed where there is no plan, AuthoringError.
        """
        problem = self._problem(entry)
        self._add({RACES: 1})
        ((_, text, shapes, plan),) = self._record([(problem, sizes)], [self._raced_shapes(problem, sizes)])
        if self._dry_run.of == "problem":
            looked = self._dry_run.looked.get(text)
            if looked is None:
                checked = self._dry_run.checked.get(problem.entry, [])
                looked = look_at(problem, sizes, shapes, checked, lambda what: self._rng(f"{text} dry run {what}"))
                self._dry_run.looked[text] = looked
            self._add({OUTPUTS: looked.outputs, SAMPLED: looked.sampled, SMALLER: looked.steps})
            self.findings += [_warning(Place(0), doubt) for doubt in looked.doubts]
        unseen = {f.qualname: f.line for f in _launched(plan) if f.qualname not in self._dry_run.kernels}
        self.findings += [
            _warning(
                Place(line, function=kernel),
                f"{kernel} is raced, and launched by no check of results: what is wrong with it shows on a GPU only",
            )
            for kernel, line in unseen.items()
        ]
        return dict(sizes) if self._dry_run.of == "problem" else smallest_of(problem, sizes)

    def _note(self, calls: Sequence[SizedCall]) -> None:
        for (problem, sizes), (_, _, _, plan) in zip(calls, self._record(calls), strict=True):
            self._dry_run.checked.setdefault(problem.entry, []).append(sizes)
            self._dry_run.kernels |= {function.qualname for function in _launched(plan)}

    def _add(self, figures: Mapping[str, float]) -> None:
        for name, number in figures.items():
            self.measured[name] = self.measured.get(name, 0) + number


def _launched(plan: LaunchPlan) -> list[Function]:
    """The kernels of a plan."""
    return [plan.functions[operation.kernel] for operation in plan.operations if isinstance(operation, Launch)]


def _warning(place: Place, what: str) -> Finding:
    return Finding(DRY_RUN, Severity.WARNING, place, what)
