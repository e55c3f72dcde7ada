"""What threads print. Runs in the runner.

In: print statements of typed IR. Out: steps of a body, which hand lines to ``printed``.

Numba prints through CUDA's ``printf``: integers in decimal, floats with six digits, what is printed together apart by
blanks (CUDA C++ Programming Guide, "Formatted Output"). A GPU shows lines in whatever order threads ran; here they
come by thread, so that two runs read alike.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.simulator.body import Body
from grader.simulator.frontend import KernelError, types
from grader.simulator.lane_values import is_wide
from grader.simulator.numba_types import is_scalar, is_time, plain
from grader.simulator.program import Registers

if TYPE_CHECKING:
    from grader.simulator.machine import Machine

# From here on Numba's printf shows its format in place of values.
MAX_ITEMS = 32
Format = Callable[["Machine", Registers], list[str]]


def translate_print(body: Body, statement: Any) -> None:
    """``print(...)``. Raises KernelError for what Numba cannot print, NotSimulated for what the simulator cannot."""
    formats: list[Format] = []
    reads: list[int] = []
    items = [(body.type_of(v), body.static.get(v.name), body.register(v.name)) for v in statement.args]
    if statement.vararg is not None:  # print(*values), and whatever has too many arguments for Python's bytecode
        items += _of_tuple(body, statement.vararg)
    for position, (numba_type, static, register) in enumerate(items):
        constant = statement.consts.get(position, getattr(numba_type, "literal_value", None))
        if isinstance(constant, str):
            formats.append(_fixed(constant))
            continue
        formats.append(_item(body, plain(numba_type), static, register))
        reads.append(register)
    pattern = " ".join(_pattern(plain(numba_type)) for numba_type, _, _ in items)
    # A GPU keeps formats in constant memory, with a line's end and a zero.
    body.unit.program.text_bytes += len(pattern) + 2
    if len(items) > MAX_ITEMS:
        formats = [_fixed(pattern)]
        body.unit.program.warnings.append(
            f"CUDA print() cannot print more than {MAX_ITEMS} items. The raw format string will be emitted by the "
            "kernel instead."
        )

    def step(m: Machine, r: Registers) -> None:
        columns = [item(m, r) for item in formats]
        lines = [" ".join(parts) for parts in zip(*columns, strict=True)] if columns else [""] * m.active
        m.printed.add(np.broadcast_to(m.per_lane("gthread"), m.active), lines)

    body.add(step, tuple(reads), ())


def _of_tuple(body: Body, variable: Any) -> list[tuple[Any, Any, int]]:
    """Type, static value and register of each item of a tuple."""
    known, source, items = body.static.get(variable.name), body.register(variable.name), []
    for position, item_type in enumerate(plain(body.type_of(variable))):
        register = body.unit.new_register()
        body.compute(register, operator.itemgetter(position), (source,))
        static = known[position] if isinstance(known, tuple) else None
        items.append((item_type, static, register))
    return items


def _fixed(text: str) -> Format:
    return lambda m, r: [text] * m.active


def _item(body: Body, numba_type: Any, static: Any, register: int) -> Format:
    if str(numba_type) == "Dim3":
        return lambda m, r: _dimensions(m, static)
    if isinstance(numba_type, types.UnicodeType):
        raise KernelError("Numba can print texts that are written in the call, and no others.", body.line)
    if not isinstance(numba_type, types.BaseTuple) and not is_scalar(numba_type):
        if isinstance(numba_type, types.Array):
            raise KernelError("Numba cannot print arrays in a kernel.", body.line)
        raise body.unknown(f"printing {numba_type}")
    if isinstance(numba_type, types.Complex) or is_time(numba_type):
        what = "dates" if is_time(numba_type) else "complex numbers"
        raise KernelError(f"Numba cannot print {what} in a kernel.", body.line)
    return lambda m, r: _formatted(r[register], m.active)


def _pattern(numba_type: Any) -> str:
    if isinstance(numba_type, types.BaseTuple):
        return "(" + ", ".join(_pattern(plain(item)) for item in numba_type) + ")"
    if isinstance(numba_type, types.Float):
        return "%f"
    if isinstance(numba_type, types.Integer):
        return "%lld" if numba_type.signed else "%llu"
    return "%s"


def _formatted(value: Any, active: int) -> list[str]:
    if isinstance(value, tuple):
        columns = [_formatted(item, active) for item in value]
        comma = "," if len(columns) == 1 else ""
        return ["(" + ", ".join(parts) + comma + ")" for parts in zip(*columns, strict=True)]
    numbers = value.tolist() if is_wide(value) else [np.asarray(value).item()] * active
    return [f"{number:f}" if isinstance(number, float) else str(number) for number in numbers]


def _dimensions(m: Machine, which: str) -> list[str]:
    if which in ("blockDim", "gridDim"):
        return [str(m.wave.block if which == "blockDim" else m.wave.grid)] * m.active
    letter = which[0]
    columns = [np.broadcast_to(m.per_lane(letter + axis), m.active).tolist() for axis in "xyz"]
    return [str(parts) for parts in zip(*columns, strict=True)]
