"""A tiny assignment of one problem, and a bench that judges a text as its kernels.py."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grader.children import Children
from grader.judge import Candidate, Settings
from grader.problem import Output, Problem, Work
from grader.sandbox.limits import Limits
from grader.submission import read_submission

PRELUDE = "from numba import cuda, float32\nimport math\nimport numpy as np\n"


class Scale(Problem):
    """out = factor * x + shift, with shift 1 where ``bumped``."""

    entry = "scale"

    def make_inputs(self, rng, n, bumped=False):
        return {
            "x": rng.standard_normal(n).astype(np.float32),
            "factor": np.float32(rng.uniform(1, 2)),
            "out": Output((n,), np.float32),
            "bumped": bool(bumped),
        }

    def expected(self, inputs):
        return {"out": inputs["factor"].astype(np.float64) * inputs["x"] + (1.0 if inputs["bumped"] else 0.0)}

    def baseline(self, inputs):
        return {"out": inputs["factor"] * inputs["x"] + np.float32(inputs["bumped"])}

    def tolerance(self, inputs, expected):
        return {"out": 2.0**-22 * np.abs(expected["out"]) + 2.0**-23}

    def work(self, inputs):
        return Work(8 * inputs["x"].size, 2 * inputs["x"].size)


class Halve(Problem):
    """out = x // 2 for int32."""

    entry = "halve"

    def make_inputs(self, rng, n):
        return {"x": rng.integers(-1000, 1000, n).astype(np.int32), "out": Output((n,), np.int32)}

    def expected(self, inputs):
        return {"out": inputs["x"] // 2}

    def baseline(self, inputs):
        return {"out": inputs["x"] // 2}

    def tolerance(self, inputs, expected):
        return {"out": np.zeros(1)}

    def work(self, inputs):
        return Work(8 * inputs["x"].size, inputs["x"].size)


class Copy(Problem):
    """out = x."""

    entry = "copy"

    def make_inputs(self, rng, n):
        return {"x": rng.standard_normal(n).astype(np.float32), "out": Output((n,), np.float32)}

    def expected(self, inputs):
        return {"out": inputs["x"]}

    def baseline(self, inputs):
        return {"out": inputs["x"].copy()}

    def tolerance(self, inputs, expected):
        return {"out": np.zeros(1)}

    def work(self, inputs):
        return Work(8 * inputs["x"].size, 0)


PROBLEMS = {"scale": Scale(), "halve": Halve(), "copy": Copy()}


@pytest.fixture(scope="session")
def children() -> Iterator[Children]:
    with Children() as made:
        yield made


@pytest.fixture
def candidate(children: Children, tmp_path: Path) -> Callable[..., Candidate]:
    """``candidate(text)`` is the Candidate of a kernels.py with that text (bytes are written as they are)."""

    def make(text: str | bytes | None, **settings: Any) -> Candidate:
        if isinstance(text, str):
            (tmp_path / "kernels.py").write_text(PRELUDE + textwrap.dedent(text), encoding="utf-8")
        elif text is not None:
            (tmp_path / "kernels.py").write_bytes(text)
        given = {"device": "simulated", "seed": 5, "limits": Limits(cpu_seconds=5, memory_bytes=1 << 30)} | settings
        return Candidate(read_submission(tmp_path), PROBLEMS, children, Settings(**given))

    return make
