"""02 Reduction: the checks that a student does not see; a first line of a docstring is all that is shown."""

import pytest


@pytest.mark.part("correctness")
def test_sum_takes_several_lengths(submission):
    """reduce_sum is right for several lengths, one after the other in one process."""
    submission.check_each(
        {"entry": "reduce_sum", "n": 31},
        {"entry": "reduce_sum", "n": 300_001},
        {"entry": "reduce_sum", "n": 257},
        {"entry": "reduce_sum", "n": 1},
        {"entry": "reduce_sum", "n": 4096},
    )


@pytest.mark.part("correctness")
def test_sum_of_special_values(submission):
    """A NaN makes the sum NaN, one infinity makes it infinite, two opposite ones NaN, and none of it stays."""
    submission.check_each(
        {"entry": "reduce_sum", "n": 517, "special": "nan"},
        {"entry": "reduce_sum", "n": 1023, "special": "both infinities"},
        {"entry": "reduce_sum", "n": 33, "special": "inf"},
        {"entry": "reduce_sum", "n": 1025},
    )


@pytest.mark.part("correctness")
def test_max_takes_several_lengths(submission):
    """reduce_max is right for several lengths, one after the other in one process."""
    submission.check_each(
        {"entry": "reduce_max", "n": 300_001, "largest_at": -1},
        {"entry": "reduce_max", "n": 32, "largest_at": 0},
        {"entry": "reduce_max", "n": 1025, "largest_at": -1},
        {"entry": "reduce_max", "n": 1, "largest_at": 0},
        {"entry": "reduce_max", "n": 4096, "largest_at": -1},
    )


@pytest.mark.part("correctness")
def test_max_finds_it_anywhere(submission):
    """reduce_max finds the largest element at the start, in the middle and beside the edges of blocks."""
    places = (0, 1, 31, 32, 255, 256, 500, 1022)
    submission.check_each(*({"entry": "reduce_max", "n": 1023, "largest_at": place} for place in places))


@pytest.mark.part("correctness")
def test_max_ignores_nan(submission):
    """reduce_max ignores NaN, wherever it stands, and gives -inf if there is nothing else."""
    submission.check_each(
        {"entry": "reduce_max", "n": 1025, "values": "some NaN"},
        {"entry": "reduce_max", "n": 3, "values": "some NaN"},
        {"entry": "reduce_max", "n": 33, "values": "all NaN"},
        {"entry": "reduce_max", "n": 100, "values": "-inf"},
    )
