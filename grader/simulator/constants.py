"""Constants of a kernel that only a launch has a place for: captured arrays. Runs in the runner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from grader.simulator.machine import Machine


class ConstantArray:
    """A captured array, by its number in ``Program.constants``; the launch puts it into global memory."""

    def __init__(self, number: int) -> None:
        self.number = number


def has_array(value: Any) -> bool:
    """Whether a constant is a captured array, or a tuple with one in it."""
    return isinstance(value, ConstantArray) or (isinstance(value, tuple) and any(map(has_array, value)))


def with_arrays(m: Machine, value: Any) -> Any:
    """A constant, with its captured arrays where the launch has put them."""
    if isinstance(value, tuple):
        return tuple(with_arrays(m, item) for item in value)
    return m.constants[value.number] if isinstance(value, ConstantArray) else value
