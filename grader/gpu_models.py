"""GPU models: the limits and attributes that a launch is held against when no GPU is there.

Any process may import it. In: a model's name, a launch's threads and bytes. Out: limits, how many blocks are resident.

Numbers are NVIDIA's: CUDA C++ Programming Guide, table "Technical
Specifications per Compute Capability", and the data sheets of the cards.
"""

from __future__ import annotations

from dataclasses import dataclass

# Of every NVIDIA GPU so far: threads of a warp, and bytes that global memory moves at the least.
WARP_SIZE = 32
SECTOR_BYTES = 32


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
    max_blocks_per_multiprocessor: int = 16
    shared_bytes_per_multiprocessor: int = 64 << 10
    registers_per_multiprocessor: int = 65536
    warp_size: int = WARP_SIZE
    clock_khz: int = 1_590_000
    memory_bytes: int = 16 << 30

    def attributes(self) -> dict[str, int]:
        """What a script may ask a device: the driver's names (``CU_DEVICE_ATTRIBUTE_…``) with this GPU's numbers."""
        major, minor = self.compute_capability
        by_axis = {
            f"MAX_{what}_DIM_{axis}": limit
            for what, limits in (("BLOCK", self.max_block), ("GRID", self.max_grid))
            for axis, limit in zip("XYZ", limits, strict=True)
        }
        return {
            "COMPUTE_CAPABILITY_MAJOR": major,
            "COMPUTE_CAPABILITY_MINOR": minor,
            "WARP_SIZE": self.warp_size,
            "MAX_THREADS_PER_BLOCK": self.max_threads_per_block,
            "MULTIPROCESSOR_COUNT": self.multiprocessors,
            "MAX_SHARED_MEMORY_PER_BLOCK": self.max_shared_bytes_per_block,
            "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": self.shared_bytes_per_multiprocessor,
            "MAX_THREADS_PER_MULTIPROCESSOR": self.max_threads_per_multiprocessor,
            "MAX_THREADS_PER_MULTI_PROCESSOR": self.max_threads_per_multiprocessor,
            "MAX_BLOCKS_PER_MULTIPROCESSOR": self.max_blocks_per_multiprocessor,
            "MAX_REGISTERS_PER_BLOCK": self.registers_per_multiprocessor,
            "MAX_REGISTERS_PER_MULTIPROCESSOR": self.registers_per_multiprocessor,
            "CLOCK_RATE": self.clock_khz,
            **by_axis,
        }


# By compute capability: threads and blocks that a multiprocessor holds at a time, and its shared memory in KiB.
_RESIDENT = {
    (7, 5): (1024, 16, 64),
    (8, 0): (2048, 32, 164),
    (8, 6): (1536, 16, 100),
    (8, 9): (1536, 24, 100),
    (9, 0): (2048, 32, 228),
}


def _card(name: str, capability: tuple[int, int], multiprocessors: int, *, clock_mhz: int, memory_gib: int) -> GpuModel:
    threads, blocks, shared_kib = _RESIDENT[capability]
    return GpuModel(
        name,
        capability,
        multiprocessors,
        max_threads_per_multiprocessor=threads,
        max_blocks_per_multiprocessor=blocks,
        shared_bytes_per_multiprocessor=shared_kib << 10,
        clock_khz=1000 * clock_mhz,
        memory_bytes=memory_gib << 30,
    )


T4 = _card("Tesla T4", (7, 5), 40, clock_mhz=1590, memory_gib=16)
A100 = _card("NVIDIA A100", (8, 0), 108, clock_mhz=1410, memory_gib=40)
RTX_3060 = _card("NVIDIA GeForce RTX 3060", (8, 6), 28, clock_mhz=1777, memory_gib=12)
L4 = _card("NVIDIA L4", (8, 9), 58, clock_mhz=2040, memory_gib=24)
RTX_4090 = _card("NVIDIA GeForce RTX 4090", (8, 9), 128, clock_mhz=2520, memory_gib=24)
H100 = _card("NVIDIA H100", (9, 0), 132, clock_mhz=1980, memory_gib=80)
# What a person types for ``--gpu``.
MODELS = {"t4": T4, "a100": A100, "rtx3060": RTX_3060, "l4": L4, "rtx4090": RTX_4090, "h100": H100}

# The simulated device's model: the smallest GPU that a course is likely to meet, so that a launch accepted
# here is accepted on all newer ones.
DEFAULT = T4


def resident_blocks(gpu: GpuModel, threads: int, shared_bytes: int) -> int:
    """How many blocks of so many threads and bytes of shared memory a multiprocessor holds at a time; 0 if none.

    By threads (in whole warps), blocks and shared memory. Registers are not known without the compiled code: a
    kernel that needs many may get fewer blocks. CUDA C++ Programming Guide, "Multiprocessor Level".
    """
    warps = -(-threads // gpu.warp_size)
    fits = [
        gpu.max_blocks_per_multiprocessor,
        gpu.max_threads_per_multiprocessor // (warps * gpu.warp_size),
    ]
    if shared_bytes:
        fits.append(gpu.shared_bytes_per_multiprocessor // shared_bytes)
    return min(fits)


def occupancy(gpu: GpuModel, threads: int, shared_bytes: int) -> float:
    """The fraction of a multiprocessor's warps that resident blocks can fill, 0 to 1."""
    warps = -(-threads // gpu.warp_size)
    return resident_blocks(gpu, threads, shared_bytes) * warps * gpu.warp_size / gpu.max_threads_per_multiprocessor
