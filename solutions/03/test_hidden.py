"""03 Tiled matmul: the checks that a student does not see; a first line of a docstring is all that is shown."""

import pytest


@pytest.mark.part("correctness")
def test_product_of_long_and_thin_matrices(submission):
    """Tall, wide and long matrices multiply right, down to a single row or column."""
    submission.check_each(
        {"m": 2, "k": 1023, "n": 3},
        {"m": 67, "k": 1, "n": 131},
        {"m": 129, "k": 31, "n": 1},
        {"m": 1, "k": 17, "n": 257},
    )


@pytest.mark.part("correctness")
def test_product_takes_several_shapes(submission):
    """matmul is right for several shapes, one after the other in one process."""
    submission.check_each(
        {"m": 32, "k": 32, "n": 16},
        {"m": 53, "k": 37, "n": 71},
        {"m": 15, "k": 100, "n": 47},
        {"m": 64, "k": 16, "n": 48},
    )


@pytest.mark.part("correctness")
def test_infinity_stays_in_its_row(submission):
    """An infinity or a NaN in a row of a changes this row of the product only."""
    submission.check("matmul", m=23, k=29, n=19, special=True)


@pytest.mark.part("technique")
def test_tiles_are_reused_in_another_shape(submission):
    """The same reuse in a wide product with a short k."""
    run = submission.simulate("matmul", m=32, k=48, n=160)
    run.require(
        "global_loads_per_output",
        at_most=2 * 48 / 16 * 1.1,
        advice="fetch each tile of a and b into shared memory once, and let the inner loop read from there",
    )
