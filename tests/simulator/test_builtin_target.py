"""Without numba-cuda, as on macOS, the built-in CUDA target of Numba types kernels: here in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from grader.simulator.frontend import has_builtin_target

HERE = Path(__file__).parent
# numba-cuda takes over the name numba.cuda by a finder; without it the built-in target is found.
RUN = """
import sys
sys.meta_path[:] = [finder for finder in sys.meta_path if type(finder).__name__ != "NumbaCudaFinder"]
import pytest
failed = pytest.main(sys.argv[1:])
from grader.simulator.frontend import has_builtin_target
assert has_builtin_target()
sys.exit(failed)
"""
# What differs between the two: typing, device functions, tuples, warp functions, records, views, refusals, intrinsics.
FILES = (
    "test_values.py",
    "test_tuples.py",
    "test_views.py",
    "test_structs.py",
    "test_refusals.py",
    "test_wide_access.py",
)


@pytest.mark.skipif(has_builtin_target(), reason="the whole suite runs with the built-in target")
def test_kernels_run_with_numbas_built_in_target_too():
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist", "--no-header"]
    command = [sys.executable, "-c", RUN, *options, *(str(HERE / name) for name in FILES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=HERE.parent.parent, check=False)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert " passed" in done.stdout
