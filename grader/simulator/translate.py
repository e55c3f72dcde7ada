"""From Numba's typed IR to a ``Program``: statements. Runs in the runner.

In: a typed function. Out: a program.

One method per kind of statement; device functions are inlined where they are called (``inlining``). Values that
only exist while compiling (modules, functions, dtypes, literals) are resolved here and leave no step behind.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from grader.errors import NotSimulated
from grader.simulator import (  # noqa: F401  (they register their calls)
    access,
    atomic_calls,
    collective_calls,
    device_calls,
    half_calls,
    libdevice_calls,
    memory_calls,
    vector_calls,
    views,
    wide_access,
)
from grader.simulator.expressions import EXPRESSIONS
from grader.simulator.frontend import (
    Frontend,
    KernelError,
    TypedFunction,
    types,
)
from grader.simulator.inlining import MAX_INLINE_DEPTH, Inlining
from grader.simulator.loops import Loop
from grader.simulator.numba_types import has_values, is_static, plain
from grader.simulator.pointers import is_pointer, set_pointed
from grader.simulator.printing import translate_print
from grader.simulator.program import Branch, Exit, Jump, Program, Return, located
from grader.simulator.raising import translate_raise
from grader.simulator.sources import Sources
from grader.simulator.stores import store
from grader.simulator.structs import field_name, is_record, set_field
from grader.simulator.unit import Options, Unit

# These have types, but the CUDA target cannot compile them.
NOT_IN_KERNELS = {
    "build_list": "lists: take cuda.local.array or a tuple",
    "build_set": "sets",
    "build_map": "dictionaries",
    "yield": "yield",
    "arrayexpr": "results that are whole arrays: it works on single elements, as in out[i] = a[i] + b[i]",
}


def translate(frontend: Frontend, typed: TypedFunction, sources: Sources, options: Options) -> Program:
    """The program of a kernel. Raises NotSimulated with the line for what the simulator does not know."""
    unit = Unit(frontend, sources, options)
    unit.program.debug = options.debug
    unit.program.name = typed.name
    unit.program.registers = len(typed.arg_types)
    Statements(unit, typed, list(range(len(typed.arg_types))), None, None, ()).emit()
    unit.program.finish()
    return unit.program


class Statements(Inlining):
    """The kernel's body, or a device function's at one place of call."""

    # ------------------------------------------------------------------ functions and statements

    def emit(self) -> int:
        """Translate the body; returns the index of its first block."""
        if len(self.callers) > MAX_INLINE_DEPTH:
            raise self.unknown(f"more than {MAX_INLINE_DEPTH} device functions that call each other")
        ir = self.typed.ir
        for label, ir_block in sorted(ir.blocks.items()):
            self.line = ir_block.loc.line
            self.labels[label] = self.unit.new_block(self.place())
        for label, ir_block in sorted(ir.blocks.items()):
            self.block = self.unit.program.blocks[self.labels[label]]
            self.definitions.clear()
            for statement in ir_block.body:
                self.stand_at(statement.loc)
                name = type(statement).__name__
                handler = getattr(self, f"on_{name.lower()}", None)
                if handler is None:
                    raise self.unknown(f"the statement {name}")
                try:
                    handler(statement)
                except NotSimulated as error:
                    raise located(error, self.place()) from None
        return self.labels[min(ir.blocks)]

    def on_del(self, statement: Any) -> None:
        """Registers keep their values until they are overwritten."""

    def on_print(self, statement: Any) -> None:
        translate_print(self, statement)

    def on_jump(self, statement: Any) -> None:
        self.block.end = Jump(self.labels[statement.target])

    def on_branch(self, statement: Any) -> None:
        condition = self.cast_register(self.register(statement.cond.name), self.type_of(statement.cond), types.boolean)
        self.block.note_reads((condition,))
        self.block.end = Branch(condition, self.labels[statement.truebr], self.labels[statement.falsebr], self.place())

    def on_return(self, statement: Any) -> None:
        if self.after is None and self.routine is None:
            self.block.end = Exit()
            return
        if self.result is not None and not isinstance(self.typed.return_type, types.NoneType):
            source = self.cast_register(
                self.register(statement.value.name), self.type_of(statement.value), self.typed.return_type
            )
            result = self.result
            self.compute(result, lambda value: value, (source,))
        if self.routine is not None:
            self.block.end = Return(self.routine.entry, self.routine.result)
        elif self.after is not None:
            self.block.end = Jump(self.after)

    def on_staticraise(self, statement: Any) -> None:
        """A raise ends the thread; without debug=True nobody is told."""
        translate_raise(self, statement)
        self.block.end = Exit()
        self.skip_rest()

    def skip_rest(self) -> None:
        """What follows an end within one IR block is unreachable."""
        end = self.block.end
        self.start_block()
        self.block.end = end

    def on_setattr(self, statement: Any) -> None:
        if not is_record(self.type_of(statement.target)):
            raise KernelError("A kernel can assign to fields of records, and to no other attribute.", self.line)
        set_field(self, statement.target, statement.attr, statement.value, subscript=False)

    def on_setitem(self, statement: Any) -> None:
        if is_record(self.type_of(statement.target)):
            name = field_name(self, plain(self.type_of(statement.target)), None, statement.index)
            set_field(self, statement.target, name, statement.value)
            return
        self.set_item(statement.target, statement.index, statement.value)

    def on_staticsetitem(self, statement: Any) -> None:
        if is_record(self.type_of(statement.target)):
            record_type = plain(self.type_of(statement.target))
            name = field_name(self, record_type, statement.index, statement.index_var)
            set_field(self, statement.target, name, statement.value)
            return
        if statement.index_var is None:
            raise self.unknown("this assignment")
        self.set_item(statement.target, statement.index_var, statement.value)

    def set_item(self, target: Any, index: Any, value: Any) -> None:
        """``target[index] = value`` of anything but a record."""
        if is_pointer(self.type_of(target)):
            set_pointed(self, target, index, value)
        else:
            store(self, target, self.index_registers(index), value)

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
        if kind == "Arg" and isinstance(self.typed.arg_types[value.index], types.Omitted):
            self.assign_constant(target, self.typed.arg_types[value.index].value, target_type)
        elif kind == "Arg":
            source = self.cast_register(self.arguments[value.index], self.typed.arg_types[value.index], target_type)
            self.copy(register, source)
        elif kind == "Var":
            self.static[target.name] = self.static.get(value.name)
            if is_static(target_type) or isinstance(self.static[target.name], Loop):
                return
            source = self.cast_register(self.register(value.name), self.type_of(value), target_type)
            self.copy(register, source)
        elif kind == "Expr":
            if value.op == "call":
                self.call(target, value)
                return
            if value.op in NOT_IN_KERNELS:
                raise KernelError(f"A kernel cannot use {NOT_IN_KERNELS[value.op]}.", self.line)
            handler = EXPRESSIONS.get(value.op)
            if handler is None:
                raise self.unknown(f"the expression {value.op}")
            handler(self, target, value)
        else:
            raise self.unknown(f"a value of kind {kind}")

    def assign_constant(self, target: Any, value: Any, target_type: Any) -> None:
        self.static[target.name] = value
        if isinstance(value, str | bytes):
            self.constant(target.name, np.array(value)[()])
            return
        if not has_values(plain(target_type)):
            return
        self.constant(target.name, self.constant_value(value, plain(target_type)))
