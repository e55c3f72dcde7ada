"""Is an outcome right? Pure, in the trusted process: expected values never leave it.

Comes in: a problem, its inputs, an outcome, the fills that outputs started with. Goes out: a failure or None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.plan import LaunchPlan
from grader.problem import Inputs, Output, Problem
from grader.records import Failure, Finding, LaunchRecord, Outcome, Severity

Array = npt.NDArray[Any]

LARGEST_EXACT = 1 << 52  # sums of two whole numbers up to this are exact in float64
OUT_OF_BOUNDS = "out-of-bounds"  # the kind of a device's findings of accesses outside of an array


def fills_for(inputs: Inputs, rng: np.random.Generator) -> list[dict[str, Array]]:
    """What outputs hold before a run: per run one element per output.

    Where a dtype has NaN, one run with a signalling NaN of random payload is enough: arithmetic on it gives a
    quiet one (IEEE 754-2019, 6.2), so no result has its bits.
    Integers and bools need two runs with different values; an element that shows both was never written.
    """
    outputs = {name: np.dtype(value.dtype) for name, value in inputs.items() if isinstance(value, Output)}
    runs = 1 if all(dtype.kind in "fc" for dtype in outputs.values()) else 2
    return [{name: _fill(dtype, run, rng) for name, dtype in outputs.items()} for run in range(runs)]


def _fill(dtype: np.dtype[Any], run: int, rng: np.random.Generator) -> Array:
    if dtype.kind == "f":
        bits = dtype.itemsize * 8
        mantissa = np.finfo(dtype).nmant
        payload = int(rng.integers(1, 1 << (mantissa - 1)))
        exponent = (1 << (bits - 1 - mantissa)) - 1
        pattern = (exponent << mantissa) | payload
        return np.asarray(pattern, f"u{dtype.itemsize}").view(dtype)
    if dtype.kind == "c":
        part = _fill(np.dtype(f"f{dtype.itemsize // 2}"), run, rng)
        return np.asarray([part, part]).view(dtype)[0:1].reshape(())
    if dtype.kind == "b":
        return np.asarray(bool(run), dtype)
    return np.asarray(int(rng.integers(1, 64)) + 63 * run, dtype)  # disjoint ranges: never the same in both runs


def untouched(found: Array, fill: Array) -> npt.NDArray[np.bool_]:
    """Which elements still hold the fill's bits."""
    width = f"u{found.dtype.itemsize}" if found.dtype.kind != "c" else f"u{found.dtype.itemsize // 2}"
    left = np.ascontiguousarray(found).reshape(-1).view(width)
    right = np.asarray(fill).reshape(-1).view(width)
    same: npt.NDArray[np.bool_] = (left.reshape(found.size, -1) == right).all(axis=1)
    return same.reshape(found.shape)


def judge_outcome(
    problem: Problem,
    inputs: Inputs,
    expected: Mapping[str, Array],
    plan: LaunchPlan,
    outcomes: Sequence[Outcome],
    fills: Sequence[Mapping[str, Array]],
    call: str,
) -> Failure | None:
    """The first thing that is wrong with the runs of one call (one run per fills), or None.

    ``call`` says which call it was ("matmul(m=33, k=65, n=17)"). Errors that a device found come first, since
    they explain wrong values.
    """
    for outcome in outcomes:
        if outcome.problem is not None:
            return outcome.problem
    first = outcomes[0]
    for outcome in outcomes:
        for finding in told_once(outcome.findings):
            if finding.severity is Severity.ERROR:
                return of_finding(finding, call)
    tolerance = problem.tolerance(inputs, expected)
    for name in expected:
        unwritten = untouched(first.outputs[name], fills[0][name])
        for outcome, fill in zip(outcomes[1:], fills[1:], strict=True):
            unwritten = unwritten & untouched(outcome.outputs[name], fill[name])
        if unwritten.any():
            return _of_unwritten(name, unwritten, plan, first.launches, call)
    changed = sorted({name for outcome in outcomes for name in outcome.changed_inputs})
    if changed:
        return Failure(
            "changed-input",
            f"The kernels changed {changed[0]}, which is an input.",
            expected=f"{changed[0]} as it was given",
            found="other contents after the last launch",
            where=call,
            advice=f"Write into {', '.join(expected)} only; use cuda.device_array for scratch memory.",
        )
    for name, wanted in expected.items():
        for outcome in outcomes:
            failure = compare(name, wanted, outcome.outputs[name], tolerance[name], call)
            if failure is not None:
                return failure
    return None


def told_once(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings with accesses outside of several arrays on one line told as one: they have one cause."""
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for number, finding in enumerate(findings):
        alone = finding.kind != OUT_OF_BOUNDS
        groups.setdefault((number,) if alone else (finding.severity, finding.place.line), []).append(finding)
    return tuple(_merged(group) for group in groups.values())


def _merged(group: Sequence[Finding]) -> Finding:
    first = group[0]
    others = [array for array in dict.fromkeys(finding.array for finding in group) if array != first.array]
    if not others:
        return first
    listed = " and ".join(filter(None, [", ".join(others[:-1]), others[-1]]))
    return replace(
        first,
        what=f"{first.what} The same line goes outside of {listed}, too.",
        array=", ".join([first.array, *others]),
        count=sum(finding.count for finding in group),
    )


def of_finding(finding: Finding, call: str) -> Failure:
    """The failure that an error finding is, in a call."""
    times = f", {finding.count:,} times" if finding.count > 1 else ""
    return Failure(
        finding.kind,
        finding.what,
        found=f"in {call}{times}",
        where=str(finding.place),
        advice=finding.advice,
    )


def _of_unwritten(
    name: str, unwritten: npt.NDArray[np.bool_], plan: LaunchPlan, launches: Sequence[LaunchRecord], call: str
) -> Failure:
    total, missing = unwritten.size, int(unwritten.sum())
    writes = sum(
        launch.counters.get("global_stores", 0) + launch.counters.get("global_atomics", 0) for launch in launches
    )
    returned = f" and {plan.entry} returned a value: it must write into {name} instead" if plan.returned_value else ""
    start = int(np.flatnonzero(unwritten)[0])
    first = _element(name, start, unwritten.shape)
    expected = f"all {total:,} elements of {name} written" if total > 1 else f"{first} written"
    if missing == total and writes:
        return Failure(
            "nothing-written",
            f"{name} still holds its fill value, although kernels wrote to global memory.",
            expected=expected,
            found=f"{writes:,} write{'s' if writes > 1 else ''} that left {name} as it was",
            where=call,
            advice=f"{name} holds garbage at the start: set it before you add to it or take a maximum with it. "
            "Or did the writes go elsewhere?",
        )
    if missing == total:
        return Failure(
            "nothing-written",
            f"{name} still holds its fill value: the kernel wrote nothing.",
            expected=expected,
            found=f"none written{returned}" if total > 1 else f"{first} was never written{returned}",
            where=call,
            advice=f"Let each thread compute its index and assign to {name}[...].",
        )
    pattern = ""
    if _are_whole_lines(unwritten):
        pattern = "Whole rows or columns are missing: are x and y swapped, in the grid or in the indices? "
    elif unwritten.ndim == 1 and start > 1 and missing == total - start:
        pattern = f"Everything from {first} on is missing: is cuda.blockIdx left out of the index, or a loop? "
    return Failure(
        "not-all-written",
        f"{missing:,} of {total:,} elements of {name} still hold{'s' if missing == 1 else ''} the fill value.",
        expected=expected,
        found=f"{first} was never written{returned}",
        where=call,
        advice=pattern + "Do grid and block cover the whole output, and does every thread get to its assignment?",
    )


def _are_whole_lines(chosen: npt.NDArray[np.bool_]) -> bool:
    """Whether the chosen elements are whole rows or columns (or slices across an axis) and nothing besides."""
    if sum(length > 1 for length in chosen.shape) < 2:
        return False
    axes = range(chosen.ndim)
    lines = np.zeros_like(chosen)
    for axis in axes:
        lines |= chosen.all(axis=tuple(other for other in axes if other != axis), keepdims=True)
    return bool((lines == chosen).all())


def _exact_difference(found: Array, expected: Array) -> Array:
    """|found - expected| of whole numbers, in Python's own where they are too large for NumPy's."""
    fit = all(int(a.min()) >= -LARGEST_EXACT and int(a.max()) <= LARGEST_EXACT for a in (found, expected) if a.size)
    wide = np.dtype(np.int64 if fit else object)
    difference: Array = np.abs(np.subtract(found.astype(wide), expected.astype(wide)))
    return difference


def compare(name: str, expected: Array, found: Array, tolerance: Array, call: str) -> Failure | None:
    """Elementwise |found - expected| <= tolerance; NaN only where NaN is expected, infinities equal."""
    if expected.dtype.kind in "iub" and found.dtype.kind in "iub":
        exact = _exact_difference(found, expected)
        wrong = (found != expected) & ~(exact <= tolerance).astype(bool)
        difference = exact.astype(np.float64)  # how far off, for the ranking below
    else:
        wide = found.astype(np.complex128 if found.dtype.kind == "c" else np.float64)
        with np.errstate(invalid="ignore"):
            difference = np.abs(wide - expected)
            right = (difference <= tolerance) | (wide == expected) | (np.isnan(wide) & np.isnan(expected))
        wrong = ~right
    if not wrong.any():
        return None
    count = int(wrong.sum())
    ranked = np.where(wrong, np.nan_to_num(difference, nan=np.inf, posinf=np.inf), -1.0)
    first, worst = int(np.flatnonzero(wrong)[0]), int(np.argmax(ranked))
    element = _element(name, first, wrong.shape)
    bound = float(np.broadcast_to(tolerance, wrong.shape).reshape(-1)[first])
    lines = f"{element} is {_number(found.reshape(-1)[first])}"
    if worst != first:
        lines += f"; furthest off is {_element(name, worst, wrong.shape)}: {_number(found.reshape(-1)[worst])}"
        lines += f" instead of {_number(expected.reshape(-1)[worst])}"
    many = f"{count:,} of {wrong.size:,} elements of {name} {'are' if count > 1 else 'is'} wrong."
    return Failure(
        "wrong-values",
        many if wrong.size > 1 else f"{element} is wrong.",
        expected=f"{element} = {_number(expected.reshape(-1)[first])}" + (f" ± {bound:.2g}" if bound else ""),
        found=lines,
        where=call,
        advice=_hint(wrong, found, expected),
    )


def _hint(wrong: npt.NDArray[np.bool_], found: Array, expected: Array) -> str:
    """What the pattern of wrong elements suggests, if anything."""
    if np.isnan(found.astype(np.complex128)[wrong]).any() and not np.isnan(expected.astype(np.complex128)).any():
        return "NaN comes from memory that nobody wrote, from inf - inf or from 0 / 0: where could that be here?"
    if found.dtype.kind in "iu" and expected.dtype.kind in "iu":
        low, high = np.minimum(found, expected)[wrong], np.maximum(found, expected)[wrong]
        if (high - low == 1).all():
            return "Off by one everywhere it is wrong: is the rounding what the specification asks for?"
    if wrong.size == 1:
        return "Check the formula first, then the index arithmetic."
    if wrong.all():
        return "Every element is wrong: check the formula first, then the index arithmetic."
    flat = np.flatnonzero(wrong.reshape(-1))
    if flat.size > 1 and flat[0] > 0 and flat[-1] == wrong.size - 1 and flat.size == wrong.size - flat[0]:
        return f"Everything before element {flat[0]} is right: check the last block, the guard and the grid size."
    return "Compare what the right and the wrong elements have in common: their row, column, block or position in it."


def _element(name: str, flat: int, shape: tuple[int, ...]) -> str:
    """An element as one would write it: ``out[2, 1]``."""
    return f"{name}[{', '.join(str(int(i)) for i in np.unravel_index(flat, shape))}]" if shape else name


def _number(value: Any) -> str:
    return f"{value:.7g}" if np.asarray(value).dtype.kind in "fc" else str(value)
