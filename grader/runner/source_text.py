"""Numba makes Python's text of what a kernel holds and executes it; here only numbers come through. In the runner.

In: nothing. Out: nothing; from then on, the modules of Numba's that execute text at compile time have another ``exec``
and ``eval``, which raise Numba's TypingError for all but literals and names of types.

Two ways led from a kernel's constants to the interpreter: a function inside of a kernel is made anew from a text that
has its defaults and what it captures written into it, texts as they are (``_create_function_from_code_obj``); and a
type that ``numba.objmode`` is given as a text is evaluated (``_parse_signature_string``). Stencils are written as text,
too, and no kernel for a GPU can use one.
"""

from __future__ import annotations

import ast
import builtins
import importlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NoReturn

from numba.core import types
from numba.core.errors import TypingError

# Modules of Numba's, and of numba-cuda's where it is installed, by what they execute.
FUNCTIONS = ("numba.core.ir_utils", "numba.cuda.core.ir_utils")
TYPES = ("numba.core.sigutils", "numba.cuda.core.sigutils")
STENCILS = ("numba.stencils.stencil", "numba.stencils.stencilparfor")
_ADVICE = "A function inside of a kernel can keep numbers, but no text: pass it what it needs."
_NUMBERS = (ast.Constant, ast.UnaryOp, ast.USub, ast.UAdd, ast.BinOp, ast.Add, ast.Sub, ast.Tuple, ast.Load)
# What a text of a function consists of besides numbers.
_A_FUNCTION = (ast.Module, ast.FunctionDef, ast.arguments, ast.arg, ast.Assign, ast.Return, ast.Name, ast.Store)
_A_TYPE = (ast.Expression, ast.Call, ast.Name, ast.Load, ast.Subscript, ast.Slice, ast.Tuple, ast.Constant)


def execute_numbers_only() -> None:
    """Give the modules of Numba's that execute text what takes numbers alone. May be called twice."""
    for names, replaced, by in (
        (FUNCTIONS, "exec", _exec_function),
        (TYPES, "eval", _eval_type),
        (STENCILS, "exec", _refuse),
        (STENCILS, "eval", _refuse),
    ):
        for module in _loaded(names):
            setattr(module, replaced, by)  # found before Python's own, as any global is


def _loaded(names: tuple[str, ...]) -> list[ModuleType]:
    """Those of the modules that there are: Numba's own ``numba.cuda`` has other ones than numba-cuda."""
    found = []
    for name in names:
        try:
            found.append(importlib.import_module(name))
        except ModuleNotFoundError:
            continue
    return found


def _exec_function(text: str, scope: dict[str, Any], made: dict[str, Any]) -> None:
    """Execute the text of a function inside of a function. Raises TypingError where it is more than that.

    Nothing in it may be called, looked up or computed but numbers; names are those that it has itself.
    """
    tree = _parsed(text, "exec", (*_A_FUNCTION, *_NUMBERS))
    own = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    own |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    if any(isinstance(node, ast.Name) and node.id not in own for node in ast.walk(tree)):
        raise TypingError(_ADVICE)
    builtins.exec(text, scope, made)  # noqa: S102  Numba's work, of what is left


def _eval_type(text: str, scope: dict[str, Any], known: Mapping[str, Any]) -> Any:
    """Evaluate a type, or a signature, that is written with the names of Numba's types. Raises TypingError."""
    names = [node.id for node in ast.walk(_parsed(text, "eval", _A_TYPE)) if isinstance(node, ast.Name)]
    if not all(isinstance(known.get(name), types.Type) for name in names):
        raise TypingError(f"{text!r} is no type: give the type itself, such as numba.float32.")
    return builtins.eval(text, scope, known)  # noqa: S307  as above


def _refuse(*_: Any) -> NoReturn:
    raise TypingError("A kernel cannot use a stencil.")


def _parsed(text: str, mode: str, allowed: tuple[type[ast.AST], ...]) -> ast.AST:
    """The tree of a text that has no other nodes than these."""
    try:
        tree = ast.parse(text, mode=mode)
    except (SyntaxError, ValueError):
        raise TypingError(_ADVICE) from None
    if any(not isinstance(node, allowed) for node in ast.walk(tree)):
        raise TypingError(_ADVICE)
    return tree
