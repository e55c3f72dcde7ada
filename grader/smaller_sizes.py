"""The sizes that a problem gives for GPUs with less memory, and calls of these sizes. Trusted process.

In: a problem, the sizes of a race, random numbers. Out: smaller sizes with their inputs, or AuthoringError.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from grader.errors import AuthoringError
from grader.problem import Inputs, Output, Problem, by_author
from grader.problem_calls import sample_of, smaller_of, work_of
from grader.sample_draws import RngOf

MAX_STEPS = 64
# After so long, inputs of further steps are not made.
SECONDS = 3.0


def smallest_of(problem: Problem, sizes: Mapping[str, Any]) -> dict[str, Any]:
    """The sizes of the last step that ``smaller`` gives. Raises AuthoringError where it gives too many."""
    smallest = dict(sizes)
    for smaller in _steps(problem, sizes):
        smallest = smaller
    return smallest


def _steps(problem: Problem, sizes: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """What ``smaller`` gives, one after another, down to None. Raises AuthoringError."""
    found = smaller_of(problem, sizes)
    for _ in range(MAX_STEPS):
        if found is None:
            return
        yield found
        found = smaller_of(problem, found)
    raise AuthoringError(
        f"problem.py: smaller of {problem.entry} takes more than {MAX_STEPS} steps from {dict(sizes)!r} to None; "
        "halve what there is"
    )


def smaller_calls(
    problem: Problem, sizes: Mapping[str, Any], inputs: Inputs, rng_of: RngOf
) -> Iterator[tuple[dict[str, Any], Inputs | None]]:
    """Step by step the sizes that ``smaller`` gives, down to None, with their inputs where these are quickly made.

    Raises AuthoringError where it goes on for ever, or a step is no such call or needs no less memory.
    """
    before, kinds = _bytes(inputs), {name: _kind(value) for name, value in inputs.items()}
    deadline = time.monotonic() + SECONDS
    for step, now in enumerate(_steps(problem, sizes)):
        made, rng = None, rng_of(f"smaller {step}")
        if time.monotonic() < deadline:
            with at_sizes(problem, now):
                made = inputs_of(problem, now, rng)
            if {name: _kind(value) for name, value in made.items()} != kinds or _bytes(made) >= before:
                raise AuthoringError(
                    f"problem.py: smaller of {problem.entry} gives {now!r}, for which make_inputs makes "
                    f"{_bytes(made):,} bytes ({_said(made)}); expected less than {before:,} ({_said(inputs)})"
                )
            before = _bytes(made)
            with at_sizes(problem, now):
                work_of(problem, made)
                sample_of(problem, made, rng)
        yield now, made


@contextlib.contextmanager
def at_sizes(problem: Problem, sizes: Mapping[str, Any]) -> Iterator[None]:
    """Says of an AuthoringError at which sizes it was, which are not those of the race."""
    try:
        yield
    except AuthoringError as error:
        raise AuthoringError(f"{error}, at {call_of(problem, sizes)}") from error


def call_of(problem: Problem, sizes: Mapping[str, Any]) -> str:
    """A call as a reader knows it."""
    return f"{problem.entry}({', '.join(f'{name}={size}' for name, size in sizes.items())})"


def inputs_of(problem: Problem, sizes: Mapping[str, Any], rng: np.random.Generator) -> Inputs:
    """``make_inputs``. Raises AuthoringError for what it raises."""
    return by_author(lambda: problem.make_inputs(rng, **sizes))


def _kind(value: Any) -> tuple[object, ...]:
    """What arguments have in common, whatever the sizes."""
    if isinstance(value, Output):
        return Output, np.dtype(value.dtype), len(value.shape)
    return (type(value), value.dtype, value.ndim) if isinstance(value, np.ndarray | np.generic) else (type(value),)


def _said(inputs: Inputs) -> str:
    kinds = []
    for name, value in inputs.items():
        array = isinstance(value, np.ndarray | Output)
        kinds.append(
            f"{name}: {np.dtype(value.dtype)}, {len(value.shape)} axes"  # type: ignore[union-attr]
            if array
            else f"{name}: {type(value).__name__}"
        )
    return "; ".join(kinds)


def _bytes(inputs: Inputs) -> int:
    """All arrays of a call."""
    total = 0
    for value in inputs.values():
        if isinstance(value, Output):
            total += math.prod(value.shape) * np.dtype(value.dtype).itemsize
        elif isinstance(value, np.ndarray):
            total += value.nbytes
    return total
