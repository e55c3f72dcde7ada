"""Sentences about launches and copies on different streams that nothing orders. Runs in the runner, or in anybody's
own process.

In: a clash of ``streams``. Out: a finding with both lines, the array and an index.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from grader.records import Finding, Severity
from grader.simulator.memory import ArrayRef
from grader.simulator.streams import Clash, Operation
from grader.simulator.touched import ATOMIC, SILENT, WRITTEN

_CHANGES = WRITTEN | SILENT | ATOMIC


def race_of(operation: Operation, clash: Clash) -> Finding:
    """The finding about ``operation``, at its line."""
    earlier = clash.earlier
    array, element = named(operation.arrays, clash.address)
    if not array:
        array, element = named(earlier.arrays, clash.address)
    does, did = ("writes" if code & _CHANGES else "reads" for code in (clash.does, clash.did))
    if does == did == "writes" and clash.does & ~_CHANGES and clash.did & WRITTEN:
        does = "reads"  # of what it does, what a beginner is to see first
    place = earlier.place
    if place.line == operation.place.line and place.file == operation.place.file:
        where = "the same line"
    else:
        where = f"line {place.line}" if place.file == operation.place.file else f"{place.short_file}:{place.line}"
    what = (
        f"Race on {array or 'memory'} between streams: {operation.what} {does} {element or 'what'}"
        f"{', which' if element else ''} {earlier.what} at {where} {did}, and nothing orders the two."
    )
    advice = (
        "Let the second stream wait: event.record(first_stream) after the first, event.wait(second_stream) before the "
        "second. Or use one stream for both, or synchronize the first stream in between."
    )
    return Finding("race", Severity.ERROR, operation.place, what, advice, array)


def named(arrays: Iterable[ArrayRef], address: int) -> tuple[str, str]:
    """The first of some arrays that has an element at an address, and the element: ("x", "x[3]"); else ("", "")."""
    for array in arrays:
        index = _index(array, address)
        if index is not None:
            return array.name, f"{array.name}[{', '.join(map(str, index))}]" if index else array.name
    return "", ""


def _index(array: ArrayRef, address: int) -> tuple[int, ...] | None:
    """Which element of an array is at an address; None where it has none there."""
    if 0 in array.shape:
        return None
    rest = address - int(array.address)
    index = [0] * len(array.shape)
    for axis in np.argsort([-abs(stride) for stride in array.strides]).tolist():
        stride = array.strides[axis]
        if array.shape[axis] > 1 and stride:
            index[axis] = min(max(rest // stride, 0), array.shape[axis] - 1)
            rest -= index[axis] * stride
    return tuple(index) if 0 <= rest < array.dtype.itemsize else None
