"""Why there is no launch plan: the recorder's death, its report, or an answer that is none. Trusted process.

Comes in: deaths, and data from a process that has executed a stranger's Python. Goes out: a Failure for the student.
"""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Annotated, Any

from pydantic import Field, TypeAdapter, ValidationError

from grader.records import MAX_FIELD, Failure
from grader.sandbox.ends import Death, describe
from grader.sandbox.limits import Limits
from grader.sandbox.protocol import BROKEN_EXIT

_FIELD = Annotated[str, Field(max_length=MAX_FIELD)]
# A line of a Python traceback that leads through this package.
_OUR_TRACEBACK = re.compile(r'^\s*File ".*[/\\]grader[/\\].*", line \d+', re.MULTILINE)
_PROBLEM = TypeAdapter(dict[Annotated[str, Field(max_length=20)], _FIELD])


def failure_of(death: Death, limits: Limits) -> Failure:
    """What to tell a student whose host code ended its process. The fault is the student's: the child was
    READY.
    """
    ours = _OUR_TRACEBACK.search(death.printed) is not None
    said = f"; it had printed: {death.printed[-300:]}" if death.printed.strip() and not ours else ""
    found = f"{death.detail}{said}"
    if death.kind == "time-out":
        return Failure(
            "time-out",
            "The host code of kernels.py computed for too long.",
            f"at most {limits.cpu_seconds:g} s, to import it and to call its entry points",
            found,
            advice="Look for a loop that does not end, or work that belongs into a kernel.",
        )
    if death.kind == "stalled":
        return Failure(
            "stalled",
            "The host code of kernels.py did not finish, and was not computing either.",
            f"an end after at most {limits.wall_seconds:g} s",
            found,
            advice="Look for something that waits: input(), sleep(), a lock, a process, the network.",
        )
    if death.kind == "memory":
        return Failure(
            "memory",
            "The host code of kernels.py needs too much memory.",
            f"at most {limits.memory_bytes:,} bytes of host memory" if limits.memory_bytes else "",
            found,
            advice="Arrays of the problem's size belong into device memory: cuda.device_array.",
        )
    if death.kind == "signal":
        advice = "Python crashes like this in calls of C code (ctypes) or without memory."
        return Failure("crash", "The host code of kernels.py crashed its process.", found=found, advice=advice)
    if death.kind == "exit" and (ours or death.detail == describe(BROKEN_EXIT)):
        return changed_python("")
    if death.kind == "exit":
        advice = "Remove os._exit and whatever else ends the process."
        return Failure("exit", "The host code of kernels.py ended its process.", found=found, advice=advice)
    return malformed(found)


def changed_python(error: str) -> Failure:
    """The failure for an exception in the recorder itself, once student code had run in it."""
    if "/" in error or "\\" in error:
        error = error.partition(":")[0]  # a path of the grader or of Python: no student's business
    return Failure(
        "changed-python",
        "kernels.py changed the Python that it runs in, so that the launches could not be written down.",
        "host code that leaves Python, NumPy, Numba and the grader as they are",
        _printable(error.rstrip(": "))[:MAX_FIELD],
        advice="Remove what replaces, clears or deletes things that kernels.py has not defined itself. "
        "If there is nothing of that kind, show your kernels.py to your instructor.",
    )


def no_launch(entry: str) -> Failure:
    """The recorder says so itself, and better; this is for an answer that somebody else has written."""
    return Failure(
        "no-launch",
        f"{entry} launched no kernel.",
        "at least one kernel that writes the output",
        advice="Call a kernel with its grid and block, as in kernel[blocks, threads](…).",
    )


def malformed(found: str) -> Failure:
    """The failure for an answer that nothing of ours gives; ``found`` says what is wrong with it."""
    return Failure(
        "malformed-plan",
        "The process that ran kernels.py answered with something that is no launch plan.",
        "host code that launches kernels, and leaves the grader's own process alone",
        found[:MAX_FIELD],
        advice="Remove what reaches into the grader, such as changes to its modules, pipes or files.",
    )


def problem(data: Any) -> Failure:
    """A failure that the recorder reports: text for a student, from a stranger's process."""
    try:
        texts = _PROBLEM.validate_python(data, strict=True)
    except ValidationError as error:
        return malformed(first_error(error))
    if set(texts) != {field.name for field in fields(Failure)} or not texts["kind"] or not texts["what"]:
        return malformed("a failure has other fields than expected")
    return Failure(**{name: _printable(text) for name, text in texts.items()})


def _printable(text: str) -> str:
    """Without what could steer a terminal."""
    return "".join(c if c == "\n" or c.isprintable() else "?" for c in text)


def first_error(error: Exception) -> str:
    """What is wrong first with an answer that is no plan, cut."""
    if isinstance(error, ValidationError):
        first = error.errors(include_input=False, include_url=False)[0]
        return f"{'.'.join(str(part) for part in first['loc'])[:200]}: {first['msg']}"
    return f"{type(error).__name__}: {str(error)[:200]}"
