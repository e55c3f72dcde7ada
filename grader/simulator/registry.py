"""Which translation belongs to which function of ``numba.cuda``. Runs in the runner.

In: attribute paths of ``numba.cuda``, while modules of translations are imported. Out: a table.

``DEVICE_CALLS`` maps the object that a kernel calls (``cuda.grid``, ``cuda.atomic.add``) to its translation. An
entry exists only where this Numba has the object, so older and newer ones work alike.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any

from numba import cuda

from grader.simulator.body import Body

Handler = Callable[[Body, Any, Any, Any], None]  # body, target variable, call expression, signature
DEVICE_CALLS: dict[Any, Handler] = {}
_WRAPPER = "__numba_wrapper_"


def on(*paths: str) -> Callable[[Handler], Handler]:
    """Register a translation for attribute paths of ``numba.cuda``."""

    def register(handler: Handler) -> Handler:
        for path in paths:
            register_call(path, handler)
        return handler

    return register


def register_call(path: str, handler: Handler) -> None:
    """Register a translation for one attribute path of ``numba.cuda``, if this Numba has it."""
    try:
        DEVICE_CALLS[reduce(getattr, path.split("."), cuda)] = handler
    except AttributeError:
        return


def declared_as(key: Any) -> Any:
    """The object of ``numba.cuda`` that a key stands for: the built-in target declares parts of fp16 as external."""
    name = str(getattr(key, "name", ""))
    if type(key).__name__ != "ExternFunction" or not name.startswith(_WRAPPER):
        return key
    return getattr(cuda.fp16, name.removeprefix(_WRAPPER), key)


def named_arguments(expr: Any, *names: str) -> dict[str, Any]:
    """A call's arguments by parameter name."""
    return dict(zip(names, expr.args, strict=False)) | dict(expr.kws)
