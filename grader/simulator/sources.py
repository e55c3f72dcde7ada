"""Where kernels were written, as places for findings. Runs in the runner, or in anybody's own process.

In: a file's name and a line, as Numba's IR has them. Out: ``Place`` with the line's text. A judged kernel comes from
one text (``kernels_text.KernelsText``); a script's kernels come from its file, from modules, notebook cells, ``exec``.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Sequence
from typing import Protocol

from grader.kernels_text import MAX_TEXT_OF_A_PLACE, Position, expression_at, loop_line
from grader.records import Place


class Sources(Protocol):
    """Turns a file's name and a line into a place."""

    def place_in(self, filename: str, line: int, function: str = "", position: Position | None = None) -> Place:
        """The place of a 1-based line, and of an expression there."""

    def loop_around(self, places: Sequence[Place]) -> Place:
        """The loop statement that holds all of some places, else the first of them; that itself if it is in none."""


class AnyFile:
    """Every file that Python can show the lines of: also notebook cells, and what put its text into ``linecache``."""

    def place_in(self, filename: str, line: int, function: str = "", position: Position | None = None) -> Place:
        """The place of a 1-based line; without text where Python does not know it."""

        def text(number: int) -> str:
            return linecache.getline(filename, number)

        return Place(line, text(line).strip()[:MAX_TEXT_OF_A_PLACE], function, filename, expression_at(text, position))

    def loop_around(self, places: Sequence[Place]) -> Place:
        """As ``Sources`` has it; no loop is found in what Python cannot parse, as a cell with commands for IPython."""
        first = places[0]
        try:
            tree = ast.parse("".join(linecache.getlines(first.file)))
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return first
        line = loop_line(tree, [place.line for place in places if place.file == first.file])
        return self.place_in(first.file, line, first.function) if line else first
