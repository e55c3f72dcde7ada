"""Calls in a kernel: bodies of device functions in place of their calls, and frames for recursion. Runs in the runner.

In: a call in typed IR. Out: steps and blocks of the caller's ``Body``. What is not written in Python goes to ``calls``.
Device functions are inlined where they are called, except from within themselves: such calls go to one copy of the
function, and take frames.
"""

from __future__ import annotations

import inspect
import operator
from abc import abstractmethod
from collections.abc import Callable
from typing import Any

from grader.simulator.array_methods import Method
from grader.simulator.body import Body
from grader.simulator.callees import attribute_function, callee_key, overload_function, python_function
from grader.simulator.calls import translate_call
from grader.simulator.frontend import KernelError, TypedFunction, signature_of, types
from grader.simulator.numba_types import plain
from grader.simulator.program import Call, Jump
from grader.simulator.rejections import is_numbas
from grader.simulator.unit import Routine

MAX_INLINE_DEPTH = 40


class Inlining(Body):
    """A body that takes in the bodies of the functions that it calls."""

    @abstractmethod
    def emit(self) -> int:
        """Translate the body; returns the index of its first block."""

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

    def overloaded_attribute(self, target: Any, expr: Any) -> bool:
        """``target = value.attr`` where a script implements the attribute in Python; False where nobody does."""
        value_type = self.type_of(expr.value)
        function = attribute_function(value_type, expr.attr)
        if function is None:
            return False
        call = type(expr).call(expr.value, [expr.value], (), expr.loc)
        self.typed.calltypes[call] = signature_of(self.type_of(target), value_type)
        self.inline_call(target, call, function)
        return True

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
        body = type(self)(self.unit, typed, arguments, result, after, self.callers)
        body.given = {name: (self, var, self.line) for name, var in given.items()}
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
        body = type(self)(self.unit, typed, list(parameters), routine.result if has_result else None, None, ())
        body.routine = routine
        # Block 0 of the body is only known once it is translated, and calls inside want to go there.
        routine.entry = self.unit.new_block(self.place())
        self.unit.program.blocks[routine.entry].end = Jump(body.emit())
        return routine
