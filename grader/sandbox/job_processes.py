"""A job's processes as the system sees them: their time, their end. Runs in both children (recorder, runner).

In: the number of a job's first process, which leads its session and group. Out: seconds; or all of them killed.
"""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path


def starved_seconds(pid: int) -> float:
    """How long other work kept a job from running, as Linux counts it; 0 where the system does not say.

    That is how long its main thread was ready to run but had no core, less what its own other threads and
    processes computed meanwhile: a job cannot starve itself. A process is the job's if it is in its session or
    descends from one that is; who left the session and lost its parent is not found.
    """
    try:
        ran_ns, waited_ns, _ = Path(f"/proc/{pid}/schedstat").read_text(encoding="ascii").split()
        others = cpu_seconds_of_job(pid) - int(ran_ns) / 1e9
        return max(0.0, int(waited_ns) / 1e9 - max(0.0, others))
    except (OSError, ValueError):
        return 0.0


def cpu_seconds_of_job(leader: int) -> float:
    """CPU time of all living processes of a job, and of those that they have reaped. Linux only."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    job = {leader}
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError):  # it has ended since
                # proc(5): the fields from the third on, state; the second may hold anything.
                values = (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
                pid, parents[pid], ticks[pid] = (int(folder.name), int(values[1]), sum(map(int, values[11:15])))
                if int(values[3]) == leader:
                    job.add(pid)
    while found := {pid for pid, parent in parents.items() if parent in job} - job:
        job |= found
    return sum(ticks.get(pid, 0) for pid in job) / os.sysconf("SC_CLK_TCK")


def kill_group(pid: int) -> None:
    """Kill a job that has not been reaped, and everything in its group (it leads one as soon as it said
    READY).
    """
    # PermissionError is macOS's answer for a group of which only the dead leader is left.
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def has_ended(pid: int) -> bool:
    """Whether a job has ended, without reaping it.

    Where Python has no waitid (macOS before 3.13), the signal that brought us here has to do: it also comes
    for a job that stopped itself, and such a job would only wait for its time limit.
    """
    if not hasattr(os, "waitid"):
        return True
    return os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
