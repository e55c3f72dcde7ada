"""JSON that is almost right: a valid document with a few places changed, as hypothesis draws them."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import strategies as st

# What programs trip over: signs, ends of ranges, other types, names that look like others, nesting.
ODD: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, -1, 2, 255, 256, 2**31, 2**32, 2**63, -(2**63), 2**64, 10**30]),
    st.sampled_from([0.0, -0.0, 0.5, 1e308, -1e308, float("inf"), float("nan")]),
    st.sampled_from(
        ["", " ", "0", "x", "out", "../x", "\x00", "\n", "\ud800", "é", "float32", "<b>", "=1+1", "a" * 300]
    ),
    st.lists(st.integers(-2, 2), max_size=4),
    st.dictionaries(st.sampled_from(["x", "kind", ""]), st.integers(-1, 1), max_size=2),
    st.just([[[[[]]]]]),
)


@st.composite
def changed(draw: st.DrawFn, valid: Any, changes: int = 3) -> Any:
    """``valid`` with one to ``changes`` places replaced, removed, doubled or swapped with another place's value."""
    document = copy.deepcopy(valid)
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, changes]))):
        places = list(_places(document))
        if not places:
            break
        holder, key = draw(st.sampled_from(places))
        how = draw(st.sampled_from(["replace", "remove", "double", "swap"]))
        if how == "remove":
            del holder[key]
        elif how == "double" and isinstance(holder, list):
            holder.insert(key, copy.deepcopy(holder[key]))
        elif how == "swap":
            other, there = draw(st.sampled_from(places))
            holder[key] = copy.deepcopy(other[there])
        else:
            holder[key] = copy.deepcopy(draw(ODD))
    return document


def _places(document: Any) -> Any:
    """Each place of a document, as what holds it and its key there."""
    pending = [document]
    while pending:
        holder = pending.pop()
        keys = list(holder) if isinstance(holder, dict) else range(len(holder)) if isinstance(holder, list) else ()
        for key in keys:
            yield holder, key
            pending.append(holder[key])
