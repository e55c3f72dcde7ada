"""Warm children, seen from the trusted process: call, keep a job, start anew, close.

Comes in: the name of a child's module, requests. Goes out: replies or deaths. A child is started when it is first
needed (``launch``); each job of it is one ``Exchange``.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Self

from grader.errors import ChildFault
from grader.sandbox.ends import Death, Reply
from grader.sandbox.exchange import Exchange
from grader.sandbox.job_control import ZygoteLost
from grader.sandbox.launch import CLOSE_SECONDS, Zygote, remove_folder
from grader.sandbox.levels import LEVELS, SandboxLevel, reaches
from grader.sandbox.limits import Limits
from grader.sandbox.protocol import Message


class WarmChild:
    """A child process that has imported everything slow and forks one job per call.

    Not for several threads at once. Closing it (or leaving its ``with`` block, or the end of the parent,
    however it ends) kills the child and all its jobs.
    """

    def __init__(self, module: str, *, under: Sequence[str] = (), close_seconds: float = CLOSE_SECONDS) -> None:
        """``under`` is a command that starts what follows it, and stays until that has ended, as a checker does.

        It gets ``close_seconds`` to end by itself.
        """
        self._module = module
        self._under = tuple(under)
        self._close_seconds = close_seconds
        self._demanded = LEVELS[0]
        self._zygote: Zygote | None = None
        self._kept: _KeptJob | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def zygote(self) -> Zygote | None:
        """The process, while there is one."""
        return self._zygote

    def demand(self, level: SandboxLevel) -> None:
        """From now on have no weaker wall around it: then it is a ChildFault to call it. One that has a weaker ends."""
        self._demanded = level
        if self._zygote is not None and not reaches(self._zygote.wall.level, level):
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
            return self._ask_new(request, limits, keep) if answer is None else answer
        except ZygoteLost as lost:
            self._after(lost)
            if lost.death is None:
                raise ChildFault(f"{self._module} ended before a job had its work") from lost
            return lost.death
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Kill the child and all that it started, and remove its folder. May be called twice."""
        self._forget_kept()
        if self._zygote is not None:
            self._zygote.close()
            self._zygote = None

    def _ask_kept(self, request: Message, limits: Limits, keep: str) -> Reply | None:
        """What the job that has stayed answers, if it is for such calls; else it ends, and there is no answer."""
        if self._kept is None:
            return None
        try:
            if self._zygote is None or not self._zygote.is_alive():
                raise ZygoteLost(self._kept.pid, None)
            answer = self._kept.answer(request, limits, keep)
        except ZygoteLost as lost:
            self._after(lost)
            return None
        if answer is None:
            self._forget_kept()
        return answer

    def _ask_new(self, request: Message, limits: Limits, keep: str) -> Reply | Death:
        zygote = self._running()
        with contextlib.ExitStack() as stack:
            exchange = Exchange(
                zygote.control, request, limits, _order(zygote, limits, stack, stays=bool(keep)), stays=bool(keep)
            )
            answer = exchange.run()
            if keep and isinstance(answer, Reply):
                self._kept = _KeptJob(exchange, limits, keep, stack.pop_all())
            return answer

    def _running(self) -> Zygote:
        if self._zygote is not None and not self._zygote.is_alive():
            self.close()
        if self._zygote is None:
            self._zygote = Zygote(self._module, self._under, self._close_seconds, self._demanded)
        return self._zygote

    def _forget_kept(self) -> None:
        if self._kept is not None:
            self._kept.forget()
            self._kept = None

    def _after(self, lost: ZygoteLost) -> None:
        numbers_are_ours = self._zygote is None or self._zygote.wall.level != "isolated"
        self.close()
        # In a namespace of their own jobs have other numbers, and none outlives its first process.
        if numbers_are_ours:
            _kill_orphans(lost.pid)


class _KeptJob:
    """A job that has answered and stays, for calls like its first. ``resources``: what it uses, of ours."""

    def __init__(self, exchange: Exchange, limits: Limits, keep: str, resources: contextlib.ExitStack) -> None:
        self._exchange = exchange
        self._limits = limits
        self._keep = keep
        self._resources = resources

    @property
    def pid(self) -> int | None:
        """The job's number."""
        return self._exchange.pid

    def answer(self, request: Message, limits: Limits, keep: str) -> Reply | None:
        """What it answers. None, and it is to be forgotten, where it is for other calls, or ends. Raises ZygoteLost."""
        try:
            if (keep, limits) != (self._keep, self._limits):
                self._exchange.end()
                return None
            answer = self._exchange.ask(request)
        except ChildFault:  # it had ended while nobody asked
            return None
        return replace(answer, has_stayed=True) if isinstance(answer, Reply) else None

    def forget(self) -> None:
        """Close its pipes and remove its folder."""
        self._resources.close()


def _order(zygote: Zygote, limits: Limits, until_it_ends: contextlib.ExitStack, *, stays: bool) -> tuple[int, int, int]:
    """Order a job; our ends of its pipes: to write its request, to read its reply and what it prints.

    Raises ZygoteLost.
    """
    folder = Path(tempfile.mkdtemp(prefix="job-", dir=zygote.home))
    until_it_ends.callback(remove_folder, folder)
    with contextlib.ExitStack() as until_sent:
        request_r, request_w = _pipe(reader=until_sent, writer=until_it_ends)
        reply_r, reply_w = _pipe(reader=until_it_ends, writer=until_sent)
        print_r, print_w = _pipe(reader=until_it_ends, writer=until_sent)
        ours = (request_w, reply_r, print_r)
        for fd in ours:
            os.set_blocking(fd, False)
        order = {
            "limits": limits.as_json(),
            "confinement": zygote.wall.confinement.as_json(),
            "folder": str(folder),
            "stays": stays,
        }
        try:
            socket.send_fds(zygote.control, [json.dumps(order).encode() + b"\n"], (request_r, reply_w, print_w))
        except OSError as error:
            raise ZygoteLost(None, None) from error
    return ours


def _pipe(reader: contextlib.ExitStack, writer: contextlib.ExitStack) -> tuple[int, int]:
    """A pipe whose ends are closed with these."""
    ends = os.pipe()
    for end, stack in zip(ends, (reader, writer), strict=True):
        stack.callback(os.close, end)
    return ends


def _kill_orphans(pid: int | None) -> None:
    """Kill the group of a job whose zygote is gone.

    Nobody holds its number for us any more. It still leads a session of its own if it is the job; a stranger
    that got the number in the last instants would have to be a session leader too.
    """
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if pid is not None and os.getsid(pid) == pid:
            os.killpg(pid, signal.SIGKILL)
