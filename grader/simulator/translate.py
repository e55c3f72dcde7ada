"""From Numba's typed IR to a ``Program``. Runs in the runner.

One method per kind of IR node; device functions are inlined where they are called. Values that only exist while
compiling (modules, functions, dtypes, literals) are resolved here and leave no step behind.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass
from dataclasses import dataclass
from typing import Any

import numpy as np

from grader.errors import NotSimulated
from grader.records import Place
from grader.simulator import access
from grader.simulator.frontend import Frontend, TypedFunction, callee_key, python_function, types
from grader.simulator.machine import Machine
from grader.simulator.memory import is_wide
from grader.simulator.numba_types import caster, convert, dtype_of, is_scalar, plain
from grader.simulator.operations import ARITHMETIC, COMPARISONS, INPLACE, UNARY
from grader.simulator.program import Block, Branch, Exit, Jump, Program, Registers
from grader.simulator.ranges import advance, make_iterator

MAX_BLOCKS = 4000
MAX_INLINE_DEPTH = 40
STATIC_TYPES = (
    "Module",
    "Function",
    "BoundFunction",
    "Dispatcher",
    "NumberClass",
    "DType",
    "TypeRef",
    "class",
)


class Translator:
    """Builds one program. ``source`` is kernels.py's lines, for the text of a place."""

    def __init__(self, frontend: Frontend, source: list[str], filename: str) -> None:
        self.frontend = frontend
        self.source = source
        self.filename = filename
        self.program = Program("")
        self.shared_arrays: dict[tuple[Any, int], tuple[int, int]] = {}
        self.local_arrays: dict[tuple[Any, int], tuple[int, int]] = {}

    def translate(self, typed: TypedFunction) -> Program:
        """The program of a kernel. Raises NotSimulated with the line for what the simulator does not know."""
        program = self.program = Program(typed.name)
        program.registers = len(typed.arg_types)
        entry = Inlined(self, typed, list(range(len(typed.arg_types))), None, None, ())
        entry.emit()
        program.finish()
        return program

    def new_register(self) -> int:
        self.program.registers += 1
        return self.program.registers - 1

    def new_block(self, place: Place) -> int:
        if len(self.program.blocks) >= MAX_BLOCKS:
            raise NotSimulated(f"the kernel is too large for the simulator: more than {MAX_BLOCKS} basic blocks")
        self.program.blocks.append(Block(place))
        return len(self.program.blocks) - 1


class Inlined:
    """One function body being translated: the kernel's, or a device function's at one place of call."""

    def __init__(
        self,
        owner: Translator,
        typed: TypedFunction,
        arguments: list[int],
        result: int | None,
        after: int | None,
        callers: tuple[Any, ...],
    ) -> None:
        self.owner = owner
        self.typed = typed
        self.arguments = arguments
        self.result = result
        self.after = after
        self.callers = (*callers, (typed.name, typed.line, typed.arg_types))
        self.registers: dict[str, int] = {}
        self.static: dict[str, Any] = {}
        self.definitions: dict[str, Any] = {}
        self.line = typed.line
        self.uses: set[str] | None = None
        self.block: Block
        self.labels: dict[int, int] = {}

    # ------------------------------------------------------------------ plumbing

    def place(self) -> Place:
        """The line that is being translated."""
        lines = self.owner.source
        ours = self.typed.filename == self.owner.filename and 0 < self.line <= len(lines)
        return Place(self.line, lines[self.line - 1].strip() if ours else "", self.typed.name)

    def unknown(self, what: str) -> NotSimulated:
        place = self.place()
        return NotSimulated(f"the simulator does not know {what} (line {place.line}: {place.text})")

    def register(self, name: str) -> int:
        if name not in self.registers:
            self.registers[name] = self.owner.new_register()
        return self.registers[name]

    def type_of(self, var: Any) -> Any:
        return self.typed.typemap[var.name]

    def add(self, step: Callable[[Machine, Registers], None], reads: tuple[int, ...], writes: tuple[int, ...]) -> None:
        self.block.add(step, reads, writes)

    def start_block(self) -> int:
        """A new block; the current one must get an end that leads to it."""
        index = self.owner.new_block(self.place())
        self.block = self.owner.program.blocks[index]
        return index

    def constant(self, name: str, value: Any) -> None:
        self.hold(self.register(name), value)

    def hold(self, target: int, value: Any) -> None:
        """A step ``target = value`` for a value that is known now."""
        step: Callable[[Machine, Registers], None]
        if isinstance(value, ConstantArray):
            number = value.number

            def step(m: Machine, r: Registers) -> None:
                r[target] = m.constants[number]
        else:

            def step(m: Machine, r: Registers) -> None:
                r[target] = value

        self.add(step, (), (target,))

    def cast_register(self, source: int, source_type: Any, target_type: Any) -> int:
        """A register that holds ``source`` as ``target_type``."""
        cast = caster(source_type, target_type)
        if cast is None:
            return source
        target = self.owner.new_register()

        def step(m: Machine, r: Registers) -> None:
            r[target] = cast(r[source])

        self.add(step, (source,), (target,))
        return target

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

    def is_used(self, name: str) -> bool:
        """Whether any statement but ``del`` reads this variable."""
        if self.uses is None:
            self.uses = {
                var.name
                for block in self.typed.ir.blocks.values()
                for statement in block.body
                if type(statement).__name__ != "Del"
                for var in (
                    statement.value.list_vars()
                    if type(statement).__name__ == "Assign" and hasattr(statement.value, "list_vars")
                    else ()
                    if type(statement).__name__ == "Assign"
                    else statement.list_vars()
                )
            }
        return name in self.uses

    # ------------------------------------------------------------------ functions and statements

    def emit(self) -> int:
        """Translate the body; returns the index of its first block."""
        if len(self.callers) > MAX_INLINE_DEPTH or self.callers.count(self.callers[-1]) > 1:
            raise self.unknown(f"recursion (in {self.typed.name})")
        ir = self.typed.ir
        for label, ir_block in sorted(ir.blocks.items()):
            self.line = ir_block.loc.line
            self.labels[label] = self.owner.new_block(self.place())
        for label, ir_block in sorted(ir.blocks.items()):
            self.block = self.owner.program.blocks[self.labels[label]]
            self.definitions.clear()
            for statement in ir_block.body:
                self.line = statement.loc.line
                name = type(statement).__name__
                handler = getattr(self, f"on_{name.lower()}", None)
                if handler is None:
                    raise self.unknown(f"the statement {name}")
                handler(statement)
        return self.labels[min(ir.blocks)]

    def on_del(self, statement: Any) -> None:
        """Registers keep their values until they are overwritten."""

    def on_print(self, statement: Any) -> None:
        """What a kernel prints is not shown by a judge."""

    def on_jump(self, statement: Any) -> None:
        self.block.end = Jump(self.labels[statement.target])

    def on_branch(self, statement: Any) -> None:
        condition = self.cast_register(self.register(statement.cond.name), self.type_of(statement.cond), types.boolean)
        self.block.note_reads((condition,))
        self.block.end = Branch(condition, self.labels[statement.truebr], self.labels[statement.falsebr])

    def on_return(self, statement: Any) -> None:
        if self.after is None:
            self.block.end = Exit()
            return
        if self.result is not None and not isinstance(self.typed.return_type, types.NoneType):
            source = self.cast_register(
                self.register(statement.value.name), self.type_of(statement.value), self.typed.return_type
            )
            result = self.result
            self.compute(result, lambda value: value, (source,))
        self.block.end = Jump(self.after)

    def on_staticraise(self, statement: Any) -> None:
        """Without debug=True a raise ends the thread and nobody is told."""
        self.block.end = Exit()
        self.skip_rest()

    def skip_rest(self) -> None:
        """What follows an end within one IR block is unreachable."""
        end = self.block.end
        self.start_block()
        self.block.end = end

    def on_setitem(self, statement: Any) -> None:
        self.store(statement.target, self.index_registers(statement.index), statement.value)

    def on_staticsetitem(self, statement: Any) -> None:
        if statement.index_var is None:
            raise self.unknown("this assignment")
        self.store(statement.target, self.index_registers(statement.index_var), statement.value)

    def store(self, target: Any, indices: list[tuple[int, Any]], value: Any) -> None:
        array_type = plain(self.type_of(target))
        if not isinstance(array_type, types.Array) or any(not isinstance(t, types.Integer) for _, t in indices):
            raise self.unknown("assigning to this")
        if len(indices) != array_type.ndim:
            raise self.unknown("assigning to a whole row or slice of an array")
        array, source, place = self.register(target.name), self.register(value.name), self.place()
        source = self.cast_register(source, self.type_of(value), array_type.dtype)
        positions = tuple(register for register, _ in indices)

        def step(m: Machine, r: Registers) -> None:
            access.store(m, r[array], tuple([r[p] for p in positions]), r[source], place)

        self.add(step, (array, source, *positions), ())

    def index_registers(self, index: Any) -> list[tuple[int, Any]]:
        """Registers and types of an index's items; a tuple that was just built gives its items directly."""
        index_type = plain(self.type_of(index))
        register = self.register(index.name)
        if not isinstance(index_type, types.BaseTuple):
            return [(register, index_type)]
        items = self.definitions.get(index.name)
        if items is not None:
            return [(self.register(item.name), plain(self.type_of(item))) for item in items]
        split = []
        for position, item_type in enumerate(index_type):
            target = self.owner.new_register()
            self.compute(target, operator.itemgetter(position), (register,))
            split.append((target, plain(item_type)))
        return split

    # ------------------------------------------------------------------ assignments

    def on_assign(self, statement: Any) -> None:
        value, target = statement.value, statement.target
        self.forget(target.name)
        kind = type(value).__name__
        target_type = self.type_of(target)
        if kind in ("Global", "FreeVar", "Const"):
            self.assign_constant(target, value.value, target_type)
            return
        register = self.register(target.name)
        if kind == "Arg":
            source = self.cast_register(self.arguments[value.index], self.typed.arg_types[value.index], target_type)
            self.compute(register, lambda item: item, (source,))
        elif kind == "Var":
            self.static[target.name] = self.static.get(value.name)
            if self.is_static(target_type):
                return
            source = self.cast_register(self.register(value.name), self.type_of(value), target_type)
            self.compute(register, lambda item: item, (source,))
        elif kind == "Expr":
            handler = getattr(self, f"expr_{value.op}", None)
            if handler is None:
                raise self.unknown(f"the expression {value.op}")
            handler(target, value)
        else:
            raise self.unknown(f"a value of kind {kind}")

    def forget(self, name: str) -> None:
        """``name`` gets a new value: tuples that were built from the old one stand for themselves again."""
        for known in [k for k, items in self.definitions.items() if any(item.name == name for item in items)]:
            del self.definitions[known]
        self.definitions.pop(name, None)

    def is_static(self, numba_type: Any) -> bool:
        """Whether values of this type exist while compiling only."""
        return type(numba_type).__name__ in STATIC_TYPES or isinstance(
            numba_type, types.Callable | types.Module | types.DType | types.NumberClass
        )

    def assign_constant(self, target: Any, value: Any, target_type: Any) -> None:
        self.static[target.name] = value
        if self.is_static(target_type) or isinstance(target_type, types.NoneType | types.UnicodeType):
            return
        self.constant(target.name, self.constant_value(value, plain(target_type)))

    def constant_value(self, value: Any, numba_type: Any) -> Any:
        """A captured value as the machine holds it."""
        if isinstance(numba_type, types.BaseTuple):
            return tuple(self.constant_value(item, plain(t)) for item, t in zip(value, numba_type, strict=True))
        if isinstance(numba_type, types.Array):
            self.owner.program.constants.append(np.ascontiguousarray(value))
            return ConstantArray(len(self.owner.program.constants) - 1)
        if is_scalar(numba_type):
            return convert(value, dtype_of(numba_type))
        if isinstance(numba_type, types.SliceType | types.StringLiteral | types.NoneType):
            return value
        raise self.unknown(f"a captured value of type {numba_type}")

    def expr_cast(self, target: Any, expr: Any) -> None:
        register = self.register(target.name)
        if isinstance(plain(self.type_of(target)), types.NoneType):
            return
        source = self.cast_register(self.register(expr.value.name), self.type_of(expr.value), self.type_of(target))
        self.compute(register, lambda item: item, (source,))

    def expr_binop(self, target: Any, expr: Any) -> None:
        self.binary(target, expr, expr.fn)

    def expr_inplace_binop(self, target: Any, expr: Any) -> None:
        self.binary(target, expr, expr.immutable_fn)

    def binary(self, target: Any, expr: Any, function: Any) -> None:
        signature = self.typed.calltypes[expr]
        left, right = self.register(expr.lhs.name), self.register(expr.rhs.name)
        self.operator(
            self.register(target.name),
            function,
            [(left, self.type_of(expr.lhs)), (right, self.type_of(expr.rhs))],
            signature,
        )

    def operator(self, target: int, function: Any, operands: list[tuple[int, Any]], signature: Any) -> None:
        """``target = function(*operands)`` for an operator, cast as the signature says."""
        function = INPLACE.get(function, function)
        if any(not is_scalar(t) for t in signature.args) or not is_scalar(signature.return_type):
            raise self.unknown(f"{getattr(function, '__name__', function)} of {', '.join(map(str, signature.args))}")
        wanted = list(signature.args)
        operation = COMPARISONS.get(function) or ARITHMETIC.get(function) or UNARY.get(function)
        if operation is None:
            raise self.unknown(f"the operator {getattr(function, '__name__', function)}")
        if function not in COMPARISONS and function is not operator.not_:
            wanted = [signature.return_type] * len(operands)
        registers = tuple(self.cast_register(r, t, w) for (r, t), w in zip(operands, wanted, strict=True))
        self.compute(target, operation, registers)

    def expr_unary(self, target: Any, expr: Any) -> None:
        operand = (self.register(expr.value.name), self.type_of(expr.value))
        self.operator(self.register(target.name), expr.fn, [operand], self.typed.calltypes[expr])

    def expr_build_tuple(self, target: Any, expr: Any) -> None:
        items = list(expr.items)
        self.definitions[target.name] = items
        self.static[target.name] = tuple(self.static.get(item.name) for item in items)
        registers = tuple(self.register(item.name) for item in items)
        if any(self.is_static(self.type_of(item)) for item in items):
            return
        self.compute(self.register(target.name), lambda *values: values, registers)

    def expr_exhaust_iter(self, target: Any, expr: Any) -> None:
        if not isinstance(self.type_of(expr.value), types.BaseTuple):
            raise self.unknown("unpacking this")
        if expr.value.name in self.definitions:
            self.definitions[target.name] = self.definitions[expr.value.name]
        self.compute(self.register(target.name), lambda value: value, (self.register(expr.value.name),))

    def expr_static_getitem(self, target: Any, expr: Any) -> None:
        if isinstance(plain(self.type_of(expr.value)), types.BaseTuple):
            index = expr.index
            if not isinstance(index, int | slice):
                index = self.static[expr.index_var.name]
            self.compute(self.register(target.name), operator.itemgetter(index), (self.register(expr.value.name),))
            return
        if expr.index_var is None:
            raise self.unknown("this subscript")
        self.subscript(target, expr.value, expr.index_var)

    def expr_getitem(self, target: Any, expr: Any) -> None:
        self.subscript(target, expr.value, expr.index)

    def expr_typed_getitem(self, target: Any, expr: Any) -> None:
        self.subscript(target, expr.value, expr.index)

    def subscript(self, target: Any, value: Any, index: Any) -> None:
        value_type = plain(self.type_of(value))
        register, source, place = self.register(target.name), self.register(value.name), self.place()
        if isinstance(value_type, types.UniTuple):
            position = self.register(index.name)
            self.compute(register, _pick, (source, position))
            return
        if not isinstance(value_type, types.Array):
            raise self.unknown(f"a subscript of {value_type}")
        indices = self.index_registers(index)
        positions = tuple(r for r, _ in indices)
        if len(indices) == value_type.ndim and all(isinstance(t, types.Integer) for _, t in indices):

            def step(m: Machine, r: Registers) -> None:
                r[register] = access.load(m, r[source], tuple([r[p] for p in positions]), place)
        elif all(isinstance(t, types.Integer | types.SliceType) for _, t in indices):

            def step(m: Machine, r: Registers) -> None:
                r[register] = access.view(m, r[source], tuple([r[p] for p in positions]), place)
        else:
            raise self.unknown(f"a subscript with {self.type_of(index)}")
        self.add(step, (source, *positions), (register,))

    def expr_getiter(self, target: Any, expr: Any) -> None:
        register, source = self.register(target.name), self.register(expr.value.name)
        over = plain(self.type_of(expr.value))
        if isinstance(over, types.BaseTuple | types.Array):
            # A range over the positions; ``expr_iternext`` turns a position into the item.
            items = self.owner.new_register()
            self.compute(items, lambda value: value, (source,))
            self.static[target.name] = LoopOver(items, over)
            self.compute(register, lambda value: make_iterator(POSITION, 0, _length(value), 1), (source,))
            return
        if "range" not in str(over):
            raise self.unknown(f"a loop over {over}")
        dtype = dtype_of(self.type_of(target).yield_type)
        self.compute(register, lambda parts: make_iterator(dtype, *parts), (source,))

    def expr_iternext(self, target: Any, expr: Any) -> None:
        register, source = self.register(target.name), self.register(expr.value.name)
        over = self.static.get(expr.value.name)
        step: Callable[[Machine, Registers], None]
        if not isinstance(over, LoopOver):

            def step(m: Machine, r: Registers) -> None:
                r[register] = advance(m, source, r[source])

            self.add(step, (source,), (register,))
            return
        item_type = self.type_of(target).first_type
        casts = [caster(t, item_type) for t in over.over] if isinstance(over.over, types.BaseTuple) else []
        items, place, dimensions = over.items, self.place(), getattr(over.over, "ndim", 0)

        def step(m: Machine, r: Registers) -> None:
            position, there = advance(m, source, r[source])
            if not np.any(there):
                r[register] = (None, there)
                return
            inside = np.where(there, position, 0)[()]
            if casts:
                values = tuple(cast(v) if cast else v for cast, v in zip(casts, r[items], strict=True))
                item = _pick(values, inside)
            elif dimensions == 1:
                item = access.load(m, r[items], (inside,), place)
            else:
                item = access.view(m, r[items], (inside,), place)
            r[register] = (item, there)

        self.add(step, (source, items), (register,))

    def expr_pair_first(self, target: Any, expr: Any) -> None:
        self.compute(self.register(target.name), operator.itemgetter(0), (self.register(expr.value.name),))

    def expr_pair_second(self, target: Any, expr: Any) -> None:
        self.compute(self.register(target.name), operator.itemgetter(1), (self.register(expr.value.name),))

    def expr_null(self, target: Any, expr: Any) -> None:
        """A variable that has no value on this path yet."""
        if is_scalar(self.type_of(target)):
            self.constant(target.name, convert(0, dtype_of(self.type_of(target))))

    def expr_getattr(self, target: Any, expr: Any) -> None:
        from grader.simulator.attributes import translate_attribute

        translate_attribute(self, target, expr)

    def expr_call(self, target: Any, expr: Any) -> None:
        from grader.simulator.calls import translate_call

        function_type = self.type_of(expr.func)
        function = python_function(function_type)
        if function is not None:
            self.inline_call(target, expr, function)
        else:
            translate_call(self, target, expr, callee_key(function_type))

    def inline_call(self, target: Any, expr: Any, function: Callable[..., Any]) -> None:
        """A device function's body in place of its call."""
        signature = self.typed.calltypes[expr]
        typed = self.owner.frontend.type(function, tuple(signature.args))
        names = list(function.__code__.co_varnames[: function.__code__.co_argcount])
        given = dict(zip(names, expr.args, strict=False)) | dict(expr.kws)
        arguments = []
        for name, wanted in zip(names, signature.args, strict=True):
            if name in given:
                arguments.append(self.cast_register(self.register(given[name].name), self.type_of(given[name]), wanted))
                continue
            register = self.owner.new_register()
            position = len(names) - len(function.__defaults__ or ())
            default = (function.__defaults__ or ())[names.index(name) - position]
            value = (
                self.constant_value(default, plain(getattr(wanted, "value_type", None) or types.int64))
                if (isinstance(default, bool | int | float))
                else default
            )
            self.hold(register, value)
            arguments.append(register)
        after = self.owner.new_block(self.place())
        result = self.register(target.name)
        body = Inlined(self.owner, typed, arguments, result, after, self.callers)
        call_site = self.block
        entry = body.emit()
        call_site.end = Jump(entry)
        self.block = self.owner.program.blocks[after]


POSITION = np.dtype(np.int64)


@dataclass(frozen=True)
class LoopOver:
    """What a loop goes over, other than a range: the register and Numba type of a tuple or an array."""

    items: int
    over: Any


POSITION = np.dtype(np.int64)


@dataclass(frozen=True)
class LoopOver:
    """What a loop goes over, other than a range: the register and Numba type of a tuple or an array."""

    items: int
    over: Any


def _length(value: Any) -> Any:
    return len(value) if isinstance(value, tuple) else value.shape[0]


class ConstantArray:
    """A captured array, by its number in ``Program.constants``; the launch puts it into global memory."""

    def __init__(self, number: int) -> None:
        self.number = number


def _pick(items: tuple[Any, ...], index: Any) -> Any:
    """One item of a tuple, by an index that may differ by lane."""
    if not is_wide(index):
        return items[int(index)]
    stacked = np.stack([np.broadcast_to(item, index.shape) for item in items])
    return stacked[index, np.arange(index.size)]
