"""One request to a job, and what has come of it so far: the state of one turn of an exchange. Trusted process.

In: the request, then what an ``Exchange`` reads and notices. Out: bytes for the job's pipe, and what was observed.
"""

from __future__ import annotations

import os
import time

from grader.sandbox.ends import JobEnd, Observed
from grader.sandbox.frames import CHUNK_BYTES, Message, encode


class Turn:
    """A request that is sent piece by piece, then what the job prints and answers.

    ``has_work`` is whether the whole request was taken, ``broken`` what is wrong with what the job sent, else "",
    ``over_time`` whether it is ended for the wall time that has passed.
    """

    def __init__(self, request: Message) -> None:
        self.has_work = False
        self.over_time = False
        self.message: Message | None = None
        self.broken = ""
        self._pieces = encode(request)
        self._unsent = memoryview(b"")
        self._printed = bytearray()
        self._began = time.monotonic()
        self._finished = self._began

    def send(self, fd: int) -> bool:
        """Write one piece into the job's pipe; whether that was the last, or nobody reads any more.

        Raises BlockingIOError where the pipe is full.
        """
        while not len(self._unsent):
            following = next(self._pieces, None)
            if following is None:
                self.has_work = True
                return True
            self._unsent = following
        try:
            written = os.write(fd, self._unsent[:CHUNK_BYTES])
        except BrokenPipeError:
            return True  # the job's end is reported on the control socket
        self._unsent = self._unsent[written:]
        return False

    def begin(self) -> float:
        """The job has the request: its wall time runs from now, a moment of ``time.monotonic`` that is returned."""
        self._began = time.monotonic()
        return self._began

    def finish(self) -> None:
        """The job has answered, or ended, or is out of time: its wall time is over. The first such moment counts."""
        if self._finished <= self._began:
            self._finished = time.monotonic()

    @property
    def wall_seconds(self) -> float:
        """Between ``begin`` and ``finish``."""
        return self._finished - self._began

    @property
    def printed(self) -> str:
        """The end of what the job printed."""
        return self._printed.decode(errors="replace")

    def add_printed(self, data: bytes, limit: int) -> None:
        """Keep the last ``limit`` bytes; the end tells most: an exception, the last print before a mistake."""
        self._printed += data
        del self._printed[: max(0, len(self._printed) - limit)]

    def observed(self, end: JobEnd) -> Observed:
        """What was seen of the job during this turn, which was its last."""
        return Observed(end, self.wall_seconds, self.printed, self.message, self.broken, self.over_time)
