"""How a job may end, as the trusted process sees it. Frozen records; nothing here acts."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Literal

from grader.sandbox.frames import Message

DeathKind = Literal["time-out", "stalled", "signal", "exit", "memory", "protocol"]


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

    "time-out": over its CPU limit, or over its wall time and busy for most of its CPU time. "stalled": over
    its wall time, but idle, by itself or for want of a free core (``starved_seconds`` of it, where the system
    says so: Linux). "protocol": what it sent is no reply.
    """

    kind: DeathKind
    detail: str
    printed: str
    cpu_seconds: float
    wall_seconds: float
    starved_seconds: float = 0.0


def describe(code: int) -> str:
    """An exit code of ``os.waitstatus_to_exitcode``, in words."""
    if code >= 0:
        return f"exit status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
