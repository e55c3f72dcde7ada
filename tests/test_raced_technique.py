"""What a speed check asks of the launches that were raced, besides their time: both references meet it at these sizes.

The race itself needs a GPU; what comes after it, some blocks on the simulator, does not.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from checked_calls import NAMES, SOLUTIONS

from grader.assignment_folder import import_by_path, open_folder
from grader.children import Children
from grader.judge import Candidate, NotMeasured, Settings
from grader.sandbox.limits import Limits
from grader.submission import read_submission
from grader.technique import Run

SPEED_CHECKS = [
    (name, check)
    for name in NAMES
    for check, function in vars(import_by_path(SOLUTIONS / name / "test_public.py")).items()
    if check.startswith("test_") and any(mark.args == ("speed",) for mark in function.pytestmark)
]


class WithoutRace:
    """A submission that is taken to have been raced."""

    def __init__(self, candidate: Candidate) -> None:
        self.simulated = 0
        self._candidate = candidate

    def race(self, entry: str | None = None, **sizes: Any) -> dict[str, Any]:
        self.simulated = 0
        return sizes

    def simulate(self, *arguments: Any, **sizes: Any) -> Run:
        self.simulated += 1
        return self._candidate.simulate(*arguments, **sizes)


@pytest.fixture(scope="module")
def children() -> Iterator[Children]:
    with Children() as made:
        yield made


@pytest.fixture
def raced(children: Children, tmp_path: Path) -> Callable[[str, Path], WithoutRace]:
    """``raced("03", path)`` is that file as a submission to assignment 03."""

    def make(name: str, file: Path) -> WithoutRace:
        shutil.copy(file, tmp_path / "kernels.py")
        settings = Settings(device="simulated", seed=11, limits=Limits(cpu_seconds=60, memory_bytes=4 << 30))
        problems = open_folder(SOLUTIONS / name).problems
        return WithoutRace(Candidate(read_submission(tmp_path), problems, children, settings))

    return make


@pytest.mark.parametrize("file", ["kernels.py", "fast.py"])
@pytest.mark.parametrize(("name", "check"), SPEED_CHECKS)
def test_the_references_use_the_technique_where_they_are_raced(raced, name, check, file):
    submission = raced(name, SOLUTIONS / name / file)
    getattr(import_by_path(SOLUTIONS / name / "test_public.py"), check)(submission)
    assert submission.simulated == 1


# Counters of some blocks are estimates: whoever misses the technique by them waits for a person.
WITHOUT = [
    ("01", "test_saxpy_speed", "saxpy_in_chunks"),
    ("02", "test_sum_speed", "sum_in_global_memory"),
    ("03", "test_matmul_speed", "no_tiles"),
    ("04", "test_softmax_speed", "softmax_one_thread_per_row"),
]


@pytest.mark.parametrize(("name", "check", "mutant"), WITHOUT)
def test_what_misses_the_technique_does_not_earn_the_points_of_speed(raced, name, check, mutant):
    submission = raced(name, SOLUTIONS / name / "wrong" / f"{mutant}.py")
    with pytest.raises(NotMeasured, match=r"too (many|few)"):
        getattr(import_by_path(SOLUTIONS / name / "test_public.py"), check)(submission)
