"""Numba's messages, cut to the sentences that help, with the line that they are about. Runs in the runner.

In: an exception of Numba's front end, which can be pages long. Out: one or two sentences, the line and its file.
``advice`` says what to try.
"""

from __future__ import annotations

import importlib.util
import operator as operators
import re
from pathlib import Path
from typing import Any

_PACKAGES = tuple(
    Path(spec.origin).resolve().parent
    for name in ("numba", "numba_cuda", "llvmlite")
    if (spec := importlib.util.find_spec(name)) is not None and spec.origin is not None
)
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_FILE_LINE = re.compile(r'File "([^"]*)", line (\d+)')
_ERROR_LINE = re.compile(r"^\s*(?:[\w.]*(?:Error|Exception)): ?(.*)$")
_SIGNATURE = re.compile(r"^\s*>>> (.+)$", re.MULTILINE)
_TEXT = re.compile(r"Literal\[str\]\((.*?)\)")
_LITERAL = re.compile(r"Literal\[\w+\]\((.*?)\)")
_WRONG_LENGTH = re.compile(r"^\('wrong tuple length for .*', 'expected (\d+), got (\d+)'\)$")
_RAISED_FROM = re.compile(r"\.* Raised from (?:None|(.+?) ?\((\d+)\))$")
_OF_A_MODULE = re.compile(r"Unknown attribute '(\w+)' of type Module\(<module '([\w.]+)'[^>]*>\)")
_NOISE = re.compile(
    r"^(Failed in .* mode pipeline|During: |- Resolution failure|- argument|There are \d+ candidate|Overload of"
    r"|Match failure|Rejected as|File |During|Enable|This is not usually|To see Python|numba|For more information)"
)

NO_TEXT = "A kernel cannot make text: print takes numbers and fixed words."
_OPERATORS = frozenset(name for name in dir(operators) if name not in ("getitem", "setitem", "contains"))


def is_numbas(filename: str) -> bool:
    """Whether a file is part of Numba, numba-cuda or llvmlite."""
    return any(Path(filename).resolve().is_relative_to(package) for package in _PACKAGES)


def whole_arrays(name: str) -> str:
    """What to say of an operator, by its name, that meets whole arrays."""
    return f"A kernel works on single elements, as in out[i] = a[i] + b[i]; {name} of whole arrays is for NumPy."


def explain(error: BaseException) -> tuple[str, int, str]:
    """Numba's message cut to the sentences that help, and the line and file that it is about (0, "": unknown)."""
    text = _ESCAPES.sub("", str(error))
    line, file = _line_of(error, text)
    rows = [row.strip() for row in text.splitlines()]
    kept: list[str] = []
    for index, row in enumerate(rows):
        if not row or _NOISE.match(row) or set(row) <= set("-^.<> ") or row.startswith(">>>"):
            continue
        if "source line" in row or "source missing" in row:
            continue
        before = rows[index - 1] if index else ""
        if _names_users_file(before) or (row.endswith("^") and not row.strip("^ ")):
            continue
        kept.append(row)
    errors = [match.group(1) for row in kept if (match := _ERROR_LINE.match(row)) and match.group(1)]
    first = next((row for row in kept if not _ERROR_LINE.match(row)), kept[0] if kept else type(error).__name__)
    signature = _SIGNATURE.search(text)
    if first.startswith("No implementation of function") and signature:
        memory = re.search(r"<function (shared|local)\.array", first)
        operator = re.search(r"<built-in function (\w+)>", first)
        if operator and operator.group(1) in _OPERATORS and "array(" in signature.group(1):
            return whole_arrays(operator.group(1)), line, file
        if signature.group(1).startswith("str("):
            return NO_TEXT, line, file
        first = f"Numba has no {signature.group(1)} for kernels."
        if memory:
            first = (
                f"Numba has no {memory.group(1)}.{signature.group(1)}: its shape must be a constant, its dtype a type."
            )
    first = _WRONG_LENGTH.sub(r"\1 names for the \2 values of a tuple.", first)
    first = _OF_A_MODULE.sub(r"A kernel cannot use \2.\1.", first)
    raised = _RAISED_FROM.search(first)
    if raised:
        first = f"{first[: raised.start()]}."
        line, file = (int(raised[2]), raised[1]) if raised[2] else (line, file)
    parts = [first]
    errors = [each for each in errors if not _NOISE.match(each) and not each.startswith("No implementation of")]
    if errors and errors[-1] not in first:
        parts.append(errors[-1])
    return _LITERAL.sub(r"\1", _TEXT.sub(r"'\1'", " ".join(parts)))[:600], line, file


def _names_users_file(row: str) -> bool:
    match = _FILE_LINE.match(row)
    return match is not None and not is_numbas(match.group(1))


def _line_of(error: BaseException, text: str) -> tuple[int, str]:
    """The innermost line that an error of Numba is about, and its file; not of Numba's own files."""
    lines = [(int(match.group(2)), match.group(1)) for match in _FILE_LINE.finditer(text)]
    lines = [(line, file) for line, file in lines if not is_numbas(file)]
    if lines:
        return lines[-1]
    loc: Any = getattr(error, "loc", None)
    if getattr(loc, "line", None):
        return int(loc.line), str(loc.filename)
    found = 0, ""
    trace = error.__traceback__
    while trace is not None:
        for holder in ("self", "inst"):
            loc = getattr(trace.tb_frame.f_locals.get(holder), "loc", None)
            file = str(getattr(loc, "filename", ""))
            if loc is not None and file and not is_numbas(file):
                found = int(loc.line), file
        trace = trace.tb_next
    return found
