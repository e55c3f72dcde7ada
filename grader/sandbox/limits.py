"""What one job may use. Made in the trusted process, set by the job itself before it reads its request.

Comes in: numbers of course policy (CPU time, memory). Goes out: a frozen record, and resource limits.
"""

from __future__ import annotations

import contextlib
import math
import resource
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

# A reference solution of any assignment needs a second or two, compilation included.
CPU_SECONDS = 20.0
# A loaded machine may give a job a third of a core; beyond that we call it stalled rather than slow.
WALL_PER_CPU_SECOND = 3.0
# Nothing that a job has to do needs a file; this leaves room for a compiler's temporary ones.
FILE_BYTES = 64 << 20
# Counts every process and thread of the user, also those outside of the job, so it must lie far above what a
# desktop session has; it still stops a fork bomb before the machine drowns. It has no effect on root and none
# on jobs of other users: a limit per job needs the control groups of a fuller sandbox.
PROCESSES = 4096
OPEN_FILES = 256
# A screenful or ten: what a person may want to read of a student's prints.
PRINTED_BYTES = 64 << 10
# The outputs of the largest check, with room to spare.
REPLY_BYTES = 1 << 30
# The driver's own, in a process that has a context: 70 MB of private memory on an H200 (driver 580), with room to spare
# for others, and for the compiler's libraries.
CUDA_BYTES = 1 << 30
# Of an array that comes in or goes out: in the message, as what a buffer starts with, as what was read back, and one
# that is being made.
COPIES_OF_ARRAYS = 4
# After the soft limit's SIGXCPU, which a job may catch, this many seconds of CPU time later comes SIGKILL.
CPU_GRACE_SECONDS = 1


@dataclass(frozen=True)
class Limits:
    """Limits of one job.

    ``cpu_seconds`` is CPU time, rounded up to whole seconds by the kernel's limit; ``wall_seconds`` is real
    time from the moment at which the job has its request. ``memory_bytes`` is address space beyond what the
    warm process already maps, or, if ``only_private``, private memory beyond what it has; None: no limit.
    ``processes`` None: no limit. ``printed_bytes`` is what is kept of the end of stdout and stderr together,
    ``reply_bytes`` the largest reply.
    """

    cpu_seconds: float = CPU_SECONDS
    wall_seconds: float = CPU_SECONDS * WALL_PER_CPU_SECOND
    memory_bytes: int | None = None
    only_private: bool = False
    file_bytes: int = FILE_BYTES
    processes: int | None = PROCESSES
    open_files: int = OPEN_FILES
    printed_bytes: int = PRINTED_BYTES
    reply_bytes: int = REPLY_BYTES

    def as_json(self) -> dict[str, Any]:
        """As plain data, for the control socket."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Self:
        """The inverse of ``as_json``."""
        return cls(**data)


def apply_to_this_process(limits: Limits, *, stays: bool = False) -> None:
    """Set the resource limits of the calling process. Only a job calls this. See ``next_request`` if it ``stays``."""
    cpu = _whole_seconds(limits)
    _lower(resource.RLIMIT_CORE, 0)
    if not stays:
        _lower(resource.RLIMIT_CPU, cpu, cpu + CPU_GRACE_SECONDS)
    _lower(resource.RLIMIT_FSIZE, limits.file_bytes)
    _lower(resource.RLIMIT_NOFILE, limits.open_files)
    if limits.processes is not None:
        _lower(resource.RLIMIT_NPROC, limits.processes)
    if limits.memory_bytes is not None:
        mapped, private = _pages()
        which, already = (resource.RLIMIT_DATA, private) if limits.only_private else (resource.RLIMIT_AS, mapped)
        # macOS knows both by name only and may refuse to set them.
        with contextlib.suppress(ValueError, OSError):
            _lower(which, already * resource.getpagesize() + limits.memory_bytes)


def with_cuda(limits: Limits, arrays_bytes: int) -> Limits:
    """The limits of a job that uses CUDA, and whose request and reply have arrays of so many bytes.

    A context reserves far more address space than it uses, so private memory is what counts; the course's limit is for
    what compiling a kernel takes.
    """
    if limits.memory_bytes is None:
        return limits
    memory = limits.memory_bytes + CUDA_BYTES + COPIES_OF_ARRAYS * arrays_bytes
    return replace(limits, memory_bytes=memory, only_private=True)


def next_request(limits: Limits) -> None:
    """Allow the calling process the CPU time of one more request. Nothing in it may catch the SIGXCPU of the last."""
    _, ceiling = resource.getrlimit(resource.RLIMIT_CPU)
    until = math.ceil(time.process_time()) + _whole_seconds(limits)
    if ceiling != resource.RLIM_INFINITY:
        until = min(until, ceiling)
    resource.setrlimit(resource.RLIMIT_CPU, (until, ceiling))


def _whole_seconds(limits: Limits) -> int:
    return max(1, math.ceil(limits.cpu_seconds))


def _lower(which: int, soft: int, hard: int | None = None) -> None:
    """Set a limit, never above the hard limit that is in force already."""
    _, ceiling = resource.getrlimit(which)
    if ceiling == resource.RLIM_INFINITY:
        ceiling = max(soft, hard or soft)
    resource.setrlimit(which, (min(soft, ceiling), min(soft if hard is None else hard, ceiling)))


def _pages() -> tuple[int, int]:
    """Pages that this process maps now, and how many of them are private; 0 where the system does not say (macOS)."""
    try:
        fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
        return int(fields[0]), int(fields[5])
    except (OSError, ValueError, IndexError):
        return 0, 0
