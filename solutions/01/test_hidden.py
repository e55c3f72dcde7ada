"""01 Indexing: the checks that a student does not see; a first line of a docstring is all that is shown."""

import pytest


@pytest.mark.part("correctness")
def test_vector_add_takes_several_lengths(submission):
    """vector_add is right for several lengths up to a million, one after the other in one process."""
    submission.check_each(
        {"entry": "vector_add", "n": 32},
        {"entry": "vector_add", "n": 1_000_003},
        {"entry": "vector_add", "n": 1023},
        {"entry": "vector_add", "n": 256},
    )


@pytest.mark.part("correctness")
def test_vector_add_keeps_special_values(submission):
    """Infinities and NaNs add up as IEEE 754 says."""
    submission.check("vector_add", n=517, special=True)


@pytest.mark.part("correctness")
def test_saxpy_takes_several_lengths(submission):
    """saxpy is right for several lengths, shorter than the grid and twelve times as long, one after the other."""
    submission.check_each(
        {"entry": "saxpy", "n": 31},
        {"entry": "saxpy", "n": 1_000_003},
        {"entry": "saxpy", "n": 1025},
        {"entry": "saxpy", "n": 32},
    )


@pytest.mark.part("correctness")
def test_saxpy_keeps_special_values(submission):
    """Infinities and NaNs multiply and add up as IEEE 754 says."""
    submission.check("saxpy", n=517, special=True)


@pytest.mark.part("correctness")
def test_grayscale_takes_several_shapes(submission):
    """grayscale is right for several shapes, one after the other in one process."""
    submission.check_each(
        {"entry": "grayscale", "height": 1, "width": 1025},
        {"entry": "grayscale", "height": 1023, "width": 2},
        {"entry": "grayscale", "height": 5003, "width": 2},
        {"entry": "grayscale", "height": 48, "width": 80},
        {"entry": "grayscale", "height": 2, "width": 5003},
        {"entry": "grayscale", "height": 101, "width": 67},
    )


@pytest.mark.part("correctness")
def test_grayscale_of_saturated_colours(submission):
    """Black, white and the pure colours come out right."""
    submission.check("grayscale", height=29, width=43, saturated=True)
