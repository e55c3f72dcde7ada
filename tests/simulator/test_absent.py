"""Who is not there when threads meet: returned before, gone past, not named. And what a part of a warp orders."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, float32, int32

from grader.records import Severity

ALL = 0xFFFFFFFF


def told(launched, *severities):
    wanted = severities or (Severity.ERROR, Severity.WARNING)
    return [f for f in launched.findings if f.severity in wanted]


# ---------------------------------------------------------------------- barriers of blocks


def returns_before(out, n):
    t = cuda.threadIdx.x
    if t >= n:
        return
    out[t] = 1
    cuda.syncthreads()
    out[t] += 1
    if t == 0:
        out[1] += 1


def writes_and_returns_before(out, n):
    t = cuda.threadIdx.x
    if t >= n:
        out[t] = 2
        return
    cuda.syncthreads()
    out[t] = 1


def barrier_in_a_branch_at_the_end(out, n):
    t = cuda.threadIdx.x
    if t < n:
        out[t] = 1
        cuda.syncthreads()


def barrier_in_a_loop_at_the_end(out, n):
    t = cuda.threadIdx.x
    for k in range(t, 2 * n, cuda.blockDim.x):
        out[t] = k
        cuda.syncthreads()


def returns_out_of_a_loop(out, n):
    t = cuda.threadIdx.x
    for k in range(64):
        if k == t and t >= n:
            out[t] = k
            return
        cuda.syncthreads()
    out[t] = 1


def goes_past_it(out, n):
    t = cuda.threadIdx.x
    if t < n:
        cuda.syncthreads()
    out[t] = 1


def goes_past_it_to_a_guard(out, n):
    t = cuda.threadIdx.x
    if t < n:
        cuda.syncthreads()
    if t < 60:
        out[t] = 1


def leaves_a_loop_before_others(out, n):
    t = cuda.threadIdx.x
    total = 0
    for k in range(t, 2 * n, cuda.blockDim.x):
        total += k
        cuda.syncthreads()
    out[t] = total


def leaves_a_while_before_others(out, n):
    k = t = cuda.threadIdx.x
    while k < n:
        cuda.syncthreads()
        k += cuda.blockDim.x
    out[t] = k


def goes_past_a_vote(out, n):
    t = cuda.threadIdx.x
    if t < n:
        cuda.syncthreads_count(t)
    out[t] = 1


@pytest.mark.parametrize(
    "kernel",
    [
        returns_before,
        writes_and_returns_before,
        barrier_in_a_branch_at_the_end,
        barrier_in_a_loop_at_the_end,
        returns_out_of_a_loop,
    ],
    ids=lambda kernel: kernel.__name__,
)
def test_a_thread_that_returns_before_a_barrier_gets_advice(launch, kernel):
    launched = launch(kernel, 2, 64, np.zeros(64), 40)
    assert [f.kind for f in told(launched, Severity.ERROR) if f.kind != "race"] == []
    assert {f.kind for f in told(launched, Severity.ADVICE)} == {"early-return"}


@pytest.mark.parametrize(
    "kernel",
    [
        goes_past_it,
        goes_past_it_to_a_guard,
        leaves_a_loop_before_others,
        leaves_a_while_before_others,
        goes_past_a_vote,
    ],
    ids=lambda kernel: kernel.__name__,
)
def test_a_thread_that_goes_past_a_barrier_is_an_error(launch, kernel):
    launched = launch(kernel, 1, 64, np.zeros(64), 40)
    (error,) = told(launched)
    assert error.kind == "divergent-barrier"
    assert "syncthreads" in error.place.text
    assert "never comes here: it went on to line" in error.what
    assert told(launch(kernel, 1, 64, np.zeros(64), 64)) == []  # or all of them do the same
    assert told(launch(kernel, 2, 64, np.zeros(64), 0), Severity.ERROR) == []


# ---------------------------------------------------------------------- warps


def shuffle_in_a_branch(x, out, n):
    t = cuda.threadIdx.x
    value = x[t]
    if t < n:
        value = cuda.shfl_xor_sync(ALL, value, 1)
    out[t] = value


def vote_in_a_branch(x, out, n):
    t = cuda.threadIdx.x
    vote = 0
    if t < n:
        vote = cuda.ballot_sync(ALL, x[t] > 0)
    out[t] = vote


def match_in_a_branch(x, out, n):
    t = cuda.threadIdx.x
    same = 0
    if t < n:
        same = cuda.match_any_sync(ALL, t)
    out[t] = same


def syncwarp_in_a_branch(x, out, n):
    t = cuda.threadIdx.x
    if t < n:
        cuda.syncwarp()
    out[t] = x[t]


BRANCHES = {
    shuffle_in_a_branch: Severity.ERROR,
    vote_in_a_branch: Severity.ERROR,
    match_in_a_branch: Severity.ERROR,
    syncwarp_in_a_branch: Severity.WARNING,
}


@pytest.mark.parametrize("kernel", BRANCHES, ids=lambda kernel: kernel.__name__)
def test_lanes_that_a_mask_names_and_that_go_past_the_call_are_told(launch, kernel):
    x = np.ones(64, np.float32)
    (error,) = told(launch(kernel, 1, 64, x, np.zeros(64), 16))
    assert (error.kind, error.severity) == ("incomplete-warp", BRANCHES[kernel])
    assert error.count == 16  # and not those of the second warp, none of which comes
    assert "Thread 16 of block 0 (and 15 more of that block) never comes here" in error.what
    for whole in (0, 32, 64):
        assert told(launch(kernel, 1, 64, x, np.zeros(64), whole)) == []


def test_a_mask_names_the_lane_that_calls(launch):
    def kernel(x, out, mask):
        t = cuda.threadIdx.x
        out[t] = cuda.any_sync(mask, x[t] > 0)

    def halves(x, out):
        t = cuda.threadIdx.x
        out[t] = cuda.any_sync(0xFFFF if t < 16 else 0xFFFF0000, x[t] > 0)

    x = np.ones(32, np.float32)
    (error,) = told(launch(kernel, 1, 32, x, np.zeros(32), 0xFFFF))
    assert (error.kind, error.count) == ("incomplete-warp", 16)
    assert "Lane 16 calls this with mask 0xffff, which does not name that lane." in error.what
    assert told(launch(kernel, 1, 32, x, np.zeros(32), -1)) == []
    assert told(launch(kernel, 1, 16, x, np.zeros(32), 0xFFFF)) == []
    assert told(launch(halves, 1, 32, x, np.zeros(32))) == []


def tree(x, out, widest):
    t = cuda.threadIdx.x
    total = x[t]
    offset = widest
    while offset:
        total += cuda.shfl_down_sync(ALL, total, offset)
        offset //= 2
    if cuda.laneid == 0:
        out[t // 32] = total


def test_a_tree_in_whole_warps_says_nothing(launch):
    out = np.zeros(2, np.float32)
    launched = launch(tree, 1, 64, np.arange(64, dtype=np.float32), out, 16)
    assert launched.findings == ()
    assert out.tolist() == [sum(range(32)), sum(range(32, 64))]


def test_a_tree_in_half_a_warp_is_right_and_its_last_lanes_get_advice(launch):
    out = np.zeros(2, np.float32)
    launched = launch(tree, 1, 48, np.arange(48, dtype=np.float32), out, 8)
    assert out.tolist() == [sum(range(16)), sum(range(32, 48))]
    (advice,) = launched.findings
    assert (advice.kind, advice.severity) == ("undefined-shuffle", Severity.ADVICE)
    assert "Lane 8 asks for the value of lane 16, which takes no part" in advice.what


def test_a_tree_that_reaches_for_lanes_that_do_not_exist_gets_garbage_and_a_warning(launch):
    out = np.zeros(2, np.float32)
    launched = launch(tree, 1, 48, np.arange(48, dtype=np.float32), out, 16)
    assert out[0] == sum(range(32))
    assert np.isnan(out[1])
    (warning,) = told(launched)
    assert (warning.kind, warning.severity) == ("undefined-shuffle", Severity.WARNING)


@pytest.mark.parametrize("dtype", [np.float64, np.int32, np.int64])
def test_what_a_lane_gets_of_one_that_has_returned_is_garbage(launch, dtype):
    def kernel(x, out):
        t = cuda.threadIdx.x
        if t == 5:
            return
        out[t] = cuda.shfl_sync(ALL, x[t], 5)

    out = np.zeros(32, dtype)
    launched = launch(kernel, 1, 32, np.arange(32).astype(dtype), out)
    assert {f.kind for f in told(launched)} == {"undefined-shuffle"}
    assert not np.isin(out[6:], np.arange(32)).any()


def test_a_lane_that_the_mask_leaves_out_is_no_source(launch):
    def kernel(x, out):
        t = cuda.threadIdx.x
        mask = 0xFFFF if t < 16 else 0xFFFF0000
        out[t] = cuda.shfl_sync(mask, x[t], 3)

    out = np.zeros(32, np.float32)
    launched = launch(kernel, 1, 32, np.arange(32, dtype=np.float32), out)
    assert [f.kind for f in told(launched)] == ["undefined-shuffle"]
    assert (out[:16] == 3).all()
    assert np.isnan(out[16:]).all()


# ---------------------------------------------------------------------- parts of a warp


def one_half_waits(out, other):
    s = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    s[t] = t
    if t < 16:
        cuda.syncwarp(0xFFFF)
        out[t] = s[t ^ other]


def lanes_that_know_others(out, reader):
    s = cuda.shared.array(32, int32)
    t = cuda.threadIdx.x
    s[t] = t
    if t < 16:
        cuda.syncwarp(0xFFFF)
    if 8 <= t < 24:
        cuda.syncwarp(0xFFFF00)
    if t == reader:
        out[t] = s[0]


def half_and_then_whole(out, other):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = t
    if t < 16:
        cuda.syncwarp(0xFFFF)
    cuda.syncwarp()
    out[t] = s[t ^ other]


def many_read_before_one_writes(out, writer):
    s = cuda.shared.array(32, float32)
    t = cuda.threadIdx.x
    s[t] = t
    cuda.syncwarp()
    if t < 16:
        out[t] = s[0]
        cuda.syncwarp(0xFFFF)
    if t == writer:
        s[0] = 1


@pytest.mark.parametrize(
    ("kernel", "right", "wrong"),
    [
        (one_half_waits, 15, 16),
        (lanes_that_know_others, 20, 30),
        (half_and_then_whole, 31, None),
        (many_read_before_one_writes, 3, 20),
    ],
)
def test_a_syncwarp_orders_the_lanes_of_its_mask_and_no_others(launch, kernel, right, wrong):
    assert told(launch(kernel, 3, 32, np.zeros(32), right), Severity.ERROR) == []
    if wrong is not None:
        assert {f.kind for f in told(launch(kernel, 3, 32, np.zeros(32), wrong), Severity.ERROR)} == {"race"}
