"""How a job may end, as the trusted process sees it: what was observed in, frozen records out. Nothing here acts."""

from __future__ import annotations

import signal
from dataclasses import dataclass
from typing import Literal

from grader.sandbox.frames import Message
from grader.sandbox.limits import Limits
from grader.sandbox.protocol import MEMORY_EXIT

# A job whose time ran out had "used most of" its CPU time from this share on; below it, it waited or slept.
BUSY_SHARE = 0.5
# A job whose time ran out and that other work kept from running for this share of it ran out through the machine.
STARVED_SHARE = 0.25
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
    has_stayed: bool = False  # the job had answered before; then its CPU time is not known, and 0


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


@dataclass(frozen=True)
class JobEnd:
    """A job's end as its zygote saw it. ``code`` is as ``os.waitstatus_to_exitcode`` has it.

    ``starved_seconds``: how long other work on the machine kept it from running, where the system says so.
    """

    code: int
    cpu_seconds: float
    starved_seconds: float


@dataclass(frozen=True)
class Observed:
    """What was seen of a job that had taken its request, once it has ended.

    ``broken`` says what was wrong with what it sent, else ""; ``over_time`` is whether it was ended because its wall
    time had passed.
    """

    end: JobEnd
    wall_seconds: float
    printed: str
    message: Message | None
    broken: str
    over_time: bool

    def death(self, kind: DeathKind, detail: str) -> Death:
        """The death of this job."""
        return Death(kind, detail, self.printed, self.end.cpu_seconds, self.wall_seconds, self.end.starved_seconds)


def end_of(job: Observed, limits: Limits) -> Reply | Death:
    """What became of a job: an answer, or the kind of its death."""
    end = job.end
    if job.message is not None:
        return Reply(job.message, job.printed, end.cpu_seconds, job.wall_seconds)
    if job.over_time:
        detail = f"{limits.wall_seconds:.3g} s had passed, {end.cpu_seconds:.2g} s of them computing"
        if end.starved_seconds > STARVED_SHARE * job.wall_seconds:
            return job.death("starved", detail)
        busy = end.cpu_seconds >= BUSY_SHARE * limits.cpu_seconds
        return job.death("time-out" if busy else "stalled", detail)
    if job.broken:
        return job.death("protocol", job.broken)
    if end.code == -signal.SIGXCPU or (end.code == -signal.SIGKILL and end.cpu_seconds >= limits.cpu_seconds):
        return job.death("time-out", f"{limits.cpu_seconds:.3g} s of computing were allowed")
    if end.code < 0:
        return job.death("signal", describe(end.code))
    if end.code == MEMORY_EXIT:
        return job.death("memory", "an allocation failed")
    return job.death("exit", describe(end.code))


def describe(code: int) -> str:
    """An exit code of ``os.waitstatus_to_exitcode``, in words."""
    if code >= 0:
        return f"exit status {code}"
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"signal {-code}"
