"""The order in which pending basic blocks run: a weak topological order. Runs in the runner; pure.

In: which block may follow which. Out: blocks in order.

Lanes that took different ways meet again when the scheduler always runs the pending block that comes first in
an order where a block follows its predecessors (loops apart) and every loop is contiguous, with its exits
behind it. That is a weak topological order: F. Bourdoncle, "Efficient chaotic iteration strategies with
widenings", 1993, figure 4 (the recursive strategy on strongly connected subcomponents).
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence


def weak_topological_order(entry: int, successors: Mapping[int, Sequence[int]]) -> list[int]:
    """All nodes reachable from ``entry``, each loop contiguous with its header first, exits after the loop."""
    number: dict[int, int] = dict.fromkeys(successors, 0)
    finished = sys.maxsize
    stack: list[int] = []
    counter = 0

    def component(vertex: int) -> list[int]:
        partition: list[int] = []
        for child in reversed(successors[vertex]):
            if number[child] == 0:
                visit(child, partition)
        return [vertex, *partition]

    def visit(vertex: int, partition: list[int]) -> int:
        nonlocal counter
        stack.append(vertex)
        counter += 1
        number[vertex] = head = counter
        loop = False
        for child in reversed(successors[vertex]):
            low = visit(child, partition) if number[child] == 0 else number[child]
            if low <= head:
                head = low
                loop = True
        if head == number[vertex]:
            number[vertex] = finished
            element = stack.pop()
            if loop:
                while element != vertex:
                    number[element] = 0
                    element = stack.pop()
                partition[:0] = component(vertex)
            else:
                partition.insert(0, vertex)
        return head

    order: list[int] = []
    visit(entry, order)
    return order
