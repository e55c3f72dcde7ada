"""Single kernels on the simulator."""

from __future__ import annotations

from collections.abc import Callable

import kernel_bench
import pytest

from grader.simulator.launch import SimulatedLaunch

Launch = Callable[..., SimulatedLaunch]


@pytest.fixture
def launch() -> Launch:
    """``launch(kernel, grid, block, *arguments)`` runs a kernel and changes the NumPy arguments in place."""
    return kernel_bench.launch
