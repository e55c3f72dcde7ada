"""The children's side of the wall: the main loop of a warm child, and what a job does before its handler
runs.

Runs in both children (recorder, runner). A warm child ("zygote") has imported everything slow, executes no
student's work, has no threads, and forks one job per request. Comes in: over the control socket (an inherited
socket whose number is in ``sys.argv[1]``) one line of JSON per job with its limits and folder, and its three
pipes as passed file descriptors. Goes out: lines that say when a job started, and how it ended.

A job that stays, where no code of a guest's runs in it, answers one request after the other until it is killed; each
has the CPU time of a job.

A job has a session and process group of its own. Its zygote kills that group when the job ends, however it
ended, and before it reaps the job, so that the group's number cannot have passed to a stranger.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import selectors
import shutil
import signal
import site
import socket
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from grader.sandbox.confine import confine, hide
from grader.sandbox.frames import FrameError, Message, read_message, write_message
from grader.sandbox.job_processes import has_ended, kill_group, starved_seconds
from grader.sandbox.levels import Confinement
from grader.sandbox.limits import Limits, apply_to_this_process, next_request

__all__ = ["FrameError", "Message", "serve"]

VERSION = 1
# Exit statuses of a job that ends without a reply. What a student's code exits with is its own affair: a job
# that forges one of these only describes its own end differently.
MEMORY_EXIT = 91
BROKEN_EXIT = 92
# The parent watches a request's progress and kills a job that gets none; this is only a last resort.
REQUEST_SECONDS = 600.0
REQUEST_BYTES = 1 << 40
HOME_PREFIX = "warpgrade-"
_FIRST_FREE_FD = 10

Handler = Callable[[Message], Message]


def serve(handle: Handler, warm_up: Callable[[], None], *, hidden: bool = False) -> None:
    """Be a warm child: call ``warm_up`` once, say READY, then fork one job per request until the parent is
    gone.

    ``hidden``: jobs, though they are of the same user, can look into none of each other's memory, nor into the child's.

    ``handle`` runs in the jobs only, with stdout and stderr already going to the parent's print pipe. A
    MemoryError that it raises is reported as the job's end of kind "memory"; other exceptions as "exit".
    """
    if len(sys.argv) < 2:
        sys.exit("This is a part of the grader that it starts itself; the command for people is `grader`.")
    control = socket.socket(fileno=int(sys.argv[1]))
    home = Path(sys.argv[2]) if len(sys.argv) > 2 else None
    control.set_inheritable(False)
    if hidden:
        hide()
    for root in filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep)):
        site.addsitedir(root)  # a package from `pip install --target` may bring a .pth file, as numba-cuda does
    warm_up()
    gc.collect()
    gc.freeze()  # a collection in a job would write to, and so copy, every page that it shares with its zygote
    zygote = _Zygote(control, handle)
    try:
        zygote.run()
    finally:
        zygote.kill_all()
        # After a parent that could not clean up. The name is checked: HOME is somebody's own in a manual
        # start.
        if home is not None and home.name.startswith(HOME_PREFIX):
            shutil.rmtree(home, ignore_errors=True)


class _Zygote:
    """Forks, kills and reaps jobs; knows no student's work."""

    def __init__(self, control: socket.socket, handle: Handler) -> None:
        self._control = control
        self._handle = handle
        self._jobs: set[int] = set()  # not reaped yet, so their numbers are theirs
        self._starved: dict[int, float] = {}
        self._pending = b""
        self._fds: list[int] = []
        self._wake, self._waker = socket.socketpair()
        self._wake.setblocking(False)
        self._waker.setblocking(False)
        self._selector = selectors.DefaultSelector()

    def run(self) -> None:
        """Serve until the control socket ends."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._waker.fileno(), warn_on_full_buffer=False)
        self._selector.register(self._control, selectors.EVENT_READ, self._on_control)
        self._selector.register(self._wake, selectors.EVENT_READ, self._on_wake)
        with contextlib.suppress(ConnectionError):
            self._say({"ready": VERSION})
            open_ended = True
            while open_ended:
                open_ended = all([key.data() for key, _ in self._selector.select()])  # noqa: C419  each must run

    def kill_all(self) -> None:
        """Kill and reap every job."""
        for pid in tuple(self._jobs):
            kill_group(pid)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
        self._jobs.clear()

    def _say(self, line: dict[str, Any]) -> None:
        self._control.sendall(json.dumps(line).encode() + b"\n")

    def _on_control(self) -> bool:
        data, fds, _, _ = socket.recv_fds(self._control, 1 << 16, 3)
        if not data:
            return False
        self._fds += fds
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            order = json.loads(line)
            if "kill" in order:
                if order["kill"] in self._jobs:
                    self._starved[order["kill"]] = starved_seconds(order["kill"])
                    kill_group(order["kill"])
            else:
                self._start(order)
        return True

    def _on_wake(self) -> bool:
        with contextlib.suppress(BlockingIOError):
            while self._wake.recv(4096):
                pass
        for pid in tuple(self._jobs):
            if has_ended(pid):
                self._bury(pid)
        return True

    def _start(self, order: dict[str, Any]) -> None:
        fds, self._fds = self._fds, []
        try:
            pid = os.fork()
        except OSError as error:
            self._say({"refused": f"cannot start a process: {error.strerror}"})
        else:
            if pid == 0:
                self._become_job(order, fds)
            self._jobs.add(pid)
            self._say({"started": pid})
        for fd in fds:
            os.close(fd)

    def _bury(self, pid: int) -> None:
        kill_group(pid)
        _, status, usage = os.wait4(pid, 0)
        self._jobs.discard(pid)
        cpu = usage.ru_utime + usage.ru_stime
        starved = self._starved.pop(pid, 0.0)
        self._say({"ended": pid, "status": status, "cpu_seconds": cpu, "starved_seconds": starved})

    def _become_job(self, order: dict[str, Any], fds: list[int]) -> None:
        """In the forked process: never returns."""
        status = BROKEN_EXIT
        try:
            os.setsid()
            signal.set_wakeup_fd(-1)
            for number in (signal.SIGCHLD, signal.SIGINT):
                signal.signal(number, signal.SIG_DFL)
            with contextlib.suppress(OSError):  # macOS: a kqueue does not pass through a fork
                self._selector.close()
            for end in (self._control, self._wake, self._waker):
                end.close()
            request, reply = _take_over(fds)
            limits, stays = Limits.from_json(order["limits"]), bool(order["stays"])
            apply_to_this_process(limits, stays=stays)
            folder = order["folder"]
            os.chdir(folder)
            os.umask(0o077)
            os.environ.update(HOME=folder, TMPDIR=folder)
            confine(Confinement.from_json(order["confinement"]))
            write_message(reply, Message({"ready": VERSION}))
            while True:
                message = read_message(request, REQUEST_BYTES, time.monotonic() + REQUEST_SECONDS)
                if stays:
                    next_request(limits)
                else:
                    os.close(request)
                answer = self._handle(message)
                with contextlib.suppress(Exception):  # whatever the handler's guest has made of them
                    sys.stdout.flush()
                    sys.stderr.flush()
                write_message(reply, answer)
                if not stays:
                    break
            status = 0
        except MemoryError:
            status = MEMORY_EXIT
        except BaseException:
            with contextlib.suppress(BaseException):
                os.write(2, traceback.format_exc().encode(errors="replace")[-8192:])
        finally:
            os._exit(status)


def _take_over(fds: list[int]) -> tuple[int, int]:
    """Make the print pipe stdout and stderr, /dev/null stdin, and close all else but request and reply."""
    request, reply = (fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_FD) for fd in fds[:2])
    printed = fcntl.fcntl(fds[2], fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE_FD)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(printed, 1)
    os.dup2(printed, 2)
    keep = {0, 1, 2, request, reply}
    for name in os.listdir("/dev/fd"):  # noqa: PTH208  names are all there is
        if int(name) not in keep:
            with contextlib.suppress(OSError):  # the listing's own
                os.close(int(name))
    # New objects: those that the warm child has were made for what its stdout was.
    out, err = (open(fd, "w", 1, "utf-8", "backslashreplace", closefd=False) for fd in (1, 2))  # noqa: SIM115
    sys.stdout = sys.__stdout__ = out  # type: ignore[misc]
    sys.stderr = sys.__stderr__ = err  # type: ignore[misc]
    return request, reply
