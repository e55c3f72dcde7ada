"""The text of the functions that launches ran, to show costs beside it. Runs in anybody's own process; no Numba.

In: launches, with the lines that cost something. Out: ``FunctionText`` records, from whatever Python can show the lines
of: files, notebook cells, what put its text into ``linecache``. Code of ``exec`` alone has none.
"""

from __future__ import annotations

import ast
import linecache
from collections import defaultdict
from collections.abc import Iterable, Sequence

from grader.records import Place
from grader.simulator.live.callers import is_internal
from grader.traces import FunctionText, LaunchTrace

Range = tuple[int, int]  # first and last line


def function_texts(launches: Iterable[LaunchTrace]) -> tuple[FunctionText, ...]:
    """Every function of which a line cost something, once, without those of Numba and of the simulator.

    By file, in the order of their lines. Functions inside of each other are one text.
    """
    files: defaultdict[str, set[Place]] = defaultdict(set)
    for place in dict.fromkeys(place for launch in launches for place in launch.lines):
        if not is_internal(place.file):
            files[place.file].add(place)
    return tuple(text for file, places in files.items() for text in _texts(file, places))


def _texts(file: str, places: set[Place]) -> Iterable[FunctionText]:
    lines = linecache.getlines(file)
    functions = _functions(lines)
    ranges: list[Range] = [
        min(
            (function for function in functions if function[0] <= place.line <= function[1]),
            key=lambda function: function[1] - function[0],
            default=_costing(place.function, places),
        )
        for place in places
    ]
    for first, last in _joined(ranges):
        yield FunctionText(file, first, last, tuple(line.rstrip("\r\n") for line in lines[first - 1 : last]))


def _functions(lines: Sequence[str]) -> list[Range]:
    """Where functions stand, with their decorators; none where the text is no Python."""
    try:
        tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    return [
        (min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))]), node.end_lineno)
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.Lambda) and node.end_lineno is not None
    ]


def _costing(function: str, places: set[Place]) -> Range:
    """From the first to the last line of a function that cost something."""
    lines = [place.line for place in places if place.function == function]
    return min(lines), max(lines)


def _joined(ranges: Iterable[Range]) -> list[Range]:
    """Those that overlap as one."""
    joined: list[Range] = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1]:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return joined
