"""03 Tiled matmul: the checks that a student sees. `submission` stands for the kernels.py being judged."""

import pytest


@pytest.mark.part("correctness")
@pytest.mark.parametrize(("m", "k", "n"), [(1, 1, 1), (16, 48, 32), (31, 33, 32), (33, 65, 17), (96, 64, 80)])
def test_product_is_right_for_any_shape(submission, m, k, n):
    """out is a @ b, also for sizes that are no multiple of the tile."""
    submission.check("matmul", m=m, k=k, n=n)


@pytest.mark.part("technique")
def test_tiles_are_reused(submission):
    """Each element of a and b is read from global memory once per tile of out that needs it."""
    _require_tiles(submission, m=96, k=128, n=80)


@pytest.mark.part("speed")
def test_matmul_speed(submission):
    """The product of two 4096 by 4096 matrices, against NumPy."""
    submission.race("matmul", m=4096, k=4096, n=4096)


def _require_tiles(submission, m, k, n):
    """With 16 x 16 tiles a thread loads k / 16 elements of each matrix; without, it is k of each.

    m and n are multiples of 16, so no thread idles, and the tenth on top is for kernels that load a little
    twice. Larger tiles overhang, and stay below even if they load what overhangs: 9.6 loads per output with
    tiles of 32, 8.5 with 64, 4.3 with 128, where 17.6 are allowed.
    """
    run = submission.simulate("matmul", m=m, k=k, n=n)
    run.require(
        "global_loads_per_output",
        at_most=2 * k / 16 * 1.1,
        advice="fetch each tile of a and b into shared memory once, and let the inner loop read from there",
    )
    run.require(
        "global_stores_per_output",
        at_most=1,
        advice="keep the sum in a local variable, and write it to out once, after the last tile",
    )
