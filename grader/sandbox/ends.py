"""How a job may end, as the trusted process sees it: exit codes in, frozen records out. Nothing here acts."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Literal

from grader.sandbox.frames import Message

# Of the last line that a job printed: enough for an exception and its message.
MAX_LAST_WORDS = 300
DeathKind = Literal["time-out", "stalled", "starved", "signal", "exit", "memory", "protocol"]


@dataclass(frozen=True)
class Reply:
    """A job's answer: from an untrusted process, well-formed as a frame and nothing else."""

    message: Message
    printed: str
    cpu_seconds: float
    wall_seconds: float


@dataclass(frozen=True)
class Death:
    """A job's end without an answer. Whose fault it is, is for the caller to say.

    "time-out": over its CPU limit, or over its wall time and busy for most of its CPU time. "stalled": over its
    wall time, but idle by itself. "starved": over its wall time, much of which other work on the machine kept it
    from running (``starved_seconds``, where the system says so: Linux). "protocol": what it sent is no reply.
    """

    kind: DeathKind
    detail: str
    printed: str
    cpu_seconds: float
    wall_seconds: float
    starved_seconds: float = 0.0

    @property
    def last_words(self) -> str:
        """The last line that the job printed, cut; of a Python exception that is what was raised."""
        lines = [line.strip() for line in self.printed.splitlines() if line.strip()]
        return lines[-1][:MAX_LAST_WORDS] if lines else ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" + (f"; it had printed: {self.last_words}" if self.last_words else "")


def describe(code: int) -> str:
    """An exit code of ``os.waitstatus_to_exitcode``, in words."""
    if code >= 0:
        return f"exit status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
