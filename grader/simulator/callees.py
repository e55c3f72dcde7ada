"""What a call in typed IR calls. Runs in the runner.

In: the Numba type of a callee. Out: the object that it stands for, or the Python function behind it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
from numba.cuda.descriptor import cuda_target

from grader.simulator.frontend import numba_errors
from grader.simulator.typed_only import Implementation


def python_function(callee: Any) -> Callable[..., Any] | None:
    """The Python function behind a type of a callee, if it is a dispatcher (device or njit function)."""
    dispatcher = getattr(getattr(callee, "dispatcher_type", callee), "dispatcher", None)
    return getattr(dispatcher, "py_func", None)


def overload_function(callee: Any, signature: Any) -> Callable[..., Any] | None:
    """The Python body of an ``@overload`` of Numba's that a call resolves to; None where there is none."""
    chosen = _chosen(callee, signature)
    if chosen is not None:
        return chosen
    wanted = tuple(signature.args) if signature.recvr is None else (signature.recvr, *signature.args)
    for template in getattr(callee, "templates", None) or [getattr(callee, "template", None)]:
        for dispatcher, args in getattr(template, "_impl_cache", {}).values() if _is_overload(template) else ():
            if dispatcher is not None and tuple(args) == wanted:
                body: Callable[..., Any] = dispatcher.py_func
                return body
        if _is_overload(template):
            with contextlib.suppress(*numba_errors(), TypeError):
                made = template._overload_func(*wanted)
                if made is not None:
                    body = made[1] if isinstance(made, tuple) else made
                    return body
    return None


def attribute_function(value_type: Any, name: str) -> Callable[..., Any] | None:
    """The Python body of an ``@overload_attribute`` for a type's attribute; None where there is none."""
    for template in cuda_target.typing_context._get_attribute_templates(value_type):
        named = type(template)
        if not _is_overload(named) or named._attr != name or named.is_method:
            continue
        made = named._overload_func(value_type)
        if made is not None:
            body: Callable[..., Any] = made[1] if isinstance(made, tuple) else made
            return body
    return None


def _chosen(callee: Any, signature: Any) -> Callable[..., Any] | None:
    """The implementation that Numba came to when it typed a call: of several, one for the target goes first."""
    with contextlib.suppress(KeyError, AttributeError, TypeError):
        implementation = callee.get_impl_key(signature)
        if isinstance(implementation, Implementation):
            return implementation.function
    return None


def _is_overload(template: Any) -> bool:
    return hasattr(template, "_overload_func")


def lowers_ufunc(ufunc: np.ufunc) -> bool:
    """Whether Numba can compile this NumPy function for a GPU: it types more of them."""
    return bool(ufunc_loops(ufunc))


def ufunc_loops(ufunc: np.ufunc) -> dict[str, Any]:
    """The loops of a NumPy function that Numba can compile for a GPU, by their letters ("ff->f"); none for many."""
    try:
        loops: dict[str, Any] = cuda_target.target_context.get_ufunc_info(ufunc)
    except KeyError:
        return {}
    return loops


def callee_key(callee: Any) -> Any:
    """What a callee's type stands for: the object that was called (``cuda.grid``, ``math.sqrt``, ``range``)."""
    return getattr(callee, "typing_key", None) or getattr(callee, "key", None)
