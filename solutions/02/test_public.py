"""02 Reduction: the checks that a student sees. `submission` stands for the kernels.py being judged."""

import pytest


@pytest.mark.part("correctness")
@pytest.mark.parametrize("n", [1, 33, 1023, 1025, 70_001])
def test_sum_is_right_for_any_length(submission, n):
    """out[0] is the sum of x; none of these sums needs rounding, so it is exact in any order."""
    submission.check("reduce_sum", n=n)


@pytest.mark.part("correctness")
@pytest.mark.parametrize("n", [1, 31, 257, 1025, 70_001])
def test_max_is_right_for_any_length(submission, n):
    """out[0] is the largest element of x, also if that is the very last one."""
    submission.check("reduce_max", n=n, largest_at=-1)


@pytest.mark.part("correctness")
def test_max_of_negative_numbers(submission):
    """The largest of negative numbers is negative."""
    submission.check("reduce_max", n=1023, values="negative")


@pytest.mark.part("technique")
def test_sum_goes_through_shared_memory(submission):
    """reduce_sum reads each element once, and at most one atomic per block reaches global memory."""
    _require_block_reduction(submission.simulate("reduce_sum", n=TECHNIQUE_LENGTH), loads=1)


@pytest.mark.part("technique")
def test_max_goes_through_shared_memory(submission):
    """reduce_max reads each element once, and at most one atomic per block reaches global memory."""
    # `if x[i] > largest: largest = x[i]` names an element twice; the compiler loads it once.
    _require_block_reduction(submission.simulate("reduce_max", n=TECHNIQUE_LENGTH), loads=2)


@pytest.mark.part("speed")
def test_sum_speed(submission):
    """reduce_sum of 16.8 million elements, against NumPy."""
    submission.race("reduce_sum", n=1 << 24)


@pytest.mark.part("speed")
def test_max_speed(submission):
    """reduce_max of 16.8 million elements, against NumPy."""
    submission.race("reduce_max", n=1 << 24)


TECHNIQUE_LENGTH = 50_021


def _require_block_reduction(run, loads):
    """What every reduction by blocks meets, with one kernel and atomics or with two kernels and partial
    results.

    With blocks of at least 32 threads there are at most n / 32 partial results, and a second (and third)
    kernel that reads them adds n / 32 + n / 1024 loads, about 3 %. Halving in global memory instead reads 2 n
    and writes n elements. An atomic per thread makes at least 32 per block. Sixteen elements per thread in
    blocks of 512 still give seven blocks.
    """
    n = TECHNIQUE_LENGTH
    run.require(
        "global_atomics_per_block",
        at_most=1,
        advice="combine the block's values in shared memory first; then let one thread send the result",
    )
    run.require(
        "global_loads",
        at_most=(loads + 0.1) * n,
        advice="read each element from global memory once, and keep intermediate results in shared memory",
    )
    run.require(
        "global_stores",
        at_most=n / 16,
        advice="keep intermediate results in registers and shared memory, not in arrays in global memory",
    )
    run.require("blocks", at_least=4, advice="split x among many blocks: one block keeps one multiprocessor busy")
    run.require("threads", at_least=n / 64, advice="let many threads share the elements, not a few that take them all")
