"""What the machine runs: basic blocks of small steps over numbered registers. Runs in the runner.

In: blocks. Out: the same, ranked, with the registers that live in each.

``translate`` builds a ``Program``; nothing here knows Numba. Device functions are already inlined, those that call
themselves apart, so a program is one graph, and a block ends at every branch, barrier and recursive call.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from grader.errors import NotSimulated
from grader.records import Place
from grader.simulator.order import weak_topological_order

if TYPE_CHECKING:
    from grader.simulator.machine import Machine

Registers = list[Any]
Step = Callable[["Machine", Registers], None]


def located(error: NotSimulated, place: Place) -> NotSimulated:
    """The same, with the line where it happened."""
    if "(line " in str(error):
        return error
    return NotSimulated(f"{error} (line {place.line}: {place.text})")


@dataclass(frozen=True)
class Jump:
    """Go on at ``target``."""

    target: int


@dataclass(frozen=True)
class Branch:
    """Lanes whose ``condition`` register is true go to ``yes``, others to ``no``."""

    condition: int
    yes: int
    no: int
    place: Place


@dataclass(frozen=True)
class Exit:
    """The thread is done."""


@dataclass(frozen=True)
class Barrier:
    """Lanes wait here for the others: of their block (``syncthreads``), of their warp that ``mask`` names, or of the
    grid (``scope`` "block", "warp", "grid").

    ``vote`` is "", "count", "and" or "or" over register ``predicate``, into register ``result``.
    """

    target: int
    place: Place
    scope: str = "block"
    mask: int = -1
    orders_memory: bool = True  # shuffles and votes make lanes meet, but order no memory accesses
    vote: str = ""
    predicate: int = -1
    result: int = -1


@dataclass(frozen=True)
class Call:
    """Go on at ``entry`` in a new frame, with ``arguments`` in ``parameters``; ``result`` is there at ``after``."""

    entry: int
    after: int
    arguments: tuple[int, ...]
    parameters: tuple[int, ...]
    result: int
    place: Place


@dataclass(frozen=True)
class Return:
    """End a frame: the caller gets register ``value`` (-1: nothing). ``entry`` is where the function begins."""

    entry: int
    value: int


End = Jump | Branch | Exit | Barrier | Call | Return


@dataclass
class Block:
    """A basic block: its steps, the registers it reads before writing and writes, and how it ends."""

    place: Place
    steps: list[Step] = field(default_factory=list)
    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)
    end: End = Exit()
    # Steps by line, and floating-point operations of one lane by line and width in bits.
    steps_of_lines: Counter[Place] = field(default_factory=Counter)
    flops: Counter[tuple[Place, int]] = field(default_factory=Counter)
    # filled in by Program.finish
    rank: int = 0
    live_in: frozenset[int] = frozenset()
    live_out: frozenset[int] = frozenset()
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()

    def add(self, step: Step, reads: tuple[int, ...] = (), writes: tuple[int, ...] = ()) -> None:
        """Append a step that reads and writes these registers."""
        self.note_reads(reads)
        self.writes.update(writes)
        self.steps.append(step)

    def note_reads(self, registers: tuple[int, ...]) -> None:
        """Say that these registers are read here, after all steps so far."""
        self.reads.update(register for register in registers if register not in self.writes)

    def successors(self) -> tuple[int, ...]:
        """Blocks that may follow."""
        match self.end:
            case Jump(target) | Barrier(target=target):
                return (target,)
            case Branch(yes=yes, no=no):
                return (yes, no)
            case Call(entry):
                return (entry,)
            case _:
                return ()


@dataclass
class Program:
    """A translated kernel. Block 0 is the entry; registers 0 … n-1 hold its n arguments."""

    name: str
    blocks: list[Block] = field(default_factory=list)
    registers: int = 0
    # Of static shared memory per block and of local arrays per thread: as a GPU lays arrays out, by their alignment,
    # and as they lie here, each at the start of a segment.
    shared_bytes: int = 0
    local_bytes: int = 0
    shared_layout: int = 0
    local_layout: int = 0
    constants: list[Any] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)  # Numba's own, of its compile
    text_bytes: int = 0  # of formats for printing, in constant memory
    float64_lines: set[Place] = field(default_factory=set)  # that compute in float64 themselves, not in Numba's code
    promotions: dict[Place, str] = field(default_factory=dict)  # why they do
    # Whether elements of local arrays are only accessed as what they were made as, numbers of a power of two bytes.
    # Then those of all lanes at one index lie side by side; else each lane has a segment of its own.
    interleaved: bool = True
    shared_granule: int = 8  # the smallest element of any shared array, in bytes
    debug: bool = False  # compiled with debug=True: what a kernel raises is told to the host
    cooperative: bool = False  # asks for the grid as a group: a GPU must hold all blocks at once
    # Where a barrier is named, but not called: a GPU does nothing there.
    uncalled_barriers: list[Place] = field(default_factory=list)
    # By block, those that may come next; from a function's end, where it was called. Filled in by finish.
    flow: dict[int, tuple[int, ...]] = field(default_factory=dict)

    def reaches_without_barrier(self, start: int, goal: int) -> bool:
        """Whether a thread that leaves block ``start`` can come to block ``goal`` before a barrier of its block."""
        seen: set[int] = set()
        waiting = [start]
        while waiting:
            block = self.blocks[waiting.pop()]
            if isinstance(block.end, Barrier) and block.end.scope == "block":
                continue
            for target in block.successors():
                if target == goal:
                    return True
                if target not in seen:
                    seen.add(target)
                    waiting.append(target)
        return False

    def finish(self) -> None:
        """Rank the blocks and work out which registers are live where."""
        successors = {index: block.successors() for index, block in enumerate(self.blocks)}
        calls = [block.end for block in self.blocks if isinstance(block.end, Call)]
        for index, block in enumerate(self.blocks):
            if isinstance(block.end, Return):
                entry = block.end.entry
                successors[index] = tuple(dict.fromkeys(call.after for call in calls if call.entry == entry))
        self.flow = successors
        for rank, index in enumerate(weak_topological_order(0, successors)):
            self.blocks[index].rank = rank
        live: list[set[int]] = [set() for _ in self.blocks]
        changed = True
        while changed:
            changed = False
            for index in range(len(self.blocks) - 1, -1, -1):
                block = self.blocks[index]
                before = block.reads | (self._after(block, live) - block.writes)
                if before != live[index]:
                    live[index] = before
                    changed = True
        for index, block in enumerate(self.blocks):
            after = self._after(block, live)
            if isinstance(block.end, Barrier):
                after |= {block.end.predicate, block.end.mask}
            block.live_in = frozenset(live[index])
            block.live_out = frozenset(after)
            block.inputs = tuple(sorted(block.reads))
            block.outputs = tuple(sorted(block.writes & after))

    def _after(self, block: Block, live: list[set[int]]) -> set[int]:
        """Registers that are read after a block, before they are written; ``live`` has those of each block's start."""
        after: set[int] = set()
        for successor in block.successors():
            after |= live[successor]
        match block.end:
            case Barrier(result=result):
                after.discard(result)
            case Call() as call:
                after -= set(call.parameters)
                after |= (live[call.after] - {call.result}) | set(call.arguments)
            case Return(_, value) if value >= 0:
                after.add(value)
        return after
