"""The weak topological order keeps loops together, header first, exits behind."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from grader.simulator.order import weak_topological_order


def test_bourdoncles_own_example_has_his_order():
    graph = {1: [2], 2: [3, 8], 3: [4], 4: [5, 7], 5: [6], 6: [5, 7], 7: [3, 8], 8: []}
    assert weak_topological_order(1, graph) == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_loops_exit_comes_after_its_body_whatever_the_numbers():
    graph = {0: [9], 9: [1, 5], 5: [9], 1: []}
    assert weak_topological_order(0, graph) == [0, 9, 5, 1]


@given(
    st.integers(2, 12).flatmap(lambda n: st.lists(st.lists(st.integers(0, n - 1), max_size=2), min_size=n, max_size=n))
)
def test_every_reachable_block_stands_once(edges):
    graph = dict(enumerate(edges))
    seen, todo = {0}, [0]
    while todo:
        for child in graph[todo.pop()]:
            if child not in seen:
                seen.add(child)
                todo.append(child)
    order = weak_topological_order(0, graph)
    assert sorted(order) == sorted(seen)
    assert order[0] == 0
