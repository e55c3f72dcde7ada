"""What no kernel read: a wrong result may come of inputs that were never looked at. Pure, trusted process.

Comes in: a call's inputs, its plan, the counters of its launches. Goes out: a sentence to try, or "".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from grader.plan import Copy, Launch, LaunchPlan
from grader.plan_dtypes import numpy_dtype
from grader.plan_memory import Argument, TupleArgument, View
from grader.problem import Inputs
from grader.records import LaunchRecord


def hint_of_unread(inputs: Inputs, plan: LaunchPlan, launches: Sequence[LaunchRecord]) -> str:
    """What to try where some array has more elements than were read in all launches, else "".

    Reads are counted by the simulated device only. Those of memory that has no name might be of any array.
    """
    if not any(set(launch.counters) - {"launches"} for launch in launches):
        return ""  # a GPU counts its launches only
    counted = {name: sum(launch.counters.get(name, 0) for launch in launches) for name in _names(launches)}
    named = sum(count for name, count in counted.items() if name.startswith(("loads_of_", "atomics_of_")))
    others = counted["global_loads"] + counted.get("global_atomics", 0) - named
    for name, value in inputs.items():
        if not isinstance(value, np.ndarray) or not value.ndim or not _is_for_kernels_alone(name, value, plan):
            continue
        seen = counted.get(f"loads_of_{name}", 0) + counted.get(f"atomics_of_{name}", 0) + others
        if seen == 0 and value.size:
            return f"No thread reads {name}: is it left out of the kernel?"
        if seen < value.size:
            return (
                f"The kernels read only {seen:,} of the {value.size:,} elements of {name}. If the result needs the "
                "others as well: do grid and block cover the whole array, or does each thread go on through it in a "
                "loop?"
            )
    return ""


def _names(launches: Sequence[LaunchRecord]) -> set[str]:
    return {"global_loads"} | {name for launch in launches for name in launch.counters}


def _is_for_kernels_alone(name: str, array: np.ndarray[Any, Any], plan: LaunchPlan) -> bool:
    """Whether no copy reads an argument, and kernels see its elements as ``array`` has them."""
    arguments = {buffer.name: n for n, buffer in enumerate(plan.buffers) if buffer.origin == "argument"}
    if name not in arguments:
        return False
    number = arguments[name]
    for operation in plan.operations:
        if isinstance(operation, Copy) and operation.source.buffer == number:
            return False
        if isinstance(operation, Launch) and any(
            view.buffer == number and numpy_dtype(view.dtype) != array.dtype for view in _views(operation.arguments)
        ):
            return False
    return array.dtype.names is None


def _views(arguments: Sequence[Argument]) -> Iterator[View]:
    for argument in arguments:
        if isinstance(argument, View):
            yield argument
        elif isinstance(argument, TupleArgument):
            yield from _views(argument.items)
