"""Named tuples, told from other classes derived from tuple. Runs in the recorder.

Comes in: a class of student code. Goes out: what ``collections.namedtuple`` needs to make it again, if that
made it. Nothing of the class is executed.
"""

from __future__ import annotations

import collections
from types import FunctionType
from typing import Any

# What a class may have of its own, since no kernel can tell: Numba knows tuples without them.
_FREE = ("__doc__", "__repr__", "__hash__", "__getnewargs__")
_FIELD = type(vars(collections.namedtuple("_FIELD", "x"))["x"])


def fields_of(kind: Any) -> tuple[str, ...] | None:
    """The field names of a class that ``collections.namedtuple`` or ``typing.NamedTuple`` made; otherwise None.

    None also for a class derived from one, for fields that no launch plan can name, and where something
    stands in the place of what makes it a named tuple: its ``__new__``, a field, a method of tuple.
    """
    if type(kind) is not type or kind.__bases__ != (tuple,):
        return None
    own = vars(kind)
    fields = own.get("_fields")
    if type(fields) is not tuple or not all(type(name) is str for name in fields):
        return None
    try:
        made = vars(collections.namedtuple(kind.__name__, fields))
    except ValueError:  # a keyword, a name that is none, one twice, or one that begins with an underscore
        return None
    decisive = {"__new__", *fields, *(name for name in vars(tuple) if name in own)}.difference(_FREE)
    return fields if all(_same(own.get(name), made.get(name)) for name in decisive) else None


def defaults_of(kind: Any) -> tuple[Any, ...]:
    """The default values of the last fields of a class that ``fields_of`` knows."""
    return vars(kind)["__new__"].__func__.__defaults__ or ()


def _same(own: Any, made: Any) -> bool:
    """Whether a class has under a name what namedtuple puts there."""
    if type(own) is not type(made):
        return False
    if type(own) is staticmethod:
        return _same(own.__func__, made.__func__)
    if type(own) is FunctionType:
        return bool(own.__code__ == made.__code__)
    return type(own) is _FIELD and own.__reduce__()[1][0] == made.__reduce__()[1][0]  # the field's number
