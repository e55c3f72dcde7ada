"""Some blocks of a launch stand for all."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import cuda, float32

from grader.simulator.block_sample import STRETCHES, BlockSample, all_stretches, scaled


@given(st.integers(1, 10**6), st.integers(1, 64), st.integers(1, 200), st.integers(0, 2**32 - 1))
def test_a_sample_has_different_blocks_of_the_launch_and_no_more_than_asked_for(blocks, wanted, together, seed):
    stretches = BlockSample(wanted, seed).stretches(blocks, together)
    chosen = [block for first, count in stretches for block in range(first, first + count)]
    assert chosen == sorted(set(chosen))
    assert 0 <= chosen[0] <= chosen[-1] < blocks
    assert 1 <= len(chosen) <= wanted
    assert all(1 <= count <= together for _, count in stretches)
    if blocks <= wanted:
        assert len(chosen) == blocks


@pytest.mark.parametrize("wanted", [1, 2, 7, 8])
@pytest.mark.parametrize("blocks", [9, 15, 16, 17, 100, 101])
def test_every_block_is_chosen_as_often_as_any_other(blocks, wanted):
    seeds = 2000
    hits = np.zeros(blocks)
    for seed in range(seeds):
        for first, count in BlockSample(wanted, seed).stretches(blocks, 100):
            hits[first : first + count] += 1
    share = hits.mean() / seeds
    parts = min(STRETCHES, wanted, blocks // wanted)
    assert share == pytest.approx((wanted - wanted % parts) / blocks)
    assert np.abs(hits - hits.mean()).max() < 5 * np.sqrt(seeds * share * (1 - share))


def test_stretches_have_neighbours_that_run_together():
    for seed in range(200):
        stretches = BlockSample(16, seed).stretches(201, 200)
        assert sum(count for _, count in stretches) == 16
        assert len(stretches) <= 9
        assert len(stretches) <= 8 or (stretches[0][0], sum(stretches[-1])) == (0, 201)  # one goes over the end


@pytest.mark.parametrize("share", [0.25, 0.5, 0.64])  # with whole stretches, at most one and a part too many
def test_a_part_of_the_grid_has_about_its_share_of_the_sample(share):
    for seed in range(200):
        stretches = BlockSample(16, seed).stretches(4000, 200)
        working = sum(block < share * 4000 for first, count in stretches for block in range(first, first + count))
        assert abs(working - share * 16) <= 3


def test_all_blocks_come_in_order_in_stretches():
    assert all_stretches(10, 4) == [(0, 4), (4, 4), (8, 2)]


def test_sums_are_scaled_and_the_largest_stays():
    assert scaled({"global_loads": 10, "busiest_thread": 3}, 2.5) == {"global_loads": 25, "busiest_thread": 3}


@pytest.mark.parametrize("seed", range(3))
def test_counters_of_a_sample_are_those_of_the_launch_where_blocks_are_alike(launch, seed):
    def kernel(x, out):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        tile[t] = x[i]
        cuda.syncthreads()
        out[i] = tile[63 - t]

    x = np.arange(6400, dtype=np.float32)
    whole = launch(kernel, 100, 64, x, np.zeros_like(x))
    part = launch(kernel, 100, 64, x, np.zeros_like(x), sample=BlockSample(6, seed))
    assert part.counters == whole.counters
    assert part.accesses == whole.accesses
    assert part.lines == whole.lines
