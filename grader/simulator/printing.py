"""What threads print and raise. Runs in the runner.

Numba prints through CUDA's ``printf``: integers in decimal, floats with six digits, what is printed together apart by
blanks (CUDA C++ Programming Guide, "Formatted Output"). A GPU shows lines in whatever order threads ran; here they
come by thread, so that two runs read alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.records import Place, Severity
from grader.simulator.body import Body
from grader.simulator.frontend import types
from grader.simulator.lane_values import is_wide
from grader.simulator.numba_types import is_scalar, plain
from grader.simulator.program import Registers

if TYPE_CHECKING:
    from grader.simulator.machine import Machine

# From here on Numba's printf shows its format in place of values.
MAX_ITEMS = 32
Format = Callable[["Machine", Registers], list[str]]


def translate_print(body: Body, statement: Any) -> None:
    """``print(...)``. Raises NotSimulated for what the simulator cannot print."""
    formats: list[Format] = []
    reads: list[int] = []
    for position, variable in enumerate(statement.args):
        constant = statement.consts.get(position, body.static.get(variable.name))
        if isinstance(constant, str):
            formats.append(_fixed(constant))
            continue
        register = body.register(variable.name)
        formats.append(_item(body, plain(body.type_of(variable)), body.static.get(variable.name), register))
        reads.append(register)
    if len(statement.args) > MAX_ITEMS:
        pattern = " ".join(_pattern(plain(body.type_of(variable))) for variable in statement.args)
        formats = [_fixed(pattern)]

    def step(m: Machine, r: Registers) -> None:
        items = [item(m, r) for item in formats]
        lines = [" ".join(parts) for parts in zip(*items, strict=True)] if items else [""] * m.active
        m.printed.add(np.broadcast_to(m.per_lane("gthread"), m.active), lines)

    body.add(step, tuple(reads), ())


def _fixed(text: str) -> Format:
    return lambda m, r: [text] * m.active


def _item(body: Body, numba_type: Any, static: Any, register: int) -> Format:
    if str(numba_type) == "Dim3":
        return lambda m, r: _dimensions(m, static)
    if not isinstance(numba_type, types.BaseTuple) and not is_scalar(numba_type):
        raise body.unknown(f"printing {numba_type}")
    if isinstance(numba_type, types.Complex):
        raise body.unknown("printing complex numbers")
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


@dataclass(frozen=True)
class Raised:
    """What a thread of a launch with debug=True raised: the class, its arguments, block and thread index."""

    exception: type[BaseException]
    arguments: tuple[Any, ...]
    block: tuple[int, int, int]
    thread: tuple[int, int, int]
    where: str

    def error(self) -> BaseException:
        """The exception as Numba raises it on the host."""
        where = f"{self.where}, tid={list(self.thread)} ctaid={list(self.block)}"
        first, *others = self.arguments or ("",)
        return self.exception(f"{where}: {first}" if first else where, *others)


def translate_raise(body: Body, statement: Any) -> None:
    """``raise`` and a failed ``assert``: noted; what ends the thread is up to the caller."""
    exception, arguments, place = statement.exc_class or RuntimeError, tuple(statement.exc_args or ()), body.place()
    name = body.typed.name.rpartition(".")[2]
    where = f"In function {name!r}, file {body.typed.filename}, line {body.line}"
    # What device functions raise does not reach the host: Numba's issue 8036.
    in_kernel = len(body.callers) == 1 and body.routine is None
    body.add(lambda m, r: _note_raise(m, exception, arguments, place, where, in_kernel), (), ())


def _note_raise(
    m: Machine,
    exception: type[BaseException],
    arguments: tuple[Any, ...],
    place: Place,
    where: str,
    in_kernel: bool,
) -> None:
    """The active lanes raise: Numba tells the host only what was compiled with debug=True raises."""
    threads = m.example(np.zeros(1, np.intp))
    block, thread = threads[0]
    who = m.wave.say(block, thread)
    message = f": {', '.join(map(str, arguments))}" if arguments else ""
    what = f"{exception.__name__}{message}"
    if not m.debug or not in_kernel:
        m.findings.add(
            "silent-raise",
            Severity.ADVICE,
            place,
            f"A GPU tells nobody about this {what}: the thread just ends, first {who}.",
            "Compile with @cuda.jit(debug=True, opt=False) to have what a kernel itself, no device function,"
            " asserts and raises reach the host.",
            threads=threads,
            count=m.active,
        )
        return
    m.raised = m.raised or Raised(exception, arguments, block, thread, where)
    m.findings.add(
        "raised",
        Severity.ERROR,
        place,
        f"{what}, raised by thread {who}.",
        "Look at what this thread computed before.",
        threads=threads,
        count=m.active,
    )
