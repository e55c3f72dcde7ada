"""The Numba types of a launch's arguments, and the signature that it is compiled for. Runs in the runner.

In: arguments as ``launch`` takes them, signatures that a kernel was declared with. Out: Numba types, or
``LaunchRefused``.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from grader.simulator.configuration import LaunchRefused
from grader.simulator.frontend import types
from grader.simulator.memory import ArrayRef
from grader.simulator.numba_types import dtype_of, is_scalar, numba_array, numba_scalar


def type_of(argument: Any) -> Any:
    """The Numba type of a launch argument, as Numba's own launch sees it."""
    if isinstance(argument, ArrayRef):
        return numba_array(argument.dtype, argument.shape, argument.strides)
    if isinstance(argument, tuple):
        named = type(argument) if hasattr(argument, "_fields") else None
        return types.BaseTuple.from_types([type_of(item) for item in argument], named)
    if isinstance(argument, enum.Enum):
        return _type_of_member(argument)
    if isinstance(argument, np.void) and argument.dtype.names is None:
        raise LaunchRefused("a kernel cannot take raw bytes as argument")
    if isinstance(argument, np.generic):
        return numba_scalar(argument.dtype)
    if isinstance(argument, bool):
        return types.boolean
    if isinstance(argument, int):
        return types.int64 if -(2**63) <= argument < 2**63 else types.uint64
    if isinstance(argument, float):
        return types.float64
    if isinstance(argument, complex):
        return types.complex128
    if argument is None:
        return types.none
    raise LaunchRefused(f"a kernel cannot take a {type(argument).__name__} as argument")


def _type_of_member(member: enum.Enum) -> Any:
    """The Numba type of a member of an enum whose values are of one type."""
    values = {type_of(other.value) for other in type(member)}
    if len(values) != 1:
        raise LaunchRefused(f"a kernel cannot take {member}: the values of its enum are of several types")
    kind = types.IntEnumClass if isinstance(member, enum.IntEnum) else types.EnumClass
    return kind(type(member), values.pop()).member_type


def choose_signature(given: tuple[Any, ...], signatures: Sequence[tuple[Any, ...]]) -> tuple[Any, ...]:
    """The types to compile for: ``given``, or the first declared signature that accepts them."""
    if not signatures:
        return given
    if given in [tuple(signature) for signature in signatures]:
        return given
    for signature in sorted(signatures, key=lambda declared: _loss(declared, given)):
        if len(signature) == len(given) and all(_accepts(s, g) for s, g in zip(signature, given, strict=True)):
            return tuple(signature)
    declared = "; ".join("(" + ", ".join(map(str, s)) + ")" for s in signatures)
    found = ", ".join(map(str, given))
    raise LaunchRefused(
        f"no declared signature of the kernel fits: declared {declared}, called with ({found})",
        "Leave the signature out and let Numba infer the types.",
    )


def _loss(declared: Sequence[Any], given: Sequence[Any]) -> int:
    """How many numbers would be cut: Numba prefers a conversion that keeps the value."""
    pairs = [(d, g) for d, g in zip(declared, given, strict=False) if is_scalar(d) and is_scalar(g)]
    return sum(not np.can_cast(dtype_of(g), dtype_of(d)) for d, g in pairs)


def _accepts(declared: Any, given: Any) -> bool:
    if isinstance(declared, types.Array):
        return (
            isinstance(given, types.Array)
            and declared.dtype == given.dtype
            and declared.ndim == given.ndim
            and declared.layout in ("A", given.layout)
        )
    return is_scalar(declared) and is_scalar(given)
