"""Inputs of raced calls without their values, of which a launch plan needs none. Trusted process.

In: a call of a problem, and how its inputs are made. Out: arrays with shape and dtype, read-only, all zeros in the
memory of one. They are made once in a process, since inputs that are raced are large.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path

import numpy as np

from grader.problem import Inputs, Problem, by_author


class RacedShapes:
    """Those of one process, as long as problem.py stays as it is."""

    def __init__(self) -> None:
        self._made: dict[tuple[Path, int, str], Inputs] = {}  # by problem.py, its time of change, and the call

    def of(self, problem: Problem, call: str, make_inputs: Callable[[], Inputs]) -> Inputs:
        """The shapes of a call, which its text names. Raises AuthoringError where ``make_inputs`` fails."""
        file = Path(inspect.getfile(type(problem)))
        key = file, file.stat().st_mtime_ns, call
        if key not in self._made:
            self._made[key] = {
                name: np.broadcast_to(np.zeros((), value.dtype), value.shape)
                if isinstance(value, np.ndarray)
                else value
                for name, value in by_author(make_inputs).items()
            }
        return self._made[key]
