"""02 Reduction: the checks that a student sees. `submission` stands for the kernels.py being judged."""

import pytest


@pytest.mark.part("correctness")
@pytest.mark.parametrize("n", [2, 33, 1023, 1025, 70_001])
def test_sum_is_right_for_any_length(submission, n):
    """out[0] is the sum of x; none of these sums needs rounding, so it is exact in any order."""
    submission.check("reduce_sum", n=n)


@pytest.mark.part("correctness")
@pytest.mark.parametrize("n", [2, 31, 257, 1025, 70_001])
def test_max_is_right_for_any_length(submission, n):
    """out[0] is the largest element of x, also if that is the very last one, or the first."""
    submission.check_each(*({"entry": "reduce_max", "n": n, "largest_at": place} for place in (-1, 0)))


@pytest.mark.part("correctness")
def test_max_of_negative_numbers(submission):
    """The largest of negative numbers is negative."""
    submission.check("reduce_max", n=1023, values="negative")


@pytest.mark.part("technique")
def test_sum_goes_through_shared_memory(submission):
    """reduce_sum reads each element once, and at most one atomic per block reaches global memory."""
    _require_block_reduction(submission, "reduce_sum", n=50_021, loads=1, atomics=2)


@pytest.mark.part("technique")
def test_max_goes_through_shared_memory(submission):
    """reduce_max reads each element once, and at most one atomic per block reaches global memory."""
    _require_block_reduction(submission, "reduce_max", n=50_021, **MAX_MAY)


@pytest.mark.part("speed")
def test_sum_speed(submission):
    """reduce_sum of 16.8 million elements, against NumPy."""
    raced = submission.race("reduce_sum", n=1 << 24)
    # Of what was raced, some blocks, simulated.
    _require_block_reduction(submission, "reduce_sum", **raced, loads=1, atomics=2, blocks=16)


@pytest.mark.part("speed")
def test_max_speed(submission):
    """reduce_max of 16.8 million elements, against NumPy."""
    raced = submission.race("reduce_max", n=1 << 24)
    _require_block_reduction(submission, "reduce_max", **raced, blocks=16, **MAX_MAY)


# `if x[i] > largest: largest = x[i]` names an element twice; the compiler loads it once. A maximum by
# compare-and-swap tries again whenever another block was faster: about two operations per block with all
# blocks at the same time, and six at the very most. One per warp is eight per block.
MAX_MAY = {"loads": 2, "atomics": 7}


def _require_block_reduction(submission, entry, n, loads, atomics, blocks=None):
    """What every reduction by blocks meets, with one kernel and atomics or with more kernels and partial results.

    Blocks and threads count if they access global memory; those that have nothing to do dilute nothing.

    Atomics: a block sends its result, and may draw a ticket, to find out whether it is the last one. The
    maximum has more room, see above. An atomic per thread makes 32 or more per block.

    Loads: with blocks of at least 32 threads there are at most n / 32 partial results, and a second (and third)
    kernel that reads them adds n / 32 + n / 1024 loads, about 3 %. Halving in global memory reads 2 n.

    Stores: a block, or a warp by shuffles, stores one partial result for its 32 threads or more; twice that is
    allowed. Partial results of single threads would be 16 times as many as that.

    Blocks: sixteen elements per thread in blocks of 512 threads still make seven of them. Sixteen working
    threads per block leave half of the smallest block of a warp idle, and room for kernels of one thread that
    set out[0] up or finish.

    Threads: 64 elements per thread, on average, are plenty, or more where 8,192 threads take part. And no thread
    has a 64th of the work: at the end one may add up the partial results of MAX_BLOCKS blocks, but not those of
    n / 32 threads.

    Tree: in log2(1024) rounds the busiest thread touches shared memory about 32 times. One that adds up 32 results
    of warps by itself does, too; 64 leave room, and 32 from one barrier to the next where tiles follow tiles. One
    that adds up a whole block's values touches 128 and more.
    """
    run = submission.simulate(entry, n=n, blocks=blocks)
    # Who works comes first: of one thread that does everything, the rest says something else.
    run.require(
        "working_blocks",
        at_least=4,
        advice="split x among many blocks: one block keeps one multiprocessor busy",
    )
    run.require(
        "working_threads",
        at_least=max(min(n / 64, 8192), 16 * run.working_blocks),
        advice="let all threads of a block load elements, not a few that take them all",
    )
    run.require(
        "global_atomics",
        at_most=atomics * run.working_blocks,
        advice="combine the block's values in shared memory first; then let one thread send the result",
    )
    run.require("atomics_of_x", at_most=0, advice="read x[i] as it is: nobody writes there")
    run.require(
        "global_loads",
        at_most=(loads + 0.1) * n,
        advice="read each element from global memory once, and keep intermediate results in shared memory",
    )
    run.require(
        "global_stores",
        at_most=run.working_threads / 16,
        advice="keep intermediate results in registers and shared memory, not in arrays in global memory",
    )
    run.require(
        "busiest_thread",
        at_most=n / 64,
        advice="share the elements, and the partial results, out among many threads",
    )
    run.require(
        "busiest_thread_shared",
        at_most=max(64, 32 * run.barriers / run.threads),
        advice="combine the values in shared memory as a tree: in each round half as many threads add two values",
    )
