"""What a plan asks of device memory, against what a check may use. Pure; trusted process.

In: a LaunchPlan, course.yml's limit in bytes. Out: a Failure or None.
"""

from __future__ import annotations

from grader.plan import LaunchPlan
from grader.records import Failure


def too_much_memory(plan: LaunchPlan, allowed: int | None, call: str) -> Failure | None:
    """Why the arrays that host code allocates are too large together: more than ``allowed`` bytes (None: no limit)."""
    scratch = sum(buffer.nbytes for buffer in plan.buffers if buffer.origin == "scratch")
    if allowed is None or scratch <= allowed:
        return None
    return Failure(
        "memory",
        f"{plan.entry} allocates too much device memory.",
        expected=f"at most {allowed:,} bytes",
        found=f"{scratch:,} bytes",
        where=call,
        advice="Allocate what one launch needs, and reuse it.",
    )
