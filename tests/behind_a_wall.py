"""What tests of the walls share: a text's beginning that tells what it sees."""

from __future__ import annotations

from collections.abc import Callable

from grader.sandbox.limits import Limits

WITHOUT_LANDLOCK = "isolated without Landlock"
LIMITS = Limits(cpu_seconds=10, wall_seconds=20, memory_bytes=2 << 30)

# A text that tells what it sees: `saw(...)` prints a line of JSON.
PRELUDE = """
import json, os, sys
from numba import cuda
@cuda.jit
def kernel(out): out[0] = 1
def attempt(what):
    try:
        return ["done", repr(what())[:200]]
    except BaseException as error:
        return ["refused", type(error).__name__]
seen = {}
"""

Seen = Callable[[str], dict[str, list[str]]]
