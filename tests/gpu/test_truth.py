"""The simulator's counts and results against those of a GPU, kernel by kernel: ncu measures, the simulator predicts."""

# mypy: ignore-errors
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parent))  # the script below is run by itself, too

import kernel_bench
import ncu
from truth_cases import CASES, run_on_gpu

# The counter of bank conflicts carries a little noise; see docs/simulator.md.
CONFLICT_TOLERANCE = 1e-3
# Numba says on a GPU that small grids leave most of it idle.
pytestmark = pytest.mark.filterwarnings("ignore:.*Grid size:Warning")


@pytest.fixture(scope="module")
def measured(gpu):
    if not ncu.is_there():
        pytest.skip("not run: no ncu")
    found = ncu.profile(Path(__file__).with_name("truth_cases.py"))
    assert len(found) == len(CASES)
    return dict(zip(map(str, CASES), found, strict=True))


@pytest.fixture
def simulated(request):
    arguments = request.param.arguments()
    result = kernel_bench.launch(
        request.param.kernel, request.param.grid, request.param.block, *arguments, shared=request.param.shared
    )
    return request.param, result, [a for a in arguments if isinstance(a, np.ndarray)]


@pytest.mark.parametrize("simulated", CASES, ids=str, indirect=True)
def test_requests_sectors_and_bank_conflicts_are_those_of_a_gpu(measured, simulated):
    case, result, _ = simulated
    found = measured[str(case)]
    for counter in set(ncu.METRICS) - set(case.differs):
        ours = result.counters.get(counter, 0)
        tolerance = CONFLICT_TOLERANCE * found[counter] if "conflicts" in counter else 0
        assert abs(ours - found[counter]) <= tolerance, f"{counter}: simulated {ours}, measured {found[counter]}"
    for counter, why in case.differs.items():
        assert result.counters.get(counter, 0) != found[counter], f"{counter} is equal now, in spite of: {why}"


@pytest.mark.parametrize("simulated", CASES, ids=str, indirect=True)
def test_results_are_those_of_a_gpu(gpu, simulated):
    """Bit for bit, but where a compiler fuses a multiplication and an addition: those are close."""
    case, _, arrays = simulated
    differ = False
    for ours, theirs in zip(arrays, run_on_gpu(case), strict=True):
        differ |= bool((ours.view(np.uint8) != theirs.view(np.uint8)).any())
        if ours.dtype.kind == "f":
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-5)
    assert differ is not case.exact


@pytest.mark.parametrize("simulated", CASES, ids=str, indirect=True)
def test_no_kernel_of_the_table_is_blamed(simulated):
    _, result, _ = simulated
    assert [str(f) for f in result.findings if f.severity == "error"] == []
