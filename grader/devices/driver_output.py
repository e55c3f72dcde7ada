"""What the CUDA driver writes to this process's stdout: kernels print there. Runs in the runner.

In: file descriptor 1. Out: the text that came through it.

The driver writes through the C library, past Python's ``sys.stdout``, and when the host waits for it (CUDA C++
Programming Guide, "Formatted Output"). So file descriptor 1 is a file of ours until ``close``.
"""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile


class DriverOutput:
    """Collects from when it is made until ``close``."""

    def __init__(self) -> None:
        _flush()
        self._file = tempfile.TemporaryFile()  # noqa: SIM115  until close
        self._stdout = os.dup(1)
        os.dup2(self._file.fileno(), 1)

    def take(self, limit: int) -> tuple[list[str], int]:
        """The lines since the last call, and how many more lines there were after ``limit`` bytes of them."""
        _flush()
        self._file.seek(0)
        kept, left_out = self._file.read(limit), 0
        while more := self._file.read(1 << 20):
            left_out += more.count(b"\n")
        self._file.seek(0)
        self._file.truncate()
        lines = kept.decode("utf-8", "replace").split("\n")
        if not lines[-1]:
            lines.pop()
        return lines, left_out

    def close(self) -> None:
        """Give stdout back."""
        _flush()
        os.dup2(self._stdout, 1)
        os.close(self._stdout)
        self._file.close()


def _flush() -> None:
    sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)
