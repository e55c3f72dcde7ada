"""What somebody may have meant who misspelt a name: known names in, the nearest out. Any process may use it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

# A comparison costs the product of two lengths, and names may be a stranger's.
MAX_CHARACTERS = 60
MAX_KNOWN = 5000


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that ``name`` most likely is a misspelling of, or "". Capitals count less than letters."""
    if len(name) > MAX_CHARACTERS:
        return ""
    by_lower: dict[str, str] = {}
    for each in islice((each for each in known if len(each) <= MAX_CHARACTERS), MAX_KNOWN):
        by_lower.setdefault(each.lower(), each)
    found = difflib.get_close_matches(name.lower(), by_lower, n=1)
    return by_lower[found[0]] if found else ""
