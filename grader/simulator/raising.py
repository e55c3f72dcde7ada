"""What threads raise. Runs in the runner.

In: ``raise`` and ``assert`` in typed IR, and operations that raise by themselves. Out: steps of a ``Body`` that note
it. A thread that raises ends. The host is told only what a kernel itself, no device function, raises under debug=True:
there Numba's error model is Python's, by which a division by zero raises.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.records import Place, Severity
from grader.simulator import addressing
from grader.simulator.body import Body
from grader.simulator.frontend import types
from grader.simulator.numba_types import is_scalar, plain
from grader.simulator.program import Branch, Exit

if TYPE_CHECKING:
    from grader.simulator.machine import Machine

# What Numba's error model for debug=True says of a divisor that is zero: of integers, and of floats.
_BY_ZERO = {
    operator.truediv: ("division by zero", "division by zero"),
    operator.floordiv: ("integer division by zero", "division by zero"),
    operator.mod: ("integer modulo by zero", "modulo by zero"),
    divmod: ("integer divmod by zero", "modulo by zero"),
}


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
    _add_raise(body, statement.exc_class or RuntimeError, tuple(statement.exc_args or ()))


def _add_raise(body: Body, exception: type[BaseException], arguments: tuple[Any, ...]) -> None:
    place, name = body.place(), body.typed.name.rpartition(".")[2]
    where = f"In function {name!r}, file {body.typed.filename}, line {body.line}"
    # What device functions raise does not reach the host: Numba's issue 8036.
    in_kernel = _is_in_kernel(body)
    body.add(lambda m, r: _note_raise(m, exception, arguments, place, where, in_kernel), (), ())


def _is_in_kernel(body: Body) -> bool:
    return len(body.callers) == 1 and body.routine is None


def raise_where(body: Body, condition: int, exception: type[BaseException], message: str) -> None:
    """Threads for which a register is true raise, and end; what is added next is for the others."""
    before = body.block
    before.note_reads((condition,))
    raising = body.start_block()
    _add_raise(body, exception, (message,))
    body.block.end = Exit()
    before.end = Branch(condition, raising, body.start_block(), body.place())


def guard_division(body: Body, function: Any, divisor: int, divisor_type: Any) -> None:
    """Raise where a divisor is zero and compiled code does: under debug=True, and for complex numbers always."""
    if function not in _BY_ZERO or not is_scalar(divisor_type):
        return
    kind = plain(divisor_type)
    if isinstance(kind, types.Complex):
        message = "complex division by zero"
    elif body.unit.options.debug and _is_in_kernel(body):
        if body.unit.options.fastmath and function is operator.truediv and kind == types.float32:
            return  # divided by another instruction
        message = _BY_ZERO[function][isinstance(kind, types.Float)]
    else:
        return
    is_zero = body.unit.new_register()
    body.compute(is_zero, lambda value: np.equal(value, 0), (divisor,))
    raise_where(body, is_zero, ZeroDivisionError, message)


def guard_power(body: Body, base: tuple[int, Any], exponent: tuple[int, Any]) -> None:
    """Raise where compiled code does: under debug=True where an integer zero is raised to a negative power."""
    whole = all(isinstance(plain(t), types.Integer) for _, t in (base, exponent))
    if not whole or not body.unit.options.debug or not _is_in_kernel(body):
        return
    is_bad = body.unit.new_register()
    body.compute(is_bad, lambda a, b: np.equal(a, 0) & np.less(b, 0), (base[0], exponent[0]))
    raise_where(body, is_bad, ZeroDivisionError, "0 cannot be raised to a negative power")


def guard_item(body: Body, index: int, length: int) -> None:
    """Raise where an index is outside of a tuple, if the host is told; else ``views.pick_item`` says so."""
    if not body.unit.options.debug or not _is_in_kernel(body):
        return
    outside = body.unit.new_register()
    body.compute(outside, lambda value: np.bool_(addressing.wrap(value, length)[1]), (index,))
    raise_where(body, outside, IndexError, "tuple index out of range")


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
    if not m.program.debug or not in_kernel:
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
