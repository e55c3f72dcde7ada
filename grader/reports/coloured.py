"""Lines of Python as HTML, with comments, strings, keywords and numbers in spans. Pure; trusted process.

In: a stranger's lines. Out: as many lines, cleaned and escaped. Whatever tokenize makes of them, or if it cannot, only
where spans stand depends on it: all text between them is escaped piece by piece.
"""

from __future__ import annotations

import html
import io
import keyword
import tokenize
from collections.abc import Iterator, Sequence

from grader.reports.text import clean

# More is no kernel, and is shown in one colour.
MAX_COLOURED = 200_000  # characters
CUT = "…"
PREFIX = "grader-"  # of the classes of spans
# Python 3.12 has tokens of their own for the parts of f-strings.
_STRINGS = frozenset(("STRING", "FSTRING_START", "FSTRING_MIDDLE", "FSTRING_END"))

Stretch = tuple[int, int, str]  # first column, the one after the last, class


def coloured(lines: Sequence[str], limit: int) -> list[str]:
    """Each line's HTML, of at most ``limit`` of its characters."""
    stretches: list[list[Stretch]] = [[] for _ in lines]
    if sum(map(len, lines)) <= MAX_COLOURED:
        for number, stretch in _stretches(lines):
            stretches[number].append(stretch)
    return [_line(line, limit, found) for line, found in zip(lines, stretches, strict=True)]


def _line(line: str, limit: int, stretches: Sequence[Stretch]) -> str:
    shown, cut = (line, "") if len(line) <= limit else (line[:limit], CUT)
    made, column = [], 0
    for first, end, kind in sorted(stretches):
        if first >= column and end <= len(shown):
            made += [_escaped(shown[column:first]), f'<span class="{PREFIX}{kind}">{_escaped(shown[first:end])}</span>']
            column = end
    return "".join([*made, _escaped(shown[column:]), cut])


def _escaped(text: str) -> str:
    return html.escape(clean(text, len(text)))


def _stretches(lines: Sequence[str]) -> Iterator[tuple[int, Stretch]]:
    """What is to be coloured, each with the index of its line; up to where the text is no Python any more."""
    try:
        for token in tokenize.generate_tokens(io.StringIO("\n".join(lines) + "\n").readline):
            kind = _kind(token)
            (first, begin), (last, end) = token.start, token.end
            for row in range(first, last + 1) if kind else ():
                if 1 <= row <= len(lines):
                    line = len(lines[row - 1])
                    yield row - 1, (begin if row == first else 0, min(end, line) if row == last else line, kind)
    except (tokenize.TokenError, SyntaxError, ValueError):
        return


def _kind(token: tokenize.TokenInfo) -> str:
    """The class of a token's span, "" for what has none."""
    name = tokenize.tok_name[token.type]
    if name in _STRINGS:
        return "string"
    if name == "NAME":
        return "keyword" if keyword.iskeyword(token.string) else ""
    return {"COMMENT": "comment", "NUMBER": "numeral"}.get(name, "")
