"""The lines that the threads of a launch printed, bounded. Runs in the runner.

In: what a thread prints, when it does. Out: lines by thread.
"""

from __future__ import annotations

from typing import Any

# A GPU keeps 1 MiB of what kernels print between two synchronisations (CU_LIMIT_PRINTF_FIFO_SIZE).
MAX_LINES = 10_000
MAX_LINE = 1000  # characters


class Printed:
    """The lines of one launch."""

    def __init__(self) -> None:
        self._lines: list[tuple[int, str]] = []
        self.left_out = 0  # lines beyond MAX_LINES

    def add(self, threads: Any, lines: list[str]) -> None:
        """One line per active lane; ``threads`` are their numbers in the launch."""
        room = MAX_LINES - len(self._lines)
        self._lines += zip((int(t) for t in threads[:room]), (line[:MAX_LINE] for line in lines[:room]), strict=True)
        self.left_out += max(len(lines) - room, 0)

    def lines(self) -> tuple[str, ...]:
        """The lines that were kept, by thread; each thread's in its order."""
        return tuple(line for _, line in sorted(self._lines, key=lambda entry: entry[0]))
