"""Which literal or variable makes a line compute in float64, for advice. Runs in the runner, while translating.

In: an operation's operands. Out: a half-sentence for its line, in the program.
"""

from __future__ import annotations

from typing import Any

from grader.simulator.body import Body
from grader.simulator.frontend import types
from grader.simulator.numba_types import plain


def note_promotion(body: Body, operands: tuple[Any, Any], result: Any) -> None:
    """Note the operand that is not float32 where the result of two (Numba's variables) is float64.

    Where both are float64 already, an earlier line has made them so, and that line is noted.
    """
    if plain(result) != types.float64:
        return
    wide = [var for var in operands if plain(body.type_of(var)) not in (types.float32, types.float16)]
    if len(wide) == 1:
        body.unit.program.promotions.setdefault(body.place().whole_line, _why(body, wide[0]))


def _why(body: Body, var: Any) -> str:
    """One clause about a variable or literal."""
    known = body.static.get(var.name)
    kind = plain(body.type_of(var))
    name = str(getattr(var, "unversioned_name", var.name))
    if name.startswith("$"):  # a literal, a captured constant or a part of the expression
        if isinstance(known, bool | int | float):
            return f"the {'literal' if isinstance(known, float) else 'number'} {known!r} is {kind}"
        return f"a part of the expression is {kind}"
    for block in body.typed.ir.blocks.values():
        for statement in block.body:
            if type(statement).__name__ != "Assign" or statement.target.unversioned_name != name:
                continue
            source = statement.value
            value = None
            if type(source).__name__ == "Const":
                value = source.value
            elif type(source).__name__ == "Var":
                value = body.static.get(source.name)
            if isinstance(value, float):
                return f"{name} is {kind}, since line {statement.loc.line} gives it the literal {value!r}"
    return f"{name} is {kind}"
