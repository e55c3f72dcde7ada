"""Does a problem's sample look everywhere, and each time somewhere else? Trusted process.

In: a problem, inputs of a race, random numbers. Out: nothing, or AuthoringError. Draws are taken to be independent, so
a part of an output that none of many reaches is one that a kernel may leave out. Parts are an eighth of an axis each,
or larger ones where draws are slow.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from grader.errors import AuthoringError
from grader.problem import Inputs, Output, Problem
from grader.problem_calls import outputs_of, sample_of

# Each axis of an output has so many equal parts; in so many draws, one that could be drawn is missed once in a billion.
PARTS = 8
DRAWS = 180
UNLIKELY = 1e-9
# So many draws are compared with each other, and are made however long they take.
COMPARED = 3
SECONDS = 2.0

Coordinates = tuple[npt.NDArray[np.int64], ...]
RngOf = Callable[[str], np.random.Generator]


def require_draws(problem: Problem, inputs: Inputs, rng_of: RngOf) -> None:
    """Draws look at other places each, and together in all parts of each axis of each output. Raises AuthoringError."""
    outputs = outputs_of(inputs)
    hits = {name: [np.zeros(PARTS, bool) for _ in output.shape] for name, output in outputs.items()}
    indices = {name: _indices(output) for name, output in outputs.items()}
    first: dict[str, npt.NDArray[np.int64]] = {}
    same = set(outputs)
    deadline = time.monotonic() + SECONDS
    draws = 0
    while draws < DRAWS and (draws < COMPARED or time.monotonic() < deadline):
        sample = sample_of(problem, inputs, rng_of(f"draw {draws}"))
        if sample is None:
            raise AuthoringError(f"problem.py: sample of {problem.entry} gives a Sample and, another time, None")
        for name, output in outputs.items():
            places = tuple(np.ravel(of_axis[sample.places[name]]) for of_axis in indices[name])
            for axis, at in enumerate(places):
                hits[name][axis][at * PARTS // output.shape[axis]] = True
            if name in same and draws < COMPARED:
                flat = np.unique(np.ravel_multi_index(places, tuple(output.shape))) if places else np.zeros(1, np.int64)
                if flat.size == math.prod(output.shape) or not np.array_equal(first.setdefault(name, flat), flat):
                    same.discard(name)
        draws += 1
        missed = {name: _missed(output, hits[name], PARTS) for name, output in outputs.items()}
        if draws >= COMPARED and not any(missed.values()):
            break
    if same:
        raise AuthoringError(
            f"problem.py: sample of {problem.entry} looks at the same places of {', '.join(sorted(same))} in each of "
            f"{COMPARED} draws; draw others with rng each time, which no kernel can know"
        )
    parts = next((n for n in (PARTS, PARTS // 2, PARTS // 4) if n * (1 - 1 / n) ** draws < UNLIKELY), 1)
    for name, output in outputs.items():
        where = _missed(output, hits[name], parts) if parts > 1 else ""
        if where:
            raise AuthoringError(
                f"problem.py: in {draws} draws, sample of {problem.entry} looked at no element of {name} with {where}: "
                "a kernel could leave those out"
            )


def _indices(output: Output) -> Coordinates:
    """For each axis of an output, an array of its shape with the index of each element; they take one axis' memory."""
    shape = tuple(output.shape)
    lines = [
        np.arange(n).reshape([n if other == axis else 1 for other in range(len(shape))]) for axis, n in enumerate(shape)
    ]
    return tuple(np.broadcast_to(line, shape) for line in lines)


def _missed(output: Output, hits: Sequence[npt.NDArray[np.bool_]], parts: int) -> str:
    """The first of ``parts`` equal parts of an axis that was never hit, in words; "" where all were."""
    for axis, (n, hit) in enumerate(zip(output.shape, hits, strict=True)):
        reached: npt.NDArray[np.bool_] = np.any(hit.reshape(parts, -1), axis=1)
        for part in range(parts):
            start, end = -(-part * n // parts), -(-(part + 1) * n // parts)
            if start < end and not reached[part]:
                return f"an index from {start:,} to {end - 1:,} of axis {axis}"
    return ""
