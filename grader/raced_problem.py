"""A dry run of a race, as far as problem.py goes: all that it says of a raced call, without a kernel. Trusted process.

In: a problem, the sizes of a race, random numbers. Out: a ``Looked``; or AuthoringError, with the first thing that
would fail students, or pass them, on the day of the race.

The baseline's outputs take the place of a kernel's: they are looked at as those of a timed run are. Then the sample's
results are held against those of the whole call, at the largest sizes where these are quickly computed: those of the
race, those that ``smaller`` gives, those of other checks. And many draws must differ, and reach all parts of an output.

What this cannot see:

- a mistake that ``expected`` and ``baseline`` share, or a ``tolerance`` that is too wide: mutants in float16 show that;
- a sample that is wrong at the raced sizes only, by less than the tolerance allows the baseline;
- a part of an output that no draw reaches, where it is less than an eighth of each axis; draws that repeat later;
- whether ``work`` is the least, ``baseline`` what a good programmer writes, and for which sizes a small GPU has room.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.correctness import compare
from grader.errors import AuthoringError
from grader.problem import Inputs, Output, Problem, Sample, Tolerance, by_author
from grader.problem_calls import (
    baseline_of,
    expected_of,
    outputs_of,
    require_same_forms,
    sample_of,
    work_of,
)
from grader.race_rounds import wrong_values
from grader.record_fields import leaves_of
from grader.sample_draws import RngOf, require_draws
from grader.smaller_sizes import call_of, inputs_of, smaller_calls

# NumPy's float32 functions may round more often, or less well, than what the tolerance was derived for: a baseline may
# err so many times as much. What is wrong, and what is computed in float16, errs by far more.
BASELINE_ROOM = 4.0
# So many samples of the baseline's outputs are looked at.
LOOKS = 3
# How far the sample's tolerance may be from the whole call's, at the same places.
TOLERANCES_APART = 4.0
# How long the whole of a call that a sample is held against may take, by estimate; and looking at a run, before it is
# worth saying.
WHOLE_SECONDS = 1.0
SLOW_LOOK_SECONDS = 3.0


@dataclass(frozen=True)
class Looked:
    """What a race would look at: ``sampled`` of ``outputs`` elements, at ``steps`` smaller sizes as well.

    ``doubts`` are sentences of what is no mistake yet, or could not be found out.
    """

    outputs: int
    sampled: int
    steps: int
    doubts: tuple[str, ...] = ()


def look_at(
    problem: Problem,
    sizes: Mapping[str, Any],
    recorded: Inputs,
    checked: Sequence[Mapping[str, Any]],
    rng_of: RngOf,
) -> Looked:
    """Try out all that problem.py says of a raced call. ``recorded``: its inputs without values; ``checked``: the sizes
    of other checks. Raises AuthoringError.
    """
    doubts: list[str] = []
    inputs = inputs_of(problem, sizes, rng_of("inputs"))
    require_same_forms(inputs, recorded)
    work_of(problem, inputs)
    sample = _require_baseline_right(problem, inputs, rng_of, doubts)
    outputs = outputs_of(inputs)
    size = sum(math.prod(output.shape) for output in outputs.values())
    if sample is not None:
        require_draws(problem, inputs, rng_of)
    held = sample is None or _hold(problem, sizes, inputs, rng_of("sample"))
    steps = 0
    for smaller, made in smaller_calls(problem, sizes, inputs, rng_of):
        steps += 1
        held = held or (made is not None and _hold(problem, smaller, made, rng_of("sample")))
    for others in checked if not held else ():
        held = held or _hold(problem, others, inputs_of(problem, others, rng_of("inputs")), rng_of("sample"))
    if not held:
        doubts.append(
            "what sample gives was held against the whole call nowhere, since no size of a check, or that smaller "
            f"gives, has more outputs than a sample and takes less than {WHOLE_SECONDS:g} s"
        )
    drawn = (
        sum(math.prod(output.shape) for output in outputs_of(sample.inputs).values()) if sample is not None else size
    )
    return Looked(size, drawn, steps, tuple(doubts))


def _require_baseline_right(problem: Problem, inputs: Inputs, rng_of: RngOf, doubts: list[str]) -> Sample | None:
    """Look at the baseline's outputs as at those of runs that are timed. A sample, None where there is none."""
    found = baseline_of(problem, inputs)
    sample = sample_of(problem, inputs, rng_of("look 0"))
    for look in range(LOOKS if sample is not None else 1):
        began = time.perf_counter()
        failure = wrong_values(problem, inputs, found, rng_of(f"look {look}"), problem.entry, _with_room)
        seconds = time.perf_counter() - began
        if failure is not None:
            by = "expected" if sample is None else "sample and expected"
            raise AuthoringError(
                f"problem.py: by {by} of {problem.entry}, its baseline is wrong: {failure.what} (expected "
                f"{failure.expected}, found {failure.found}; it has {BASELINE_ROOM:g} times the tolerance)"
            )
    if seconds > SLOW_LOOK_SECONDS:
        less = "let sample draw less" if sample is not None else "let sample draw some outputs"
        doubts.append(f"to look at one run takes {seconds:.1f} s, and a race has dozens: {less}")
    return sample


def _with_room(tolerance: Tolerance) -> Tolerance:
    """BASELINE_ROOM times a tolerance, which may be one by field."""
    if isinstance(tolerance, Mapping):
        return {name: _with_room(part) for name, part in tolerance.items()}
    wide = np.array(tolerance)
    if wide.dtype.names is None:
        return np.asarray(wide * BASELINE_ROOM)
    for leaf in leaves_of(wide.dtype, wide.ndim):
        numbers = leaf.of(wide)
        numbers[...] = numbers * BASELINE_ROOM
    return wide


def _hold(problem: Problem, sizes: Mapping[str, Any], inputs: Inputs, rng: np.random.Generator) -> bool:
    """Hold a sample's results against the whole call's at its places, where there is one and the whole is quick.

    Whether that was done. Raises AuthoringError where they are apart.
    """
    sample = sample_of(problem, inputs, rng)
    if sample is None:
        return False
    outputs = outputs_of(inputs)
    began = time.perf_counter()
    few = expected_of(problem, sample.inputs)
    few_tolerance = by_author(lambda: problem.tolerance(sample.inputs, few))
    share = max(
        math.prod(output.shape) / max(math.prod(part.shape), 1)
        for output, part in zip(outputs.values(), outputs_of(sample.inputs).values(), strict=True)
    )
    if (time.perf_counter() - began) * share > WHOLE_SECONDS:
        return False
    whole = expected_of(problem, inputs)
    tolerance = by_author(lambda: problem.tolerance(inputs, whole))
    call = call_of(problem, sizes)
    for name, output in outputs.items():
        place = sample.places[name]
        failure = by_author(lambda: compare(name, few[name], whole[name][place], few_tolerance[name], call))  # noqa: B023
        if failure is not None:
            raise AuthoringError(
                f"problem.py: of {call}, expected gives other results for a sample's inputs than for the whole call at "
                f"the sample's places: {failure.what} (of the sample: {failure.expected}; there: {failure.found})"
            )
        apart = _apart(few_tolerance[name], tolerance[name], output, place)
        if apart is not None and not 1 / TOLERANCES_APART <= apart <= TOLERANCES_APART:
            raise AuthoringError(
                f"problem.py: of {call}, tolerance allows {name} {apart:.2g} times as much for a sample's inputs as "
                "for the whole call at the sample's places"
            )
    return True


def _apart(few: Tolerance, whole: Tolerance, output: Output, place: Any) -> float | None:
    """The median of a sample's tolerance as a multiple of the whole's; None where there is nothing to compare."""
    if isinstance(few, Mapping) or isinstance(whole, Mapping) or np.dtype(output.dtype).names is not None:
        return None
    there = np.broadcast_to(np.asarray(whole, np.float64), tuple(output.shape))[place]
    here = np.broadcast_to(np.asarray(few, np.float64), there.shape)
    both = (here > 0) & (there > 0) & np.isfinite(here) & np.isfinite(there)
    return float(np.median(here[both] / there[both])) if both.any() else None
