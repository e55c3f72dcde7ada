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
        {"m": 2, "k": 3, "n": 5003},
        {"m": 5003, "k": 2, "n": 3},
    )


@pytest.mark.part("correctness")
def test_product_takes_several_shapes(submission):
    """matmul is right for several shapes, one after the other in one process."""
    submission.check_each(
        {"m": 32, "k": 32, "n": 16},
        {"m": 53, "k": 37, "n": 71},
        {"m": 15, "k": 100, "n": 47},
        {"m": 64, "k": 16, "n": 48},
        {"m": 256, "k": 64, "n": 128},  # whole tiles, however large: what is raced takes this path
    )


@pytest.mark.part("correctness")
def test_infinity_stays_in_its_row_and_column(submission):
    """An infinity or a NaN in a row of a or in a column of b changes only this row or column of the product."""
    submission.check("matmul", m=23, k=29, n=19, special=True)


@pytest.mark.part("technique")
def test_tiles_are_reused_in_another_shape(submission):
    """The same reuse in a wide product with a short k."""
    m, k, n = 33, 49, 157
    run = submission.simulate("matmul", m=m, k=k, n=n)
    # As in test_public.py: 16 x 16 tiles that load a value for every place, also where they stick out.
    for name in ("a", "b"):
        run.require(
            f"loads_of_{name}",
            at_most=16**2 * -(-m // 16) * -(-k // 16) * -(-n // 16),
            advice="fetch each tile of a and b into shared memory once, and let the inner loop read from there",
        )
        run.require(f"atomics_of_{name}", at_most=0, advice=f"read {name} as it is: nobody writes there")
