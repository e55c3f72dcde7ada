"""The text of kernels.py: its lines as Python numbers them, and its code objects. Used in recorder and runner.

In: the bytes of kernels.py. Out: places in it, code objects and their numbers.

Compiling executes nothing. A code object is known by its place in a pre-order walk, which is how a launch plan
names a function without naming an object.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from types import CodeType

from grader.records import KERNELS_FILE, Place

MAX_TEXT_OF_A_PLACE = 200  # characters
MAX_TEXT_OF_AN_EXPRESSION = 60  # more is no help to find it
# First and last line, first and end column: as ``code.co_positions()`` has them, columns in bytes of UTF-8.
Position = tuple[int, int, int, int]


class KernelsText:
    """The decoded text; knows its lines and, once compiled, numbers its code objects."""

    def __init__(self, source: bytes, filename: str = KERNELS_FILE) -> None:
        self.filename = filename
        self._text = source.decode("utf-8-sig")
        # As Python counts lines; str.splitlines also ends them at form feeds and other separators.
        self._lines = re.split(r"\r\n|\r|\n", self._text)
        self._index: dict[int, int] = {}
        self.codes: tuple[CodeType, ...] = ()

    def compile(self) -> CodeType:
        """The module's code.

        Raises SyntaxError, ValueError (null bytes), RecursionError, OverflowError or MemoryError.
        """
        code = compile(self._text, self.filename, "exec", dont_inherit=True)
        self.codes = tuple(_walk(code))  # kept, so that their ids stay theirs
        self._index = {id(each): index for index, each in enumerate(self.codes)}
        return code

    def tree(self) -> ast.Module:
        """The text's syntax tree; an empty one where Python cannot make one."""
        try:
            return ast.parse(self._text, self.filename)
        except (SyntaxError, ValueError, RecursionError, OverflowError, MemoryError):
            return ast.Module([], [])

    def index_of(self, code: CodeType) -> int | None:
        """A code object's place in the pre-order walk over the text; None for a foreign one."""
        return self._index.get(id(code))

    def place(self, line: int, function: str = "") -> Place:
        """A 1-based line with its text, where there is such a line."""
        text = self._lines[line - 1] if 0 < line <= len(self._lines) else ""
        return Place(line, text.strip()[:MAX_TEXT_OF_A_PLACE], function)

    def place_in(self, filename: str, line: int, function: str = "", position: Position | None = None) -> Place:
        """A place in any file: without text where it is not this one."""
        if filename != self.filename:
            return Place(line, "", function)
        return replace(self.place(line, function), expression=expression_at(self._line, position))

    def loop_around(self, places: Sequence[Place]) -> Place:
        """The line of the loop statement that ``loop_line`` finds around some places; the first one if none."""
        line = loop_line(self.tree(), [place.line for place in places if place.file == places[0].file])
        return self.place(line, places[0].function) if line else places[0]

    def _line(self, number: int) -> str:
        return self._lines[number - 1] if 0 < number <= len(self._lines) else ""


def expression_at(line: Callable[[int], str], position: Position | None) -> str:
    """The text of an expression on one line, by its position; "" where there is none or it goes over lines."""
    if position is None or position[0] != position[1]:
        return ""
    text = line(position[0]).encode("utf-8")[position[2] : position[3]].decode("utf-8", "replace")
    return text if len(text) <= MAX_TEXT_OF_AN_EXPRESSION else ""


def loop_line(tree: ast.AST, lines: Sequence[int]) -> int:
    """The line of the innermost ``while`` or ``for`` statement that holds all of ``lines``, else the first of them.

    0 where that is in no loop, or in no text that is known.
    """
    loops = [node for node in ast.walk(tree) if isinstance(node, ast.While | ast.For)]
    for inside in (lines, lines[:1]):
        around = [
            loop.lineno
            for loop in loops
            if all(loop.lineno <= line <= (loop.end_lineno or loop.lineno) for line in inside)
        ]
        if around:
            return max(around)
    return 0


def _walk(code: CodeType) -> Iterator[CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _walk(constant)
