"""The order of streams and the clashes of what they touch, against the same by brute force."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.records import Place
from grader.simulator.streams import Operation, StreamOrder
from grader.simulator.touched import ATOMIC, READ, SILENT, WRITTEN, Touched

DEFAULT, STREAMS, EVENTS, CELLS = 0, (16, 17, 18), (1, 2), 3
streams, events = st.sampled_from((DEFAULT, *STREAMS)), st.sampled_from(EVENTS)
steps = st.one_of(
    st.tuples(st.just("do"), streams, st.integers(0, CELLS - 1), st.sampled_from([READ, WRITTEN])),
    st.tuples(st.just("do"), st.sampled_from(STREAMS), st.integers(0, CELLS - 1), st.sampled_from([READ, WRITTEN])),
    st.tuples(st.just("record"), events, streams),
    st.tuples(st.just("wait"), streams, events),
    st.tuples(st.just("finish"), streams),
    st.tuples(st.just("finish event"), events),
)


class Graph:
    """All that is asked for, as nodes; who comes before whom, as sets of nodes."""

    def __init__(self):
        self.before = []  # per node the nodes before it
        self.last = dict.fromkeys(STREAMS, frozenset())  # per stream what its next operation waits for
        self.host = frozenset()
        self.events = dict.fromkeys(EVENTS, frozenset())
        self.did = {}

    def everything(self):
        return frozenset(range(len(self.before)))

    def step(self, kind, *what):
        """Whether this operation may come before or after another one that it must not be exchanged with."""
        if kind == "do":
            return self._do(*what)
        if kind == "record":
            event, stream = what
            self.events[event] = self.everything() if stream == DEFAULT else self.last[stream] | self.host
        elif kind == "finish event":
            self.host |= self.events[what[0]]
        elif DEFAULT in what[:1]:
            self.host = self.everything()
        elif kind == "wait":
            self.last[what[0]] |= self.events[what[1]]
        else:
            self.host |= self.last[what[0]]
        return False

    def _do(self, stream, cell, code):
        node = len(self.before)
        before = self.everything() if stream == DEFAULT else self.last[stream] | self.host
        self.before.append(before)
        self.did[node] = cell, code
        if stream == DEFAULT:
            self.host = self.everything()
        else:
            self.last[stream] = before | {node}
        return any(
            other not in before and its_cell == cell and WRITTEN in (code, its_code)
            for other, (its_cell, its_code) in self.did.items()
            if other != node
        )


@settings(max_examples=300)
@given(st.lists(steps, max_size=25))
def test_the_first_race_is_the_one_that_all_orders_show(asked):
    order, graph = StreamOrder(), Graph()
    does = {"record": order.record, "wait": order.wait, "finish": order.finish, "finish event": order.finish_event}
    for kind, *what in asked:
        races = graph.step(kind, *what)
        if kind == "do":
            stream, cell, code = what
            touched = (Touched.whole(64 * cell, 64, code),)
            assert bool(order.add(Operation("it", Place(1), stream, touched))) == races
        else:
            does[kind](*what)
        if races:
            return


def clashes(earlier, later):
    """By the rule: both are there, and exchanging them may change what is read or what remains."""
    writes, changes = WRITTEN | SILENT, WRITTEN | ATOMIC
    return bool(
        (later & READ and earlier & changes)
        or (later & WRITTEN and earlier)
        or (later & ATOMIC and earlier & (READ | writes))
    )


codes = st.lists(st.sampled_from([0, 0, READ, SILENT, WRITTEN, ATOMIC, READ | WRITTEN]), min_size=1, max_size=6)
stretches = st.tuples(st.integers(0, 6), st.sampled_from([1, 2, 4]), codes)


def by_bytes(stretch):
    start, granule, its_codes = stretch
    found = np.zeros(64, np.uint8)
    found[start * granule : (start + len(its_codes)) * granule] = np.repeat(its_codes, granule)
    return found


@settings(max_examples=300)
@given(stretches, stretches)
def test_stretches_of_any_granules_clash_where_their_bytes_do(one, other):
    earlier, later = (
        Touched.of(start * granule, granule, np.array(its_codes, np.uint8))
        for start, granule, its_codes in (one, other)
    )
    expected = [clashes(*pair) for pair in zip(by_bytes(one).tolist(), by_bytes(other).tolist(), strict=True)]
    found = later.clash_with(earlier) if earlier is not None and later is not None else None
    assert (found is not None) == any(expected)
    if found is not None:
        widest = max(one[1], other[1])
        assert any(expected[found : found + widest])
        assert not any(expected[:found])
        assert later.code_at(found)
        assert earlier.code_at(found)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(-12, 12), st.integers(-12, 12), st.sampled_from([1, 2]))
def test_elements_of_an_array_are_those_that_its_strides_lead_to(rows, columns, step, stride, itemsize):
    touched = Touched.of_array(100, (rows, columns), (step, stride), itemsize, READ)
    expected = {
        100 + i * step + j * stride + byte for i in range(rows) for j in range(columns) for byte in range(itemsize)
    }
    found = {a for a in range(touched.start, touched.stop) if touched.code_at(a)}
    if rows * columns * itemsize != max(expected) - min(expected) + 1:  # else it may stand for the whole stretch
        assert found == expected
    assert found >= expected
