"""What a GPU refuses is refused with its reason; what we do not know says so."""

# mypy: ignore-errors
from __future__ import annotations

import numpy as np
import pytest
from numba import cuda, float32, float64

from grader.errors import NotSimulated
from grader.simulator.configuration import LaunchRefused
from grader.simulator.frontend import KernelError
from grader.simulator.scheduler import Scheduler


def _store(out):
    out[cuda.grid(1)] = 1


@pytest.mark.parametrize(
    ("grid", "block", "words"),
    [
        (1, 1025, "at most 1024"),
        (8, 2000, "has 2000 threads; Tesla T4 allows at most 1024$"),
        (0, 32, "empty"),
        (4, 0, "empty"),
        ((1, 70000), 32, "too large"),
        (1, (1, 1, 65), r"at most \(1024, 1024, 64\)$"),
    ],
)
def test_launches_that_a_gpu_refuses(launch, grid, block, words):
    with pytest.raises(LaunchRefused, match=words):
        launch(_store, grid, block, np.zeros(10))


@pytest.mark.parametrize(("grid", "asked"), [(8, True), (1024, True), (1025, False)])
def test_a_block_that_is_too_large_is_asked_about_only_where_the_grid_could_be_one(launch, grid, asked):
    with pytest.raises(LaunchRefused) as refused:
        launch(_store, grid, 2000, np.zeros(10))
    assert refused.value.advice.startswith("Use fewer threads per block and more blocks.")
    assert ("are block and grid swapped?" in refused.value.advice) == asked


def test_too_much_shared_memory_is_refused(launch):
    def kernel(out):
        s = cuda.shared.array((128, 128), float32)
        s[0, 0] = 1
        out[0] = s[0, 0]

    with pytest.raises(LaunchRefused, match="65536 bytes of shared memory"):
        launch(kernel, 1, 32, np.zeros(1))


@pytest.mark.parametrize("doubles", [65537, 1 << 40])
def test_more_local_memory_than_a_thread_may_have_is_refused(launch, doubles):
    def kernel(out):
        mine = cuda.local.array(doubles, float64)
        mine[0] = 1
        out[0] = mine[0]

    with pytest.raises(LaunchRefused, match=f"a thread asks for {8 * doubles} bytes of local memory"):
        launch(kernel, 1, 1, np.zeros(1))


def test_all_the_local_memory_that_a_thread_may_have_can_be_used(launch):
    def kernel(out):
        i = cuda.grid(1)
        mine = cuda.local.array(65536, float64)
        mine[65535] = i
        out[i] = mine[65535]

    out = np.zeros(64)
    launch(kernel, 2, 32, out)
    np.testing.assert_array_equal(out, np.arange(64))


@pytest.mark.parametrize("grid", [2**31 - 1, (2**31 - 1, 65535, 65535)])
def test_a_grid_that_would_run_for_hours_is_not_simulated(launch, grid):
    with pytest.raises(NotSimulated, match="too many for the simulator"):
        launch(_store, grid, 1024, np.zeros(10))


def test_memory_that_the_simulator_cannot_get_is_not_the_kernels_fault(launch, monkeypatch):
    def greedy(machine, wave, arguments):
        np.zeros(1 << 55)

    monkeypatch.setattr(Scheduler, "run", greedy)
    with pytest.raises(NotSimulated, match="memory"):
        launch(_store, 1, 32, np.zeros(32))


@pytest.mark.parametrize(
    ("body", "words", "line"),
    [
        ("    out[0] = missing + 1", "missing", 2),
        ("    s = cuda.shared.array(out.size, 'f4')\n    s[0] = 1", "array", 2),
        ("    out[0] = 'text'", "setitem", 2),
        ("    x = [1, 2]\n    out[0] = x.nothing", "nothing", 3),
    ],
)
def test_numbas_rejections_are_short_and_know_their_line(body, words, line):
    from grader.gpu_models import T4
    from grader.simulator.frontend import Frontend, types

    scope = {"cuda": cuda}
    exec(compile(f"def kernel(out):\n{body}\n", "kernels.py", "exec"), scope)
    with pytest.raises(KernelError, match=words) as rejected:
        Frontend(T4).type(scope["kernel"], (types.Array(types.float64, 1, "C"),))
    assert rejected.value.line == line
    assert len(str(rejected.value)) < 650
    assert "\n" not in str(rejected.value)


def _whole_arrays(a, out):
    out = a + out


def _try_and_except(a, out):
    try:
        out[0] = 1
    except Exception:
        out[0] = 2


def _text(a, out):
    print(f"thread {cuda.grid(1)}")


def _negative_shape(a, out):
    s = cuda.shared.array(-5, float32)
    s[0] = 1


def _step_of_zero(a, out):
    out[0] = a[::0][0]


def _a_list(a, out):
    values = [a[0], a[1]]
    out[0] = values[1]


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (_whole_arrays, "single elements"),
        (_try_and_except, "try and except"),
        (_text, "text"),
        (_negative_shape, "shape"),
        (_step_of_zero, "zero"),
        (_a_list, "lists"),
    ],
)
def test_what_no_gpu_can_run_is_the_kernels_mistake(launch, kernel, words):
    with pytest.raises(KernelError, match=words):
        launch(kernel, 1, 4, np.ones(4), np.zeros(4))


def test_typing_leaves_no_trace_on_device_functions(launch):
    @cuda.jit(device=True)
    def double(x):
        return x * 2

    def kernel(out):
        out[0] = double(out[0])

    before = type(double).compile_device
    out = np.full(1, 21.0)
    launch(kernel, 1, 1, out)
    assert out[0] == 42
    assert double.overloads == {}
    assert type(double).compile_device is before
