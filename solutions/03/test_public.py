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
    _require_tiles(submission, m=97, k=131, n=83)


@pytest.mark.part("speed")
def test_matmul_speed(submission):
    """The product of two 4096 by 4096 matrices, against NumPy."""
    raced = submission.race("matmul", m=4096, k=4096, n=4096)
    # What was raced reuses its tiles as well: some blocks of it, simulated.
    _require_tiles(submission, **raced, blocks=16)


def _require_tiles(submission, m, k, n, blocks=None):
    """With 16 x 16 tiles a thread loads k / 16 elements of each matrix; without, it is k of each.

    No size is a multiple of 16, so tiles stick out. Allowed for each matrix is what 16 x 16 tiles load if their
    threads load something for every place of theirs, also outside (clamped to the edge, say). Larger tiles load
    less, even if they load what sticks out: of the 96,768 allowed here, 61,440 with tiles of 32, 49,152 with 64.

    A kernel may split k: up to four blocks work for the same tile of out, and leave partial sums in global
    memory, to be added up, or add them to out by atomics. This costs four accesses more per output. (So does a
    transposed copy of both matrices, about.) Running sums kept in global memory take k / 16, at least.

    A thread computes up to 16 x 8 outputs; 128 outputs per thread are the most, and none has more accesses than
    its 128 may cost. To read so little without shared memory, it would have to compute about 16 x 16.
    """
    run = submission.simulate("matmul", m=m, k=k, n=n, blocks=blocks)
    tiles = 16**2 * -(-m // 16) * -(-k // 16) * -(-n // 16)
    advice = "fetch each tile of a and b into shared memory once, and let the inner loop read from there"
    for name in ("a", "b"):
        run.require(f"loads_of_{name}", at_most=tiles, advice=advice)
        run.require(f"atomics_of_{name}", at_most=0, advice=f"read {name} as it is: nobody writes there")
    run.require("global_loads", at_most=2 * tiles + 4 * m * n, advice=advice)
    once = "keep the sum in a local variable, and write it to out once, after the last tile"
    run.require("stores_of_out", at_most=m * n, advice=once)
    run.require("global_stores", at_most=5 * m * n, advice=once)
    run.require("global_atomics", at_most=4 * m * n, advice=once)
    run.require(
        "working_threads",
        at_least=min(m * n / 128, 16384),  # a grid of a fixed size, whose blocks take tile after tile, has as many
        advice="let a block of many threads share each tile of out: about one element for each thread",
    )
    run.require(
        "busiest_thread",
        at_most=128 * (2 * tiles / (m * n) + 5),
        advice="let all threads of a block fetch elements of its tiles, and compute outputs",
    )
