"""The warm process of a child, seen from the trusted process: its start, its environment, its end.

Comes in: the name of a child's module. Goes out: a process that takes orders for jobs on a socket, a folder for what
these write. What it is started with, and which wall is around it, ``environment`` and ``wall_of_child`` say.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from grader.errors import ChildFault
from grader.sandbox.environment import PYTHON, child_environment
from grader.sandbox.levels import SandboxLevel
from grader.sandbox.protocol import HOME_PREFIX, VERSION
from grader.sandbox.wall_of_child import wall_of
from grader.sandbox.walls import NO_WALL

# Importing Numba takes a second from a warm disk, and minutes from a cold network file system.
START_SECONDS = 180.0
CLOSE_SECONDS = 5.0
# What of its stderr is shown when a child does not start.
TAIL_BYTES = 2000
# A child that can write no file cannot remove its folder either, after a parent that was killed.
_REMOVING = ("/bin/sh", "-c", '"$@"; status=$?; rm -rf -- "$0"; exit $status')


class Zygote:
    """A process that has imported everything slow; for each order on ``control`` it forks a job, a child of its own.

    ``home`` is the folder of its jobs' folders.
    """

    def __init__(self, module: str, under: Sequence[str], close_seconds: float, demanded: SandboxLevel) -> None:
        """Start it, and wait until it is ready. For ``under``, ``close_seconds`` and ``demanded`` see ``WarmChild``.

        A child that is started under another program has no wall. Raises ChildFault where it does not start.
        """
        self._module = module
        self.wall = NO_WALL if under else wall_of(module, demanded)
        self._close_seconds = close_seconds
        with contextlib.ExitStack() as until_closed:
            self.home = Path(tempfile.mkdtemp(prefix=HOME_PREFIX)).resolve()
            until_closed.callback(remove_folder, self.home)
            self._stderr = until_closed.enter_context(tempfile.TemporaryFile())
            self.control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
            until_closed.enter_context(self.control)
            with theirs:
                self.process = self._popen(under, theirs)
            until_closed.callback(self._end)
            self._await_ready()
            self._until_closed = until_closed.pop_all()

    def is_alive(self) -> bool:
        """Whether the process still runs."""
        return self.process.poll() is None

    def close(self) -> None:
        """Kill it and all that it started, and remove its folder. May be called twice."""
        self._until_closed.close()

    def _popen(self, under: Sequence[str], theirs: socket.socket) -> subprocess.Popen[bytes]:
        home = str(self.home)
        wall = [*_REMOVING, home, *self.wall.under, "--ro-bind", home, home] if self.wall.under else []
        try:
            return subprocess.Popen(  # noqa: S603
                [*under, *wall, *PYTHON, "-m", self._module, str(theirs.fileno()), home],
                env=child_environment(self._module, self.home),
                cwd=self.home,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._stderr,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        except OSError as error:
            raise ChildFault(f"{self._module} could not be started: {error}") from error

    def _end(self) -> None:
        self.control.close()  # at which it kills its jobs and ends
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(self._close_seconds)
        if self.is_alive():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.process.pid, signal.SIGKILL)  # what it is under may be several processes
            self.process.kill()
            self.process.wait()

    def _await_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        line = b""
        while not line.endswith(b"\n"):
            self.control.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                data = self.control.recv(4096)
            except TimeoutError as error:
                raise ChildFault(f"{self._module} was not ready after {START_SECONDS:.0f} s") from error
            except ConnectionError:
                data = b""
            if not data:
                raise ChildFault(f"{self._module} ended before it was ready: {self._tail()}")
            line += data
        self.control.settimeout(None)
        if json.loads(line) != {"ready": VERSION}:
            raise ChildFault(f"{self._module} said {line!r} instead of READY {VERSION}")

    def _tail(self) -> str:
        status = self.process.wait()
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - TAIL_BYTES))
        return self._stderr.read().decode(errors="replace").strip() or f"exit status {status}"


def remove_folder(folder: Path) -> None:
    """Remove a job's folder, also when the job took away its own permissions."""
    for path, names, _ in os.walk(folder):
        for name in names:
            inner = Path(path) / name
            if not inner.is_symlink():
                with contextlib.suppress(OSError):
                    inner.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
