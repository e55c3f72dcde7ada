"""Warm children, seen from the trusted process: start, call, restart, close.

Comes in: the name of a child's module, requests. Goes out: replies or deaths. A child is started when it is
first needed, with an environment that is written out here in full, and never sees the parent's ``sys.path``:
pytest may have put a student's folder there.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import site
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import IO, Self

import grader
from grader.errors import ChildFault
from grader.sandbox.ends import Death, Reply
from grader.sandbox.exchange import Exchange, ZygoteLost
from grader.sandbox.limits import Limits
from grader.sandbox.protocol import HOME_PREFIX, VERSION, Message

__all__ = ["Death", "Reply", "WarmChild"]

# Importing Numba takes a second from a warm disk, and minutes from a cold network file system.
START_SECONDS = 180.0
CLOSE_SECONDS = 5.0
# What of its stderr is shown when a child does not start.
TAIL_BYTES = 2000
# Where a package of ours may lie when it is not installed: `pip install --target`, or a user's site.
_NEEDED = ("grader", "numba", "numpy", "llvmlite", "pydantic", "numba_cuda")
_DEVICE_VARIABLES = ("CUDA_", "NVIDIA_", "LD_LIBRARY_PATH", "CONDA_PREFIX")
_DEVICE_MODULE = "grader.runner"


class WarmChild:
    """A child process that has imported everything slow and forks one job per call.

    Not for several threads at once. Closing it (or leaving its ``with`` block, or the end of the parent,
    however it ends) kills the child and all its jobs.
    """

    def __init__(self, module: str, *, under: Sequence[str] = (), close_seconds: float | None = None) -> None:
        """``under`` is a command that starts what follows it, and stays until that has ended, as a checker does.

        It gets ``close_seconds`` to end by itself, ``CLOSE_SECONDS`` unless given.
        """
        self._module = module
        self._under = tuple(under)
        self._close_seconds = close_seconds
        self._process: subprocess.Popen[bytes] | None = None
        self._control: socket.socket | None = None
        self._home: Path | None = None
        self._stderr: IO[bytes] | None = None
        # A job that has answered and stays, for which calls, and what is closed when it has ended.
        self._kept: Exchange | None = None
        self._kept_for: tuple[str, Limits] | None = None
        self._until_kept_ends = contextlib.ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def call(self, request: Message, limits: Limits, *, keep: str = "") -> Reply | Death:
        """Have one job answer ``request``.

        With ``keep`` the job stays, and answers the following calls that say the same, with equal limits: what it has
        learned is not learned again. That is for jobs in which no code of a guest's runs. Whatever befalls a job that
        has stayed befalls it anew in a fresh one before it counts.

        Starts the child if there is none, also after an earlier one has died. Raises ChildFault when it
        cannot be started, or when a job breaks before it has its request.
        """
        try:
            answer = self._ask_kept(request, limits, keep)
            if answer is not None:
                return answer
            return self._call(request, limits, keep)
        except ZygoteLost as lost:
            self.close()
            _kill_orphans(lost.pid)
            if lost.death is None:
                raise ChildFault(f"{self._module} ended before a job had its work") from lost
            return lost.death
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Kill the child and all that it started, and remove its folder. May be called twice."""
        self._forget_kept()
        if self._control is not None:
            self._control.close()  # at which it kills its jobs and ends
            self._control = None
        if self._process is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(CLOSE_SECONDS if self._close_seconds is None else self._close_seconds)
            if self._process.poll() is None:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(self._process.pid, signal.SIGKILL)  # what it is under may be several processes
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._stderr is not None:
            self._stderr.close()
            self._stderr = None
        if self._home is not None:
            _remove(self._home)
            self._home = None

    # ---------------------------------------------------------------- one job

    def _ask_kept(self, request: Message, limits: Limits, keep: str) -> Reply | None:
        """What the job that has stayed answers, if it is for such calls; else it ends, and there is no answer."""
        if self._kept is None:
            return None
        try:
            if self._process is None or self._process.poll() is not None:
                raise ZygoteLost(self._kept.pid, None)
            if (keep, limits) != self._kept_for:
                self._kept.end()
            elif isinstance(answer := self._kept.ask(request), Reply):
                return replace(answer, has_stayed=True)
        except ChildFault:  # it had ended while nobody asked
            pass
        except ZygoteLost as lost:
            self.close()
            _kill_orphans(lost.pid)
        self._forget_kept()
        return None

    def _forget_kept(self) -> None:
        self._kept = None
        self._kept_for = None
        self._until_kept_ends.close()

    def _call(self, request: Message, limits: Limits, keep: str) -> Reply | Death:
        control, home = self._running()
        with contextlib.ExitStack() as stack:
            folder = Path(tempfile.mkdtemp(prefix="job-", dir=home))
            stack.callback(_remove, folder)
            with contextlib.ExitStack() as until_sent:
                request_r, request_w = _pipe(reader=until_sent, writer=stack)
                reply_r, reply_w = _pipe(reader=stack, writer=until_sent)
                print_r, print_w = _pipe(reader=stack, writer=until_sent)
                ours = (request_w, reply_r, print_r)
                for fd in ours:
                    os.set_blocking(fd, False)
                order = {"limits": limits.as_json(), "folder": str(folder), "stays": bool(keep)}
                try:
                    socket.send_fds(control, [json.dumps(order).encode() + b"\n"], (request_r, reply_w, print_w))
                except OSError as error:
                    raise ZygoteLost(None, None) from error
            exchange = Exchange(control, request, limits, ours, stays=bool(keep))
            answer = exchange.run()
            if keep and isinstance(answer, Reply):
                self._kept, self._kept_for = exchange, (keep, limits)
                self._until_kept_ends = stack.pop_all()
            return answer

    # ---------------------------------------------------------------- the child itself

    def _running(self) -> tuple[socket.socket, Path]:
        if self._process is not None and self._process.poll() is not None:
            self.close()
        if self._control is None or self._home is None:
            return self._start()
        return self._control, self._home

    def _start(self) -> tuple[socket.socket, Path]:
        self._home = Path(tempfile.mkdtemp(prefix=HOME_PREFIX)).resolve()
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        with theirs:
            python = [sys.executable, "-P", "-s", "-m", self._module]
            command = [*self._under, *python, str(theirs.fileno()), str(self._home)]
            try:
                self._process = subprocess.Popen(  # noqa: S603
                    command,
                    env=child_environment(self._module, self._home),
                    cwd=self._home,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=self._stderr,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,
                )
            except OSError as error:
                raise ChildFault(f"{self._module} could not be started: {error}") from error
        self._await_ready(self._control)
        return self._control, self._home

    def _await_ready(self, control: socket.socket) -> None:
        deadline = time.monotonic() + START_SECONDS
        line = b""
        while not line.endswith(b"\n"):
            control.settimeout(max(0.001, deadline - time.monotonic()))
            try:
                data = control.recv(4096)
            except TimeoutError as error:
                raise ChildFault(f"{self._module} was not ready after {START_SECONDS:.0f} s") from error
            except ConnectionError:
                data = b""
            if not data:
                raise ChildFault(f"{self._module} ended before it was ready: {self._tail()}")
            line += data
        control.settimeout(None)
        if json.loads(line) != {"ready": VERSION}:
            raise ChildFault(f"{self._module} said {line!r} instead of READY {VERSION}")

    def _tail(self) -> str:
        assert self._process is not None
        assert self._stderr is not None
        status = self._process.wait()
        self._stderr.seek(0, os.SEEK_END)
        self._stderr.seek(max(0, self._stderr.tell() - TAIL_BYTES))
        return self._stderr.read().decode(errors="replace").strip() or f"exit status {status}"


def _pipe(reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe whose ends are closed with these."""
    ends = os.pipe()
    for end, stack in zip(ends, (reader, writer), strict=True):
        stack.callback(os.close, end)
    return ends


def child_environment(module: str, home: Path) -> dict[str, str]:
    """The whole environment of a child. The device's variables go to the runner only."""
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(home),
        "TMPDIR": str(home),
        "LANG": "C.UTF-8",
        "LC_ALL": "C.UTF-8",
        # One thread: a fork copies none, and a job's CPU time is meant to be one core's.
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(_package_roots()),
    }
    if module == _DEVICE_MODULE:
        environment |= {k: v for k, v in os.environ.items() if k.startswith(_DEVICE_VARIABLES)}
    return environment


def _package_roots() -> list[str]:
    """Folders that hold our packages and that a fresh interpreter would not search by itself.

    Absolute entries of PYTHONPATH and the user's site, if one of our packages lies there: both are the
    user's own settings. What anybody has put into ``sys.path`` since does not count.
    """
    assert grader.__file__ is not None
    candidates = [str(Path(grader.__file__).parent.parent)]
    candidates += os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if site.ENABLE_USER_SITE:
        candidates.append(site.getusersitepackages())
    found_anyway = {os.path.realpath(folder) for folder in site.getsitepackages()}
    roots = []
    for candidate in candidates:
        folder = Path(candidate)
        known = os.path.realpath(folder) in found_anyway or candidate in roots
        if folder.is_absolute() and not known and any((folder / name).is_dir() for name in _NEEDED):
            roots.append(candidate)
    return roots


def _kill_orphans(pid: int | None) -> None:
    """Kill the group of a job whose zygote is gone.

    Nobody holds its number for us any more. It still leads a session of its own if it is the job; a stranger
    that got the number in the last instants would have to be a session leader too.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if pid is not None and os.getsid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)


def _remove(folder: Path) -> None:
    """Remove a job's folder, also when the job took away its own permissions."""
    for path, names, _ in os.walk(folder):
        for name in names:
            inner = Path(path) / name
            if not inner.is_symlink():
                with contextlib.suppress(OSError):
                    inner.chmod(0o700)
    shutil.rmtree(folder, ignore_errors=True)
