"""What a zygote says of one job, and is told of it, over their control socket. Trusted process.

In: the socket, on which one job is spoken of at a time. Out: the job's number, its end, or why it was refused.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket

from grader.sandbox.ends import Death, JobEnd


class ZygoteLost(Exception):
    """The zygote ended or stopped answering. ``pid`` is the job that it may have left behind."""

    def __init__(self, pid: int | None, death: Death | None) -> None:
        super().__init__("the warm process ended")
        self.pid = pid
        self.death = death


class JobControl:
    """Of the job that was ordered last. ``refused`` says why there is none, "" unless that happened."""

    def __init__(self, control: socket.socket) -> None:
        self.socket = control
        self.pid: int | None = None
        self.end: JobEnd | None = None
        self.refused = ""
        self._line = b""
        self._is_to_end = False

    def read(self) -> bool:
        """Take in what the zygote reports, when there is something. False: there is no zygote any more."""
        try:
            data = self.socket.recv(1 << 16)
        except ConnectionError:
            return False
        *lines, self._line = (self._line + data).split(b"\n")
        for line in lines:
            report = json.loads(line)
            if "started" in report:
                self.pid = report["started"]
                if self._is_to_end:
                    self.kill()
            elif "refused" in report:
                self.refused = report["refused"]
            elif report.get("ended") == self.pid:
                code = os.waitstatus_to_exitcode(int(report["status"]))
                self.end = JobEnd(code, float(report["cpu_seconds"]), float(report["starved_seconds"]))
        return bool(data)

    def kill(self) -> None:
        """Have the zygote kill the job, as soon as it has started; its end is then reported."""
        self._is_to_end = True
        if self.pid is not None:
            with contextlib.suppress(OSError):
                self.socket.sendall(json.dumps({"kill": self.pid}).encode() + b"\n")
