"""The stand-in for ``cuda.jit``, in all its forms. Runs in the recorder; compiles nothing.

Comes in: functions, options, signatures. Goes out: ``Kernel`` objects with options that a plan can hold.
"""

from __future__ import annotations

import numbers
from types import FunctionType
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from numba.core import sigutils
from numba.core.errors import NumbaError
from numba.np import numpy_support

from grader import plan_functions
from grader.plan_dtypes import plan_dtype
from grader.recorder.launches import Kernel

if TYPE_CHECKING:
    from grader.recorder.context import Context

# Options that change nothing here: how Numba caches, links and reports.
_DROPPED = frozenset({"cache", "lto", "boundscheck", "nopython", "abi", "abi_info", "shared_memory_carveout", "cc"})
_REFUSED = {
    "link": "linked code in another language",
    "extensions": "extensions of argument handling",
    "bind": "an option that Numba has dropped",
    "argtypes": "an option that Numba has dropped",
    "restype": "an option that Numba has dropped",
}


def jit(context: Context, func_or_sig: Any = None, device: bool = False, **options: Any) -> Any:
    """The stand-in for ``cuda.jit``, in all its forms: bare, with options, with one or several signatures."""
    if isinstance(func_or_sig, Kernel):
        return func_or_sig
    if func_or_sig is None or isinstance(func_or_sig, list) or sigutils.is_signature(func_or_sig):
        given = func_or_sig if isinstance(func_or_sig, list) else [func_or_sig]
        signatures = tuple(_types(context, s, device) for s in given if s is not None)
        chosen = _options(context, options)
        return lambda function: _make(context, function, device, chosen, signatures)
    return _make(context, func_or_sig, device, _options(context, options), ())


def _make(
    context: Context,
    function: Any,
    device: bool,
    options: plan_functions.JitOptions,
    signatures: tuple[tuple[plan_functions.TypeOf, ...], ...],
) -> Kernel:
    if not isinstance(function, FunctionType):
        context.mistakes.refuse(
            "wrong-jit",
            f"cuda.jit is applied to a {type(function).__name__}.",
            expected="a function written with def in kernels.py",
            found=context.short(function),
            advice="Write @cuda.jit directly above the def of the kernel, below other decorators.",
        )
    return Kernel(context, function, bool(device), options, signatures)


def _options(context: Context, options: dict[str, Any]) -> plan_functions.JitOptions:
    chosen: dict[str, Any] = {}
    for name, value in options.items():
        if name in _REFUSED:
            if value:
                context.mistakes.refuse(
                    "jit-option",
                    f"cuda.jit gets {name}=, {_REFUSED[name]}.",
                    expected="kernels written in Python, in kernels.py",
                    found=f"{name}={context.short(value)}",
                    advice=f"Remove {name}=.",
                )
        elif name == "inline" and callable(value):
            context.mistakes.refuse(
                "jit-option", "cuda.jit gets a function as inline=.", expected='inline="always" or "never"'
            )
        elif name in plan_functions.JitOptions.model_fields:
            chosen[name] = _option(name, value)
        elif name not in _DROPPED:
            context.mistakes.refuse(
                "jit-option",
                f"cuda.jit has no option {name} here.",
                expected=f"one of {', '.join(plan_functions.JitOptions.model_fields)}",
                found=f"{name}={context.short(value)}",
            )
    try:
        return plan_functions.JitOptions(**chosen)
    except ValueError:
        context.mistakes.refuse(
            "jit-option",
            "An option of cuda.jit has a value that it cannot take.",
            found=context.short(options),
        )


def _option(name: str, value: Any) -> Any:
    if name == "inline" and isinstance(value, bool):
        return "always" if value else "never"
    if name == "launch_bounds" and value is not None:
        return tuple(int(v) for v in value) if isinstance(value, (tuple, list)) else (int(value),)
    if name == "max_registers" and isinstance(value, numbers.Integral):
        return int(value)
    if name in ("debug", "opt", "lineinfo", "forceinline") and value is not None:
        return bool(value)
    # Numba also takes a set of flags; on CUDA any of them means all.
    return bool(value) if name == "fastmath" and value is not None else value


def _types(context: Context, signature: Any, device: bool) -> tuple[plan_functions.TypeOf, ...]:
    """The argument types of a signature: a string, a tuple of types or a Numba signature."""
    arguments, returned = sigutils.normalize_signature(signature)
    if returned not in (None, numba.types.void) and not device:
        context.mistakes.refuse(
            "jit-option",
            f"The signature of a kernel returns {returned}.",
            expected="void(…), or the argument types alone",
            found=context.short(signature),
            advice="A kernel writes its results into an array argument.",
        )
    return tuple(_type_of(context, numba_type) for numba_type in arguments)


def _type_of(context: Context, numba_type: Any) -> plan_functions.TypeOf:
    array = isinstance(numba_type, numba.types.Array)
    try:
        dtype = np.dtype(numpy_support.as_dtype(numba_type.dtype if array else numba_type))
        if array:
            return plan_functions.TypeOf(dtype=plan_dtype(dtype), ndim=numba_type.ndim, layout=numba_type.layout)
        return plan_functions.TypeOf(dtype=plan_dtype(dtype))
    except (NumbaError, NotImplementedError, ValueError, AttributeError):
        context.mistakes.refuse(
            "jit-option",
            f"A signature of cuda.jit has the type {numba_type}.",
            expected="numbers and arrays of numbers",
            advice="Leave the signature out: Numba finds the types at the launch.",
        )
