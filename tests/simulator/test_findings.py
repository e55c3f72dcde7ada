"""Warnings and advice beside the races: what is odd, and no mistake."""

# mypy: ignore-errors
from __future__ import annotations

import ast
import re
from pathlib import Path

import numpy as np
import pytest
from numba import cuda, float32, int32

ROOT = Path(__file__).parents[2]


def _kinds(launched, *severities):
    return [(f.kind, f.severity.value) for f in launched.findings if f.severity.value in severities]


def test_a_computed_negative_index_is_a_warning_and_a_written_one_is_not(launch):
    def computed(x, out):
        i = cuda.grid(1)
        out[i] = x[i - 1]

    def row(x, out):
        i = cuda.grid(1)
        out[i] = x[i - 1][0]

    def written(x, out):
        out[-1] = x[-1]
        out[-2] = x[-2]

    def written_in_a_pair(x, out):
        out[cuda.grid(1)] = x[-1, cuda.grid(1)]

    out = np.zeros(8)
    (found,) = launch(computed, 1, 8, np.arange(8.0), out).findings[:1]
    assert (found.kind, found.severity.value, found.array, found.count) == ("negative-index", "warning", "x", 1)
    assert found.what == (
        "An index of x came out as -1, which counts from the end: element 7 is taken, at the other end."
    )
    assert out.tolist() == [7, 0, 1, 2, 3, 4, 5, 6]
    assert ("negative-index", "warning") in _kinds(launch(row, 1, 8, np.ones((8, 2)), out), "warning")
    assert _kinds(launch(written, 1, 1, np.ones(8), out), "warning", "error") == []
    assert _kinds(launch(written_in_a_pair, 1, 8, np.ones((8, 8)), out), "warning", "error") == []


def test_a_negative_index_that_is_outside_is_an_error_alone(launch):
    def kernel(x, out):
        out[cuda.grid(1)] = x[cuda.grid(1) - 9]

    assert _kinds(launch(kernel, 1, 1, np.arange(8.0), np.zeros(1)), "warning", "error") == [("out-of-bounds", "error")]


def test_an_index_outside_of_several_dimensions_is_asked_about_their_order(launch):
    def swapped(out):
        x, y = cuda.grid(2)
        out[x, y] = 1

    def line(out):
        out[cuda.grid(1)] = 1

    (table,) = launch(swapped, 1, (3, 2), np.zeros((2, 3))).findings
    assert table.advice.endswith("Are its indices in the right order?")
    (row,) = launch(line, 1, 3, np.zeros(2)).findings
    assert "order" not in row.advice


def test_an_early_return_before_a_barrier_is_advice(launch):
    def kernel(x, out):
        s = cuda.shared.array(64, float32)
        i = cuda.grid(1)
        if i >= x.size:
            return
        s[cuda.threadIdx.x] = x[i]
        cuda.syncthreads()
        if cuda.threadIdx.x > 0:
            out[i] = s[cuda.threadIdx.x - 1]
        cuda.syncthreads()

    launched = launch(kernel, 2, 64, np.ones(100, np.float32), np.zeros(100, np.float32))
    assert _kinds(launched, "warning", "error") == []
    early = [f for f in launched.findings if f.kind == "early-return"]
    assert [(f.severity.value, f.place.text) for f in early] == [("advice", "cuda.syncthreads()")] * 2
    whole = launch(kernel, 2, 64, np.ones(64, np.float32), np.zeros(64, np.float32))  # a whole block returns
    assert "early-return" not in {f.kind for f in whole.findings}


def test_barriers_at_different_lines_are_an_error(launch):
    def kernel(out):
        if cuda.threadIdx.x < 32:
            cuda.syncthreads()
        else:
            cuda.syncthreads()
        out[cuda.grid(1)] = 1

    launched = launch(kernel, 3, 64, np.zeros(192))
    assert ("divergent-barrier", "error") in _kinds(launched, "error")
    (found,) = [f for f in launched.findings if f.kind == "divergent-barrier"]
    assert found.count == 3
    assert "others at line" in found.what


def test_a_barrier_without_parentheses_is_named_where_it_matters(launch):
    def kernel(x, out):
        s = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        s[t] = x[t]
        cuda.syncthreads  # noqa: B018
        out[t] = s[63 - t]

    (race,) = [f for f in launch(kernel, 1, 64, np.ones(64), np.zeros(64)).findings if f.kind == "race"]
    assert race.advice.endswith("lacks its parentheses and does nothing: write cuda.syncthreads().")
    assert str(race.place.line - 1) in race.advice


def test_writing_what_is_there_already_is_a_warning_in_global_memory(launch):
    """Floyd and Warshall's step: row and column k are read by others, and stay as they are."""

    def step(d, k):
        i, j = cuda.grid(2)
        if i < d.shape[0] and j < d.shape[0]:
            through = d[i, k] + d[k, j]
            d[i, j] = through if through < d[i, j] else d[i, j]

    d = np.random.default_rng(3).random((12, 12))
    np.fill_diagonal(d, 0)
    assert set(_kinds(launch(step, (2, 2), (8, 8), d.copy(), 5), "warning", "error")) == {
        ("same-value-writes", "warning")
    }
    np.fill_diagonal(d, -1)  # now the column changes while it is read
    assert ("race", "error") in _kinds(launch(step, (2, 2), (8, 8), d, 5), "error")


def test_a_silent_write_hides_no_other_one(launch):
    def kernel(out, seen):
        i = cuda.grid(1)
        if i == 0:
            out[0] = 5
        if i == 32:
            out[0] = 5
        if i == 64:
            seen[0] = out[0]

    found = _kinds(launch(kernel, 3, 32, np.zeros(1), np.zeros(1)), "error")
    assert found == [("race", "error")]


def test_a_read_that_follows_atomics_on_shared_memory_needs_a_barrier_and_a_glance_before_them_does_not(launch):
    def too_early(x, out):
        s = cuda.shared.array(1, int32)
        t = cuda.threadIdx.x
        if t == 0:
            s[0] = 0
        cuda.syncthreads()
        cuda.atomic.add(s, 0, x[t])
        if t == 0:
            out[0] = s[0]

    def glance(x, out):
        s = cuda.shared.array(1, int32)
        t = cuda.threadIdx.x
        if t == 0:
            s[0] = 0
        cuda.syncthreads()
        if x[t] > s[0]:
            cuda.atomic.max(s, 0, x[t])
        cuda.syncthreads()
        if t == 0:
            out[0] = s[0]

    x = np.arange(64, dtype=np.int32)
    assert _kinds(launch(too_early, 1, 64, x, np.zeros(1)), "warning", "error") == [("race", "error")]
    assert _kinds(launch(glance, 1, 64, x, np.zeros(1)), "warning", "error") == [("mixed-atomic", "warning")]


@pytest.mark.parametrize("barrier", [True, False])
def test_a_fence_by_each_thread_needs_a_barrier_before_one_takes_the_ticket(launch, barrier):
    def kernel(partial, tickets, out, barrier):
        last = cuda.shared.array(1, int32)
        t, b = cuda.threadIdx.x, cuda.blockIdx.x
        partial[b, t] = t
        cuda.threadfence()
        if barrier:
            cuda.syncthreads()
        if t == 0:
            last[0] = cuda.atomic.add(tickets, 0, 1) == cuda.gridDim.x - 1
        cuda.syncthreads()
        if last[0]:
            out[t] = partial[0, t]

    arguments = np.zeros((4, 64)), np.zeros(1, np.int32), np.zeros(64)
    found = _kinds(launch(kernel, 4, 64, *arguments, barrier), "error")
    assert found == ([] if barrier else [("race", "error")])


def test_one_fence_after_a_barrier_publishes_what_the_block_wrote(launch):
    def kernel(partial, tickets, out):
        last = cuda.shared.array(1, int32)
        t, b = cuda.threadIdx.x, cuda.blockIdx.x
        partial[b, t] = t
        cuda.syncthreads()
        if t == 0:
            cuda.threadfence()
            last[0] = cuda.atomic.add(tickets, 0, 1) == cuda.gridDim.x - 1
        cuda.syncthreads()
        if last[0]:
            out[t] = partial[0, t]

    found = _kinds(launch(kernel, 4, 64, np.zeros((4, 64)), np.zeros(1, np.int32), np.zeros(64)), "error")
    assert found == []


def test_a_fence_of_the_block_orders_within_it_and_not_between_blocks(launch):
    def within(data, flag, out):
        t = cuda.threadIdx.x
        if t == 0:
            data[0] = 7
            cuda.threadfence_block()
            cuda.atomic.exch(flag, 0, 1)
        elif t == 32:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
            cuda.threadfence_block()
            out[0] = data[0]

    def between(data, flag, out):
        if cuda.threadIdx.x == 0 and cuda.blockIdx.x == 0:
            data[0] = 7
            cuda.threadfence_block()
            cuda.atomic.exch(flag, 0, 1)
        elif cuda.threadIdx.x == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
            out[0] = data[0]

    out = np.zeros(1)
    assert _kinds(launch(within, 1, 64, np.zeros(1), np.zeros(1, np.int32), out), "error") == []
    assert out[0] == 7
    assert _kinds(launch(between, 2, 64, np.zeros(1), np.zeros(1, np.int32), out), "error") == [("race", "error")]


def test_only_who_saw_the_flag_may_read_until_a_barrier_tells_the_block(launch):
    def kernel(data, flag, out, barrier):
        t = cuda.threadIdx.x
        if cuda.blockIdx.x == 0:
            if t == 0:
                data[0] = 7
                cuda.threadfence()
                cuda.atomic.exch(flag, 0, 1)
        else:
            if t == 0:
                while cuda.atomic.add(flag, 0, 0) == 0:
                    pass
            if barrier:
                cuda.syncthreads()
            out[t] = data[0]

    for barrier in (True, False):
        out = np.zeros(64)
        found = _kinds(launch(kernel, 2, 64, np.zeros(1), np.zeros(1, np.int32), out, barrier), "error")
        assert found == ([] if barrier else [("race", "error")])


def test_arrays_made_in_one_line_have_their_names(launch):
    def kernel(out):
        a, b = cuda.shared.array(8, float32), cuda.shared.array(8, float32)
        c = cuda.shared.array(8, float32)[4:]
        out[0] = a[0] + b[0] + c[0]

    arrays = {f.array for f in launch(kernel, 1, 1, np.zeros(1)).findings if f.kind == "uninitialised-read"}
    assert arrays == {"a", "b", "c"}


def test_a_flag_must_be_set_up_before_others_look_at_it(launch):
    def kernel(x, out, barrier):
        flag = cuda.shared.array(1, int32)
        t = cuda.threadIdx.x
        if t == 0:
            flag[0] = 0
        if barrier:
            cuda.syncthreads()
        if t == 0:
            cuda.threadfence_block()
            cuda.atomic.exch(flag, 0, 1)
        elif t == 32:
            while cuda.atomic.add(flag, 0, 0) == 0:
                pass
            out[0] = x[0]

    for barrier in (True, False):
        found = _kinds(launch(kernel, 1, 64, np.zeros(1), np.zeros(1), barrier), "error")
        assert found == ([] if barrier else [("race", "error")])


def test_a_syncwarp_of_one_lane_orders_nothing_and_of_half_a_warp_its_half(launch):
    def alone(out):
        s = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        s[t] = t
        cuda.syncwarp(1 << t)
        out[t] = s[t ^ 1]

    def half(out):
        s = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        s[t] = t
        if t < 16:
            cuda.syncwarp(0xFFFF)
            out[t] = s[t ^ 1]
        else:
            cuda.syncwarp(0xFFFF0000)
            out[t] = s[t ^ 1]

    assert _kinds(launch(alone, 1, 32, np.zeros(32)), "error") == [("race", "error")]
    assert _kinds(launch(half, 1, 32, np.zeros(32)), "error") == []


def test_a_race_at_a_line_leaves_nothing_to_say_of_equal_values_there(launch):
    def histogram(x, bins):
        bins[x[cuda.grid(1)]] += 1

    def beside(x, bins):
        bins[x[cuda.grid(1)]] += 1
        bins[2] = 5

    x = np.random.default_rng(1).integers(0, 2, 64)
    assert _kinds(launch(histogram, 2, 32, x, np.zeros(3)), "warning", "error") == [("race", "error")]
    assert set(_kinds(launch(beside, 2, 32, x, np.zeros(3)), "warning", "error")) == {
        ("race", "error"),
        ("same-value-writes", "warning"),
    }


def test_an_endless_loop_is_told_at_its_own_line_and_not_at_one_of_its_body(launch):
    def forgotten_step(x, out):
        i = cuda.grid(1)
        total = 0.0
        while i < x.size:
            total = x[i]
            total *= 2
        out[0] = total

    def outer_loop(x, out):
        i = cuda.grid(1)
        while i < 1000:
            for _ in range(3):
                out[i] = x[i]
            if x[i] > 5:
                i += 1

    def of_a_lock(lock, out):
        for _ in range(2):
            while cuda.atomic.cas(lock, 0, 0, 1) != 0:
                pass
            out[0] += 1

    for kernel, line in ((forgotten_step, 3), (outer_loop, 2), (of_a_lock, 2)):
        found = launch(kernel, 1, 1, np.zeros(4, np.int64), np.zeros(4)).findings
        (endless,) = (f for f in found if f.kind == "endless-wait")
        assert endless.place.line == kernel.__code__.co_firstlineno + line, kernel.__name__
        assert endless.place.text.startswith("while")


def test_the_guide_lists_every_kind_of_finding_by_its_severity():
    calls = [
        (path, node.args)
        for path in (ROOT / "grader" / "simulator").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and len(node.args) > 1
    ]
    severities = {
        (kind.value, severity.attr)
        for _, (kind, severity, *_) in calls
        if isinstance(kind, ast.Constant) and isinstance(severity, ast.Attribute)
        if isinstance(severity.value, ast.Name) and severity.value.id == "Severity"
    }
    assert len(severities) > 20
    told = (ROOT / "docs" / "simulator.md").read_text().partition("## What it finds")[2].partition("\n## ")[0]
    errors, _, others = told.partition("**Warnings**")
    warnings, _, advice = others.partition("**Advice**")
    listed = {
        "ERROR": set(re.findall(r"^\| ([a-z0-9-]+) \|", errors, re.MULTILINE)),
        "WARNING": set(re.findall(r"`([a-z0-9-]+)`", warnings)),
        "ADVICE": set(re.findall(r"`([a-z0-9-]+)`", advice)),
    }
    assert [(kind, severity) for kind, severity in sorted(severities) if kind not in listed[severity]] == []
