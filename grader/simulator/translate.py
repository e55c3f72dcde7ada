"""From Numba's typed IR to a ``Program``: statements and calls. Runs in the runner.

One method per kind of statement; device functions are inlined where they are called, except from within
themselves: such calls go to one copy of the function, and take frames. Values that only exist while
compiling (modules, functions, dtypes, literals) are resolved here and leave no step behind.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable
from typing import Any

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
)
from grader.simulator.array_methods import Method
from grader.simulator.body import Body, Routine, Unit
from grader.simulator.calls import translate_call
from grader.simulator.expressions import EXPRESSIONS
from grader.simulator.frontend import (
    Frontend,
    KernelError,
    TypedFunction,
    callee_key,
    overload_function,
    python_function,
    types,
)
from grader.simulator.loops import Loop
from grader.simulator.machine import Machine
from grader.simulator.numba_types import plain
from grader.simulator.positions import position_of
from grader.simulator.printing import translate_print, translate_raise
from grader.simulator.program import Branch, Call, Exit, Jump, Program, Registers, Return, located
from grader.simulator.rejections import is_numbas
from grader.simulator.sources import Sources
from grader.simulator.structs import copy_record, field_name, is_record, set_field

MAX_INLINE_DEPTH = 40
# These have types, but the CUDA target cannot compile them.
NOT_IN_KERNELS = {
    "build_list": "lists: take cuda.local.array or a tuple",
    "build_set": "sets",
    "build_map": "dictionaries",
    "yield": "yield",
}


def translate(frontend: Frontend, typed: TypedFunction, sources: Sources) -> Program:
    """The program of a kernel. Raises NotSimulated with the line for what the simulator does not know."""
    unit = Unit(frontend, sources)
    unit.program.name = typed.name
    unit.program.registers = len(typed.arg_types)
    Inlined(unit, typed, list(range(len(typed.arg_types))), None, None, ()).emit()
    unit.program.finish()
    return unit.program


class Inlined(Body):
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
                self.line = statement.loc.line
                self.position = position_of(statement.loc)
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
        set_field(self, statement.target, statement.attr, statement.value)

    def on_setitem(self, statement: Any) -> None:
        if is_record(self.type_of(statement.target)):
            name = field_name(self, plain(self.type_of(statement.target)), None, statement.index)
            set_field(self, statement.target, name, statement.value)
            return
        self.store(statement.target, self.index_registers(statement.index), statement.value)

    def on_staticsetitem(self, statement: Any) -> None:
        if is_record(self.type_of(statement.target)):
            record_type = plain(self.type_of(statement.target))
            name = field_name(self, record_type, statement.index, statement.index_var)
            set_field(self, statement.target, name, statement.value)
            return
        if statement.index_var is None:
            raise self.unknown("this assignment")
        self.store(statement.target, self.index_registers(statement.index_var), statement.value)

    def store(self, target: Any, indices: list[tuple[int, Any]], value: Any) -> None:
        array_type = plain(self.type_of(target))
        if not isinstance(array_type, types.Array):
            raise self.unknown("assigning to this")
        if len(indices) != array_type.ndim or any(not isinstance(t, types.Integer) for _, t in indices):
            self.store_slice(target, indices, value)
            return
        array, source, place = self.register(target.name), self.register(value.name), self.place()
        value_type = plain(self.type_of(value))
        if isinstance(value_type, types.Array) and value_type.ndim == 0:
            element = self.unit.new_register()
            self.add(lambda m, r: r.__setitem__(element, access.load(m, r[source], (), place)), (source,), (element,))
            self.store_at(array, indices, self.cast_register(element, value_type.dtype, array_type.dtype), array_type)
            return
        self.store_at(array, indices, self.cast_register(source, self.type_of(value), array_type.dtype), array_type)

    def store_at(self, array: int, indices: list[tuple[int, Any]], source: int, array_type: Any) -> None:
        """``array[indices] = source`` for an index of every axis and a value of the array's dtype."""
        place = self.place()
        positions = tuple(register for register, _ in indices)
        if is_record(array_type.dtype):
            self.add(
                lambda m, r: copy_record(
                    m, views.view(m, r[array], tuple([r[p] for p in positions]), place), r[source], place
                ),
                (array, source, *positions),
                (),
            )
            return

        def step(m: Machine, r: Registers) -> None:
            access.store(m, r[array], tuple([r[p] for p in positions]), r[source], place)

        self.add(step, (array, source, *positions), ())

    def store_slice(self, target: Any, indices: list[tuple[int, Any]], value: Any) -> None:
        """``array[slices] = value``, where the value is a number or an array."""
        if any(not isinstance(t, types.Integer | types.SliceType | types.EllipsisType) for _, t in indices):
            raise self.unknown("assigning to this")
        array_type, value_type = plain(self.type_of(target)), plain(self.type_of(value))
        if isinstance(value_type, types.Buffer):
            raise KernelError(
                "Numba cannot compile the assignment of an array to a slice for a GPU: copy element by element.",
                self.line,
            )
        array, source, place = self.register(target.name), self.register(value.name), self.place()
        if isinstance(value_type, types.BaseTuple):
            source = self.cast_register(
                source, value_type, types.UniTuple(array_type.dtype, len(value_type)) if len(value_type) else value_type
            )
        elif not isinstance(value_type, types.Array):
            source = self.cast_register(source, value_type, array_type.dtype)
        positions = tuple(register for register, _ in indices)

        def step(m: Machine, r: Registers) -> None:
            rows = views.view(m, r[array], tuple([r[p] for p in positions]), place)
            views.store_view(m, rows, r[source], place)

        self.add(step, (array, source, *positions), ())

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
            self.compute(register, lambda item: item, (source,))
        elif kind == "Var":
            self.static[target.name] = self.static.get(value.name)
            if self.is_static(target_type) or isinstance(self.static[target.name], Loop):
                return
            source = self.cast_register(self.register(value.name), self.type_of(value), target_type)
            self.compute(register, lambda item: item, (source,))
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
        if not self.has_values(plain(target_type)):
            return
        self.constant(target.name, self.constant_value(value, plain(target_type)))

    def call(self, target: Any, expr: Any) -> None:
        """A call of a function of kernels.py, or of one that Python, NumPy or Numba provides."""
        if expr.vararg is not None:
            expr = self.spread(expr)
        function_type = self.type_of(expr.func)
        function = python_function(function_type)
        if function is not None:
            self.inline_call(target, expr, function)
        elif not translate_call(self, target, expr, callee_key(function_type)):
            self.overloaded_call(target, expr, function_type)

    def spread(self, expr: Any) -> Any:
        """The same call with the items of ``*args`` as arguments of their own."""
        items = self.definitions.get(expr.vararg.name)
        if items is None:
            source, items = self.register(expr.vararg.name), []
            for position, item_type in enumerate(plain(self.type_of(expr.vararg))):
                item = type(expr.vararg)(expr.vararg.scope, f"{expr.vararg.name}*{position}", expr.loc)
                self.typed.typemap[item.name] = item_type
                self.compute(self.register(item.name), operator.itemgetter(position), (source,))
                items.append(item)
        spread = type(expr).call(expr.func, [*expr.args, *items], expr.kws, expr.loc)
        self.typed.calltypes[spread] = self.typed.calltypes[expr]
        return spread

    def overloaded_call(self, target: Any, expr: Any, function_type: Any) -> None:
        """A function that Numba itself implements in Python: its body in place of its call."""
        key = callee_key(function_type)
        function = overload_function(function_type, self.typed.calltypes[expr])
        if function is None:
            raise self.unknown(f"the function {getattr(key, '__name__', key)}")
        method = self.static.get(expr.func.name)
        try:
            self.inline_call(target, expr, function, (method.value,) if isinstance(method, Method) else ())
        except KernelError as error:
            # Numba compiles such a body only where it is lowered, and so refuses it only there.
            raise KernelError(str(error), self.line) from None

    def inline_call(self, target: Any, expr: Any, function: Callable[..., Any], receiver: tuple[Any, ...] = ()) -> None:
        """A device function's body in place of its call; a method's ``receiver`` is its first argument."""
        signature = self.typed.calltypes[expr]
        if receiver:
            signature = signature.replace(args=(signature.recvr, *signature.args))
        given_args = (*receiver, *expr.args)
        typed = self.unit.frontend.type(function, tuple(signature.args), device=True)
        code = function.__code__
        names = list(code.co_varnames[: code.co_argcount])
        given = dict(zip(names, given_args, strict=False)) | dict(expr.kws)
        arguments = []
        for name, wanted in zip(names, signature.args, strict=False):
            if name in given:
                arguments.append(self.cast_register(self.register(given[name].name), self.type_of(given[name]), wanted))
                continue
            arguments.append(self.unit.new_register())  # a default: its value is in its type
        if code.co_flags & inspect.CO_VARARGS:
            rest = self.unit.new_register()
            more = tuple(self.register(arg.name) for arg in given_args[len(names) :])
            self.compute(rest, lambda *values: values, more)
            arguments.append(rest)
        after = self.unit.new_block(self.place())
        result = self.register(target.name)
        call_site = self.block
        key = typed.key()
        if key in self.callers:
            routine = self.unit.routines.get(key) or self.recursive(typed)
            self.block = self.unit.program.blocks[after]
            call_site.end = Call(routine.entry, after, tuple(arguments), routine.parameters, result, self.place())
            return
        body = Inlined(self.unit, typed, arguments, result, after, self.callers)
        if is_numbas(typed.filename):
            body.called_at = self.place()
        entry = body.emit()
        call_site.end = Jump(entry)
        self.block = self.unit.program.blocks[after]

    def recursive(self, typed: TypedFunction) -> Routine:
        """The one copy of a function that calls itself, perhaps by way of others, translated now."""
        has_result = not isinstance(typed.return_type, types.NoneType)
        parameters = tuple(self.unit.new_register() for _ in typed.arg_types)
        routine = Routine(parameters, self.unit.new_register() if has_result else -1)
        self.unit.routines[typed.key()] = routine
        body = Inlined(self.unit, typed, list(parameters), routine.result if has_result else None, None, ())
        body.routine = routine
        # Block 0 of the body is only known once it is translated, and calls inside want to go there.
        routine.entry = self.unit.new_block(self.place())
        self.unit.program.blocks[routine.entry].end = Jump(body.emit())
        return routine
