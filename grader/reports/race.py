"""What a race measured, in a few lines. Pure; trusted process.

In: the figures of a check (``racing.Race.numbers``, and what the judge made of them). Out: sentences, or rows.
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
    said = [
        f"{times(measured['speedup'])} the CPU baseline's speed: {_time(measured, 'median')} ({_known(measured)}) "
        f"against {_time(measured, 'baseline')}."
    ]
    if "reference_speedup" in measured:
        full = f", full points at {times(measured['full_speedup'])}" if "full_speedup" in measured else ""
        earned = f" Earned: {_earned(measured)}." if "credit" in measured else ""  # else it was not measured
        if "bonus_credit" in measured:
            earned += f" Of the bonus: {measured['bonus_credit']:.0%}."
        said.append(
            f"Points begin at {times(measured['min_speedup'])}{full}; the reference reaches "
            f"{times(measured['reference_speedup'])}.{earned}"
        )
    elif 0 < measured.get("min_speedup", 0.0) <= measured["speedup"]:
        said.append(_minimum_reached(measured["min_speedup"], measured.get("full_at", 0.0)))
    said.append(f"The kernels are at {_of_limit(measured)}.")
    copying, launching, compiling = (_time(measured, name) for name in OTHER_COSTS)
    said.append(f"Not counted: {copying} of copying, {launching} of launching, {compiling} of compiling.")
    if "sm_mhz" in measured:
        said.append(f"The GPU ran at {_clocks(measured)}.")
    return " ".join(said)


def race_rows(measured: Mapping[str, float]) -> list[tuple[str, str]]:
    """The same as rows of a table, a label and its figures; none where nothing was raced."""
    if "speedup" not in measured:
        return []
    rows = [
        ("your kernels", f"{_time(measured, 'median')} ({_known(measured)})"),
        ("CPU baseline", _time(measured, "baseline")),
        ("speed-up", times(measured["speedup"])),
    ]
    if measured.get("min_speedup", 0.0) > 0:
        rows.append(("points begin at", times(measured["min_speedup"])))
    if "full_speedup" in measured:
        rows.append(("full points at", times(measured["full_speedup"])))
    if "reference_speedup" in measured:
        rows.append(("the reference", times(measured["reference_speedup"])))
        if "credit" in measured:
            rows.append(("earned", _earned(measured)))
    rows.append(("of the limit", _of_limit(measured)))
    rows.append(("not counted", ", ".join(f"{name} {_time(measured, name)}" for name in OTHER_COSTS)))
    if "sm_mhz" in measured:
        rows.append(("the GPU", _clocks(measured)))
    return rows


def _time(measured: Mapping[str, float], name: str) -> str:
    return duration(measured[f"{name}_ms"] * MS)


def _known(measured: Mapping[str, float]) -> str:
    """Of how many runs a median is, and between which times it lies."""
    low, high = _time(measured, "low"), _time(measured, "high")
    return f"median of {measured['runs']:.0f} runs{f', {low} to {high}' if low != high else ''}"


def _of_limit(measured: Mapping[str, float]) -> str:
    limit = "memory" if measured["limited_by_memory"] else "arithmetic"
    return f"{measured['of_limit']:.0%} of the speed of this GPU's {limit}"


def _clocks(measured: Mapping[str, float]) -> str:
    """How fast the GPU ran, and what held it back."""
    heat = f", {measured['celsius']:.0f} °C" if "celsius" in measured else ""
    power = f", at {HELD_BY['held_by_power']}" if measured["held_by_power"] else ""
    others = [why for name, why in HELD_BY.items() if name != "held_by_power" and measured.get(name)]
    held = f", held back by {' and by '.join(others)}" if others else ""
    return f"{measured['sm_mhz']:,.0f} MHz{heat}{power}{held}"


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
