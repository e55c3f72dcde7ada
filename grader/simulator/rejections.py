"""Numba's messages, cut to the sentences that help, with the line that they are about. Runs in the runner.

In: an exception of Numba's front end, which can be pages long. Out: one or two sentences, and a line of kernels.py.
``advice`` says what to try.
"""

from __future__ import annotations

import re

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_FILE_LINE = re.compile(r'File "([^"]*kernels\.py)", line (\d+)')
_ERROR_LINE = re.compile(r"^\s*(?:[\w.]*(?:Error|Exception)): ?(.*)$")
_SIGNATURE = re.compile(r"^\s*>>> (.+)$", re.MULTILINE)
_TEXT = re.compile(r"Literal\[str\]\((.*?)\)")
_LITERAL = re.compile(r"Literal\[\w+\]\((.*?)\)")
_WRONG_LENGTH = re.compile(r"^\('wrong tuple length for .*', 'expected (\d+), got (\d+)'\)$")
_NOISE = re.compile(
    r"^(Failed in .* mode pipeline|During: |- Resolution failure|- argument|There are \d+ candidate|Overload of"
    r"|Match failure|Rejected as|File |During|Enable|This is not usually|To see Python|numba|For more information)"
)


def explain(error: BaseException) -> tuple[str, int]:
    """Numba's message cut to the sentences that help, and the line of kernels.py that it is about (0: unknown)."""
    text = _ESCAPES.sub("", str(error))
    line = _line_of(error, text)
    rows = [row.strip() for row in text.splitlines()]
    kept: list[str] = []
    for index, row in enumerate(rows):
        if not row or _NOISE.match(row) or set(row) <= set("-^.<> ") or row.startswith(">>>"):
            continue
        if "source line" in row or "source missing" in row:
            continue
        before = rows[index - 1] if index else ""
        if _FILE_LINE.match(before) or (row.endswith("^") and not row.strip("^ ")):
            continue
        kept.append(row)
    errors = [match.group(1) for row in kept if (match := _ERROR_LINE.match(row)) and match.group(1)]
    first = next((row for row in kept if not _ERROR_LINE.match(row)), kept[0] if kept else type(error).__name__)
    signature = _SIGNATURE.search(text)
    if first.startswith("No implementation of function") and signature:
        memory = re.search(r"<function (shared|local)\.array", first)
        first = f"Numba has no {signature.group(1)} for kernels."
        if memory:
            first = (
                f"Numba has no {memory.group(1)}.{signature.group(1)}: its shape must be a constant, its dtype a type."
            )
    first = _WRONG_LENGTH.sub(r"\1 names for the \2 values of a tuple.", first)
    parts = [first]
    errors = [each for each in errors if not _NOISE.match(each) and not each.startswith("No implementation of")]
    if errors and errors[-1] not in first:
        parts.append(errors[-1])
    return _LITERAL.sub(r"\1", _TEXT.sub(r"'\1'", " ".join(parts)))[:600], line


def _line_of(error: BaseException, text: str) -> int:
    """The innermost line of kernels.py that an error of Numba is about."""
    lines = [int(match.group(2)) for match in _FILE_LINE.finditer(text)]
    if lines:
        return lines[-1]
    loc = getattr(error, "loc", None)
    if loc is not None and getattr(loc, "line", None):
        return int(loc.line)
    found = 0
    trace = error.__traceback__
    while trace is not None:
        for holder in ("self", "inst"):
            loc = getattr(trace.tb_frame.f_locals.get(holder), "loc", None)
            if loc is not None and str(getattr(loc, "filename", "")).endswith("kernels.py"):
                found = int(loc.line)
        trace = trace.tb_next
    return found
