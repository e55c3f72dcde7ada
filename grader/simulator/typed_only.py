"""What Numba keeps of functions that were typed and not lowered. Runs in the runner."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Implementation:
    """The Python function that implements a call; Numba keeps machine code in its place."""

    function: Callable[..., Any]


class TypedOnly:
    """What a dispatcher keeps for a device function that was typed and not lowered."""

    objectmode = False
    library = None

    def __init__(self, signature: Any, function: Callable[..., Any]) -> None:
        self.signature = signature
        # What Numba remembers as the implementation that a call of an @overload came to.
        self.entry_point = Implementation(function)
        self.fndesc = _Named(function.__module__, function.__qualname__, id(function))


@dataclass(frozen=True)
class _Named:
    """How Numba tells functions apart that call each other."""

    modname: str
    qualname: str
    uid: int
