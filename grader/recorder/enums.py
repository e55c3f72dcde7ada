"""Enums, as far as a kernel can tell them from others. Runs in the recorder.

Comes in: a class or an object of student code. Goes out: names and values, as Numba sees them: it reads a class's
``__members__`` and each member's ``value``, and types a member of a class that is also an int (or float, str) as that.
Nothing of the class is executed.
"""

from __future__ import annotations

import enum
from typing import Any

# The classes of Python's own that an enum may be made from.
_STANDARD = frozenset(
    (object, int, float, str, enum.Enum, enum.IntEnum, enum.ReprEnum, enum.Flag, enum.IntFlag, enum.StrEnum)
)
_TYPES: tuple[type, ...] = (int, float, str)
# What a class may not have of its own: it would change what Numba reads.
_READ = frozenset(("value", "_value_", "__members__", "__getattribute__", "__getattr__"))


def members_of(kind: Any) -> dict[str, Any] | None:
    """Values by name of an enum that Numba sees as its names and values; None for one that is more, or none.

    An alias has the value of the member that it stands for.
    """
    if type(kind) is not enum.EnumType:
        return None
    for part in type.mro(kind):
        if part in _STANDARD:
            continue
        if type(part) is not enum.EnumType and type.mro(part) != [part, object]:  # some other kind of number
            return None
        if not _READ.isdisjoint(vars(part)):
            return None
    members = vars(kind).get("_member_map_")
    if type(members) is not dict or not all(type(name) is str for name in members):
        return None
    if not all(type(member) is kind and "_value_" in vars(member) for member in members.values()):
        return None
    return {name: vars(member)["_value_"] for name, member in members.items()}


def is_int_enum(kind: type) -> bool:
    """Whether Numba takes members for integers: those of IntEnum, not of other classes that are also an int."""
    return enum.IntEnum in type.mro(kind)


def plain(member: Any) -> Any | None:
    """A member's number or text, where Numba types it as that and not as a member of an enum; else None."""
    mro = type.mro(type(member))
    if enum.IntEnum in mro:
        return None
    return next((_as(kind, member) for kind in _TYPES if kind in mro), None)


def _as(kind: type, member: Any) -> Any:
    if kind is int:
        return int.__int__(member)
    return float.__float__(member) if kind is float else str.__str__(member)


def name_of(member: Any) -> str | None:
    """The first name of a member in its class; None for a combination of flags without a name of its own."""
    for name, other in vars(type(member)).get("_member_map_", {}).items():
        if other is member:
            return str(name)
    return None
