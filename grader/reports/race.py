"""What a race measured, in a few lines. Pure; trusted process.

In: the figures of a check (``racing.Race.numbers``, and what the judge made of them). Out: lines of text.
"""

from __future__ import annotations

from collections.abc import Mapping

from grader.clocks import HELD_BY
from grader.speed import duration, times

MS = 1e6  # nanoseconds
OTHER_COSTS = ("copying", "launching", "compiling")


def race_text(measured: Mapping[str, float]) -> str:
    """How fast, how well that is known, what it earns and why; "" where nothing was raced."""
    if "speedup" not in measured:
        return ""
    median, low, high = (measured[f"{name}_ms"] * MS for name in ("median", "low", "high"))
    known = f", {duration(low)} to {duration(high)}" if duration(low) != duration(high) else ""
    said = [
        f"{times(measured['speedup'])} the CPU baseline's speed: {duration(median)} (median of "
        f"{measured['runs']:.0f} runs{known}) against {duration(measured['baseline_ms'] * MS)}."
    ]
    if "reference_speedup" in measured:
        full = f", full points at {times(measured['full_speedup'])}" if "full_speedup" in measured else ""
        earned = f" Earned: {_earned(measured)}." if "credit" in measured else ""  # else it was not measured
        said.append(
            f"Points begin at {times(measured['min_speedup'])}{full}; the reference reaches "
            f"{times(measured['reference_speedup'])}.{earned}"
        )
    elif 0 < measured.get("min_speedup", 0.0) <= measured["speedup"]:
        said.append(_minimum_reached(measured["min_speedup"], measured.get("full_at", 0.0)))
    limit = "memory" if measured["limited_by_memory"] else "arithmetic"
    said.append(f"The kernels are at {measured['of_limit']:.0%} of the speed of this GPU's {limit}.")
    copying, launching, compiling = (duration(measured[f"{name}_ms"] * MS) for name in OTHER_COSTS)
    said.append(f"Not counted: {copying} of copying, {launching} of launching, {compiling} of compiling.")
    if "sm_mhz" in measured:
        heat = f", {measured['celsius']:.0f} °C" if "celsius" in measured else ""
        power = f", at {HELD_BY['held_by_power']}" if measured["held_by_power"] else ""
        others = [why for name, why in HELD_BY.items() if name != "held_by_power" and measured.get(name)]
        held = f", held back by {' and by '.join(others)}" if others else ""
        said.append(f"The GPU ran at {measured['sm_mhz']:,.0f} MHz{heat}{power}{held}.")
    return " ".join(said)


def _minimum_reached(minimum: float, full_at: float) -> str:
    """What passes here, where there is no reference, and what it would earn beside one."""
    full = f", and are full at {full_at:.0%} of the reference's speed, which your copy does not have" if full_at else ""
    return f"The minimum of {times(minimum)} is reached, which passes here. In class, points only begin there{full}."


def _earned(measured: Mapping[str, float]) -> str:
    """The credit, and where it is neither nothing nor all how it comes about (docs/speed.md)."""
    credit, minimum = measured["credit"], measured["min_speedup"]
    if not 0 < credit < 1:
        return f"{credit:.0%}"
    speedup, full = measured["speedup"], measured["full_speedup"]
    return f"{credit:.0%}, log({speedup:.3g} / {minimum:.3g}) / log({full:.3g} / {minimum:.3g})"
