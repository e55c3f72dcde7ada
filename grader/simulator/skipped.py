"""Whether a thread that is done went past a barrier at which others wait, or left before it. Runs in the runner; pure.

In: a program's graph, a barrier, the basic block where a thread ended. Out: a block that says which of the two it was.

A GPU waits for threads that have not returned (CUDA C++ Programming Guide, "Independent Thread Scheduling"), so a
thread that returns before a barrier does no harm. A thread that goes round it, into code that those who wait have
before them, has not returned yet: CUDA says that this is undefined ("Synchronization Functions": all threads of a
block take the same way), and on a GPU it depends on who comes first. In the graph: a block that every way from the
barrier to the end leads through, that does something, that no way leads back from, and that the thread has run. A
barrier in an ``if`` or a loop with nothing behind it is the same machine code as a return before it, and is taken for
that.
"""

from __future__ import annotations

from grader.simulator.program import Block, Exit, Jump, Program


class Skipped:
    """The answers for one program. Barriers are known by the block behind them, to which nothing else leads."""

    def __init__(self, program: Program) -> None:
        self._program = program
        self._answers: dict[tuple[int, int], Block | None] = {}

    def by(self, exit_block: int, behind: int) -> Block | None:
        """Code that a thread which ended at ``exit_block`` ran, though it has not passed the barrier before ``behind``.

        None where it left before the barrier.
        """
        key = (exit_block, behind)
        if key not in self._answers:
            self._answers[key] = self._find(exit_block, behind)
        return self._answers[key]

    def _find(self, exit_block: int, behind: int) -> Block | None:
        blocks = self._program.blocks
        for index in sorted(self._from(behind), key=lambda each: blocks[each].rank):
            block = blocks[index]
            if isinstance(block.end, Exit | Jump) and not block.inputs:
                continue  # nothing but the way out
            others = self._from(behind, without=index)
            if any(isinstance(blocks[each].end, Exit) for each in others) or behind in self._after(index):
                continue
            if exit_block == index or exit_block not in self._from(0, without=index):
                return block
        return None

    def _after(self, start: int) -> set[int]:
        return {each for target in self._program.flow[start] for each in self._from(target)}

    def _from(self, start: int, without: int = -1) -> set[int]:
        """Blocks that a way leads to from ``start``, and itself; only ways that do not lead through ``without``."""
        seen: set[int] = set()
        waiting = [start]
        while waiting:
            index = waiting.pop()
            if index not in seen and index != without:
                seen.add(index)
                waiting.extend(self._program.flow[index])
        return seen
