"""What docs/author.md shows of a problem.py for races does what it says there."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
from checked_calls import PROBLEMS

from grader.problem import Problem
from grader.raced_problem import Looked, look_at

GUIDE = Path(__file__).parents[1] / "docs" / "author.md"


def test_the_guides_sample_and_smaller_leave_no_doubt_in_a_dry_run() -> None:
    (block,) = [
        b
        for b in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
        if "def sample" in b and "import" in b
    ]
    names: dict[str, Any] = {}
    exec(compile(block, str(GUIDE), "exec"), names)
    shown = {name: names["Saxpy"].__dict__[name] for name in ("sample", "smaller")}
    problem: Problem = type("Shown", (type(PROBLEMS["saxpy"]),), shown)()

    def look(n: int) -> Looked:
        recorded = problem.make_inputs(np.random.default_rng(1), n=n)
        return look_at(problem, {"n": n}, recorded, (), lambda what: np.random.default_rng([2, *what.encode()]))

    assert look(1 << 22) == Looked(outputs=1 << 22, sampled=names["LOOKED_AT"], steps=2)
    assert look(1000) == Looked(outputs=1000, sampled=1000, steps=0)
