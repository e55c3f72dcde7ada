"""04 Fused attention: the checks that a student sees. `submission` stands for the kernels.py being judged."""

import pytest

SCORES_AT_ONCE = "use the scores of a tile of keys at once; rescale what you have when a larger one turns up"


@pytest.mark.part("correctness")
@pytest.mark.parametrize(("rows", "cols"), [(2, 3), (3, 33), (33, 31), (5, 1023)])
def test_softmax_is_right_for_any_shape(submission, rows, cols):
    """Each row of out is the softmax of that row of x, for short rows and for rows longer than the block."""
    submission.check("softmax", rows=rows, cols=cols)


@pytest.mark.part("correctness")
def test_softmax_of_huge_logits(submission):
    """Logits of 10,000 and -10,000 in one row give finite results, and the right ones."""
    submission.check("softmax", rows=5, cols=67, logits="huge")


@pytest.mark.part("correctness")
@pytest.mark.parametrize(("heads", "n", "d"), [(1, 3, 2), (2, 33, 16), (1, 47, 128)])
def test_attention_is_right_for_any_shape(submission, heads, n, d):
    """out is softmax(q k / sqrt(d)) v for every head, where every query sees all keys."""
    submission.check("attention", heads=heads, n=n, d=d, causal=False)


@pytest.mark.part("correctness")
@pytest.mark.parametrize(("heads", "n", "d"), [(1, 31, 7), (2, 70, 64)])
def test_attention_can_be_causal(submission, heads, n, d):
    """With causal=True query i sees the keys 0 to i, itself included, and no other."""
    submission.check("attention", heads=heads, n=n, d=d, causal=True)


@pytest.mark.part("technique")
def test_softmax_shares_each_row(submission):
    """At least a warp works on each row, and x is read from global memory at most three times."""
    _require_shared_rows(submission, rows=37, cols=517)


@pytest.mark.part("technique")
def test_attention_shares_tiles_of_keys_and_values(submission):
    """At least 16 queries share each tile of keys and values, which is read from global memory once."""
    _require_shared_tiles(submission, heads=1, n=97, d=32)


@pytest.mark.part("technique")
def test_attention_stores_no_scores(submission):
    """No n x n array of scores or weights is kept, neither in global memory nor in threads' local arrays."""
    _require_no_scores(submission.simulate("attention", heads=1, n=160, d=8, causal=True), outputs=160 * 8)


@pytest.mark.part("speed")
def test_softmax_speed(submission):
    """softmax of 4096 rows of 4096 logits, against NumPy."""
    raced = submission.race("softmax", rows=4096, cols=4096)
    _require_shared_rows(submission, **raced, blocks=16)  # of what was raced, some blocks, simulated


@pytest.mark.part("speed")
def test_attention_speed(submission):
    """attention with 2 heads, 4096 queries and keys, and d = 64, against NumPy."""
    raced = submission.race("attention", heads=2, n=4096, d=64, causal=False)
    run = _require_shared_tiles(submission, raced["heads"], raced["n"], raced["d"], blocks=16)
    _require_no_scores(run, outputs=raced["heads"] * raced["n"] * raced["d"])


def _require_shared_rows(submission, rows, cols, blocks=None):
    run = submission.simulate("softmax", rows=rows, cols=cols, blocks=blocks)
    share = "let the threads of a warp or a block share a row, each with its part of the columns"
    # One thread per row makes as many threads as rows; a block or a warp per row, 32 times as many or more. A grid of a
    # fixed size, whose blocks take one row after the other, has 16,384, at least.
    run.require("working_threads", at_least=min(32 * rows, 16384), advice=share)
    # Maximum, sum and result are three walks over x; an online sum needs two, and a row kept in registers
    # one. A kernel that leaves the exponentials in out for its third walk loads three and stores two. In the
    # first walk, `if x[r, c] > largest: largest = x[r, c]` names an element twice, though it is loaded once.
    once = "find a row's maximum and sum once per block, not once per thread, and share them"
    run.require("loads_of_x", at_most=4 * rows * cols, advice=once)
    run.require("atomics_of_x", at_most=0, advice="read x as it is: nobody writes there")
    # Separate kernels for maximum, sum and result may read the row's maximum and sum beside every element of
    # x, three times together; and each group of 32 threads or more may send one value for either by atomics.
    run.require("global_loads", at_most=8 * rows * cols, advice=once)
    run.require("global_atomics", at_most=rows * cols / 8, advice=once)
    run.require("global_stores_per_output", at_most=2, advice="write a result once the row's sum is known")
    # All these loads and stores, dealt out to a warp.
    run.require("busiest_thread", at_most=(8 + 2) * -(-cols // 32), advice=share)


def _require_shared_tiles(submission, heads, n, d, blocks=None):
    run = submission.simulate("attention", heads=heads, n=n, d=d, causal=False, blocks=blocks)
    # With 16 queries per block, each element of k and v is loaded once for every 16 queries, or for what is
    # left of them. `padded` has room for tiles that load a value for every place, also beyond the end. With more
    # queries per block it is less. A second walk over the keys, to find the maximum before the weights, loads
    # twice as much; no tiles at all, 14 times as much.
    padded = 16 * -(-n // 16)
    tiles = heads * padded // 16 * padded * d
    advice = (
        "fetch the block's queries once, then walk over the keys once: a tile of k and v in shared memory serves "
        "all the block's queries before the next one comes"
    )
    run.require("loads_of_k", at_most=tiles, advice=advice)
    run.require("loads_of_v", at_most=tiles, advice=advice)
    # Kernels that split the keys may do so in four parts: each of them reads the queries, and leaves a partial
    # result with its maximum and sum, which are read again for each output: four times five or six values.
    outputs = heads * n * d
    run.require("loads_of_q", at_most=4 * outputs, advice=advice)
    run.require("global_loads", at_most=2 * tiles + (4 + 24) * outputs, advice=advice)
    for name in ("q", "k", "v"):
        run.require(f"atomics_of_{name}", at_most=0, advice=f"read {name} as it is: nobody writes there")
    run.require(
        "stores_of_out",
        at_most=2 * outputs,
        advice="keep the unfinished sums in local variables, and write out once, after the last tile",
    )
    # A thread per query is usual, or 16 threads; one thread that works for 16 queries needs no tiles to read so
    # little, but makes nothing parallel. And at least eight threads of a block fetch its tiles: if only one row
    # of a block of 16 x 16 does, it is 16.
    share = "let a block of many threads share its queries and the fetching of its tiles"
    run.require("working_threads", at_least=heads * n / 4, advice=share)
    run.require("busiest_thread", at_most=2 * padded * d / 8 + 8 * d, advice=share)
    return run


def _require_no_scores(run, outputs):
    # Six arrays of out's size are plenty for kernels that split the keys and keep four parts' results. The scores
    # would need at least 20 times out's size, or ten in float16.
    run.require("scratch_bytes", at_most=6 * 4 * outputs, advice=SCORES_AT_ONCE)
    # A query, its sums in float64 and the scores of a tile of 64 keys: 512 + 1024 + 256 bytes. All scores of a
    # query, for the longest sequence that is checked, are 2452 bytes.
    run.require("local_bytes", at_most=2400, advice=SCORES_AT_ONCE)
