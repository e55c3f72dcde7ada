"""What makes a line compute in float64, for advice. Runs in the runner, while translating.

In: an operation's operands. Out: a half-sentence for its line, in the program.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from grader.simulator.body import Body
from grader.simulator.frontend import types
from grader.simulator.numba_types import plain

_NARROW = (types.float32, types.float16)


def note_promotion(body: Body, operands: tuple[Any, Any], result: Any) -> None:
    """Note the operand (one of Numba's variables) that makes the result of two float64."""
    if plain(result) != types.float64 or body.called_at is not None:
        return
    wide = [var for var in operands if plain(body.type_of(var)) not in _NARROW]
    if wide:
        body.unit.program.promotions.setdefault(body.place().whole_line, _why_one_of(body, wide, frozenset()))


def _why_one_of(body: Body, wide: list[Any], seen: frozenset[str]) -> str:
    """One clause about operands that are not float32, of which at least one is to blame."""
    floats = [var for var in wide if _is_float64(body, var)]
    literals = [var for var in floats if isinstance(body.static.get(var.name), float)]
    if len(wide) == 2 and not floats:
        return "a quotient of whole numbers is float64"
    return _why(body, (literals or floats or wide)[0], seen)


def _why(body: Body, var: Any, seen: frozenset[str]) -> str:
    """One clause about a variable or literal; ``seen`` are the variables that led to it."""
    known, kind = body.static.get(var.name), plain(body.type_of(var))
    name = str(getattr(var, "unversioned_name", var.name))
    if name.startswith("$"):  # a literal, a captured constant or a part of the expression
        if isinstance(known, bool | int | float):
            return f"the {'literal' if isinstance(known, float) else 'number'} {known!r} is {kind}"
        for source in _values_of(body, name):
            return _why_part(body, source, seen | {name}) or f"a part of the expression is {kind}"
        return f"a part of the expression is {kind}"
    whole = ""
    for source in _values_of(body, name):
        value = _constant(body, source)
        if isinstance(value, float):
            return f"{name} is {kind}, since line {source.loc.line} gives it the literal {value!r}"
        if type(source).__name__ == "Arg":
            return _why_argument(body, name, kind, seen)
        if isinstance(value, int) and kind == types.float64 and not whole:
            whole = f"{name} is {kind}, since line {source.loc.line} gives it the whole number {value!r}"
    return whole or f"{name} is {kind}"


def _why_part(body: Body, source: Any, seen: frozenset[str]) -> str:
    """The clause about a part of an expression, where its own operands are to blame; else ""."""
    if type(source).__name__ != "Expr" or source.op not in ("binop", "inplace_binop"):
        return ""
    operands = [var for var in (source.lhs, source.rhs) if var.name not in seen]
    wide = [var for var in operands if plain(body.type_of(var)) not in _NARROW]
    return _why_one_of(body, wide, seen) if wide else ""


def _why_argument(body: Body, name: str, kind: Any, seen: frozenset[str]) -> str:
    caller, var, line = body.given.get(name, (None, None, 0))
    if caller is None:
        return f"the argument {name} is {kind}"
    return f"{name} is {kind}, as line {line} passes it: {_why(caller, var, frozenset())}"


def _is_float64(body: Body, var: Any) -> bool:
    return bool(plain(body.type_of(var)) == types.float64)


def _values_of(body: Body, name: str) -> Iterator[Any]:
    """What the function assigns to a variable, in all its versions; to one without a name of its own, once."""
    for _, block in sorted(body.typed.ir.blocks.items()):
        for statement in block.body:
            if type(statement).__name__ == "Assign" and statement.target.unversioned_name == name:
                yield statement.value


def _constant(body: Body, source: Any) -> Any:
    """The number that a value of the IR is, or None."""
    kind = type(source).__name__
    value = source.value if kind == "Const" else body.static.get(source.name) if kind == "Var" else None
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return value if is_number else None
