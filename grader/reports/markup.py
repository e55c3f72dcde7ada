"""Pieces of HTML for reports: of the tags of ``TAGS`` alone, in which only ``span`` has a class. Pure; trusted process.

In: words, whoever wrote them, and pieces made here. Out: pieces. All words go through ``clean`` and ``html.escape``.
"""

from __future__ import annotations

import html
from collections.abc import Iterable

from grader.reports.coloured import PREFIX
from grader.reports.text import MAX_TEXT, clean

TAGS = frozenset(("pre", "b", "i", "code", "ul", "li", "span"))
MARKS = {True: ("passed", "✓"), False: ("failed", "✗"), None: ("open", "–")}


def text(words: str, limit: int = MAX_TEXT) -> str:
    """Words, whoever wrote them, of which nothing is markup; cut to ``limit`` characters."""
    return html.escape(clean(words, limit))


def bold(words: str) -> str:
    """Words in bold."""
    return f"<b>{text(words)}</b>"


def code(words: str) -> str:
    """Words of somebody's code."""
    return f"<code>{text(words)}</code>"


def span(kinds: str, markup: str) -> str:
    """Markup with classes, by their names with spaces between.

    Classes have names of our own: Formgrader's stylesheet has others, and a ``label`` there is white.
    """
    return f'<span class="{" ".join(f"{PREFIX}{kind}" for kind in kinds.split())}">{markup}</span>'


def marked(passed: bool | None, words: str) -> str:
    """Words behind the mark of what was passed, failed, or is open."""
    kind, mark = MARKS[passed]
    return span(kind, f"{mark} {bold(words)}")


def listed(items: Iterable[str]) -> str:
    """A list of pieces of markup."""
    return f"<ul>{''.join(f'<li>{item}</li>' for item in items)}</ul>"


def label(words: str) -> str:
    """What a field is called."""
    return span("label", f"<i>{text(words)}</i>")


def rows(fields: Iterable[tuple[str, str]]) -> str:
    """Labels with what is said of them, which is markup."""
    items = [f"{label(name)} {said}" for name, said in fields]
    return listed(items) if items else ""


def value(name: str, words: str) -> str:
    """What is said in the field ``name``: what has lines keeps them; what is of the student's code is set as code."""
    words = words.strip("\n")
    if "\n" in words:
        return f"<pre>{text(words)}</pre>"
    return text(words) if name == "try" else code(words)
