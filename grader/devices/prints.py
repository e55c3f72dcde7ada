"""What kernels print in one run of a plan, bounded. Runs in the runner.

In: lines, as a device has them. Out: ``KernelPrints``, which can travel. Nothing is made harmless here: whoever shows
it does that.
"""

from __future__ import annotations

from collections.abc import Iterable

from grader.records import MAX_PRINTED_LINE, MAX_PRINTED_LINES, KernelPrints


class Prints:
    """The lines so far: the first of them are kept, the others counted."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._left_out = 0

    def add(self, lines: Iterable[str], left_out: int = 0) -> None:
        """More lines, and how many came after them that nobody has. A line that has line breaks is several."""
        for line in lines:
            for part in line.split("\n"):
                if len(self._lines) < MAX_PRINTED_LINES:
                    self._lines.append(_short(part))
                else:
                    self._left_out += 1
        self._left_out += left_out

    def kept(self) -> KernelPrints:
        """What is kept."""
        return KernelPrints(tuple(self._lines), self._left_out)


def _short(line: str) -> str:
    """A line of bounded length, without halves of characters, which no message can hold."""
    text = line[:MAX_PRINTED_LINE].encode("utf-8", "backslashreplace").decode("utf-8")
    return (
        text if len(text) <= MAX_PRINTED_LINE and len(line) <= MAX_PRINTED_LINE else f"{text[: MAX_PRINTED_LINE - 1]}…"
    )
