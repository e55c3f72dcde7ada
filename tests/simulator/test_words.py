"""What findings say: words that fit what the kernel does, and something to try that helps."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, float32

import grader.simulator as simulator


def by_kind(result):
    return {finding.kind: finding for finding in result.findings}


def within_one_block(x, out):
    i = cuda.threadIdx.x
    if i < out.size:
        out[i] = x[i]


def numbered_by_block(x, out):
    i = cuda.threadIdx.x
    if i < out.size:
        out[i] = cuda.blockIdx.x


@pytest.mark.parametrize(("kernel", "kind"), [(within_one_block, "same-value-writes"), (numbered_by_block, "race")])
def test_an_index_that_is_the_same_in_each_block_is_asked_about_the_blocks_number(launch, kernel, kind):
    found = by_kind(launch(kernel, 4, 256, np.ones(1000, np.float32), np.zeros(1000, np.float32)))
    assert found[kind].advice.endswith("Is cuda.blockIdx left out of the index?")


def one_place(x, out):
    out[0] = x[cuda.grid(1)]


def test_a_place_that_threads_of_one_block_share_is_not_asked_about_blocks(launch):
    found = by_kind(launch(one_place, 1, 64, np.arange(64, dtype=np.float32), np.zeros(1, np.float32)))
    assert "blockIdx" not in found["race"].advice


def all_of_it_by_each(x, out):
    for i in range(out.size):
        out[i] = x[i] * x[i]


def test_threads_that_do_one_anothers_work_are_not_told_to_be_more(launch):
    n = 2000
    found = by_kind(launch(all_of_it_by_each, 4, 128, np.ones(n, np.float32), np.zeros(n, np.float32)))
    assert "is the index the thread's own, as i = cuda.grid(1)?" in found["same-value-writes"].advice
    assert "idle-gpu" not in found


def blurred_in_place(x):
    i = cuda.grid(1)
    if 0 < i < x.size - 1:
        x[i] = (x[i - 1] + x[i] + x[i + 1]) / float32(3)


@pytest.mark.parametrize(("blocks", "both"), [(4, True), (1, False)])
def test_a_stencil_in_place_is_told_what_a_barrier_does_and_what_it_cannot(launch, blocks, both):
    found = by_kind(launch(blurred_in_place, blocks, 256, np.arange(256 * blocks, dtype=np.float32) ** 2))["race"]
    assert "cuda.syncthreads()" in found.advice
    assert ("one block's threads only" in found.advice) == both


def blurred_after_a_barrier(x):
    i = cuda.grid(1)
    mean = float32(0)
    if 0 < i < x.size - 1:
        mean = (x[i - 1] + x[i] + x[i + 1]) / float32(3)
    cuda.syncthreads()
    if 0 < i < x.size - 1:
        x[i] = mean


def test_of_a_race_between_blocks_both_sides_are_named(launch):
    (found,) = launch(blurred_after_a_barrier, 4, 256, np.arange(1000, dtype=np.float32)).findings
    assert "threads of several blocks" in found.what or "of block 1" in found.what


def in_an_if(x, out):
    i = cuda.grid(1)
    if i < x.size:
        out[i] = x[i]
        cuda.syncthreads()


def after_a_return(x, out):
    i = cuda.grid(1)
    if i >= x.size:
        return
    out[i] = x[i]
    cuda.syncthreads()


@pytest.mark.parametrize("kernel", [in_an_if, after_a_return])
def test_threads_that_never_come_to_a_barrier_are_told_of_in_words_for_both_ways(launch, kernel):
    (found,) = launch(kernel, 4, 256, np.ones(1000, np.float32), np.zeros(1000, np.float32)).findings
    assert found.kind == "early-return"
    assert "never come to this barrier" in found.what
    assert "it is in an if" in found.what


@pytest.mark.parametrize(
    ("blocks", "threads", "asked"), [(256, 4, True), (4, 256, False), (100, 8, False), (8, 4, False)]
)
def test_blocks_and_threads_that_look_swapped_are_asked_about(launch, blocks, threads, asked):
    x = np.ones(blocks * threads, np.float32)
    found = by_kind(launch(copied, blocks, threads, x, x.copy()))
    assert ("partial-warps" in found and "swapped?" in found["partial-warps"].advice) == asked


def copied(x, out):
    i = cuda.grid(1)
    out[i] = x[i]


@pytest.mark.parametrize(("dtype", "n", "told"), [(None, 1000, True), (np.float32, 1000, False), (None, 10, False)])
def test_an_array_that_is_float64_for_want_of_a_dtype_is_told_of(dtype, n, told):
    kernel = cuda.jit(copied)
    with simulator.trace() as launches:
        out = cuda.device_array(n, dtype) if dtype else cuda.device_array(n)
        kernel[1, n](cuda.to_device(np.ones(n, np.float32)), out)
    simulator.uninstall()
    found = by_kind(launches[0])
    assert ("float64-array" in found) == told
    if told:
        assert found["float64-array"].what.startswith("out is float64, beside float32 arrays")
