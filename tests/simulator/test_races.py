"""Races are found where nothing orders two accesses, and only there: each right kernel stands beside a wrong twin."""

# mypy: ignore-errors
from __future__ import annotations

import inspect
import textwrap

import numpy as np
import pytest
from numba import cuda, float32, int32

from grader.records import Severity

N = 256


def tree(x, out):
    s = cuda.shared.array(N, float32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    s[t] = x[i] if i < x.size else float32(0)
    cuda.syncthreads()  # the tile is complete
    stride = N // 2
    while stride > 0:
        if t < stride:
            s[t] += s[t + stride]
        cuda.syncthreads()  # the round is complete
        stride //= 2
    if t == 0:
        cuda.atomic.add(out, 0, s[0])


def tile(x, out):
    s = cuda.shared.array((16, 16), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = float32(0)
    for k in range(4):
        s[ty, tx] = x[(ty * 16 + tx + k) % x.size]
        cuda.syncthreads()  # fetched
        total += s[tx, ty]
        cuda.syncthreads()  # used
    out[ty * 16 + tx] = total


def last_warp(x, out):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    s[t] = x[t]
    cuda.syncthreads()
    if t < 32:
        s[t] += s[t + 32]
        cuda.syncwarp()  # 16
        for turn in range(5):
            stride = 16 >> turn
            value = s[t] + s[t + stride] if t < stride else s[t]
            cuda.syncwarp()  # read before written
            s[t] = value
            cuda.syncwarp()  # written before read
        if t == 0:
            out[0] = s[0]


def ticket(x, partial, count, out):
    last = cuda.shared.array(1, int32)
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    if t == 0:
        partial[b] = x[b]
        cuda.threadfence()  # published
        last[0] = cuda.atomic.add(count, 0, 1) == cuda.gridDim.x - 1
    cuda.syncthreads()
    if last[0] and t == 0:
        total = float32(0)
        for k in range(cuda.gridDim.x):
            total += partial[k]
        out[0] = total


def lock(mutex, out):
    while cuda.atomic.cas(mutex, 0, 0, 1) != 0:
        pass
    out[0] += 1
    cuda.threadfence()  # before the lock is free
    cuda.atomic.exch(mutex, 0, 0)


def neighbours(x, out):
    """A block's own stretch of global memory, exchanged through a barrier."""
    t, i = cuda.threadIdx.x, cuda.grid(1)
    out[i] = x[i]
    cuda.syncthreads()  # written
    value = out[i] + out[cuda.blockIdx.x * cuda.blockDim.x + (t + 1) % cuda.blockDim.x]
    cuda.syncthreads()  # read
    out[i] = value


def histogram(x, out):
    s = cuda.shared.array(16, int32)
    t = cuda.threadIdx.x
    if t < 16:
        s[t] = 0
    cuda.syncthreads()  # empty
    cuda.atomic.add(s, int32(x[cuda.grid(1)] * 16) % 16, 1)
    cuda.syncthreads()  # counted
    if t < 16:
        cuda.atomic.add(out, t, s[t])


def in_place(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] = 2 * x[i]
        x[i] += 1


F, I = np.float32, np.int32
RIGHT = {
    tree: (4, N, lambda: (np.ones(1000, F), np.zeros(1, F))),
    tile: (1, (16, 16), lambda: (np.ones(300, F), np.zeros(256, F))),
    last_warp: (1, 64, lambda: (np.arange(64, dtype=F), np.zeros(1, F))),
    ticket: (50, 64, lambda: (np.ones(50, F), np.zeros(50, F), np.zeros(1, I), np.zeros(1, F))),
    lock: (3, 8, lambda: (np.zeros(1, I), np.zeros(1, I))),
    neighbours: (4, 64, lambda: (np.ones(256, F), np.zeros(256, F))),
    histogram: (4, 64, lambda: (np.random.default_rng(1).random(256).astype(F), np.zeros(16, I))),
    in_place: (4, 64, lambda: (np.ones(250, F),)),
}
# A line of a right kernel, what stands there instead, and the array that is raced for.
WRONG = {
    ("tree", "cuda.syncthreads()  # the tile is complete"): "s",
    ("tree", "cuda.syncthreads()  # the round is complete"): "s",
    ("tile", "cuda.syncthreads()  # fetched"): "s",
    ("tile", "cuda.syncthreads()  # used"): "s",
    ("last_warp", "cuda.syncwarp()  # 16"): "s",
    ("last_warp", "cuda.syncwarp()  # read before written"): "s",
    ("last_warp", "cuda.syncwarp()  # written before read"): "s",
    ("ticket", "cuda.threadfence()  # published"): "partial",
    ("lock", "cuda.threadfence()  # before the lock is free"): "out",
    ("neighbours", "cuda.syncthreads()  # written"): "out",
    ("neighbours", "cuda.syncthreads()  # read"): "out",
    ("histogram", "cuda.syncthreads()  # empty"): "s",
}


@pytest.mark.parametrize("kernel", RIGHT, ids=lambda kernel: kernel.__name__)
def test_right_kernels_race_for_nothing(launch, kernel):
    grid, block, arguments = RIGHT[kernel]
    findings = launch(kernel, grid, block, *arguments()).findings
    assert [str(finding) for finding in findings if finding.severity != "advice"] == []


@pytest.mark.parametrize(("name", "line"), WRONG)
def test_one_line_less_is_a_race(launch, tmp_path, name, line):
    kernel = globals()[name]
    text = textwrap.dedent(inspect.getsource(kernel))
    assert line in text
    path = tmp_path / "kernels.py"
    path.write_text(text.replace(line, "pass"))
    scope = {"cuda": cuda, "float32": float32, "int32": int32, "N": N}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    grid, block, arguments = RIGHT[kernel]
    findings = launch(scope[name], grid, block, *arguments()).findings
    races = [finding for finding in findings if finding.kind == "race"]
    assert races, findings
    assert {finding.array for finding in races} == {WRONG[name, line]}
    assert all(finding.severity is Severity.ERROR for finding in races)


def test_a_plain_counter_and_a_plain_maximum_are_races(launch):
    def count(out):
        out[0] += 1

    def largest(x, out):
        if x[cuda.grid(1)] > out[0]:
            out[0] = x[cuda.grid(1)]

    assert {f.kind for f in launch(count, 2, 32, np.zeros(1)).findings} >= {"race"}
    assert {f.kind for f in launch(largest, 2, 32, np.arange(64.0), np.zeros(1)).findings} >= {"race"}


def test_equal_values_and_reads_beside_atomics_are_warnings(launch):
    def flag(x, out):
        if x[cuda.grid(1)] > 0:
            out[0] = 1

    def peek(x, out):
        cuda.atomic.add(out, 0, 1)
        x[cuda.grid(1)] = out[0]

    (same,) = launch(flag, 2, 32, np.ones(64), np.zeros(1)).findings
    assert (same.kind, same.severity.value) == ("same-value-writes", "warning")
    (mixed,) = launch(peek, 2, 32, np.ones(64), np.zeros(1)).findings
    assert (mixed.kind, mixed.severity.value) == ("mixed-atomic", "warning")


def test_a_race_is_told_with_both_threads_and_lines(launch):
    def kernel(out):
        s = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        s[t] = t
        out[t] = s[31 - t]

    (race,) = launch(kernel, 1, 32, np.zeros(32, np.int32)).findings
    assert race.what == (
        f"Race on s: thread 0 of block 0 reads what thread 31 of block 0 wrote "
        f"at line {race.place.line - 1}, and no barrier is in between."
    )
    assert race.place.text == "out[t] = s[31 - t]"
    assert race.count == 32


def test_a_race_between_blocks_over_a_first_value_is_told_that_no_barrier_orders_them(launch):
    def kernel(x, out):
        if cuda.grid(1) == 0:
            out[0] = 0
        cuda.syncthreads()
        cuda.atomic.add(out, 0, x[cuda.grid(1)])

    races = [f for f in launch(kernel, 3, 32, np.ones(96), np.zeros(1)).findings if f.kind == "race"]
    assert races
    assert all("different blocks" in race.what for race in races)
    assert all(race.advice.startswith("No barrier orders blocks") for race in races)


def test_reading_what_nobody_wrote_is_an_error(launch):
    def kernel(out):
        s = cuda.shared.array(64, float32)
        mine = cuda.local.array(2, float32)
        t = cuda.threadIdx.x
        if t < 60:
            s[t] = t
        mine[t % 2] = 1
        cuda.syncthreads()
        out[t] = s[t] + mine[1]

    findings = {finding.array: finding for finding in launch(kernel, 3, 64, np.zeros(64, np.float32)).findings}
    assert findings["s"].kind == findings["mine"].kind == "uninitialised-read"
    assert (findings["s"].count, findings["mine"].count) == (12, 96)
    assert findings["s"].severity is Severity.ERROR
    assert "60 of block 0" in findings["s"].what


def test_a_blocks_shared_memory_is_its_own(launch):
    def kernel(out):
        s = cuda.shared.array(1, int32)
        if cuda.blockIdx.x == 0:
            s[0] = 7
        cuda.syncthreads()
        out[cuda.blockIdx.x] = s[0]

    (finding,) = [f for f in launch(kernel, 2, 1, np.zeros(2, np.int32)).findings if f.array == "s"]
    assert finding.kind == "uninitialised-read"
    assert finding.count == 1


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64, np.complex64, np.complex128])
def test_not_a_number_is_a_value_that_threads_may_agree_on(launch, dtype):
    def within_a_block(x, flag):
        t = cuda.threadIdx.x
        if x[t] != x[t]:
            flag[0] = x[t]

    def between_blocks(x, flag):
        if cuda.threadIdx.x == 0:
            flag[0] = x[0]

    x = np.full(32, np.nan, dtype)
    for kernel in (within_a_block, between_blocks):
        found = launch(kernel, 3, 32, x, np.zeros(1, dtype)).findings
        assert {f.kind for f in found} == {"same-value-writes"}, kernel.__name__


def one_block_sets_it_up(total, out):
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    if b == 1 and t == 0:
        total[0] = 0
    cuda.syncthreads()
    if b == 1:
        cuda.atomic.add(total, 0, 1)
    if b == 0:
        cuda.atomic.add(total, 0, 1)  # may come before the zero
    cuda.syncthreads()
    out[b] = 1


def one_thread_sets_it_up(total, out):
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    if b == 1 and t == 0:
        total[0] = 0
    cuda.syncthreads()
    if b == 1 and t == 0:
        cuda.atomic.add(total, 0, 1)
    if b == 0:
        cuda.atomic.add(total, 0, 1)
    cuda.syncthreads()
    out[b] = 1


def set_up_and_overwritten(total, out):
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    if b == 1 and t == 0:
        total[0] = 0
    cuda.syncthreads()
    if b == 1:
        cuda.atomic.add(total, 0, 1)
    if b == 0 and t == 0:
        total[0] = 5
    cuda.syncthreads()
    out[b] = 1


def set_up_for_the_grid(total, out):
    grid = cuda.cg.this_grid()
    b, t = cuda.blockIdx.x, cuda.threadIdx.x
    if b == 1 and t == 0:
        total[0] = 0
    cuda.syncthreads()
    if b == 1:
        cuda.atomic.add(total, 0, 1)
    grid.sync()
    if b == 0:
        cuda.atomic.add(total, 0, 1)
    out[b] = 1


@pytest.mark.parametrize(
    ("kernel", "races"),
    [
        (one_block_sets_it_up, True),
        (one_thread_sets_it_up, True),
        (set_up_and_overwritten, True),
        (set_up_for_the_grid, False),
    ],
)
def test_a_barrier_and_atomics_of_its_own_block_do_not_order_a_write_for_other_blocks(launch, kernel, races):
    errors = [
        f for f in launch(kernel, 2, 32, np.zeros(1, np.int32), np.zeros(2)).findings if f.severity.value == "error"
    ]
    assert ("race" in {f.kind for f in errors if f.array == "total"}) == races
    assert bool(errors) == races


def last_block_reads(total, out):
    i = cuda.grid(1)
    cuda.atomic.add(total, 0, 1)
    cuda.syncthreads()
    if i == 127:
        total[0] = total[0] * 2  # others may still add


def last_warp_reads(total, out):
    s = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(s, 0, 1)
    cuda.syncwarp()
    if t == 63:
        out[cuda.blockIdx.x] = s[0]


def last_thread_reads(total, out):
    s = cuda.shared.array(1, int32)
    t = cuda.threadIdx.x
    if t == 0:
        s[0] = 0
    cuda.syncthreads()
    cuda.atomic.add(s, 0, 1)
    if t == 63:
        out[cuda.blockIdx.x] = s[0]


@pytest.mark.parametrize("kernel", [last_block_reads, last_warp_reads, last_thread_reads])
def test_who_is_last_at_an_atomic_operation_races_with_the_others(launch, kernel):
    errors = {
        f.kind
        for f in launch(kernel, 2, 64, np.zeros(1, np.int32), np.zeros(2)).findings
        if f.severity.value == "error"
    }
    assert errors == {"race"}
    text = textwrap.dedent(inspect.getsource(kernel))
    ordered = text.replace("cuda.syncwarp()", "cuda.syncthreads()").replace(
        "1)\n    if t == 63", "1)\n    cuda.syncthreads()\n    if t == 63"
    )
    if kernel is not last_block_reads:
        scope = {"cuda": cuda, "int32": int32}
        exec(compile(ordered, __file__, "exec"), scope)
        found = launch(scope[kernel.__name__], 2, 64, np.zeros(1, np.int32), np.zeros(2)).findings
        assert not [f for f in found if f.severity.value == "error"]


def reads_rows(x, out):
    s = cuda.shared.array((4, 32), float32)
    t = cuda.threadIdx.x
    other = 31 - t  # the same register in each turn
    for k in range(4):
        s[k, t] = x[t]
    cuda.syncthreads()  # filled
    total = float32(0)
    for k in range(4):
        total += s[k, other]
    cuda.syncthreads()  # read
    s[3, t] = total
    out[t] = s[3, t]


def writes_while_others_read_the_last_row(x, out):
    s = cuda.shared.array((4, 32), float32)
    t = cuda.threadIdx.x
    other = 31 - t  # the same register in each turn
    for k in range(4):
        s[k, t] = x[t]
    cuda.syncthreads()
    total = float32(0)
    for k in range(4):
        total += s[k, other]
    s[3, t] = total
    out[t] = s[3, t]


def reads_a_row_that_nobody_wrote(x, out):
    s = cuda.shared.array((4, 32), float32)
    t = cuda.threadIdx.x
    other = 31 - t  # the same register in each turn
    for k in range(3):
        s[k, t] = x[t]
    cuda.syncthreads()
    total = float32(0)
    for k in range(4):
        total += s[k, other]
    out[t] = total


def reads_a_row_too_many(x, out):
    s = cuda.shared.array((4, 32), float32)
    t = cuda.threadIdx.x
    other = 31 - t  # the same register in each turn
    for k in range(4):
        s[k, t] = x[t]
    cuda.syncthreads()
    total = float32(0)
    for k in range(5):
        total += s[k, other]
    out[t] = total


@pytest.mark.parametrize(
    ("kernel", "kinds"),
    [
        (reads_rows, set()),
        (writes_while_others_read_the_last_row, {"race"}),
        (reads_a_row_that_nobody_wrote, {"uninitialised-read"}),
        (reads_a_row_too_many, {"out-of-bounds"}),
    ],
)
def test_what_a_later_turn_of_a_loop_reads_is_looked_at_like_the_first(launch, kernel, kinds):
    result = launch(kernel, 2, 32, np.arange(32, dtype=F), np.zeros(32, F))
    assert {finding.kind for finding in result.findings if finding.severity is Severity.ERROR} == kinds


def writes_after_a_barrier_that_another_block_is_late_for(turns, out):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    late, early = (turns, 3 * turns) if cuda.blockIdx.x == 1 else (0, 3 * turns)
    total = float32(0)
    for k in range(late):
        total = total + k if total < 99 else float32(0)
    cuda.syncthreads()
    if cuda.blockIdx.x == 0:
        s[t] = t
        for k in range(early):
            total = total + k if total < 99 else float32(0)
        cuda.syncthreads()  # in block 0 alone
        s[63 - t] = total
    out[cuda.grid(1)] = total


def reads_after_a_barrier_that_another_block_is_late_for(turns, out):
    s = cuda.shared.array(64, float32)
    t = cuda.threadIdx.x
    late, early = (turns, 3 * turns) if cuda.blockIdx.x == 1 else (0, 3 * turns)
    total = float32(0)
    s[t] = t
    for k in range(late):
        total = total + k if total < 99 else float32(0)
    cuda.syncthreads()
    if cuda.blockIdx.x == 0:
        total += s[63 - t]
        for k in range(early):
            total = total + k if total < 99 else float32(0)
        cuda.syncthreads()  # in block 0 alone
        s[t] = total
    out[cuda.grid(1)] = total


@pytest.mark.parametrize("turns", [10, 200, 500])
@pytest.mark.parametrize(
    "kernel",
    [writes_after_a_barrier_that_another_block_is_late_for, reads_after_a_barrier_that_another_block_is_late_for],
)
def test_a_block_that_comes_late_to_a_barrier_hides_no_race_of_one_that_is_past_it(launch, kernel, turns):
    assert [f for f in launch(kernel, 2, 64, turns, np.zeros(128, F)).findings if f.severity is Severity.ERROR] == []
    scope = {"cuda": cuda, "float32": float32}
    text = inspect.getsource(kernel).replace("cuda.syncthreads()  # in block 0 alone", "pass")
    exec(compile(text, __file__, "exec"), scope)
    found = launch(scope[kernel.__name__], 2, 64, turns, np.zeros(128, F)).findings
    assert {f.kind for f in found if f.severity is Severity.ERROR} == {"race"}


def waits_for_the_other_block(data, flag, out):
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    if b == 0:
        if t == 0:
            while cuda.atomic.add(flag, 0, 0) == 0:  # until it is there
                pass
        cuda.syncthreads()
        out[t] = data[t]
    else:
        data[t] = t
        cuda.threadfence()
        cuda.syncthreads()
        if t == 0:
            cuda.atomic.exch(flag, 0, 1)


def waits_for_all_blocks(data, count, out):
    t, b = cuda.threadIdx.x, cuda.blockIdx.x
    if b > 0:
        data[t] = t
        cuda.threadfence()
    cuda.syncthreads()
    if t == 0:
        cuda.atomic.add(count, 0, 1)  # all blocks with one instruction, block 0 first
        while cuda.atomic.add(count, 0, 0) < 2:  # until it is there
            pass
    cuda.syncthreads()
    if b == 0:
        out[t] = data[t]


@pytest.mark.parametrize("kernel", [waits_for_the_other_block, waits_for_all_blocks])
@pytest.mark.parametrize("waits", [True, False])
def test_an_atomic_that_comes_before_the_one_that_publishes_sees_nothing(launch, kernel, waits):
    lines = inspect.getsource(kernel).split("\n")
    once = {"== 0:  # until": "if cuda.atomic.add(flag, 0, 0) == 0:", "< 2:  # until": "if t > 0:"}
    for number, line in enumerate(lines):
        for end, instead in once.items():
            if end in line and not waits:
                lines[number] = line[: line.index("while")] + instead
    scope = {"cuda": cuda}
    exec(compile("\n".join(lines), __file__, "exec"), scope)
    result = launch(scope[kernel.__name__], 2, 64, np.zeros(64), np.zeros(1, np.int32), np.zeros(64))
    errors = {(f.kind, f.array) for f in result.findings if f.severity is Severity.ERROR}
    assert errors == (set() if waits else {("race", "data")})
