"""A function body being translated: registers, steps, places. Runs in the runner.

In: a typed function. Out: steps in the basic blocks of a unit.

``translate`` walks Numba's statements over a ``Body``; ``expressions``, ``attributes``, ``calls`` and
``device_calls`` add the steps of what they know to it.
"""

from __future__ import annotations

import enum
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from grader.errors import NotSimulated
from grader.kernels_text import Position
from grader.records import Place, Severity
from grader.simulator.constants import ConstantArray, has_array, with_arrays
from grader.simulator.frontend import KernelError, TypedFunction, has_run_time, types
from grader.simulator.machine import Machine
from grader.simulator.numba_types import caster, convert, dtype_of, is_scalar, is_text, plain
from grader.simulator.positions import position_of
from grader.simulator.program import Block, Registers
from grader.simulator.rejections import is_numbas
from grader.simulator.unit import Routine, Unit


class Body:
    """One function body being translated: the kernel's, or a device function's at one place of call."""

    def __init__(
        self,
        unit: Unit,
        typed: TypedFunction,
        arguments: list[int],
        result: int | None,
        after: int | None,
        callers: tuple[Any, ...],
    ) -> None:
        self.unit = unit
        self.typed = typed
        self.arguments = arguments
        self.result = result
        self.after = after
        self.callers = (*callers, typed.key())
        self.routine: Routine | None = None
        self.registers: dict[str, int] = {}
        self.static: dict[str, Any] = {}
        self.definitions: dict[str, Any] = {}
        self.filename, self.line = typed.filename, typed.line
        self.position: Position | None = None
        self._places: dict[tuple[str, int, Position | None], Place] = {}
        self.called_at: Place | None = None  # of Numba's own functions: the line that is to blame
        # Of a function that is called: by parameter, the caller's body, its variable and the line of the call.
        self.given: dict[str, tuple[Body, Any, int]] = {}
        self.uses: set[str] | None = None
        self.block: Block
        self.labels: dict[int, int] = {}

    # ------------------------------------------------------------------ plumbing

    def place(self) -> Place:
        """The line that is being translated, and the expression in it; in Numba's own code, what called it."""
        if self.called_at is not None:
            return self.called_at
        key = self.filename, self.line, self.position
        if key not in self._places:
            self._places[key] = self.unit.sources.place_in(self.filename, self.line, self.typed.name, self.position)
        return self._places[key]

    def stand_at(self, loc: Any) -> None:
        """Go on to a statement: what Numba has inlined may come from another file, and of its own code it is the line
        before that is to blame.
        """
        if loc.filename == self.typed.filename or not is_numbas(loc.filename):
            self.filename, self.line, self.position = loc.filename, loc.line, position_of(loc)

    def literal(self, var: Any) -> Any:
        """The value of a variable that Numba knows to be a literal."""
        return self.type_of(var).literal_value

    def unknown(self, what: str) -> NotSimulated:
        """The exception for something that the simulator does not know, at the current line."""
        place = self.place()
        return NotSimulated(f"the simulator does not know {what} (line {place.line}: {place.text})")

    def needs_memory(self, message: str) -> KernelError | NotSimulated:
        """The exception for what needs memory for a new array, which Numba refuses unless it has its run time."""
        return self.unknown("arrays that a kernel makes") if has_run_time() else KernelError(message, self.line)

    def register(self, name: str) -> int:
        """The register of one of Numba's variables."""
        if name not in self.registers:
            self.registers[name] = self.unit.new_register()
        return self.registers[name]

    def type_of(self, var: Any) -> Any:
        """The Numba type of a variable."""
        return self.typed.typemap[var.name]

    def add(self, step: Callable[[Machine, Registers], None], reads: tuple[int, ...], writes: tuple[int, ...]) -> None:
        """Append a step to the current block."""
        self.block.add(step, reads, writes)
        self.block.steps_of_lines[self.place()] += 1

    def start_block(self) -> int:
        """A new block; the current one must get an end that leads to it."""
        index = self.unit.new_block(self.place())
        self.block = self.unit.program.blocks[index]
        return index

    def constant(self, name: str, value: Any) -> None:
        """A step that gives a variable a value that is known now."""
        self.hold(self.register(name), value)

    def hold(self, target: int, value: Any) -> None:
        """A step ``target = value`` for a value that is known now."""
        step: Callable[[Machine, Registers], None]
        if has_array(value):

            def step(m: Machine, r: Registers) -> None:
                r[target] = with_arrays(m, value)
        else:

            def step(m: Machine, r: Registers) -> None:
                r[target] = value

        self.add(step, (), (target,))

    def cast_register(self, source: int, source_type: Any, target_type: Any) -> int:
        """A register that holds ``source`` as ``target_type``."""
        if isinstance(source_type, types.EnumMember) and isinstance(target_type, types.Float | types.Complex):
            raise KernelError(
                "Numba turns a member of an enum into an integer only: write float(int) or .value.", self.line
            )
        if is_text(source_type) and is_text(target_type) and source_type != target_type:
            raise KernelError("Numba cannot convert texts of another length: declare both for the same.", self.line)
        cast = caster(source_type, target_type)
        if cast is None:
            return source
        target = self.unit.new_register()
        step: Callable[[Machine, Registers], None]
        if isinstance(source_type, types.Optional) and not isinstance(target_type, types.Optional):
            place = self.place()

            def step(m: Machine, r: Registers) -> None:
                _note_missing(m, r[source][0], place)
                r[target] = cast(r[source])
        else:

            def step(m: Machine, r: Registers) -> None:
                r[target] = cast(r[source])

        self.add(step, (source,), (target,))
        return target

    def copy(self, target: int, source: int) -> None:
        """A step ``target = source``."""

        def step(m: Machine, r: Registers) -> None:
            r[target] = r[source]

        self.add(step, (source,), (target,))

    def compute(self, target: int, function: Callable[..., Any], operands: tuple[int, ...]) -> None:
        """A step ``target = function(*operands)``."""
        step: Callable[[Machine, Registers], None]
        if len(operands) == 1:
            (a,) = operands

            def step(m: Machine, r: Registers) -> None:
                r[target] = function(r[a])
        elif len(operands) == 2:
            a, b = operands

            def step(m: Machine, r: Registers) -> None:
                r[target] = function(r[a], r[b])
        else:

            def step(m: Machine, r: Registers) -> None:
                r[target] = function(*[r[operand] for operand in operands])

        self.add(step, operands, (target,))

    def note_flops(self, numba_type: Any, of_complex: int = 1, *, each: int = 1) -> None:
        """The current line computes ``each`` floating-point operations of this type; a complex one is several."""
        if not is_scalar(numba_type) or dtype_of(numba_type).kind not in "fc":
            return
        dtype = dtype_of(numba_type)
        real = 2 if dtype.kind == "c" else 1
        if dtype.itemsize // real == np.dtype(np.float64).itemsize and self.called_at is None:
            self.unit.program.float64_lines.add(self.place().whole_line)
        self.block.flops[self.place(), 8 * dtype.itemsize // real] += each if real == 1 else of_complex

    def is_used(self, name: str) -> bool:
        """Whether any statement but ``del`` reads this variable."""
        if self.uses is None:
            self.uses = {
                var.name
                for block in self.typed.ir.blocks.values()
                for statement in block.body
                if type(statement).__name__ != "Del"
                for var in _read_by(statement)
            }
        return name in self.uses

    def forget(self, name: str) -> None:
        """``name`` gets a new value: tuples that were built from the old one stand for themselves again."""
        for known in [k for k, items in self.definitions.items() if any(item.name == name for item in items)]:
            del self.definitions[known]
        self.definitions.pop(name, None)

    def constant_value(self, value: Any, numba_type: Any) -> Any:
        """A captured value as the machine holds it."""
        if isinstance(value, enum.Enum):
            if isinstance(value.value, str):  # kernels can only compare these
                return np.int64(list(type(value)).index(value))
            value = value.value
        if isinstance(numba_type, types.BaseTuple):
            return tuple(self.constant_value(item, plain(t)) for item, t in zip(value, numba_type, strict=True))
        if isinstance(numba_type, types.Array):
            # Baked in: a copy, unless it is on the device, of which a kernel keeps the address.
            on_device = hasattr(value, "__cuda_array_interface__")
            self.unit.program.constants.append(value if on_device else np.array(value, order="C"))
            return ConstantArray(len(self.unit.program.constants) - 1)
        if is_scalar(numba_type):
            return convert(value, dtype_of(numba_type))
        if isinstance(numba_type, types.SliceType | types.EllipsisType):
            return value
        raise self.unknown(f"a captured value of type {numba_type}")

    def overloaded_attribute(self, target: Any, expr: Any) -> bool:
        """Translate an attribute that a script implements (``inlining``); False where it is none."""
        return False

    def index_registers(self, index: Any) -> list[tuple[int, Any]]:
        """Registers and types of an index's items; a tuple that was just built gives its items directly."""
        index_type = plain(self.type_of(index))
        register = self.register(index.name)
        if not isinstance(index_type, types.BaseTuple):
            return [(self._index(register, self.type_of(index)), index_type)]
        items = self.definitions.get(index.name)
        if items is not None:
            typed = [(item.name, self.type_of(item)) for item in items]
            return [(self._index(self.register(name), item_type), plain(item_type)) for name, item_type in typed]
        split = []
        for position, item_type in enumerate(index_type):
            target = self.unit.new_register()
            self.compute(target, operator.itemgetter(position), (register,))
            split.append((self._index(target, item_type), plain(item_type)))
        return split

    def _index(self, register: int, item_type: Any) -> int:
        """The register of an index; of a Python int for a negative number written as such, which needs no warning."""
        written = getattr(item_type, "literal_value", None)
        if not isinstance(written, int) or written >= 0:
            return register
        target = self.unit.new_register()
        self.hold(target, written)
        return target


def _note_missing(m: Machine, there: Any, place: Place) -> None:
    """Note lanes that use what is None for them as a number: compiled code ends such a thread without a word."""
    missing = np.flatnonzero(~np.broadcast_to(there, m.active))
    if missing.size:
        threads = m.example(missing)
        who = m.wave.say(*threads[0])
        m.findings.add(
            "none-used",
            Severity.ERROR,
            place,
            f"A value that is None is used as a number, by thread {who}: it ends there, silently.",
            "Ask `if value is not None` first.",
            threads=threads,
            count=int(missing.size),
        )


def _read_by(statement: Any) -> Any:
    """The variables that a statement reads; one that it assigns to is not among them."""
    if type(statement).__name__ != "Assign":
        return statement.list_vars()
    value = statement.value
    return value.list_vars() if hasattr(value, "list_vars") else [value] if type(value).__name__ == "Var" else []
