"""Some blocks of what was raced, simulated: they take the way that they took when all of them ran."""

# mypy: ignore-errors
from __future__ import annotations

import json

import numpy as np
import pytest

from grader import racing
from grader.baseline import Baseline
from grader.devices.beside_gpu import MOST_COUNTERS, _between
from grader.judge import Candidate, NotMeasured, Settings
from grader.judged_race import Terms
from grader.plan_dtypes import plan_dtype
from grader.plan_memory import View
from grader.submission import read_submission

from .conftest import LIMITS, MS, Twice

BLOCKS, THREADS = 40, 64
N = BLOCKS * THREADS
# Honest kernels read each element of x once, others sixteen times.
TEXT = """
import random
import numpy as np
from numba import cuda, float32, int32

@cuda.jit(device=True)
def honest(x, out, i):
    out[i] = 2 * x[i]

@cuda.jit(device=True)
def other(x, out, i):
    for _ in range(16):
        out[i] = 2 * x[i]

{kernels}

def twice(x, out):
    blocks = (x.size + 63) // 64
{host}
"""
KERNEL = """
@cuda.jit
def student_kernel(x, out, s):
    i = cuda.grid(1)
    block = cuda.blockIdx.x
    first = cuda.shared.array(1, int32)
    {before}
    if {seen}:
        other(x, out, i)
    else:
        honest(x, out, i)
    {after}
"""
TICKET = "if cuda.threadIdx.x == 0: first[0] = cuda.atomic.add(s, 0, 1)\n    cuda.syncthreads()"
ZEROS = "    s = cuda.to_device(np.zeros(64, np.int32))"
LAUNCH = "    student_kernel[blocks, 64](x, out, s)"
MARK = """
@cuda.jit
def mark(s):
    if cuda.threadIdx.x == 0:
        s[cuda.blockIdx.x] = {value}
"""


def kernel(seen, before="pass", after="pass"):
    return KERNEL.format(seen=seen, before=before, after=after)


ALL_MARKED = "s[0] + s[7] + s[13] + s[22] + s[39] == 5"
CHEATS = {
    "flags of an earlier launch": (
        MARK.format(value=1) + kernel(ALL_MARKED),
        [ZEROS, "    mark[40, 64](s)", LAUNCH],
    ),
    "numbers of an earlier launch": (
        MARK.format(value="3 * cuda.blockIdx.x + 1") + kernel("s[7] == 22 and s[39] == 118"),
        [ZEROS, "    mark[40, 64](s)", LAUNCH],
    ),
    "flags of the same launch": (
        kernel(ALL_MARKED, after="if cuda.threadIdx.x == 0: s[block] = 1"),
        [ZEROS, LAUNCH],
    ),
    "what other blocks have written to out": (
        kernel("out[0] == 2 * x[0] and out[1300] == 2 * x[1300] and out[2559] == 2 * x[2559]"),
        ["    s = cuda.device_array(64, np.int32)", LAUNCH],
    ),
    "a ticket that few blocks do not draw": (kernel("first[0] >= 8", before=TICKET), [ZEROS, LAUNCH]),
    "a ticket that only all blocks draw": (
        kernel("first[0] >= 8 and first[0] < 36", before=TICKET),
        [ZEROS, LAUNCH],
    ),
    "a ticket that begins with a copied number": (
        kernel("first[0] >= 1008", before=TICKET),
        ["    s = cuda.to_device(np.full(64, 1000, np.int32))", LAUNCH],
    ),
    "what unwritten memory holds in a race": (
        kernel("s[0] == -1"),
        ["    s = cuda.device_array(64, np.int32)", LAUNCH],
    ),
}

PARTIALS = """
@cuda.jit
def partials(x, s):
    i = cuda.grid(1)
    cuda.atomic.add(s, cuda.blockIdx.x, int32(1))

@cuda.jit
def student_kernel(x, out, s):
    i = cuda.grid(1)
    honest(x, out, i)
    if s[cuda.blockIdx.x] != 64:
        other(x, out, i)
"""
IN_PLACE = """
@cuda.jit
def student_kernel(x, out, s):
    i = cuda.grid(1)
    out[i] = x[i]
    out[i] += out[i]
"""
LAST_BLOCK = """
@cuda.jit
def student_kernel(x, out, s):
    i = cuda.grid(1)
    last = cuda.shared.array(1, int32)
    honest(x, out, i)
    cuda.threadfence()
    if cuda.threadIdx.x == 0:
        last[0] = cuda.atomic.add(s, 0, 1)
    cuda.syncthreads()
    if last[0] == cuda.gridDim.x - 1 and cuda.threadIdx.x == 0:
        s[1] = 1
"""
ADDED_TO = """
@cuda.jit
def student_kernel(x, out, s):
    i = cuda.grid(1)
    out[i] += 2 * x[i]
"""
HONEST = {
    "partial results of an earlier launch": (PARTIALS, [ZEROS, "    partials[blocks, 64](x, s)", LAUNCH]),
    "in place": (IN_PLACE, ["    s = out", LAUNCH]),
    "the last block knows that it is the last": (LAST_BLOCK, [ZEROS, LAUNCH]),
    "added to what was filled": (ADDED_TO, ["    s = out; out[:] = 0", LAUNCH]),
    "two streams": (
        IN_PLACE,
        ["    s = out; a = cuda.stream(); student_kernel[blocks, 64, a](x, out, s); a.synchronize()"],
    ),
    "a tuple of arrays": (
        "@cuda.jit\ndef student_kernel(both):\n    i = cuda.grid(1)\n    honest(both[0], both[1], i)",
        ["    student_kernel[blocks, 64]((x, out))"],
    ),
}


@pytest.fixture
def raced(fake_children, tmp_path, monkeypatch):
    """``raced(kernels, host)`` has been raced with 40 blocks on the GPU that is none."""
    children, script = fake_children
    monkeypatch.setattr("grader.gpu_lock.PLACES", (tmp_path,))
    monkeypatch.setattr("grader.machine_cache.user_cache_path", lambda _: tmp_path / "cache")
    monkeypatch.setattr(racing, "baseline_time", lambda *_: Baseline(10 * MS, 10 * MS))

    def make(kernels, host, seed=3):
        for left in script.parent.glob(f"{script.stem}.*"):
            left.unlink()
        script.write_text(json.dumps({"ns": {"student_kernel": 0.5 * MS, "other_kernel": 0.5 * MS}}))
        (tmp_path / "kernels.py").write_text(TEXT.format(kernels=kernels, host="\n".join(host)))
        settings = Settings(device="cuda", seed=seed, limits=LIMITS, race=Terms(min_speedup=3, full_at=0.5))
        candidate = Candidate(read_submission(tmp_path), {"twice": Twice()}, children, settings)
        candidate.race(n=N)
        return candidate

    return make


def reads_once(candidate):
    candidate.simulate(n=N, blocks=4).require("loads_of_x", at_most=2 * N)


@pytest.mark.parametrize("how", CHEATS)
def test_blocks_cannot_tell_that_only_some_of_them_run(raced, how):
    with pytest.raises(NotMeasured, match="too many reads of x"):
        reads_once(raced(*CHEATS[how]))


@pytest.mark.parametrize("dtype", ["u1", "i2", "u4", "i8", "u8"])
@pytest.mark.parametrize("size", [5, 1 << 18])
def test_meanwhile_counters_have_come_part_of_the_way_and_what_did_not_change_has_not(dtype, size):
    limits = np.iinfo(dtype)
    before, after = np.full(size, limits.min, dtype), np.full(size, limits.max, dtype)
    after[1::2] = limits.min
    view = View(buffer=0, offset=0, dtype=plan_dtype(np.dtype(dtype)), shape=(size,), strides=(limits.bits // 8,))
    made = _between(before.view(np.uint8), after.view(np.uint8), view, 0.25, np.random.default_rng(1)).view(dtype)
    assert (made[1::2] == limits.min).all()
    if limits.bits == 64 and size > MOST_COUNTERS:
        assert set(made[::2]) == {limits.min, limits.max}
    else:
        share = (int(made[0]) - limits.min) / (limits.max - limits.min)
        assert share == pytest.approx(0.25, abs=0.01)
        assert (made[::2] == made[0]).all()


@pytest.mark.parametrize("how", HONEST)
def test_what_blocks_learn_of_each_other_changes_nothing_where_they_are_honest(raced, how):
    reads_once(raced(*HONEST[how]))


def test_each_launch_of_a_plan_finds_what_the_ones_before_it_have_left(raced):
    kernels = MARK.format(value=1) + kernel("s[block] != 1 and s[50] != 7")
    host = [ZEROS, "    mark[blocks, 64](s)", LAUNCH, "    s[:] = 0; s[50:] = 7", LAUNCH]
    run = raced(kernels, host).simulate(n=N, blocks=4)
    assert run.launches == 3
    assert run.loads_of_x == 2 * N


def test_the_plan_that_was_raced_is_looked_at_even_if_host_code_is_of_another_mind_each_time(raced, fake_children):
    _, script = fake_children
    kernels = kernel("False") + kernel("True").replace("student_kernel", "other_kernel")
    host = [ZEROS, f"    if random.random() < 0.5:\n    {LAUNCH}\n    else:\n    {LAUNCH.replace('student', 'other')}"]
    seen = set()
    for seed in range(8):
        candidate = raced(kernels, host, seed)
        is_other = script.with_suffix(".other_kernel").exists()
        seen.add(is_other)
        assert (candidate.simulate(n=N, blocks=4).loads_of_x > 2 * N) == is_other
    assert seen == {True, False}
