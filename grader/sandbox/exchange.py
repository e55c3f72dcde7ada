"""One job, seen from the trusted process: request out, reply and prints in, until the job's end is known.

Comes in: the control socket of a zygote, the parent's ends of the job's three pipes, the request, the limits.
Goes out: a ``Reply`` or a ``Death``. One selectors loop does it all; no step waits for the job without a
deadline, and nothing that a job or its descendants hold open or keep writing delays the end.
"""

from __future__ import annotations

import contextlib
import os
import selectors
import socket
import time
from collections.abc import Callable
from enum import Enum

from grader.errors import ChildFault
from grader.sandbox.ends import Death, JobEnd, Reply, describe, end_of
from grader.sandbox.frames import FrameError, FrameReader, Message
from grader.sandbox.job_control import JobControl, ZygoteLost
from grader.sandbox.limits import Limits
from grader.sandbox.protocol import VERSION
from grader.sandbox.turn import Turn

# A fork and a few system calls; a minute is for a machine that swaps.
READY_SECONDS = 60.0
# Without progress for this long, a request is not being read.
SEND_SECONDS = 60.0
# From a SIGKILL to the zygote's report.
END_SECONDS = 20.0
READY_BYTES = 4096
# What may still be in the pipes once the job's group is dead; a descendant that left the group cannot make
# it more.
DRAIN_BYTES = 4 << 20


class _Stage(Enum):
    STARTING = "starting"
    SENDING = "sending"
    RUNNING = "running"
    ANSWERED = "answered"
    ENDING = "ending"


class Exchange:
    """The conversation with one job. Make one per job; ``run`` it once. If the job stays, ``ask`` and ``end`` it."""

    def __init__(
        self,
        control: socket.socket,
        request: Message,
        limits: Limits,
        fds: tuple[int, int, int],
        *,
        stays: bool = False,
    ) -> None:
        self._job = JobControl(control)
        self._limits = limits
        self._stays = stays
        self._request_fd, self._reply_fd, self._print_fd = fds
        self._reader = FrameReader(READY_BYTES)
        self._selector = selectors.DefaultSelector()
        self._stage = _Stage.STARTING
        self._deadline = time.monotonic() + READY_SECONDS
        self._turn = Turn(request)

    @property
    def pid(self) -> int | None:
        """The job's number, once it has started."""
        return self._job.pid

    def ask(self, request: Message) -> Reply | Death:
        """Have a job that stays, and has answered, answer the next request. As ``run``."""
        self._turn = Turn(request)
        self._reader = FrameReader(self._limits.reply_bytes)
        self._stage = _Stage.SENDING
        self._deadline = time.monotonic() + SEND_SECONDS
        return self.run()

    def end(self) -> None:
        """End a job that stays. Raises ZygoteLost."""
        self._turn.has_work = False
        self._stage = _Stage.RUNNING
        self._end()
        self._converse()

    def run(self) -> Reply | Death:
        """Carry the conversation through.

        Raises ChildFault when the job breaks before its READY or does not take its request, ZygoteLost when
        its zygote is gone.
        """
        self._converse()
        turn = self._turn
        if self._job.refused:
            raise ChildFault(self._job.refused)
        if self._stays and self._job.end is None and turn.message is not None:
            self._drain(self._print_fd, self._on_print)
            return Reply(turn.message, turn.printed, 0.0, turn.wall_seconds)
        if turn.has_work and turn.message is None and not turn.broken:
            self._drain(self._reply_fd, self._on_reply)
        self._drain(self._print_fd, self._on_print)
        return self._verdict()

    def _converse(self) -> None:
        """Until the job's end, or the answer of one that stays."""
        self._selector = selectors.DefaultSelector()
        with self._selector:
            for source, handler in (
                (self._job.socket, self._on_control),
                (self._reply_fd, self._on_reply),
                (self._print_fd, self._on_print),
            ):
                if self._stage is not _Stage.ENDING or source is self._job.socket:
                    self._selector.register(source, selectors.EVENT_READ, handler)
            if self._stage is _Stage.SENDING:
                self._selector.register(self._request_fd, selectors.EVENT_WRITE, self._on_writable)
            while self._job.end is None and not self._job.refused and self._stage is not _Stage.ANSWERED:
                remaining = self._deadline - time.monotonic()
                events = self._selector.select(max(0.0, remaining)) if remaining > 0 else []
                if not events and time.monotonic() >= self._deadline:
                    self._on_deadline()
                for key, _ in events:
                    if key.fd in self._selector.get_map():
                        key.data()

    # ---------------------------------------------------------------- what arrives

    def _on_control(self) -> None:
        if not self._job.read():
            self._lost("the process that had started the job ended while the job ran")
        if self._job.end is not None:
            self._turn.finish()

    def _on_reply(self) -> None:
        try:
            count = os.readv(self._reply_fd, [self._reader.target()])
        except BlockingIOError:
            return
        try:
            if count == 0:
                if self._reader.received:
                    raise self._reader.ended()
                self._forget(self._reply_fd)  # its end is reported on the control socket
                return
            message = self._reader.advance(count)
        except FrameError as error:
            self._turn.broken = str(error)
            self._end()
            return
        if message is None:
            return
        if self._stage is _Stage.STARTING:
            self._on_ready(message)
        else:
            self._turn.message = message
            self._turn.finish()
            if self._stays:
                self._stage = _Stage.ANSWERED
            else:
                self._end()

    def _on_ready(self, message: Message) -> None:
        if message.header.get("ready") != VERSION:
            self._turn.broken = f"the job speaks version {message.header.get('ready')!r}, expected {VERSION}"
            self._end()
            return
        self._reader = FrameReader(self._limits.reply_bytes)
        self._stage = _Stage.SENDING
        self._deadline = time.monotonic() + SEND_SECONDS
        self._selector.register(self._request_fd, selectors.EVENT_WRITE, self._on_writable)

    def _on_writable(self) -> None:
        try:
            is_sent = self._turn.send(self._request_fd)
        except BlockingIOError:
            return
        if is_sent:
            self._run_begins()
        else:
            self._deadline = time.monotonic() + SEND_SECONDS

    def _run_begins(self) -> None:
        self._forget(self._request_fd)
        if self._stage is _Stage.SENDING:
            self._stage = _Stage.RUNNING
            self._deadline = self._turn.begin() + self._limits.wall_seconds

    def _on_print(self) -> None:
        try:
            data = os.read(self._print_fd, 1 << 16)
        except BlockingIOError:
            return
        if not data:
            self._forget(self._print_fd)
        self._turn.add_printed(data, self._limits.printed_bytes)

    # ---------------------------------------------------------------- how it ends

    def _on_deadline(self) -> None:
        if self._stage is _Stage.RUNNING:
            self._turn.over_time = True
            self._turn.finish()
            self._end()
        elif self._stage is _Stage.ENDING:
            self._lost("the process that had started the job stopped answering")
        else:
            self._turn.broken = f"the job made no progress while {self._stage.value}"
            self._end()

    def _end(self) -> None:
        """Have the job killed; its zygote then reports."""
        if self._stage is _Stage.ENDING:
            return
        self._stage = _Stage.ENDING
        self._deadline = time.monotonic() + END_SECONDS
        for fd in (self._reply_fd, self._request_fd):
            self._forget(fd)
        self._job.kill()

    def _lost(self, detail: str) -> None:
        self._turn.finish()
        seen = self._turn.observed(self._job.end or JobEnd(0, 0.0, 0.0))
        raise ZygoteLost(self._job.pid, seen.death("protocol", detail) if self._turn.has_work else None)

    def _forget(self, fd: int) -> None:
        with contextlib.suppress(KeyError):
            self._selector.unregister(fd)

    def _drain(self, fd: int, handler: Callable[[], None]) -> None:
        """Take what the dead job left in a pipe, without waiting and without end."""
        with selectors.DefaultSelector() as self._selector:
            self._selector.register(fd, selectors.EVENT_READ, handler)
            for _ in range(DRAIN_BYTES >> 16):
                if not self._selector.get_map() or not self._selector.select(0):
                    return
                handler()

    def _verdict(self) -> Reply | Death:
        assert self._job.end is not None
        job = self._turn.observed(self._job.end)
        if not self._turn.has_work:
            raise ChildFault(
                f"a job broke before it had its work ({job.broken or describe(job.end.code)}): {job.printed[-2000:]}"
            )
        return end_of(job, self._limits)
