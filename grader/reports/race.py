"""What a race measured, in a few lines. Pure; trusted process.

In: the figures of a check (``racing.Race.numbers``, and what the judge made of them). Out: lines of text.
"""

from __future__ import annotations

from collections.abc import Mapping

from grader.speed import duration, times

MS = 1e6  # nanoseconds


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
        said.append(
            f"Full points begin at {times(measured['full_speedup'])}; the reference reaches "
            f"{times(measured['reference_speedup'])}. Earned: {measured.get('credit', 0):.0%}."
        )
    said.append(f"That is {measured['of_limit']:.0%} of what this GPU can do.")
    said.append(
        f"Not counted: {duration(measured['launching_ms'] * MS)} of launching, "
        f"{duration(measured['compiling_ms'] * MS)} of compiling."
    )
    return " ".join(said)
