"""What a script's host code shows of how it launches, and of what it launches for. Runs in anybody's own process.

In: a kernel, its arguments, what its launch wrote. Out: warnings and advice with the line of the script.
"""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np

from grader.record_fields import bytes_of_fields
from grader.records import Finding, Place, Severity
from grader.simulator.dimensions import unused_dimension
from grader.simulator.findings import Findings
from grader.simulator.launch import SimulatedLaunch
from grader.simulator.live.arguments import Arguments
from grader.simulator.live.callers import copied_array
from grader.simulator.live.heap import Heap
from grader.simulator.live.kernel import SimulatedKernel
from grader.simulator.memory import ArrayRef
from grader.simulator.sources import AnyFile
from grader.simulator.stream_races import named
from grader.simulator.streams import Operation
from grader.traces import LaunchTrace

# Arrays of fewer elements are not worth a word about their dtype.
_MANY = 256
# The array that a line of a script copies to the host.
_COPIED = re.compile(r"\b([A-Za-z_]\w*)\.copy_to_host\b")


def look_at_outputs(
    heap: Heap, values: list[Any], result: SimulatedLaunch, trace: LaunchTrace, findings: Findings
) -> None:
    """Advice on arrays that the launch wrote to, and that still hold elements that nobody has written.

    Another launch may be meant to write those, so it is no more than advice.
    """
    for array in values:
        if not isinstance(array, ArrayRef) or not result.accesses.get(("stores", array.root)):
            continue
        heap.look_for_garbage(array.root)
        total = math.prod(array.shape)
        if array.root not in heap.garbage or not total:
            continue
        whole = ArrayRef.contiguous(array.space, array.name, array.dtype, array.address, array.shape)
        if whole.strides != array.strides:
            continue
        nbytes = total * array.dtype.itemsize
        flags = heap.unwritten(1)[array.address : array.address + nbytes].reshape(total, -1)
        missing = np.flatnonzero(flags[:, bytes_of_fields(array.dtype)].any(axis=1))
        if not missing.size:
            continue
        first = ", ".join(str(int(i)) for i in np.unravel_index(missing[0], array.shape))
        findings.add(
            "unwritten-elements",
            Severity.ADVICE,
            trace.place,
            f"{missing.size:,} of {total:,} elements of {array.name} have not been written by now, "
            f"{array.name}[{first}] is the first.",
            "Does the grid reach them, and does a guard let their threads through? If another launch writes them, "
            "all is well.",
            array=array.name,
        )


def unwritten_copy(heap: Heap, start: int, nbytes: int, writer: Operation | None, place: Place) -> Finding | None:
    """A warning where a copy to the host, asked for at ``place``, has elements that nobody has written.

    Whoever copied may know which they are, and not look at them. ``writer``: the last launch that wrote there.
    """
    copied = copied_array()
    if copied is None:
        shape, strides, dtype = (nbytes,), (1,), np.dtype(np.uint8)
    else:
        shape, strides, dtype = copied.shape, copied.strides, copied.dtype
    flags = np.ndarray((*shape, dtype.itemsize), np.bool_, heap.unwritten(1), start, (*strides, 1))
    unwritten = flags[..., bytes_of_fields(dtype)].any(axis=-1)
    missing, total = int(unwritten.sum()), math.prod(shape)
    if not missing:
        return None
    arrays = writer.arrays if writer is not None else ()
    first = np.unravel_index(int(np.argmax(unwritten)), shape) if shape else ()
    address = start + sum(int(i) * stride for i, stride in zip(first, strides, strict=True))
    name, element = named(arrays, address)
    if not name and copied is not None:  # no launch knows it: the script's own name for it, where there is one
        named_there = _COPIED.findall(place.text)
        name = named_there[0] if len(named_there) == 1 else ""
        element = f"{name}[{', '.join(str(int(i)) for i in first)}]" if name and shape else ""
    unit = "bytes" if copied is None else "elements"
    of = f" of {name}" if name else ""
    where = f", {element} is the first" if element else ""
    what = f"{missing:,} of {total:,} {unit}{of} that are copied to the host here were never written{where}."
    advice = (
        "They hold garbage. Does the grid reach them, and does a guard let their threads through? If nobody looks at "
        "them, all is well."
    )
    return Finding("unwritten-elements", Severity.WARNING, place, what, advice, name)


def look_at_host(
    kernel: SimulatedKernel,
    arguments: Arguments,
    values: list[Any],
    trace: LaunchTrace,
    findings: Findings,
    sources: AnyFile,
) -> None:
    """Findings about how the kernel was launched."""
    if arguments.on_host:
        names = ", ".join(arguments.on_host)
        findings.add(
            "host-array",
            Severity.WARNING,
            trace.place,
            f"The host's {names} went to the GPU and back for this launch.",
            "Copy once with cuda.to_device, launch as often as you like, then copy_to_host what you need.",
        )
    for what in arguments.misread:
        advice = "Convert the array, or leave the signature out and let Numba infer the types."
        findings.add("declared-dtype", Severity.WARNING, trace.place, what, advice, array=what)
    for captured in kernel.captured:
        if captured.has_changed():
            findings.add(
                "captured-global-changed",
                Severity.WARNING,
                sources.place_in(captured.file, captured.line, captured.function),
                f"{captured.name} has changed since this kernel was compiled, which goes on with the old value.",
                "Hand it to the kernel as an argument, or decorate the function again.",
                array=captured.name,
            )
    wide = _float64_beside_float32(values)
    if wide:
        findings.add(
            "float64-array",
            Severity.ADVICE,
            trace.place,
            f"{', '.join(wide)} {'is' if len(wide) == 1 else 'are'} float64, beside float32 arrays as large: twice the "
            "bytes, and float64 arithmetic.",
            "If that is not meant, say the dtype: NumPy and cuda.device_array make float64 where they are not told. "
            "Write cuda.device_array(n, np.float32), or .astype(np.float32) before cuda.to_device.",
        )
    missed = unused_dimension(kernel.typed, trace.grid, trace.block, values)
    if missed:
        findings.add("dimensions", Severity.WARNING, trace.place, missed[0], missed[1])


def _float64_beside_float32(values: list[Any]) -> list[str]:
    """The names of float64 arrays of a launch that are about as large as its float32 ones.

    A few sums in float64 are meant; an array of the size of the others mostly is what NumPy made of no dtype.
    """
    arrays = [value for value in values if isinstance(value, ArrayRef)]
    sizes = {size for each in arrays if each.dtype == np.float32 and (size := math.prod(each.shape)) >= _MANY}
    return [array.name for array in arrays if array.dtype == np.float64 and math.prod(array.shape) in sizes]
