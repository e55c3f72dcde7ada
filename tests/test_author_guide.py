"""What docs/author.md shows of a problem.py for races does what it says there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from checked_calls import PROBLEMS

from grader.problem import Problem, Work
from grader.raced_problem import Looked, look_at

GUIDE = Path(__file__).parents[1] / "docs" / "author.md"


def shown_with(word: str) -> dict[str, Any]:
    """The names that the guide's one complete block with ``word`` in it defines."""
    blocks = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    (block,) = [block for block in blocks if word in block and "import" in block]
    names: dict[str, Any] = {}
    exec(compile(block, str(GUIDE), "exec"), names)
    return names


def test_the_guides_problem_is_complete_and_right() -> None:
    names = shown_with("def make_inputs")
    problem: Problem = names["Saxpy"]()
    recorded = problem.make_inputs(np.random.default_rng(1), n=1000)
    look = look_at(problem, {"n": 1000}, recorded, (), lambda what: np.random.default_rng([2, *what.encode()]))
    assert look.outputs == 1000
    inputs = {**recorded, **problem.make_inputs(np.random.default_rng(3), n=1000)}
    expected, tolerance = problem.expected(inputs), problem.tolerance(inputs, problem.expected(inputs))
    assert np.all(np.abs(problem.baseline(inputs)["out"] - expected["out"]) <= tolerance["out"])
    coarse = (inputs["alpha"] * inputs["x"]).astype(np.float16) + inputs["y"].astype(np.float16)
    assert np.any(np.abs(coarse - expected["out"]) > tolerance["out"])  # float16 does not pass
    assert problem.work(inputs) == Work(bytes=12_000, operations=2000)


def test_the_guides_sample_and_smaller_leave_no_doubt_in_a_dry_run() -> None:
    names = shown_with("def sample")
    shown = {name: names["Saxpy"].__dict__[name] for name in ("sample", "smaller")}
    problem: Problem = type("Shown", (type(PROBLEMS["saxpy"]),), shown)()

    def look(n: int) -> Looked:
        recorded = problem.make_inputs(np.random.default_rng(1), n=n)
        return look_at(problem, {"n": n}, recorded, (), lambda what: np.random.default_rng([2, *what.encode()]))

    assert look(1 << 22) == Looked(outputs=1 << 22, sampled=names["LOOKED_AT"], steps=2)
    assert look(1000) == Looked(outputs=1000, sampled=1000, steps=0)
