"""Where kernels were written, as places for findings. Runs in the runner, or in anybody's own process.

In: a file's name and a line, as Numba's IR has them. Out: ``Place`` with the line's text. A judged kernel comes from
one text (``kernels_text.KernelsText``); a script's kernels come from its file, from modules, notebook cells, ``exec``.
"""

from __future__ import annotations

import linecache
from typing import Protocol

from grader.kernels_text import MAX_TEXT_OF_A_PLACE, Position, expression_at
from grader.records import Place


class Sources(Protocol):
    """Turns a file's name and a line into a place."""

    def place_in(self, filename: str, line: int, function: str = "", position: Position | None = None) -> Place:
        """The place of a 1-based line, and of an expression there."""


class AnyFile:
    """Every file that Python can show the lines of: also notebook cells, and what put its text into ``linecache``."""

    def place_in(self, filename: str, line: int, function: str = "", position: Position | None = None) -> Place:
        """The place of a 1-based line; without text where Python does not know it."""

        def text(number: int) -> str:
            return linecache.getline(filename, number)

        return Place(line, text(line).strip()[:MAX_TEXT_OF_A_PLACE], function, filename, expression_at(text, position))
