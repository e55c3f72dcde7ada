"""A launch's configuration, and whether a GPU takes it. Runs in the runner, or in anybody's own process.

In: grid, block and dynamic shared memory as they were asked for. Out: nothing, or LaunchRefused, NotSimulated.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from grader.errors import NotSimulated
from grader.gpu_models import GpuModel, resident_blocks
from grader.records import Place

Triple = tuple[int, int, int]
# Of every GPU that Numba compiles for: CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
MAX_LOCAL_BYTES_PER_THREAD = 512 << 10
# More would take hours, and counts are kept of every thread.
MAX_THREADS = 1 << 30
NOWHERE = Place(0)


@dataclass(frozen=True)
class Configuration:
    """What stands in a launch's brackets; ``place`` is the launch's, for advice on its geometry."""

    grid: Triple
    block: Triple
    dynamic_shared_bytes: int = 0
    place: Place = NOWHERE

    @property
    def blocks(self) -> int:
        """Thread blocks of the grid."""
        return prod(self.grid)

    @property
    def block_threads(self) -> int:
        """Threads of a block."""
        return prod(self.block)

    @property
    def threads(self) -> int:
        """Threads of the grid."""
        return self.blocks * self.block_threads


class LaunchRefused(Exception):
    """A launch that a GPU would refuse. ``str()`` says why in one sentence; ``advice`` what to try."""

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.advice = advice


def check_geometry(gpu: GpuModel, grid: Triple, block: Triple) -> None:
    """Raise LaunchRefused where a GPU of this model would refuse grid or block."""
    threads = block[0] * block[1] * block[2]
    if min(grid) < 1 or min(block) < 1:
        which, value = ("grid", grid) if min(grid) < 1 else ("block", block)
        raise LaunchRefused(
            f"a {which} of {value} is empty: every dimension must be at least 1",
            "Round the number of blocks up: (n + threads - 1) // threads.",
        )
    fewer = "Use fewer threads per block and more blocks."
    if grid[0] * grid[1] * grid[2] <= gpu.max_threads_per_block:
        fewer += " Or are block and grid swapped? A launch is kernel[blocks, threads_per_block](...)."
    if threads > gpu.max_threads_per_block:
        raise LaunchRefused(
            f"a block of {block} has {threads} threads; {gpu.name} allows at most {gpu.max_threads_per_block}", fewer
        )
    if any(b > limit for b, limit in zip(block, gpu.max_block, strict=True)):
        raise LaunchRefused(f"a block of {block} is too large; {gpu.name} allows at most {gpu.max_block}", fewer)
    if any(g > limit for g, limit in zip(grid, gpu.max_grid, strict=True)):
        raise LaunchRefused(
            f"a grid of {grid} is too large; {gpu.name} allows at most {gpu.max_grid}",
            "Put the longest dimension first.",
        )


def check_size(gpu: GpuModel, configuration: Configuration, shared_bytes: int, local_bytes: int) -> None:
    """Raise LaunchRefused where a GPU has too little memory for a block or thread, NotSimulated for huge grids.

    ``shared_bytes`` is what a block takes, static and dynamic, ``local_bytes`` what a thread's arrays take.
    """
    if shared_bytes > gpu.max_shared_bytes_per_block:
        raise LaunchRefused(
            f"a block asks for {shared_bytes} bytes of shared memory; "
            f"{gpu.name} gives at most {gpu.max_shared_bytes_per_block}",
            "Use smaller tiles or a smaller dtype.",
        )
    if local_bytes > MAX_LOCAL_BYTES_PER_THREAD:
        raise LaunchRefused(
            f"a thread asks for {local_bytes} bytes of local memory; GPUs give at most {MAX_LOCAL_BYTES_PER_THREAD}",
            "Keep large arrays in global memory, with a part for each thread.",
        )
    if configuration.threads > MAX_THREADS:
        raise NotSimulated(f"{configuration.threads:,} threads are too many for the simulator: at most {MAX_THREADS:,}")


def check_resident(gpu: GpuModel, configuration: Configuration, shared_bytes: int) -> None:
    """Raise LaunchRefused where a GPU cannot hold all blocks at once, as a grid that waits for all of it needs.

    ``shared_bytes`` is what a block takes, static and dynamic. CUDA C++ Programming Guide, "Grid Synchronization":
    at most the blocks that are resident together (``gpu_models.resident_blocks``).
    """
    by_threads = resident_blocks(gpu, configuration.block_threads, 0)
    by_shared = gpu.shared_bytes_per_multiprocessor // shared_bytes if shared_bytes else by_threads
    resident = min(by_threads, by_shared) * gpu.multiprocessors
    if configuration.blocks > resident:
        raise LaunchRefused(
            f"a kernel that waits for its grid needs all {configuration.blocks} blocks at once; {gpu.name} holds "
            f"{resident}: {min(by_threads, by_shared)} per multiprocessor (by threads {by_threads}, by shared memory "
            f"{by_shared}) on {gpu.multiprocessors} multiprocessors",
            "Launch fewer blocks and let each thread work through a loop with stride cuda.gridsize(1).",
        )
