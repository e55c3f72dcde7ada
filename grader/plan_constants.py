"""What a plan's functions captured: values, and what is made of them or named by them; plain, validated data.

Any process may import it: the recorder writes it, the trusted process validates it, the runner makes values of it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from grader.plan_limits import (
    MAX_CONSTANTS,
    MAX_MEMBERS,
    MAX_TUPLE,
    ClassName,
    FieldName,
    Identifier,
    Index,
    MemberName,
    Part,
    Path,
)
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


class NameConstant(Part):
    """Something that Numba or Python provides, by dotted path: ``numba.cuda``, ``math.sqrt``, ``numba.float32``.

    The runner binds only paths of its fixed list.
    """

    kind: Literal["name"] = "name"
    path: Path


class FunctionConstant(Part):
    """Another function of kernels.py, by its index in ``LaunchPlan.functions``."""

    kind: Literal["function"] = "function"
    index: Index


class TupleConstant(Part):
    """A tuple of constants."""

    kind: Literal["tuple"] = "tuple"
    items: Annotated[tuple[Constant, ...], Field(max_length=MAX_TUPLE)]


class NamedTupleClassConstant(Part):
    """A class that ``collections.namedtuple`` made; ``defaults`` are those of its last fields."""

    kind: Literal["namedtuple-class"] = "namedtuple-class"
    name: ClassName
    fields: Annotated[tuple[FieldName, ...], Field(max_length=MAX_TUPLE)]
    defaults: Annotated[tuple[Constant, ...], Field(max_length=MAX_TUPLE)] = ()

    @model_validator(mode="after")
    def _agree(self) -> NamedTupleClassConstant:
        if len(set(self.fields)) != len(self.fields):
            raise ValueError("a named tuple has two fields of one name")
        if len(self.defaults) > len(self.fields):
            raise ValueError("a named tuple has more defaults than fields")
        return self


class NamedTupleConstant(Part):
    """A named tuple of constants."""

    kind: Literal["namedtuple"] = "namedtuple"
    type: NamedTupleClassConstant
    items: Annotated[tuple[Constant, ...], Field(max_length=MAX_TUPLE)]

    @model_validator(mode="after")
    def _agree(self) -> NamedTupleConstant:
        if len(self.items) != len(self.type.fields):
            raise ValueError(f"a named tuple has {len(self.items)} items for {len(self.type.fields)} fields")
        return self


class EnumMember(Part):
    """A name of an enum and its value; two names of one value are one member, as in Python."""

    name: MemberName
    value: Annotated[
        IntConstant | BoolConstant | FloatConstant | NoneConstant | StringConstant | ArrayConstant | TupleConstant,
        Field(discriminator="kind"),
    ]

    @model_validator(mode="after")
    def _is_data(self) -> EnumMember:
        pending: list[Constant] = [self.value]
        while pending:
            value = pending.pop()
            if isinstance(value, TupleConstant):
                pending += value.items
            elif isinstance(value, ArrayConstant) and value.scalar and isinstance(value.dtype, str):
                continue
            elif not isinstance(value, IntConstant | BoolConstant | FloatConstant | NoneConstant | StringConstant):
                raise ValueError("the value of a member of an enum is no number, text or tuple of those")
        return self


class EnumClassConstant(Part):
    """An enum, as Numba sees one: its names, their values, and whether it is an ``IntEnum``.

    Numba takes no notice of other classes that an enum is made from, and of none of its methods.
    """

    kind: Literal["enum-class"] = "enum-class"
    name: ClassName
    base: Literal["Enum", "IntEnum"]
    members: Annotated[tuple[EnumMember, ...], Field(min_length=1, max_length=MAX_MEMBERS)]

    @model_validator(mode="after")
    def _agree(self) -> EnumClassConstant:
        if len({member.name for member in self.members}) != len(self.members):
            raise ValueError("an enum has two members of one name")
        if self.base == "IntEnum" and not all(isinstance(member.value, IntConstant) for member in self.members):
            raise ValueError("a member of an IntEnum is no int")
        return self


class EnumMemberConstant(Part):
    """A member of an enum, by one of its names."""

    kind: Literal["enum"] = "enum"
    type: EnumClassConstant
    member: MemberName

    @model_validator(mode="after")
    def _agree(self) -> EnumMemberConstant:
        if all(member.name != self.member for member in self.type.members):
            raise ValueError("a member of an enum is none of its members")
        return self

    @property
    def value(self) -> Constant:
        """The member's value."""
        return next(member.value for member in self.type.members if member.name == self.member)


class UnsupportedConstant(Part):
    """A captured object that is no plain data, or none that a plan can hold; kept to say so by name.

    ``reason`` is set where Numba could use some such objects: "enum" for an enum or a member of one, "module" for a
    module, "record" for a record by itself, "record-type" for a structured dtype or Numba's type of a record,
    "tuple-class" for a class derived from tuple that is more than a named tuple, or an object of one.
    """

    kind: Literal["unsupported"] = "unsupported"
    type_name: Annotated[str, Field(max_length=200)]
    reason: Literal["", "enum", "module", "record", "record-type", "tuple-class"] = ""


Constant = Annotated[
    IntConstant
    | BoolConstant
    | FloatConstant
    | NoneConstant
    | StringConstant
    | ArrayConstant
    | DTypeConstant
    | NameConstant
    | FunctionConstant
    | TupleConstant
    | NamedTupleClassConstant
    | NamedTupleConstant
    | RecordTypeConstant
    | EnumClassConstant
    | EnumMemberConstant
    | UnsupportedConstant,
    Field(discriminator="kind"),
]
Captured = Annotated[dict[Identifier, Constant], Field(max_length=MAX_CONSTANTS)]

TupleConstant.model_rebuild()
NamedTupleClassConstant.model_rebuild()
NamedTupleConstant.model_rebuild()
EnumMember.model_rebuild()
EnumClassConstant.model_rebuild()
EnumMemberConstant.model_rebuild()
