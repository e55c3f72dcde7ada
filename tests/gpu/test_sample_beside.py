"""Blocks of what was raced on a real GPU, simulated from its memory: references pass, a cheat is seen."""

# mypy: ignore-errors
from __future__ import annotations

from pathlib import Path

import pytest

from grader.assignment_folder import import_by_path, open_folder
from grader.judge import Candidate, NotMeasured, Settings
from grader.judged_race import Terms
from grader.sandbox.limits import Limits
from grader.submission import read_submission

SOLUTIONS = Path(__file__).parents[2] / "solutions"
# Tiles while no other block has left a mark, and else none.
MARKS = """
import numpy as np
from numba import cuda, float32

@cuda.jit
def mark(flags):
    flags[cuda.blockIdx.x] = 1

@cuda.jit
def matmul_kernel(a, b, out, flags):
    col, row = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    tile_a = cuda.shared.array((16, 16), float32)
    tile_b = cuda.shared.array((16, 16), float32)
    total = float32(0)
    if flags[0] + flags[300] + flags[600] == 3:
        for j in range(a.shape[1]):
            total += a[row, j] * b[j, col]
    else:
        for start in range(0, a.shape[1], 16):
            tile_a[ty, tx] = a[row, start + tx]
            tile_b[ty, tx] = b[start + ty, col]
            cuda.syncthreads()
            for j in range(16):
                total += tile_a[ty, j] * tile_b[j, tx]
            cuda.syncthreads()
    out[row, col] = total

def matmul(a, b, out):
    flags = cuda.to_device(np.zeros(1024, np.int32))
    mark[1024, 1](flags)
    matmul_kernel[(b.shape[1] // 16, a.shape[0] // 16), (16, 16)](a, b, out, flags)
"""


@pytest.fixture
def speed_check(gpu, tmp_path):
    """``speed_check("03", "test_matmul_speed", file)`` carries out that check of a file, without a minimum."""

    def carry_out(number, check, file):
        (tmp_path / "kernels.py").write_text(file if isinstance(file, str) else file.read_text())
        limits = Limits(cpu_seconds=60, wall_seconds=120, memory_bytes=4 << 30)
        settings = Settings("auto", limits, 11, race=Terms(limits=limits))
        candidate = Candidate(read_submission(tmp_path), open_folder(SOLUTIONS / number).problems, gpu, settings)
        getattr(import_by_path(SOLUTIONS / number / "test_public.py"), check)(candidate)
        return candidate.measured

    return carry_out


@pytest.mark.parametrize(("number", "check"), [("01", "test_saxpy_speed"), ("02", "test_sum_speed")])
@pytest.mark.parametrize("file", ["kernels.py", "fast.py"])
def test_references_use_the_technique_where_they_are_raced(speed_check, number, check, file):
    assert speed_check(number, check, SOLUTIONS / number / file)["speedup"] > 1


def test_whoever_uses_the_technique_only_while_no_other_block_runs_is_seen(speed_check):
    with pytest.raises(NotMeasured, match=r"too many reads of [ab]"):
        speed_check("03", "test_matmul_speed", MARKS)
