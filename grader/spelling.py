"""The nearest of some known names: what somebody may have meant who misspelt one. Any process may use it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that ``name`` most likely is a misspelling of, or "". Capitals count less than letters."""
    by_lower: dict[str, str] = {}
    for each in known:
        by_lower.setdefault(each.lower(), each)
    found = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[found[0]] if found else ""
