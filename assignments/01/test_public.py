"""01 Indexing: the checks that a student sees. `submission` stands for the kernels.py being judged."""

import pytest


@pytest.mark.part("correctness")
@pytest.mark.parametrize("n", [1, 31, 33, 1025])
def test_vector_add_is_right_for_any_length(submission, n):
    """out[i] is a[i] + b[i], also where n is no multiple of the block."""
    submission.check("vector_add", n=n)


@pytest.mark.part("correctness")
@pytest.mark.parametrize("n", [1, 33, 1023, 100_003])
def test_saxpy_is_right_for_any_length(submission, n):
    """out[i] is alpha * x[i] + y[i], also where n is larger than the grid."""
    submission.check("saxpy", n=n)


@pytest.mark.part("correctness")
@pytest.mark.parametrize(("height", "width"), [(1, 1), (31, 33), (5, 257), (257, 3)])
def test_grayscale_is_right_for_any_shape(submission, height, width):
    """Every pixel has its weighted, rounded brightness, in tall and in wide images."""
    submission.check("grayscale", height=height, width=width)


@pytest.mark.part("technique")
def test_vector_add_shares_the_work(submission):
    """Many threads take part, and each element of a and b is read once."""
    n = 10_007
    run = submission.simulate("vector_add", n=n)
    # A thread may well take up to 32 elements (vector loads, unrolling); one that takes them all does not.
    run.require(
        "threads",
        at_least=n / 32,
        advice="launch about as many threads as there are elements, and let each one work out its own index",
    )
    _require_each_element_once(run, loads=2)


@pytest.mark.part("technique")
def test_saxpy_walks_over_the_grid(submission):
    """A grid much smaller than n covers it in strides, and no two threads do the same element."""
    n = 200_003
    run = submission.simulate("saxpy", n=n)
    # The given grid has 81,920 threads on the simulated GPU; one thread per element would be 200,003.
    run.require(
        "threads",
        at_most=n / 2,
        advice="keep the grid at its fixed size; let each thread loop over elements that are a grid apart",
    )
    run.require("threads", at_least=n / 64, advice="spread the work over a grid of some thousand threads")
    _require_each_element_once(run, loads=2)


@pytest.mark.part("technique")
def test_grayscale_reads_each_pixel_once(submission):
    """One thread per pixel, which reads its three channels once and writes one byte."""
    height, width = 97, 131
    run = submission.simulate("grayscale", height=height, width=width)
    run.require(
        "threads",
        at_least=height * width / 32,
        advice="launch about as many threads as there are pixels; let each work out its row and column",
    )
    _require_each_element_once(run, loads=3)


@pytest.mark.part("speed")
def test_vector_add_speed(submission):
    """vector_add of 16.8 million elements, against NumPy."""
    submission.race("vector_add", n=1 << 24)


@pytest.mark.part("speed")
def test_saxpy_speed(submission):
    """saxpy of 16.8 million elements, against NumPy."""
    submission.race("saxpy", n=1 << 24)


@pytest.mark.part("speed")
def test_grayscale_speed(submission):
    """grayscale of a 4096 by 4096 image, against NumPy."""
    submission.race("grayscale", height=4096, width=4096)


def _require_each_element_once(run, loads):
    """Exact where the guard is right, whatever the grid, the block, or the elements per thread."""
    run.require(
        "global_loads_per_output",
        at_most=loads,
        advice="read each input element once, in the one thread that needs it",
    )
    run.require(
        "global_stores_per_output",
        at_most=1,
        advice="let exactly one thread write each element: is the stride that of the whole grid?",
    )
