"""The problems of assignments 01 to 04, and every call that their checks make of them.

The checks are run with a submission that only writes down what it is asked, so a size that is added to a check
is added to the tests of its tolerance, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.assignment_folder import import_by_path
from grader.problem import Problem, problems_of

SOLUTIONS = Path(__file__).parents[1] / "solutions"
NAMES = ("01", "02", "03", "04")
PROBLEMS: dict[str, Problem] = {
    entry: problem
    for name in NAMES
    for entry, problem in problems_of(import_by_path(SOLUTIONS / name / "problem.py")).items()
}
# These ask for special values, where precision is not the point.
SPECIAL = ("special", "values", "logits", "saturated")


class AnyRun:
    """Stands in for the counters of a call: every requirement is met, as long as it gives advice."""

    def require(self, counter: str, **bounds: Any) -> None:
        assert bounds.get("advice")

    def __getattr__(self, counter: str) -> float:
        return 1.0


@dataclass
class Scribe:
    """Stands in for ``submission`` and writes down the calls of each check."""

    entry: str  # of an assignment with one problem
    groups: list[list[tuple[str, dict[str, Any]]]] = field(default_factory=list)
    races: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    def check(self, entry: str | None = None, **sizes: Any) -> None:
        self.groups.append([(entry or self.entry, sizes)])

    def check_each(self, *calls: Mapping[str, Any]) -> None:
        self.groups.append([(c.get("entry", self.entry), {k: v for k, v in c.items() if k != "entry"}) for c in calls])

    def simulate(self, entry: str | None = None, *, blocks: int | None = None, **sizes: Any) -> AnyRun:
        if blocks is None:  # a sample's results are not looked at
            self.check(entry, **sizes)
        return AnyRun()

    def race(self, entry: str | None = None, **sizes: Any) -> dict[str, Any]:
        self.races.append((entry or self.entry, sizes))
        return sizes


def _scribe(name: str) -> Scribe:
    """All calls of an assignment's public and hidden checks."""
    scribe = Scribe(next(iter(problems_of(import_by_path(SOLUTIONS / name / "problem.py")))))
    for file in ("test_public.py", "test_hidden.py"):
        module = import_by_path(SOLUTIONS / name / file)
        for check in (value for key, value in vars(module).items() if key.startswith("test_")):
            for arguments in _arguments(check):
                check(scribe, **arguments)
    return scribe


def _arguments(check: Callable[..., None]) -> Iterator[dict[str, Any]]:
    marks = [mark for mark in check.pytestmark if mark.name == "parametrize"]  # type: ignore[attr-defined]
    for values in itertools.product(*(mark.args[1] for mark in marks)):
        arguments: dict[str, Any] = {}
        for mark, value in zip(marks, values, strict=True):
            names = mark.args[0]
            arguments |= {names: value} if isinstance(names, str) else dict(zip(names, value, strict=True))
        yield arguments


SCRIBES = {name: _scribe(name) for name in NAMES}
CALLS = [call for scribe in SCRIBES.values() for group in scribe.groups for call in group]
RACES = [call for scribe in SCRIBES.values() for call in scribe.races]


def unique(calls: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    """Each different call once, as a parameter of a test."""
    texts = {f"{entry}-{','.join(f'{k}={v}' for k, v in sizes.items())}": (entry, sizes) for entry, sizes in calls}
    return [pytest.param(*call, id=text) for text, call in texts.items()]


ORDINARY = unique([(entry, sizes) for entry, sizes in CALLS if not any(word in sizes for word in SPECIAL)])


def inputs_of(entry: str, sizes: Mapping[str, Any], seed: int) -> dict[str, Any]:
    """The inputs that a seed draws for a call."""
    return PROBLEMS[entry].make_inputs(np.random.default_rng(seed), **sizes)
