"""What no kernel wrote: outputs hold a value of ours before a run, and still hold it afterwards. Pure, trusted process.

Comes in: a call's inputs, random numbers; then what the outputs hold. Goes out: a failure or None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from grader.plan import LaunchPlan
from grader.problem import Inputs, Output
from grader.record_fields import Leaf, leaves_of
from grader.records import Failure, LaunchRecord

Array = npt.NDArray[Any]


def fills_for(inputs: Inputs, rng: np.random.Generator) -> list[dict[str, Array]]:
    """What outputs hold before a run: per run one element per output.

    Where a dtype has NaN, one run with a signalling NaN of random payload is enough: arithmetic on it gives a
    quiet one (IEEE 754-2019, 6.2), so no result has its bits.
    Integers and bools need two runs with different values; an element that shows both was never written.
    """
    outputs = {name: np.dtype(value.dtype) for name, value in inputs.items() if isinstance(value, Output)}
    kinds = {leaf.dtype.kind for dtype in outputs.values() for leaf in leaves_of(dtype, 0)}
    runs = 1 if kinds <= set("fc") else 2
    return [{name: _fill(dtype, run, rng) for name, dtype in outputs.items()} for run in range(runs)]


def _fill(dtype: np.dtype[Any], run: int, rng: np.random.Generator) -> Array:
    if dtype.names is not None:
        record = np.zeros((), dtype)
        for leaf in leaves_of(dtype, 0):
            numbers = leaf.of(record)
            numbers[...] = _fill(leaf.dtype, run, rng)
        return record
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
    """Which numbers of an array still hold the bits of ``fill``, a number of the same dtype."""
    width = f"u{found.dtype.itemsize}" if found.dtype.kind != "c" else f"u{found.dtype.itemsize // 2}"
    left = np.ascontiguousarray(found).reshape(-1).view(width)
    right = np.asarray(fill).reshape(-1).view(width)
    same: npt.NDArray[np.bool_] = (left.reshape(found.size, -1) == right).all(axis=1)
    return same.reshape(found.shape)


def find_unwritten(
    name: str,
    plan: LaunchPlan,
    found: Sequence[Array],
    fills: Sequence[Mapping[str, Array]],
    launches: Sequence[LaunchRecord],
    call: str,
) -> Failure | None:
    """The failure where elements of an output, or fields of them, were written in none of the runs; None if all were.

    ``found`` is the output after each run, ``fills`` what it held before; ``launches`` are those of the first run.
    """
    leaves = list(leaves_of(found[0].dtype, found[0].ndim))
    unwritten = []
    for leaf in leaves:
        still = [
            untouched(leaf.of(array), leaf.of(np.asarray(fill[name])).reshape(-1)[:1])
            for array, fill in zip(found, fills, strict=True)
        ]
        unwritten.append(np.logical_and.reduce(still))
    if found[0].size and all(missing.all() for missing in unwritten):
        whole = Leaf((), (found[0].ndim,), found[0].dtype)
        return _of_unwritten(name, np.ones(found[0].shape, bool), whole, plan, launches, call)
    for leaf, missing in zip(leaves, unwritten, strict=True):
        if missing.any():
            return _of_unwritten(name, missing, leaf, plan, launches, call)
    return None


def _of_unwritten(
    name: str,
    unwritten: npt.NDArray[np.bool_],
    leaf: Leaf,
    plan: LaunchPlan,
    launches: Sequence[LaunchRecord],
    call: str,
) -> Failure:
    """The failure where numbers of ``leaf`` were never written; a leaf without a path stands for whole elements."""
    total, missing = unwritten.size, int(unwritten.sum())
    writes = sum(
        launch.counters.get("global_stores", 0) + launch.counters.get("global_atomics", 0) for launch in launches
    )
    start = int(np.flatnonzero(unwritten)[0])
    first = leaf.element(name, start, unwritten.shape)
    returned = f" and {plan.entry} returned a value: it must write into {name} instead" if plan.returned_value else ""
    name = leaf.called(name)
    expected = f"all {total:,} elements of {name} written" if total > 1 else f"{first} written"
    if missing == total and leaf.path:
        field = ".".join(leaf.path)
        return Failure(
            "not-all-written",
            f"The field {field} still holds its fill value everywhere, unlike other fields.",
            expected=expected,
            found=f"{first} was never written{returned}",
            where=call,
            advice=f"Assign to the field {field} of each element as well.",
        )
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
