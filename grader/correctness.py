"""Is an outcome right? Pure, in the trusted process: expected values never leave it.

Comes in: a problem, its inputs, an outcome, the fills that outputs started with. Goes out: a failure or None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.errors import AuthoringError
from grader.plan import LaunchPlan
from grader.problem import Inputs, Problem, Tolerance
from grader.record_fields import Leaf, leaves_of
from grader.records import Failure, Finding, Outcome, Severity
from grader.unread import hint_of_unread
from grader.unwritten import find_unwritten

Array = npt.NDArray[Any]

LARGEST_EXACT = 1 << 52  # sums of two whole numbers up to this are exact in float64
OUT_OF_BOUNDS = "out-of-bounds"  # the kind of a device's findings of accesses outside of an array


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
        failure = find_unwritten(
            name, plan, [outcome.outputs[name] for outcome in outcomes], fills, first.launches, call
        )
        if failure is not None:
            return failure
    changed = sorted({name for outcome in outcomes for name in outcome.changed_inputs})
    if changed:
        return changed_input(changed[0], expected, call)
    for name, wanted in expected.items():
        for outcome in outcomes:
            failure = compare(name, wanted, outcome.outputs[name], tolerance[name], call)
            if failure is not None:
                unread = hint_of_unread(inputs, plan, outcome.launches)
                return replace(failure, advice=unread) if unread else failure
    return None


def changed_input(name: str, outputs: Iterable[str], where: str) -> Failure:
    """The failure of kernels that changed an input of this name, where they may write into ``outputs``."""
    return Failure(
        "changed-input",
        f"The kernels changed {name}, which is an input.",
        expected=f"{name} as it was given",
        found="other contents after the last launch",
        where=where,
        advice=f"Write into {', '.join(outputs)} only; use cuda.device_array for scratch memory.",
    )


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


def _exact_difference(found: Array, expected: Array) -> Array:
    """|found - expected| of whole numbers, in Python's own where they are too large for NumPy's."""
    fit = all(int(a.min()) >= -LARGEST_EXACT and int(a.max()) <= LARGEST_EXACT for a in (found, expected) if a.size)
    wide = np.dtype(np.int64 if fit else object)
    difference: Array = np.abs(np.subtract(found.astype(wide), expected.astype(wide)))
    return difference


def compare(name: str, expected: Array, found: Array, tolerance: Tolerance, call: str) -> Failure | None:
    """Elementwise |found - expected| <= tolerance; NaN only where NaN is expected, infinities equal.

    Records are compared number by number. Raises AuthoringError where what is expected has other fields.
    """
    if found.dtype.names is None:
        return _compare(name, expected, found, tolerance, Leaf((), (found.ndim,), found.dtype), call)
    for leaf in leaves_of(found.dtype, found.ndim):
        numbers = leaf.of(found)
        try:
            wanted = leaf.of(expected)
            bound = _of_leaf(tolerance, leaf, numbers.ndim - found.ndim)
        except (KeyError, ValueError, IndexError):
            raise AuthoringError(
                f"expected() or tolerance() has no {leaf.called(name)}, which the output has"
            ) from None
        if wanted.shape != numbers.shape:
            raise AuthoringError(f"expected() has {leaf.called(name)} of shape {wanted.shape}, not {numbers.shape}")
        failure = _compare(name, wanted, numbers, bound, leaf, call)
        if failure is not None:
            return failure
    return None


def _of_leaf(tolerance: Tolerance, leaf: Leaf, axes: int) -> Array:
    """A field's part of a tolerance that names fields; else the same for all, in each element of arrays in fields."""
    if isinstance(tolerance, Mapping) or np.asarray(tolerance).dtype.names is not None:
        part: Any = tolerance
        for field in leaf.path:
            part = part[field]
        return np.asarray(part)
    bound = np.asarray(tolerance)
    return bound.reshape(bound.shape + (1,) * axes)


def _compare(name: str, expected: Array, found: Array, tolerance: Any, leaf: Leaf, call: str) -> Failure | None:
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
    element = leaf.element(name, first, wrong.shape)
    bound = float(np.broadcast_to(tolerance, wrong.shape).reshape(-1)[first])
    lines = f"{element} is {_number(found.reshape(-1)[first])}"
    if worst != first:
        lines += f"; furthest off is {leaf.element(name, worst, wrong.shape)}: {_number(found.reshape(-1)[worst])}"
        lines += f" instead of {_number(expected.reshape(-1)[worst])}"
    many = f"{count:,} of {wrong.size:,} elements of {leaf.called(name)} {'are' if count > 1 else 'is'} wrong."
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


def _number(value: Any) -> str:
    return f"{value:.7g}" if np.asarray(value).dtype.kind in "fc" else str(value)
