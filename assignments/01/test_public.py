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
    """Many threads take part, neighbours on neighbouring elements, and each element of a and b is read once."""
    _require_shared_work(submission, n=10_007)


@pytest.mark.part("technique")
def test_saxpy_walks_over_the_grid(submission):
    """A grid much smaller than n covers it in strides of the grid, and no two threads do the same element."""
    _require_walk_over_grid(submission, n=200_003)


@pytest.mark.part("technique")
def test_grayscale_reads_each_pixel_once(submission):
    """One thread per pixel, neighbours in x on neighbours in a row, each channel read once and one byte written."""
    _require_pixels_once(submission, height=97, width=131)


@pytest.mark.part("speed")
def test_vector_add_speed(submission):
    """vector_add of 16.8 million elements, against NumPy."""
    raced = submission.race("vector_add", n=1 << 24)
    _require_shared_work(submission, **raced, blocks=16)  # of what was raced, some blocks, simulated


@pytest.mark.part("speed")
def test_saxpy_speed(submission):
    """saxpy of 16.8 million elements, against NumPy."""
    raced = submission.race("saxpy", n=1 << 24)
    _require_walk_over_grid(submission, **raced, blocks=16)


@pytest.mark.part("speed")
def test_grayscale_speed(submission):
    """grayscale of a 4096 by 4096 image, against NumPy."""
    raced = submission.race("grayscale", height=4096, width=4096)
    _require_pixels_once(submission, **raced, blocks=16)


def _require_shared_work(submission, n, blocks=None):
    run = submission.simulate("vector_add", n=n, blocks=blocks)
    _require_many_workers(run, elements=n, accesses=3, per_thread=32)
    _require_each_element_once(run, loads=2)
    _require_neighbours(run, sectors=9)
    _require_no_atomics(run, "a", "b")


def _require_walk_over_grid(submission, n, blocks=None):
    run = submission.simulate("saxpy", n=n, blocks=blocks)
    # The given grid has 81,920 threads on the simulated GPU; one thread per element would be n.
    run.require(
        "threads",
        at_most=n / 2,
        advice="keep the grid at its fixed size; let each thread loop over elements that are a grid apart",
    )
    _require_many_workers(run, elements=n, accesses=3, per_thread=64)
    _require_each_element_once(run, loads=2)
    _require_neighbours(run, sectors=9)
    _require_no_atomics(run, "x", "y")


def _require_pixels_once(submission, height, width, blocks=None):
    run = submission.simulate("grayscale", height=height, width=width, blocks=blocks)
    _require_many_workers(run, elements=height * width, accesses=4, per_thread=32)
    _require_each_element_once(run, loads=3)
    _require_neighbours(run, sectors=12)
    _require_no_atomics(run, "image")


def _require_many_workers(run, elements, accesses, per_thread):
    """Threads that touch no array do not count, and none of the others may have much more to do than the rest.

    A thread may well take some elements, by a stride or by unrolling: up to ``per_thread`` on average, and up
    to twice as many where the last round is uneven. A grid of a fixed size has 16,384 threads, at least. Each
    element takes ``accesses``, loads and stores together. One thread per block that works for all of them takes
    as many as the block has threads.
    """
    per_thread = max(per_thread, elements / 16384)
    run.require(
        "working_threads",
        at_least=elements / per_thread,
        advice="launch enough threads, and let each one work out its own index and do its own elements",
    )
    run.require(
        "busiest_thread",
        at_most=2 * per_thread * accesses,
        advice="share the elements out evenly: no thread should take many times as many as the others",
    )


def _require_neighbours(run, sectors):
    """The threads of a warp touch neighbouring elements, which lie in few sectors of 32 bytes.

    A warp that reads 32 float32 elements in a row needs four sectors, or five where they do not begin at one, and
    eight if each thread takes two neighbours one by one, or a little more where a few are left over. A chunk of
    four elements to a thread needs 16, and larger ones more; read by one instruction, load4, it needs four. A warp
    of two rows of 16 pixels needs four for a channel, one of four rows of eight pixels up to eight; one that goes
    down a column needs one for each pixel.
    """
    for kind in ("loads", "stores"):
        run.require(
            f"sectors_per_32_{kind}",
            at_most=sectors,
            advice="let neighbouring threads take neighbouring elements: the last index is the thread's x",
        )


def _require_no_atomics(run, *inputs):
    """An atomic operation reads, too, so one of an input would be a load that is not counted as such."""
    for name in inputs:
        run.require(f"atomics_of_{name}", at_most=0, advice=f"read {name}[i] as it is: nobody writes there")


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
