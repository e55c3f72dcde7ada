"""Occupancy by threads and shared memory: figures worked out by hand from the programming guide's table."""

from __future__ import annotations

import pytest

from grader.gpu_models import A100, H100, MODELS, T4, GpuModel, occupancy, resident_blocks


@pytest.mark.parametrize(
    ("gpu", "threads", "shared", "blocks"),
    [
        (T4, 256, 0, 4),  # 1024 threads
        (T4, 32, 0, 16),  # 16 blocks
        (T4, 1024, 0, 1),
        (T4, 33, 0, 16),  # two warps each
        (T4, 96, 0, 10),
        (T4, 128, 20 << 10, 3),  # 64 KiB of shared memory
        (A100, 256, 0, 8),
        (A100, 64, 0, 32),
        (H100, 256, 48 << 10, 4),
    ],
)
def test_blocks_are_limited_by_threads_blocks_and_shared_memory(
    gpu: GpuModel, threads: int, shared: int, blocks: int
) -> None:
    assert resident_blocks(gpu, threads, shared) == blocks


def test_occupancy_is_the_fraction_of_warps() -> None:
    assert occupancy(T4, 256, 0) == 1.0
    assert occupancy(T4, 32, 0) == 0.5
    assert occupancy(T4, 33, 0) == 1.0
    assert occupancy(T4, 128, 20 << 10) == 3 * 128 / 1024


@pytest.mark.parametrize("gpu", MODELS.values(), ids=MODELS)
def test_a_block_of_the_largest_size_fits_each_model(gpu: GpuModel) -> None:
    assert resident_blocks(gpu, gpu.max_threads_per_block, gpu.max_shared_bytes_per_block) >= 1
