"""The wall around what compiles and runs kernels, on a machine with a GPU: CUDA works behind each that there is."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.assignment_folder import open_folder
from grader.children import Children
from grader.judge import Candidate, Settings
from grader.judged_race import Terms
from grader.sandbox import wall_of_child
from grader.sandbox.levels import LEVELS, SandboxLevel, reaches
from grader.sandbox.limits import Limits
from grader.sandbox.wall_of_child import RUNNER, offer_to
from grader.sandbox.walls import VARIABLE, offer
from grader.submission import read_submission

SOLUTION = Path(__file__).parents[2] / "solutions/01"


def test_no_weaker_than_the_recorder_s(gpu: Children) -> None:
    assert offer_to(RUNNER) == offer()
    assert gpu.runner.zygote is not None
    assert gpu.runner.zygote.wall.level == offer().level


@pytest.mark.parametrize("level", LEVELS)
def test_checks_prints_and_races_at_each_level(
    gpu: Children, monkeypatch: pytest.MonkeyPatch, level: SandboxLevel
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    if not reaches(offer().level, level):
        pytest.skip(f"not run: {'; '.join(offer().missing)}")
    monkeypatch.setenv(VARIABLE, level)
    wall = wall_of_child._wall(RUNNER, level)
    assert wall_of_child._why_no_cuda(wall) == ""
    opened = open_folder(SOLUTION)
    limits = Limits(cpu_seconds=30, wall_seconds=60, memory_bytes=opened.assignment.limits.memory)
    submission = read_submission(SOLUTION)
    terms = Terms(min_speedup=3, full_at=0.5, baseline_threads=4, reference=submission, limits=limits)
    with Children() as children:
        candidate = Candidate(submission, opened.problems, children, Settings("cuda", limits, 5, race=terms))
        candidate.check("vector_add", n=100_003)
        candidate.race("vector_add", n=1 << 22)
        assert candidate.measured["credit"] == 1
        assert children.runner.zygote is not None
        assert children.runner.zygote.wall.level == level
