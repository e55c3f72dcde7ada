"""What the CUDA driver writes to this process's stdout: kernels print there. Runs in the runner.

The driver writes through the C library, past Python's ``sys.stdout``, when the host launches a kernel or waits for one
(CUDA C++ Programming Guide, "Formatted Output"). So file descriptor 1 becomes a file of ours, for the rest of the job.
"""

from __future__ import annotations

import ctypes
import os
import sys


class DriverOutput:
    """Collects from when it is made until the process ends."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)  # the C library that the driver uses, too
        self._flush()
        # In memory: a job can make no file elsewhere. Until the process ends.
        self._file = os.fdopen(os.memfd_create("what kernels print"), "w+b")
        os.dup2(self._file.fileno(), 1)

    def take(self, limit: int) -> tuple[list[str], int]:
        """The lines since the last call, and how many more lines there were after ``limit`` bytes of them."""
        self._flush()
        if not self._file.seek(0, os.SEEK_END):
            return [], 0
        self._file.seek(0)
        kept, left_out = self._file.read(limit), 0
        while more := self._file.read(1 << 20):
            left_out += more.count(b"\n")
        self._file.seek(0)
        self._file.truncate()
        lines = kept.decode("utf-8", "replace").split("\n")
        if not lines[-1]:
            lines.pop()
        elif left_out:
            left_out -= 1  # the rest of the last one
        return lines, left_out

    def _flush(self) -> None:
        sys.stdout.flush()
        self._library.fflush(None)
