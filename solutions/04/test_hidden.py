"""04 Fused attention: the checks that a student does not see; a first line of a docstring is all that is shown."""

import pytest


@pytest.mark.part("correctness")
def test_softmax_takes_several_shapes(submission):
    """softmax is right for several shapes, and rows of thousands, one after the other in one process."""
    submission.check_each(
        {"entry": "softmax", "rows": 2, "cols": 128},
        {"entry": "softmax", "rows": 131, "cols": 3},
        {"entry": "softmax", "rows": 5, "cols": 1},
        {"entry": "softmax", "rows": 2, "cols": 5003},
        {"entry": "softmax", "rows": 7, "cols": 257},
    )


@pytest.mark.part("correctness")
def test_softmax_of_rows_of_huge_negative_logits(submission):
    """Rows in which every logit is near -10,000 come out right."""
    submission.check("softmax", rows=3, cols=200, logits="all -10,000")


@pytest.mark.part("correctness")
def test_softmax_of_masked_logits(submission):
    """A logit of -inf has probability 0, and the others share the rest."""
    submission.check_each(
        {"entry": "softmax", "rows": 5, "cols": 3, "logits": "masked"},
        {"entry": "softmax", "rows": 4, "cols": 300, "logits": "masked"},
    )


@pytest.mark.part("correctness")
def test_attention_takes_several_shapes(submission):
    """attention is right for several shapes, with and without causal, one after the other in one process."""
    submission.check_each(
        {"entry": "attention", "heads": 3, "n": 17, "d": 5, "causal": False},
        {"entry": "attention", "heads": 1, "n": 65, "d": 33, "causal": True},
        {"entry": "attention", "heads": 1, "n": 32, "d": 64, "causal": False},
        {"entry": "attention", "heads": 1, "n": 1, "d": 1, "causal": False},
        {"entry": "attention", "heads": 1, "n": 521, "d": 2, "causal": True},
        {"entry": "attention", "heads": 2, "n": 19, "d": 128, "causal": True},
        # Whole tiles, however large, and d = 64: what is raced takes this path.
        {"entry": "attention", "heads": 1, "n": 128, "d": 64, "causal": False},
        {"entry": "attention", "heads": 1, "n": 128, "d": 64, "causal": True},
    )


@pytest.mark.part("correctness")
@pytest.mark.parametrize("causal", [False, True])
def test_attention_of_huge_scores(submission, causal):
    """Scores up to 10,000 in size give finite results, and the right ones."""
    submission.check_each(
        {"entry": "attention", "heads": 2, "n": 37, "d": 16, "causal": causal, "logits": "huge"},
        {"entry": "attention", "heads": 2, "n": 20, "d": 16, "causal": causal},
    )


@pytest.mark.part("correctness")
def test_attention_of_huge_negative_scores(submission):
    """Queries that see nothing but scores of thousands below zero give finite results, and the right ones."""
    submission.check_each(
        {"entry": "attention", "heads": 1, "n": 49, "d": 24, "causal": True, "logits": "all negative"},
        {"entry": "attention", "heads": 1, "n": 18, "d": 24, "causal": False, "logits": "all negative"},
        {"entry": "attention", "heads": 1, "n": 18, "d": 24, "causal": True},
    )
