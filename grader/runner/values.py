"""Values of a plan's constants. Runs in the runner.

In: constants of a validated plan. Out: what Python, NumPy and Numba have for them. Classes (named tuples, enums) are
made once for all constants that are equal, since Numba tells types by them.
"""

from __future__ import annotations

import base64
import collections
import enum
from collections.abc import Callable
from typing import Any

import numpy as np

from grader.devices.base import Refused
from grader.plan_constants import (
    Constant,
    EnumClassConstant,
    EnumMemberConstant,
    NamedTupleClassConstant,
    NamedTupleConstant,
    TupleConstant,
)
from grader.plan_dtypes import numpy_dtype
from grader.plan_values import (
    ArrayConstant,
    BoolConstant,
    DTypeConstant,
    FloatConstant,
    IntConstant,
    NoneConstant,
    RecordTypeConstant,
    StringConstant,
)
from grader.records import Failure
from grader.simulator.numba_types import from_dtype


def _no_data(constant: Constant) -> Any:
    raise TypeError(f"a constant of kind {constant.kind!r} is no data")


class Values:
    """Makes the values of one plan's constants. Raises Refused for enums that Python cannot make."""

    def __init__(self) -> None:
        self._named_tuples: dict[NamedTupleClassConstant, Any] = {}
        self._enums: dict[EnumClassConstant, Any] = {}

    def of(self, constant: Constant, otherwise: Callable[[Constant], Any] = _no_data) -> Any:
        """The value of a constant; ``otherwise`` makes those of names, functions and what is unsupported."""
        match constant:
            case IntConstant() | BoolConstant() | StringConstant():
                return constant.value
            case FloatConstant():
                return float.fromhex(constant.value) if "x" in constant.value else float(constant.value)
            case NoneConstant():
                return None
            case DTypeConstant():
                return numpy_dtype(constant.dtype)
            case RecordTypeConstant():
                return from_dtype(numpy_dtype(constant.dtype))
            case ArrayConstant():
                data = base64.b64decode(constant.data)
                array = np.frombuffer(data, numpy_dtype(constant.dtype)).reshape(constant.shape)
                return array[()] if constant.scalar else array
            case TupleConstant():
                return tuple(self.of(item, otherwise) for item in constant.items)
            case NamedTupleClassConstant():
                return self._named_tuple(constant, otherwise)
            case NamedTupleConstant():
                return self._named_tuple(constant.type, otherwise)(
                    *(self.of(item, otherwise) for item in constant.items)
                )
            case EnumClassConstant():
                return self._enum(constant)
            case EnumMemberConstant():
                return self._enum(constant.type)[constant.member]
        return otherwise(constant)

    def _named_tuple(self, constant: NamedTupleClassConstant, otherwise: Callable[[Constant], Any]) -> Any:
        if constant not in self._named_tuples:
            make: Any = collections.namedtuple  # not for a type checker: the fields are known only now
            defaults = [self.of(item, otherwise) for item in constant.defaults]
            made = make(constant.name, constant.fields, defaults=defaults, module="kernels")
            self._named_tuples[constant] = made
        return self._named_tuples[constant]

    def _enum(self, constant: EnumClassConstant) -> Any:
        if constant not in self._enums:
            make: Any = enum.IntEnum if constant.base == "IntEnum" else enum.Enum
            members = [(member.name, self.of(member.value)) for member in constant.members]
            try:
                self._enums[constant] = make(constant.name, members, module="kernels")
            except (TypeError, ValueError) as error:  # values that Python cannot tell apart, say
                raise Refused(
                    Failure("malformed-plan", f"The launch plan has no enum {constant.name}: {error}")
                ) from None
        return self._enums[constant]
