"""Does a kernel use the technique being taught? Counters of a simulated call, and what a check may require of them.

Pure, in the trusted process. Comes in: an outcome of the simulated device whose output was right, and its plan.
Goes out: nothing, or a CheckFailed that says what was expected and found.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.counters import COUNTERS, LARGEST
from grader.plan import LaunchPlan
from grader.problem import Inputs, Output
from grader.records import Failure, Finding, LineCounters, Outcome

_WORDS = {
    **COUNTERS,
    **LARGEST,
    "launches": "kernel launches",
    "scratch_bytes": "bytes of device memory allocated by the host function",
    "outputs": "output elements",
    "global_loads_per_output": "reads from global memory per output element",
    "global_stores_per_output": "writes to global memory per output element",
    "global_atomics_per_block": "atomic operations on global memory per block",
    "sectors_per_load_request": "sectors of 32 bytes per read request of a warp",
    "sectors_per_store_request": "sectors of 32 bytes per write request of a warp",
    "sectors_per_32_loads": "sectors of 32 bytes per 32 elements read",
    "sectors_per_32_stores": "sectors of 32 bytes per 32 elements written",
    "shared_bank_conflicts": "bank conflicts in shared memory",
}
# Of what is counted by line, where counters that are made of others come from.
_COUNTED = {
    "global_loads_per_output": ("global_loads",),
    "global_stores_per_output": ("global_stores",),
    "global_atomics_per_block": ("global_atomics",),
    "sectors_per_load_request": ("global_load_sectors",),
    "sectors_per_store_request": ("global_store_sectors",),
    "sectors_per_32_loads": ("global_load_sectors",),
    "sectors_per_32_stores": ("global_store_sectors",),
    "shared_bank_conflicts": tuple(f"shared_{kind}_bank_conflicts" for kind in ("load", "store", "atomic")),
}
# A line with this share of what is too many is worth naming.
MOST = 0.5
# What some blocks say of all: blocks differ (a last round, a block at the edge), so bounds have that much more room.
ROOM = 1.25
# What is known of all blocks, whichever ran.
EXACT = frozenset(("threads", "blocks", "launches", "scratch_bytes", "local_bytes", "outputs"))


class NotMeasured(Exception):
    """A check needs a device that is not here, or nothing fair could be measured; ``str()`` says which and why."""


class NoGpu(NotMeasured):
    """A check needs a GPU, and there is none, or none was asked for: whatever a submission does, it is the same."""


class CheckFailed(Exception):
    """A check was not passed, through the student's fault; ``failure`` says why."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


class TechniqueMissed(CheckFailed):
    """A requirement of the technique was not met by what was counted; ``missed`` names entry point and counter."""

    def __init__(self, failure: Failure, missed: str) -> None:
        super().__init__(failure)
        self.missed = missed


class TechniqueInDoubt(NotMeasured):
    """A requirement was not met by an estimate: a failure if what ``missed`` names was missed by a count as well."""

    def __init__(self, seen: TechniqueMissed) -> None:
        super().__init__(
            "some blocks of what was timed were simulated, and by them the technique is in doubt: somebody has to "
            f"look. {seen.failure.what}"
        )
        self.failure, self.missed = seen.failure, seen.missed


@dataclass(frozen=True)
class Run(Mapping[str, float]):
    """Counters of one call, summed over its launches: element accesses by threads, as a mapping and attributes."""

    call: str
    counters: Mapping[str, float]
    findings: tuple[Finding, ...] = ()
    lines: tuple[LineCounters, ...] = ()

    def __getitem__(self, counter: str) -> float:
        return self.counters[counter]

    def __iter__(self) -> Iterator[str]:
        return iter(self.counters)

    def __len__(self) -> int:
        return len(self.counters)

    def __getattr__(self, counter: str) -> Any:
        try:
            return object.__getattribute__(self, "counters")[counter]
        except KeyError:
            raise AttributeError(f"no counter {counter!r}; there are {', '.join(sorted(self.counters))}") from None

    def require(
        self, counter: str, *, at_most: float | None = None, at_least: float | None = None, advice: str = ""
    ) -> None:
        """Raise TechniqueMissed unless ``at_least <= counter <= at_most``; AttributeError for no such counter."""
        found = getattr(self, counter)
        words = _WORDS.get(counter) or _words_of_array(counter)
        for bound, asked, misses in ((at_most, "at most", "too many"), (at_least, "at least", "too few")):
            if bound is None or (found <= bound if misses == "too many" else found >= bound):
                continue
            seen, wanted = _told_apart(found, bound)
            raise TechniqueMissed(
                Failure(
                    "technique",
                    f"The result is right, but there are {misses} {words} ({seen}, {asked} {wanted}).",
                    expected=f"{asked} {wanted} {words}",
                    found=seen,
                    where=self._where(counter) if misses == "too many" else self.call,
                    advice=advice,
                ),
                f"{self.call.partition('(')[0]} {counter}",
            )

    def _where(self, counter: str) -> str:
        """The call, and the line that at least half of a count comes from, if there is one."""
        kind, of_array, _ = counter.partition("_of_")
        counted = (f"global_{kind}",) if of_array else _COUNTED.get(counter, (counter,))
        costs = {line.place: sum(line.counters.get(name, 0) for name in counted) for line in self.lines}
        total = sum(costs.values())
        # Lines do not tell arrays apart, but what is not of this array may all be in one line, and is no more.
        others = total - getattr(self, counter) if of_array else 0
        costliest = max(costs, key=lambda place: costs[place], default=None)
        if costliest is None or costs[costliest] - others < max(MOST * (total - others), 1):
            return self.call
        return f"{self.call}, most of them at {costliest}"


@dataclass(frozen=True)
class SampledRun(Run):
    """Counters of a call of which only some blocks ran, as they would be for all.

    Such counters are estimates, however many blocks they are of, so nobody fails for one alone: a grid may hold blocks
    that have nothing to do, and blocks may draw their work from a queue, where a few by themselves do everybody's.

    ``others`` are the same call's, where blocks have read what others change, at other moments of the launch.
    """

    others: tuple[SampledRun, ...] = ()

    def require(
        self, counter: str, *, at_most: float | None = None, at_least: float | None = None, advice: str = ""
    ) -> None:
        """As ``Run.require`` for what is known of all blocks. Else, where it is missed by more than ``ROOM`` at any
        moment, raises TechniqueInDoubt: for a person to look at.
        """
        if counter in EXACT:
            return super().require(counter, at_most=at_most, at_least=at_least, advice=advice)
        try:
            super().require(
                counter,
                at_most=None if at_most is None else at_most * ROOM,
                at_least=None if at_least is None else at_least / ROOM,
                advice=advice,
            )
        except TechniqueMissed as seen:
            raise TechniqueInDoubt(seen) from seen
        for other in self.others:
            other.require(counter, at_most=at_most, at_least=at_least, advice=advice)


def _told_apart(found: int | float, bound: float) -> tuple[str, str]:
    """Two unequal numbers in about four digits, or in as many as it takes to see that they differ.

    Where whole things are counted, a bound between two whole numbers is the one on its allowed side.
    """
    if isinstance(found, int):
        bound = math.floor(bound) if found > bound else math.ceil(bound)
    for digits in range(4, 17):
        texts = _number(found, digits), _number(bound, digits)
        if texts[0] != texts[1]:
            break
    return texts


def _number(value: float, digits: int) -> str:
    """``value`` in about so many digits, never with an exponent: 20,480 and 62.5."""
    if float(value).is_integer():
        return f"{value:,.0f}"
    decimals = max(digits - 1 - math.floor(math.log10(abs(value))), 1)
    return f"{value:,.{decimals}f}".rstrip("0").rstrip(".")


def run_of(call: str, inputs: Inputs, plan: LaunchPlan, outcome: Outcome) -> Run:
    """The counters of one call on the simulated device."""
    return Run(call, _counters_of(inputs, plan, outcome), outcome.findings, outcome.lines)


def sampled_run_of(call: str, inputs: Inputs, plan: LaunchPlan, outcome: Outcome) -> SampledRun:
    """The same of a call of which only some blocks ran."""
    return SampledRun(call, _counters_of(inputs, plan, outcome), outcome.findings, outcome.lines)


def _counters_of(inputs: Inputs, plan: LaunchPlan, outcome: Outcome) -> dict[str, float]:
    arrays = [name for name, value in inputs.items() if isinstance(value, np.ndarray | Output)]
    of_arrays = [f"{kind}_of_{name}" for kind in ("loads", "stores", "atomics") for name in arrays]
    counters: dict[str, float] = dict.fromkeys((*COUNTERS, *of_arrays, *LARGEST), 0)
    for launch in outcome.launches:
        for name, number in launch.counters.items():
            counters[name] = max(counters[name], number) if name in LARGEST else counters[name] + number
    counters["launches"] = len(outcome.launches)
    counters["scratch_bytes"] = sum(buffer.nbytes for buffer in plan.buffers if buffer.origin == "scratch")
    outputs = sum(math.prod(value.shape) for value in inputs.values() if isinstance(value, Output))
    counters["outputs"] = outputs
    counters["global_loads_per_output"] = counters["global_loads"] / max(outputs, 1)
    counters["global_stores_per_output"] = counters["global_stores"] / max(outputs, 1)
    for kind in ("load", "store"):
        requests = max(counters[f"global_{kind}_requests"], 1)
        counters[f"sectors_per_{kind}_request"] = counters[f"global_{kind}_sectors"] / requests
        # A request of load4 or store4 is one of 128 elements: what its sectors hold tells more than their number.
        elements = max(counters[f"global_{kind}s"], 1)
        counters[f"sectors_per_32_{kind}s"] = 32 * counters[f"global_{kind}_sectors"] / elements
    counters["shared_bank_conflicts"] = sum(
        counters[f"shared_{kind}_bank_conflicts"] for kind in ("load", "store", "atomic")
    )
    counters["global_atomics_per_block"] = counters["global_atomics"] / max(counters["blocks"], 1)
    return counters


def _words_of_array(counter: str) -> str:
    """The words for ``loads_of_x``, ``stores_of_x`` and ``atomics_of_x``, which count one array's accesses."""
    kind, _, array = counter.partition("_of_")
    return {"loads": "reads", "stores": "writes", "atomics": "atomic operations"}.get(kind, kind) + f" of {array}"
