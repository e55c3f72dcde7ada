"""What all function bodies of one kernel share while it is translated. Runs in the runner.

In: options and sources of a kernel. Out: the ``Program`` that grows, with registers, basic blocks and memory of arrays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from grader.errors import NotSimulated
from grader.records import Place
from grader.simulator.frontend import Frontend
from grader.simulator.program import Block, Program
from grader.simulator.sources import Sources

# Of a program. More take minutes to translate, and come from a device function that is inlined over and over.
MAX_BLOCKS = 4000


@dataclass(frozen=True)
class Options:
    """Options of ``cuda.jit`` that change what a kernel does. ``debug``: division by zero raises, and so on."""

    debug: bool = False
    fastmath: bool = False


PLAIN = Options()


@dataclass
class Routine:
    """A function that calls itself: where it begins, its arguments' registers and its result's (-1: nothing)."""

    parameters: tuple[int, ...]
    result: int
    entry: int = -1


class Unit:
    """What all bodies of one kernel share. ``sources`` is where they were written, for places."""

    def __init__(self, frontend: Frontend, sources: Sources, options: Options) -> None:
        self.frontend = frontend
        self.sources = sources
        self.options = options
        self.program = Program("")
        self.shared_arrays: dict[tuple[Any, int], tuple[int, int]] = {}
        self.local_arrays: dict[tuple[Any, int], tuple[int, int]] = {}
        self.routines: dict[tuple[Any, ...], Routine] = {}

    def new_register(self) -> int:
        """The number of a register that nothing uses yet."""
        self.program.registers += 1
        return self.program.registers - 1

    def new_block(self, place: Place) -> int:
        """The index of a new, empty block. Raises NotSimulated where the kernel is too large."""
        if len(self.program.blocks) >= MAX_BLOCKS:
            raise NotSimulated(f"the kernel is too large for the simulator: more than {MAX_BLOCKS} basic blocks")
        self.program.blocks.append(Block(place))
        return len(self.program.blocks) - 1
