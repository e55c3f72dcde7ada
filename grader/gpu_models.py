"""GPU models: the limits and attributes that a launch is held against when no GPU is there.

Numbers are NVIDIA's: CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability",
and the data sheets of the cards.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GpuModel:
    """What a launch may ask of a GPU. Sizes in bytes, clock in kHz."""

    name: str
    compute_capability: tuple[int, int]
    multiprocessors: int
    max_threads_per_block: int = 1024
    max_block: tuple[int, int, int] = (1024, 1024, 64)
    max_grid: tuple[int, int, int] = (2**31 - 1, 65535, 65535)
    max_shared_bytes_per_block: int = 48 << 10
    max_threads_per_multiprocessor: int = 1024
    shared_bytes_per_multiprocessor: int = 64 << 10
    registers_per_multiprocessor: int = 65536
    warp_size: int = 32
    clock_khz: int = 1_590_000
    memory_bytes: int = 16 << 30


T4 = GpuModel("Tesla T4", (7, 5), 40)

# The simulated device's model: the smallest GPU that a course is likely to meet, so that a launch accepted
# here is accepted on all newer ones.
DEFAULT = T4
