"""The memory of the simulated GPU, beside the allocations and frees that scripts make of it."""

# mypy: ignore-errors
from __future__ import annotations

import bisect

import pytest

from grader.simulator.live.heap import Heap, OutOfMemory


@pytest.fixture
def heap():
    return Heap(1 << 20)


def test_what_is_freed_can_be_allocated_again(heap):
    free = heap.free_bytes
    starts = [heap.allocate(1000) for _ in range(20)]
    for start in starts[::2] + starts[1::2]:
        heap.free(start)
    assert heap.free_bytes == free
    assert heap.allocate(free) == 0
    with pytest.raises(OutOfMemory):
        heap.allocate(1)


def test_what_is_not_allocated_cannot_be_freed(heap):
    start = heap.allocate(100)
    for wrong in (start + 256, start):
        heap.free(start) if wrong == start else None
        with pytest.raises(KeyError):
            heap.free(wrong)


@pytest.mark.parametrize("amid", ["bisect_left", "bisect_right", "insort"])
def test_garbage_may_be_collected_amid_a_free_and_an_allocation(heap, monkeypatch, amid):
    free = heap.free_bytes
    starts = [heap.allocate(1000) for _ in range(30)]
    garbage = starts[:20]
    usual = getattr(bisect, amid)

    def and_collect(*arguments):
        found = usual(*arguments)
        if garbage:
            heap.free(garbage.pop(0))
        return found

    monkeypatch.setattr(bisect, amid, and_collect)
    live = starts[20:]
    while garbage:
        heap.free(live.pop())
        live.append(heap.allocate(500))
        assert len(set(live)) == len(live)
        assert all(heap.allocation(start) is not None for start in live)
    for start in live:
        heap.free(start)
    assert heap.free_bytes == free
